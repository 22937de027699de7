"""What a cluster file may say under YTsaurus: what must hold between the pools and operations of a tree, and which
settings are keys of the document."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from pydantic import ValidationError

from cede.doctrines.ytsaurus.option_values import LEAST_WEIGHT, MOST_WEIGHT
from cede.doctrines.ytsaurus.options import OperationSettings, PoolSettings, TreeSettings
from cede.model.cluster import App, ClusterFile, Queue
from cede.model.dialect import Dialect
from cede.model.errors import Loc, shown
from cede.model.quantities import say_quantity
from cede.model.reports import Finding
from cede.model.resources import parse_quotas, split_flavor
from cede.model.salvage import Draft
from cede.model.values import number, plain_number
from cede.model.workload_checks import Known

DOCS = "docs"
SHIPPED = "25.4"

QUEUE_KEYS = {
    "strong_guarantee_resources": "guaranteed",
    "min_share_resources": "guaranteed",
    "resource_limits": "max",
    "weight": "weight",
}
"""Settings of a pool that have a key of their own in a queue."""
APP_KEYS = {"weight": "weight"}
SINCE = "below_fair_share_since"

Entry = TypeVar("Entry", Queue, App)
Amounts = Mapping[str, int]


def findings(draft: Draft, known: Known) -> Iterator[Finding]:
    """Everything that YTsaurus would refuse, beside what is wrong with the settings of one entry as they stand."""
    for section, word, keys in (("queues", "queue", QUEUE_KEYS), ("apps", "app", APP_KEYS)):
        for index, entry in enumerate(getattr(draft.doc, section)):
            for one in _of_entry(entry, word, keys, draft.broken_in(section, index), known):
                yield Finding((section, index, *one.loc), one.message)
    pools = _Pools(draft)
    yield from pools.fifo_with_subpools()
    yield from pools.nested_integrals()
    yield from pools.promised_too_much()
    tree = None if "doctrine" in draft.unreadable or draft.doc.doctrine is None else draft.doc.doctrine.settings
    if tree is not None:
        options = TreeSettings.model_validate(tree)
        yield from pools.without_main(options.main_resource)
        if options.allow_gang_operations_only_in_fifo_pools:
            yield from _gangs(draft, pools)


def _of_entry(
    entry: Queue | App, word: str, keys: Mapping[str, str], broken: frozenset[Loc], known: Known
) -> Iterator[Finding]:
    for setting, key in keys.items():
        set_so = setting in entry.settings or ("settings", setting) in broken
        if set_so and (getattr(entry, key) is not None or (key,) in broken):
            yield Finding(("settings", setting), f"is the same as the {word}'s key '{key}'; give one of them")
    if (weight := entry.weight) is not None and not LEAST_WEIGHT <= weight <= MOST_WEIGHT:
        bounds = f"under ytsaurus weights go from {LEAST_WEIGHT:g} to {MOST_WEIGHT:g}"
        yield Finding(("weight",), f"{shown(plain_number(weight))} is out of range; {bounds}")
    if SINCE in entry.settings and (own := _read(entry)) is not None:
        yield from known.other_clock(own.below_fair_share_since, ("settings", SINCE))


def _read(entry: Queue | App) -> PoolSettings | OperationSettings | None:
    """The entry's settings, if nothing is wrong with them."""
    model = PoolSettings if isinstance(entry, Queue) else OperationSettings
    try:
        return model.model_validate(entry.settings)
    except ValidationError:
        return None


class _Pool:
    """A queue whose settings are right as they stand."""

    def __init__(self, index: int, queue: Queue, own: PoolSettings) -> None:
        self.index = index
        self.queue = queue
        self.own = own
        integral = own.integral_guarantees
        strong = next(
            (name for name in QUEUE_KEYS if name in queue.settings and QUEUE_KEYS[name] == "guaranteed"), None
        )
        self.promises: dict[str, tuple[Loc, Amounts]] = {
            "strong_guarantee_resources": (
                ("guaranteed",) if strong is None else ("settings", strong),
                queue.guaranteed or own.strong_guarantee_resources or own.min_share_resources or {},
            ),
            "burst_guarantee_resources": (
                ("settings", "integral_guarantees", "burst_guarantee_resources"),
                integral.burst_guarantee_resources,
            ),
            "resource_flow": (("settings", "integral_guarantees", "resource_flow"), integral.resource_flow),
        }

    def at(self, loc: Loc, message: str, hint: str | None = None) -> Finding:
        return Finding(("queues", self.index, *loc), message, hint)

    @property
    def is_integral(self) -> bool:
        return self.own.integral_guarantees.guarantee_type != "none"


class _Pools:
    """The pools of the document by name, and those below each."""

    def __init__(self, draft: Draft) -> None:
        self.by_name: dict[str, _Pool] = {}
        self.below: dict[str, list[_Pool]] = defaultdict(list)
        self.unclear: set[str] = set()
        for index, queue in enumerate(draft.doc.queues):
            own = None if draft.broken_in("queues", index) else _read(queue)
            if not isinstance(own, PoolSettings):
                self.unclear.add(queue.name)
            else:
                pool = _Pool(index, queue, own)
                self.by_name.setdefault(queue.name, pool)
                if queue.parent is not None:
                    self.below[queue.parent].append(pool)

    def _families(self) -> Iterator[tuple[_Pool, list[_Pool]]]:
        for name, children in self.below.items():
            if name in self.by_name:
                yield self.by_name[name], children

    def is_fifo(self, name: str | None) -> bool | None:
        """Whether the pool is a FIFO pool; None if that cannot be known. The root is none, nor one not listed."""
        if name is None or name not in self.by_name:
            return None if name in self.unclear else False
        return self.by_name[name].own.mode == "fifo"

    def fifo_with_subpools(self) -> Iterator[Finding]:
        for pool, children in self._families():
            if pool.own.mode == "fifo":
                message = f"{shown(pool.queue.name)} is a pool of mode fifo, which has no subpools"
                yield from (child.at(("parent",), message) for child in children)

    def nested_integrals(self) -> Iterator[Finding]:
        for pool, children in self._families():
            for child in children:
                if pool.is_integral and child.is_integral:
                    message = (
                        f"{child.own.integral_guarantees.guarantee_type} is for no child of {shown(pool.queue.name)}, "
                        "which has an integral guarantee itself"
                    )
                    yield child.at(("settings", "integral_guarantees", "guarantee_type"), message)

    def promised_too_much(self) -> Iterator[Finding]:
        """Children that are promised more than their parent; of what it does not list, nothing is demanded."""
        for pool, children in self._families():
            for kind, (loc, amounts) in pool.promises.items():
                for name, nano in amounts.items():
                    together = sum(child.promises[kind][1].get(name, 0) for child in children)
                    if together > nano:
                        has, have = say_quantity(name, nano), say_quantity(name, together)
                        yield pool.at(loc, f"the sum of {kind} of its children is {have} {name}, but its own is {has}")

    def without_main(self, main: str) -> Iterator[Finding]:
        for pool in self.by_name.values():
            for loc, amounts in pool.promises.values():
                if any(amounts.values()) and all(split_flavor(name)[0] != main for name in amounts):
                    hint = f"add {main}, or set main_resource of the doctrine"
                    yield pool.at(loc, f"a guarantee must set the main resource, which is {shown(main)}", hint)


def _gangs(draft: Draft, pools: _Pools) -> Iterator[Finding]:
    """Gangs outside FIFO pools, where the tree allows them nowhere else."""
    gangs = {
        app.name: (index, app)
        for index, app in enumerate(draft.doc.apps)
        if not draft.broken_in("apps", index) and app.settings.get("is_gang") is True
    }
    places: dict[str, set[str | None]] = defaultdict(set)
    for workload in draft.doc.workloads:
        if (app_name := workload.app or workload.name) in gangs:
            places[app_name].add(workload.queue)
    for name, (index, app) in gangs.items():
        for queue in sorted(places.get(name, {app.queue}), key=lambda place: place or ""):
            if pools.is_fifo(queue) is False:
                where = "outside any pool" if queue is None else f"in {shown(queue)}, which is of mode fair_share"
                message = f"the gang is {where}, but allow_gang_operations_only_in_fifo_pools is on"
                yield Finding(("apps", index, "settings", "is_gang"), message)


def with_own_keys(document: ClusterFile) -> ClusterFile:
    """The document with settings that have a key of their own under that key, so that nobody else need know both."""
    queues = [_moved(queue, QUEUE_KEYS) for queue in document.queues]
    apps = [_moved(app, APP_KEYS) for app in document.apps]
    if all(new is old for new, old in zip([*queues, *apps], [*document.queues, *document.apps], strict=True)):
        return document
    return document.model_copy(update={"queues": queues, "apps": apps})


def _moved(entry: Entry, keys: Mapping[str, str]) -> Entry:
    given = [setting for setting in keys if setting in entry.settings]
    if not given:
        return entry
    parse = {"weight": number().parse}
    values: dict[str, Any] = {keys[name]: parse.get(name, parse_quotas)(entry.settings[name]) for name in given}
    values["settings"] = {name: value for name, value in entry.settings.items() if name not in given}
    moved = entry.model_copy(update=values)
    if not moved.settings:
        moved.model_fields_set.discard("settings")
    return moved


def times(document: ClusterFile, app: str | None) -> dict[str, Any]:
    """Who can be interrupted is asked to, and aborted when the timeout is over; nothing makes that longer."""
    tree = TreeSettings.model_validate({} if document.doctrine is None else document.doctrine.settings)
    entry = next((one for one in document.apps if one.name == app), None)
    own = OperationSettings.model_validate({} if entry is None else entry.settings)
    if own.preemption_mode == "graceful":
        given, default = own.allocation_graceful_preemption_timeout, tree.allocation_graceful_preemption_timeout
    else:
        given, default = own.allocation_preemption_timeout, tree.allocation_preemption_timeout
    timeout = default if given is None else given
    return {"checkpoint_timeout": timeout, "timeout_extension": 0.0, "max_deferral": 0, "gone_within": timeout}


DIALECT = Dialect(
    "ytsaurus",
    cluster=TreeSettings,
    queues={DOCS: PoolSettings, SHIPPED: PoolSettings},
    apps=OperationSettings,
    described=False,
    findings=findings,
    normal=with_own_keys,
    times=times,
)
