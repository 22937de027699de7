"""Settings that stand under a doctrine's name, so that one file serves every doctrine.

They are put in place before anything else is read: what stands under the name of the doctrine in force becomes plain
settings, and what stands under the others is checked and set aside, to be written again with the file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from cede.model.dialect import Dialect, Dialects
from cede.model.errors import Loc, did_you_mean, shown
from cede.model.owners import App
from cede.model.queues import Queue
from cede.model.reports import Finding, Hints, findings_of
from cede.model.values import Part, plain_parts

QUEUE_KEYS = ("guaranteed", "max", "borrowing_limit", "lending_limit", "weight", "resource_groups")
APP_KEYS = ("weight",)
"""Keys of the entry that may stand under a doctrine's name too, and go before the entry's own under that doctrine."""
SECTIONS: Mapping[str, tuple[type[Part], tuple[str, ...]]] = {"queues": (Queue, QUEUE_KEYS), "apps": (App, APP_KEYS)}


@dataclass(frozen=True, slots=True)
class SetAside:
    """What an entry says to doctrines that are not in force.

    `others` are their settings by name. `shared` has, for each key that the doctrine in force has of its own, the value
    that it replaces, or none.
    """

    others: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    shared: Mapping[str, Any] = field(default_factory=dict)


Aside = Mapping[tuple[str, str], SetAside]
"""By section and name; the doctrine's own settings are of the section `doctrine` and have no name."""


@dataclass(frozen=True, slots=True)
class Resolved:
    """The plain data of a file for its doctrine alone."""

    data: dict[str, Any]
    aside: Aside
    findings: tuple[Finding, ...] = ()
    moved: Mapping[Loc, Loc] = field(default_factory=dict)
    """Where a key stands in the file, by where it was put."""

    def placed(self, finding: Finding) -> Finding:
        """The finding at the place that the file has."""
        for steps in range(len(finding.loc), 0, -1):
            if (origin := self.moved.get(finding.loc[:steps])) is not None:
                return Finding((*origin, *finding.loc[steps:]), finding.message, finding.hint)
        return finding


def resolve(data: dict[str, Any], dialects: Dialects) -> Resolved:
    """The data with the settings of its doctrine in place; the very same if none stand under a doctrine's name."""
    work = _Resolving(data, dialects)
    after = dict(data)
    if work.force is not None and isinstance(raw := data.get("doctrine"), dict) and "settings" in raw:
        after["doctrine"] = work.doctrine(raw)
    for section in SECTIONS:
        entries = data.get(section)
        if isinstance(entries, list) and any(_has_names(entry, dialects) for entry in entries):
            after[section] = [
                work.entry(section, index, entry) if _has_names(entry, dialects) else entry
                for index, entry in enumerate(entries)
            ]
    changed = bool(work.aside or work.moved or work.findings)
    return Resolved(after if changed else data, work.aside, tuple(work.findings), work.moved)


def unknown_doctrine(finding: Finding, data: Any, dialects: Dialects) -> Finding:
    """The finding, saying more where a key that is no setting holds settings, as if it were a doctrine's name."""
    if finding.loc[-2:-1] != ("settings",) or not finding.message.startswith("there is no key"):
        return finding
    at: Any = data
    for step in finding.loc:
        try:
            at = at[step]
        except (KeyError, IndexError, TypeError):
            return finding
    if not isinstance(at, dict):
        return finding
    message = f"{finding.message}, and no doctrine of this name is installed; there are {', '.join(dialects)}"
    return Finding(finding.loc, message, finding.hint or did_you_mean(finding.loc[-1], dialects))


def under_names(data: dict[str, Any], name: str, dialects: Dialects) -> dict[str, Any]:
    """The data with the plain settings of this doctrine under its name: they are its own, whichever is in force."""
    after = dict(data)
    for section in SECTIONS:
        entries = data.get(section)
        if isinstance(entries, list):
            after[section] = [_under_name(entry, name, dialects) for entry in entries]
    return after


def settings_under_name(choice: dict[str, Any], name: str) -> dict[str, Any]:
    """The keys of a doctrine's choice with its plain settings under its name."""
    named = choice.get("settings", {})
    plain = {key: value for key, value in choice.items() if key != "settings"}
    if not isinstance(named, dict) or not plain:
        return choice
    own = named.get(name, {})
    return {"settings": {**named, name: {**own, **plain} if isinstance(own, dict) else own}}


def _under_name(entry: Any, name: str, dialects: Dialects) -> Any:
    if not isinstance(entry, dict) or not isinstance(given := entry.get("settings"), dict):
        return entry
    plain = {key: value for key, value in given.items() if key not in dialects}
    if not plain:
        return entry
    named = {key: value for key, value in given.items() if key in dialects}
    own = named.get(name, {})
    return {**entry, "settings": {**named, name: {**own, **plain} if isinstance(own, dict) else own}}


def _has_names(entry: Any, dialects: Dialects) -> bool:
    given = entry.get("settings") if isinstance(entry, dict) else None
    return isinstance(given, dict) and any(isinstance(key, str) and key in dialects for key in given)


class _Resolving:
    """The work of one file."""

    def __init__(self, data: dict[str, Any], dialects: Dialects) -> None:
        self.dialects = dialects
        raw = data.get("doctrine")
        name = raw.get("name") if isinstance(raw, dict) else raw
        self.force = name if isinstance(name, str) and name in dialects else None
        self.aside: dict[tuple[str, str], SetAside] = {}
        self.findings: list[Finding] = []
        self.moved: dict[Loc, Loc] = {}
        self._hints = Hints()

    def doctrine(self, raw: dict[str, Any]) -> dict[str, Any]:
        """The choice of a doctrine without what it says to others."""
        given, loc = raw["settings"], ("doctrine", "settings")
        after = {key: value for key, value in raw.items() if key != "settings"}
        if not isinstance(given, dict):
            self.findings.append(Finding(loc, f"{shown(given)} is no object of settings by doctrine"))
            return after
        others: dict[str, Mapping[str, Any]] = {}
        for name, own in given.items():
            if not isinstance(name, str) or name not in self.dialects:
                message = f"no doctrine called {shown(name)} is installed; there are {', '.join(self.dialects)}"
                self.findings.append(Finding((*loc, name), message, did_you_mean(name, self.dialects)))
            elif (plain := self._object(own, (*loc, name))) is None:
                continue
            elif name == self.force:
                for key, value in plain.items():
                    if key in after:
                        self._twice((*loc, name, key), "beside the doctrine's name")
                    else:
                        after[key] = value
                        self.moved["doctrine", key] = (*loc, name, key)
            else:
                others[name] = plain
                self._check([self.dialects[name].cluster], plain, (*loc, name))
        if others:
            self.aside["doctrine", ""] = SetAside(others)
        return after

    def entry(self, section: str, index: int, entry: dict[str, Any]) -> dict[str, Any]:
        """A queue or an app without what it says to others."""
        model, keys = SECTIONS[section]
        given, loc = entry["settings"], (section, index, "settings")
        after = dict(entry)
        settings = {key: value for key, value in given.items() if not (isinstance(key, str) and key in self.dialects)}
        others: dict[str, Mapping[str, Any]] = {}
        shared: dict[str, Any] = {}
        for name in (key for key in given if isinstance(key, str) and key in self.dialects):
            plain = self._object(given[name], (*loc, name))
            if plain is None:
                continue
            if name != self.force:
                others[name] = plain
                amounts = {key: given[name][key] for key in plain if key in keys}
                self._check([model], {"name": "?", **amounts}, (*loc, name))
                own = {key: value for key, value in plain.items() if key not in keys}
                self._check(_models(section, self.dialects[name]), own, (*loc, name))
                continue
            for key, value in plain.items():
                if key in keys:
                    shared[key] = entry.get(key)
                    after[key] = given[name][key]
                    self.moved[section, index, key] = (*loc, name, key)
                elif key in settings:
                    self._twice((*loc, name, key), "beside the doctrine's name")
                else:
                    settings[key] = value
                    self.moved[(*loc, key)] = (*loc, name, key)
        after["settings"] = settings
        if not settings:
            del after["settings"]
        if (others or shared) and isinstance(title := entry.get("name"), str):
            self.aside[section, title] = SetAside(others, shared)
        return after

    def _check(self, models: Sequence[type[Part]], settings: dict[str, Any], loc: Loc) -> None:
        """What is wrong with them by the first of the models, if none takes them: any edition may be meant."""
        first: list[Finding] | None = None
        for model in models:
            try:
                model.model_validate(settings)
                return
            except ValidationError as error:
                first = findings_of(error, model, self._hints, loc) if first is None else first
        self.findings += first or []

    def _object(self, value: Any, loc: Loc) -> dict[str, Any] | None:
        if not isinstance(value, dict):
            self.findings.append(Finding(loc, f"{shown(value)} is no object of settings"))
            return None
        plain, problems = plain_parts(value)
        self.findings += [Finding((*loc, *problem.steps), problem.message, problem.hint) for problem in problems]
        return plain

    def _twice(self, loc: Loc, where: str) -> None:
        self.findings.append(Finding(loc, f"stands {where} too; give it once"))


def _models(section: str, dialect: Dialect) -> list[type[Part]]:
    """Those that read settings in this section, of every edition; none where a doctrine has no settings there."""
    if section == "queues":
        return list(dict.fromkeys(dialect.queues.values()))
    return [] if dialect.apps is None else [dialect.apps]
