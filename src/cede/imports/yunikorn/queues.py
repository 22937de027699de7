"""The queues of a configuration, each by its path, and the rules by which YuniKorn accepts them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from cede.imports.fields import Amounts, Fields, total
from cede.imports.report import Place
from cede.imports.yunikorn.applications import Work
from cede.imports.yunikorn.configuration import SWITCHES, Partition, known_only, note_limits
from cede.imports.yunikorn.properties import NO_DELAY, QUOTA_DELAY, Settings, properties_of, settings_of
from cede.imports.yunikorn.quantities import configured, excess, is_set, smaller, written
from cede.model.errors import shown
from cede.model.quantities import show_quantity

ROOT = "root"
QUEUE = (
    *("name", "parent", "resources", "maxapplications", "properties", "adminacl", "submitacl", "childtemplate"),
    *("queues", "limits"),
)
TEMPLATE = ("maxapplications", "properties", "resources")
RESOURCES = ("guaranteed", "max")
APPLICATIONS = "how many applications may run is not counted here"
EVERYBODY = "*"
ACL = "who may submit and administer is not checked here"

NAME = re.compile(r"[a-zA-Z0-9_:#/@-]{1,64}")


@dataclass(slots=True)
class Template:
    """What queues made on the fly below a queue are given."""

    fields: Fields
    guaranteed: Amounts
    max: Amounts
    settings: Settings
    used: bool = False


@dataclass(slots=True)
class Queue:
    """A queue of the configuration; its path is in lower case, as YuniKorn has it."""

    path: str
    parent: Queue | None
    fields: Fields
    guaranteed: Amounts
    max: Amounts
    settings: Settings
    template: Template | None = None
    children: list[Queue] = field(default_factory=list)

    @property
    def for_children(self) -> Template | None:
        """The nearest template, here or above."""
        if self.template is not None or self.parent is None:
            return self.template
        return self.parent.for_children

    def entry(self) -> dict[str, Any]:
        """The queue of a cluster file; what it takes over from those above is left to them."""
        parent = None if self.parent is None else self.parent.path
        return entry_of(self.path, parent, self.guaranteed, self.max, self.settings)


def entry_of(path: str, parent: str | None, guaranteed: Amounts, limit: Amounts, settings: Settings) -> dict[str, Any]:
    """A queue of a cluster file."""
    entry: dict[str, Any] = {"name": path}
    if parent is not None:
        entry["parent"] = parent
    if is_set(guaranteed):
        entry["guaranteed"] = written(guaranteed)
    if is_set(limit):
        entry["max"] = written(limit)
    if settings:
        entry["settings"] = settings
    return entry


def queues_of(partition: Partition) -> dict[str, Queue]:
    """Every configured queue by its path, root first; what YuniKorn would refuse is reported."""
    fields = partition.fields
    if not fields.has("queues"):
        fields.wrong(("queues",), "this key is required and missing")
    tops = fields.parts("queues")
    if len(tops) == 1 and str(tops[0].data.get("name")).lower() == ROOT:
        [top] = tops
    else:
        top = Fields({"name": ROOT, "queues": [one.data for one in tops]}, fields.place, fields.report)
    root = _queue(top, None, ROOT, fields)
    _check(root, {})
    return {queue.path: queue for queue in _walk(root)}


def _walk(queue: Queue) -> Iterator[Queue]:
    yield queue
    for child in queue.children:
        yield from _walk(child)


def _queue(raw: Fields, parent: Queue | None, path: str, partition: Fields) -> Queue:
    fields = Fields(raw.data, Place(partition.place.source, "queue", path), partition.report)
    known_only(fields, QUEUE)
    resources = fields.part("resources")
    known_only(resources, RESOURCES)
    guaranteed, limit = configured(resources, "guaranteed"), configured(resources, "max")
    if parent is None and (guaranteed is not None or limit is not None):
        fields.wrong(("resources",), "the root has what its nodes have, and no resources of its own")
    queue = Queue(path, parent, fields, guaranteed or {}, limit or {}, settings_of(properties_of(fields), fields))
    if fields.has("childtemplate"):
        queue.template = _template(fields.part("childtemplate"))
    fields.truth("parent")
    fields.note(APPLICATIONS, "maxapplications")
    fields.note(ACL, *(key for key in ("adminacl", "submitacl") if fields.data.get(key) != EVERYBODY))
    note_limits(fields)
    names: set[str] = set()
    for child in fields.parts("queues"):
        name = child.need("name")
        if NAME.fullmatch(name) is None:
            if name:
                child.wrong(
                    ("name",), f"{shown(name)} is no name; it has 1 to 64 letters, digits or any of _ : # / @ -"
                )
        elif name.lower() in names:
            child.wrong(("name",), f"{shown(name)} is already the name of a queue here, for capitals do not count")
        else:
            names.add(name.lower())
            queue.children.append(_queue(child, queue, f"{path}.{name.lower()}", partition))
    return queue


def _template(fields: Fields) -> Template | None:
    known_only(fields, TEMPLATE)
    resources = fields.part("resources")
    known_only(resources, RESOURCES)
    guaranteed, limit = configured(resources, "guaranteed") or {}, configured(resources, "max") or {}
    settings = settings_of(properties_of(fields), fields)
    fields.note(APPLICATIONS, "maxapplications")
    return Template(fields, guaranteed, limit, settings) if any(fields.data.values()) else None


def _check(queue: Queue, above: Amounts) -> Amounts:
    """What the queue and those below are promised, if all of it fits what is above; what does not is reported."""
    at = queue.fields
    for name in excess(queue.max, queue.guaranteed):
        _wrong(at, name, "guaranteed", queue.guaranteed, f"more than its max, {_shown(queue.max, name)}")
    for name in excess(above, queue.max):
        _wrong(at, name, "max", queue.max, f"more than the max above it, {_shown(above, name)}")
    limit = smaller(queue.max, above)
    promised = total([_check(child, limit) for child in queue.children])
    for key, bounds in (("guaranteed", queue.guaranteed), ("max", limit)):
        for name in excess(bounds, promised):
            why = f"the queues below are guaranteed {_shown(promised, name)}, more than this {_shown(bounds, name)}"
            at.wrong(("resources", key, name), why)
    return queue.guaranteed if is_set(queue.guaranteed) else promised


def _wrong(fields: Fields, name: str, key: str, amounts: Amounts, why: str) -> None:
    fields.wrong(("resources", key, name), f"{_shown(amounts, name)} is {why}")


def _shown(amounts: Amounts, name: str) -> str:
    return show_quantity(name, amounts[name])


SINCE = (
    "it uses more than this, and a dump does not say since when; `over_limit_since` of the queue says it in the file"
)


def note_overuse(partition: Partition, configured: Mapping[str, Queue], works: Iterable[Work]) -> None:
    """Name the queues that quota preemption would look at, if it is switched on."""
    if not partition.switches.get(SWITCHES["quotapreemptionenabled"]):
        return
    used: dict[str, Amounts] = {}
    for work in works:
        path = work.entry["queue"] if work.holds else ""
        while path:
            used[path] = total([used.get(path, {}), work.amounts])
            path = path.rpartition(".")[0]
    for queue in configured.values():
        for name in excess(queue.max, used.get(queue.path, {})) if _is_enforced(queue) else ():
            queue.fields.remark(SINCE, "resources", "max", name)


def _is_enforced(queue: Queue) -> bool:
    """Whether the queue, or the nearest above that says anything, has a delay after which its max is enforced."""
    at: Queue | None = queue
    while at is not None and QUOTA_DELAY not in at.settings:
        at = at.parent
    return at is not None and at.settings[QUOTA_DELAY] != NO_DELAY
