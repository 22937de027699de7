"""What can still be checked of a document in which something could not be read."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from cede.model.cluster import FORMAT, ClusterFile
from cede.model.dialect import Dialects
from cede.model.errors import Loc
from cede.model.reports import fields_of, part_in

SECTIONS = ("nodes", "queues", "apps", "tenants", "policies", "workloads")
WHOLE: frozenset[Loc] = frozenset()
"""What is broken in an entry that can be read as it stands: nothing."""

_STAND_IN: dict[str, Any] = {"name": "?", "count": 1, "requests": {}}
"""For keys that a part must have. Nothing is said of a place that holds one, for it counts as broken."""
LOST = frozenset({(key,) for key in ("name", "parent", "count", "user", "project")})
"""What is broken in an entry that is no object."""
_GONE = object()
_DEPTH = {"settings": 2, "resource_groups": 1}
"""How far into such a key to cut; into others as far as the problem lies."""

Cuts = dict[str | int, "Cuts"]
"""A tree of places; what it ends in is broken."""


@dataclass
class Draft:
    """A document as far as it could be read; its entries stand where the file has them."""

    doc: ClusterFile
    broken: dict[str, dict[int, frozenset[Loc]]] = field(default_factory=dict)
    """What could not be read, by section and entry; places are relative to the entry."""
    unreadable: frozenset[str] = frozenset()
    """Keys of the document of which nothing could be read; and `edition`, if the doctrine's could not."""

    def broken_in(self, section: str, index: int) -> frozenset[Loc]:
        return self.broken.get(section, {}).get(index, WHOLE)

    def names(self, section: str) -> list[str | None]:
        """The names of a section's entries, None for one that could not be read."""
        names = [entry.name for entry in getattr(self.doc, section)]
        for index, locs in self.broken.get(section, {}).items():
            if ("name",) in locs:
                names[index] = None
        return names


def salvaged(data: dict[str, Any], wrong: Iterable[Loc], dialects: Dialects) -> Draft:
    """The document without what is wrong in it: single keys where that is enough."""
    locs = list(wrong)
    try:
        return _without(data, locs, dialects)
    except ValidationError as error:
        # What is wrong with a value may be more than what was found in it; then the whole key of the entry goes.
        more = [one["loc"][:3] for one in error.errors(include_url=False)]
        return _without(data, [*locs, *more], dialects, coarsely={loc[:2] for loc in more})


def _without(data: dict[str, Any], locs: list[Loc], dialects: Dialects, coarsely: Collection[Loc] = ()) -> Draft:
    lost = {str(loc[0]) for loc in locs if len(loc) == 1 or (loc and loc[0] not in SECTIONS)}
    sound = {key: data[key] for key in data if key in ClusterFile.model_fields and key not in lost}
    entries: dict[str, dict[int, list[Loc]]] = defaultdict(lambda: defaultdict(list))
    for loc in locs:
        if len(loc) > 1 and loc[0] in sound:
            entries[str(loc[0])][int(loc[1])].append(_cut_short(loc[2:], loc[:2] in coarsely))
    broken: dict[str, dict[int, frozenset[Loc]]] = {}
    for section, by_index in entries.items():
        items = sound[section] = list(sound[section])
        model = part_in(ClusterFile.model_fields[section])
        broken[section] = {index: frozenset(inner) for index, inner in by_index.items()}
        for index, inner in by_index.items():
            items[index] = _pruned(items[index], _tree(inner), model, (section, index) not in coarsely)
            if items[index] is _GONE:
                items[index] = {} if section == "policies" else {"name": _STAND_IN["name"]}
                broken[section][index] = LOST
    if "doctrine" in lost:
        sound |= _doctrine(data["doctrine"], lost, dialects)
    doc = ClusterFile.model_validate(sound | {"cede": FORMAT}, context=dialects)
    return Draft(doc, broken, frozenset(lost))


def _doctrine(raw: object, lost: set[str], dialects: Dialects) -> dict[str, Any]:
    """The doctrine without its settings, if its name is known; a wrong edition is noted in `lost`."""
    name = raw.get("name") if isinstance(raw, dict) else None
    if not isinstance(raw, dict) or not isinstance(name, str) or name not in dialects:
        return {}
    known = dialects[name].editions
    edition = raw.get("edition", known[0])
    if isinstance(edition, str) and edition in known:
        return {"doctrine": {"name": name, "edition": edition}}
    lost.add("edition")
    return {"doctrine": name}


def _cut_short(loc: Loc, coarsely: bool) -> Loc:
    return loc[: 1 if coarsely or not loc else _DEPTH.get(str(loc[0]))]


def _tree(locs: Iterable[Loc]) -> Cuts:
    tree: Cuts = {}
    for loc in locs:
        at = tree
        for step in loc:
            at = at.setdefault(step, {})
    return tree


def _pruned(value: Any, cuts: Cuts, model: Any, finely: bool) -> Any:
    """The value, which should be a `model` or a list of them, without what is cut; _GONE if nothing is left.

    An object that is cut itself may have keys that are no text; `finely` those go, and the rest of it stays.
    """
    if isinstance(value, dict) and (cuts or not all(isinstance(key, str) for key in value)):
        kept = {key: item for key, item in value.items() if isinstance(key, str) and key not in cuts}
        fields = fields_of(model)
        for key, inner in cuts.items():
            info = fields.get(str(key))
            part = _GONE
            if key in value and (inner or finely):
                part = _pruned(value[key], inner, None if info is None else part_in(info), finely)
            if part is _GONE and info is not None and info.is_required():
                part = _STAND_IN[str(key)]
            if part is not _GONE:
                kept[str(key)] = part
        return kept
    if isinstance(value, list) and cuts:
        items = list(value)
        for index, inner in cuts.items():
            part = _pruned(items[int(index)], inner, model, finely)
            items[int(index)] = (_STAND_IN if fields_of(model) else _STAND_IN["name"]) if part is _GONE else part
        return items
    return _GONE
