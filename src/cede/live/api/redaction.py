"""Redaction: what one caller is shown of names: its own workloads as it calls them, those of others that it may see,
and nothing of the rest.

A name that may not be seen is replaced by one that says no more than that it is the same every time. That is done where
answers are made, in what has fields for names and within sentences, so that no answer depends on who thought of it. A
question about the live state is asked of a cluster whose names are replaced already.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from cede.doctrines.catalog import find
from cede.engine.drive.restart_memory import Kept
from cede.engine.drive.rules import RULES
from cede.live.api.access import Caller
from cede.live.api.server import Server
from cede.live.store.records import Named
from cede.model.cluster import ClusterFile
from cede.model.rules import Rule

_TOKEN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_PLACEHOLDER = re.compile(r"\{(\w+)\}")
_SAID_BY_OTHERS = frozenset({"by"})
"""Placeholders that are never about workloads."""
_NO_NAMES = frozenset({"action", "rule", "fate", "verdict", "nodes", "flavors", "counts", "edition", "doctrine"})
"""Keys of a decision under which no workload is named."""


class Redactor:
    """Reads the store, so it is for threads that may block. What it has read holds for one answer, not for ever."""

    def __init__(self, server: Server, caller: Caller) -> None:
        self.caller = caller
        self.clock = server.clock
        self._server = server
        self._known: dict[str, Named | None] = {}

    def forget(self) -> None:
        """Look everything up again: somebody may have used a name that was free."""
        self._known.clear()

    def sees(self, name: str) -> bool:
        """Whether this workload may be seen; one that was deleted may not, but by those that see all."""
        if self.caller.sees_all:
            return True
        self._learn([name])
        workload = self._known[name]
        return workload is not None and self.caller.sees_what(workload.owner, workload.project)

    def name(self, name: str) -> str:
        """The workload as this caller knows it."""
        if self.caller.sees_all:
            return name
        self._learn([name])
        return self._shown(name, self._known[name])

    def names(self, names: Iterable[str]) -> list[str]:
        return [self.name(name) for name in names]

    def maybe(self, name: str | None) -> str | None:
        return None if name is None else self.name(name)

    def text(self, sentence: str, rule: str = "") -> str:
        """The sentence with all names in it as this caller knows them; the words of its rule are none."""
        if self.caller.sees_all or not sentence:
            return sentence
        form = _form_of(self._doctrine(), rule)
        match = None if form is None else form.fullmatch(sentence)
        if match is None:
            return self._replaced(sentence)
        parts, at = [], 0
        for group, value in match.groupdict().items():
            if group.rpartition("_")[0] in _SAID_BY_OTHERS:
                continue
            parts += [sentence[at : match.start(group)], self._replaced(value)]
            at = match.end(group)
        return "".join([*parts, sentence[at:]])

    def texts(self, sentences: Iterable[str]) -> list[str]:
        return [self.text(sentence) for sentence in sentences]

    def decision(self, told: Mapping[str, Any]) -> dict[str, Any]:
        """A decision as JSON has it, with all names in it as this caller knows them."""
        if self.caller.sees_all:
            return dict(told)
        rule = str(told.get("rule") or "")
        return {key: value if key in _NO_NAMES else self._value(key, value, rule) for key, value in told.items()}

    def _value(self, key: str, value: Any, rule: str) -> Any:
        if isinstance(value, str):
            return self.name(value) if key == "workload" else self.text(value, rule)
        if isinstance(value, Mapping):
            return self.decision(value)
        if isinstance(value, list | tuple):
            return [self._value(key, one, rule) for one in value]
        return value

    def moment(self, document: ClusterFile, kept: Kept) -> tuple[ClusterFile, Kept]:
        """The cluster with all names as this caller knows them. Ties fall as they did: the uids keep their order."""
        if self.caller.sees_all:
            return document, kept
        self._known |= {one.name: one for one in self._server.store.named()}
        shown: dict[str, str] = {}
        taken: set[str] = set()
        for one in document.workloads:
            name = self.name(one.name)
            shown[one.name] = name if name not in taken else self._hidden(one.name)
            taken.add(shown[one.name])
        order = sorted(document.workloads, key=lambda one: (one.uid or one.name, one.name))
        ranks = {one.name: f"{rank:016d}" for rank, one in enumerate(order)}
        apps = self._apps(document, shown)
        workloads = [
            one.like(
                name=shown[one.name],
                uid=ranks[one.name],
                app=None if one.app is None else apps.get(one.app, one.app),
            )
            for one in document.workloads
        ]
        nodes = [
            node if node.reserved_for is None else node.model_copy(update={"reserved_for": shown[node.reserved_for]})
            for node in document.nodes
        ]
        named = [app.model_copy(update={"name": apps.get(app.name, app.name)}) for app in document.apps]
        changed = document.model_copy(update={"workloads": workloads, "nodes": nodes, "apps": named})
        return changed, {
            doctrine: {key: _renamed(value, shown) for key, value in held.items()} for doctrine, held in kept.items()
        }

    def _apps(self, document: ClusterFile, shown: Mapping[str, str]) -> dict[str, str]:
        """How apps are called: one that a workload is by itself like that workload, and not at all one of others."""
        seen = {one.app for one in document.workloads if self.sees(one.name)}
        others = {one.app for one in document.workloads if one.app is not None} - seen
        own = {one.name: shown[one.name] for one in document.workloads if one.app is None}
        return {app: self._hidden(app) for app in others} | own

    # -- names -------------------------------------------------------------------------------------------------

    def _learn(self, names: Iterable[str]) -> None:
        missing = [name for name in names if name not in self._known]
        if missing:
            by_name = {one.name: one for one in self._server.store.named(missing)}
            self._known |= {name: by_name.get(name) for name in missing}

    def _shown(self, name: str, known: Named | None) -> str:
        if known is None or not self.caller.sees_what(known.owner, known.project):
            return self._hidden(name)
        if known.owner == self.caller.name:
            return known.called
        if self._server.store.called(self.caller.name, name) is not None:
            return f"{known.owner}.{known.called}"
        return name

    def _hidden(self, name: str) -> str:
        return f"hidden-{hmac.digest(self._server.mask, name.encode(), 'sha256').hex()[:12]}"

    def _replaced(self, text: str) -> str:
        """The text with every name of a workload in it replaced that the caller knows otherwise, or not at all."""
        tokens = {form for match in _TOKEN.finditer(text) for form in _forms(match[0])} - self._server.checks.names
        self._learn(tokens)

        def one(match: re.Match[str]) -> str:
            token = match[0]
            for form in _forms(token):
                known = self._known.get(form)
                if known is not None:
                    return self._shown(form, known) + token[len(form) :]
            return token

        return _TOKEN.sub(one, text)

    def _doctrine(self) -> str | None:
        chosen = self._server.checks.document.doctrine
        return None if chosen is None else chosen.name


def _forms(token: str) -> tuple[str, ...]:
    """A name may end with a dot or a dash, and so may a sentence."""
    bare = token.rstrip("._-")
    return (token,) if bare == token else (token, bare)


@cache
def _rules_of(doctrine: str | None) -> dict[str, Rule]:
    rules = [*RULES, *(find(doctrine).rules if doctrine is not None else ())]
    return {rule.id: rule for rule in rules}


@cache
def _form_of(doctrine: str | None, rule: str) -> re.Pattern[str] | None:
    """What sentences by this rule look like, with a group for each thing that is filled in."""
    known = _rules_of(doctrine).get(rule)
    if known is None:
        return None
    made, at = "", 0
    for number, placeholder in enumerate(_PLACEHOLDER.finditer(known.sentence)):
        made += re.escape(known.sentence[at : placeholder.start()]) + f"(?P<{placeholder[1]}_{number}>.*)"
        at = placeholder.end()
    return re.compile(made + re.escape(known.sentence[at:]), re.DOTALL)


def _renamed(value: Any, shown: Mapping[str, str]) -> Any:
    """What a doctrine remembers of workloads, by the names that they are shown under."""
    if isinstance(value, str):
        return shown.get(value, value)
    if isinstance(value, Mapping):
        return {shown.get(key, key): _renamed(held, shown) for key, held in value.items()}
    if isinstance(value, list | tuple):
        return [_renamed(held, shown) for held in value]
    return value
