"""What a cluster file may say under YTsaurus: what must hold between the pools and operations of a tree, and which
settings are keys of the document."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import ValidationError

from cede.doctrines.ytsaurus.options import LEAST_WEIGHT, MOST_WEIGHT, OperationSettings, PoolSettings, TreeSettings
from cede.model.checks import Known
from cede.model.cluster import App, ClusterFile, Queue
from cede.model.dialect import Dialect
from cede.model.errors import Loc, shown
from cede.model.quantities import NANO, say_quantity
from cede.model.reports import Finding
from cede.model.resources import parse_quotas, split_flavor
from cede.model.salvage import Draft
from cede.model.tag_filters import TagFilter, parse_tag_filter
from cede.model.values import number, plain_number
from cede.state.state import State

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
    """The document with settings that have a key of their own under that key, so that nothing else need know both."""
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
    """What can be interrupted is asked to stop, and aborted when the timeout is over; nothing makes that longer."""
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


EDITIONS = (DOCS, SHIPPED)

NO_INTEGRAL, BURST, RELAXED = "none", "burst", "relaxed"
MIN_SPARE = {"user_slots": NANO, "cpu": NANO, "memory": 256 * 2**20 * NANO}

T = TypeVar("T")

"""Nano-units by plain resource name."""


@dataclass(frozen=True, slots=True)
class Ssd:
    """On nodes that match the filter, operations that asked for one of the media come first."""

    enable: bool
    filter: TagFilter
    media: frozenset[str]


@dataclass(frozen=True, slots=True)
class FullHost:
    """The stage for allocations of a whole GPU host."""

    enable: bool
    max_penalty: float
    timeout: int


@dataclass(frozen=True, slots=True)
class Tree:
    """Options of the tree and of the scheduler that have an effect."""

    timeout: int
    aggressive_timeout: int
    tolerance: float
    aggressive_starvation: bool
    pool_starvation: bool
    satisfaction: float
    aggressive_satisfaction: float
    threshold: Amounts
    backoff: int
    preemption_timeout: int
    graceful_timeout: int
    from_starving: bool
    scope_only_operation: bool
    timeout_coefficient: float
    absolute_tolerance: bool
    bound_is_preemptible: bool
    precommit: bool
    infinite_overcommit: bool
    aggressive_for_gangs: bool
    gangs_only_in_fifo: bool
    step_for_gangs: bool
    improved: bool
    guarantee_priority: bool
    ssd: Ssd
    full_host: FullHost
    main_resource: str
    fifo_schedulable: int | None
    max_running: int
    max_running_per_pool: int
    max_operations: int
    max_operations_per_pool: int
    smooth_period: int
    capacity_period: int
    relaxed_multiplier: float
    distributes_free: bool
    infer_weight: float | None
    min_spare: Amounts
    overcommit_duration: int
    waiting_blocks: bool
    """Whether a node on which an allocation waits for its room gets no further scheduling."""


@dataclass(frozen=True, slots=True)
class Integral:
    """A pool's integral guarantee."""

    kind: str
    flow: Amounts
    burst: Amounts
    multiplier: float
    accepts_free: bool
    distributes_free: bool


@dataclass(frozen=True, slots=True)
class Pool:
    """What counts for one pool; weights, limits and guarantees are the queue's own keys, but for the weight."""

    weight: float | None
    fifo: bool
    fifo_sort: tuple[str, ...]
    integral: Integral
    tolerance: float
    timeout: int
    threshold: Amounts
    aggressive_starvation: bool
    aggressive_allowed: bool
    normal_allowed: bool
    overcommit: Amounts
    promised: bool
    step_for_gangs: bool
    max_running: int
    max_operations: int
    historic_period: int | None
    since: int | None
    volume: Amounts
    historic: float | None


@dataclass(frozen=True, slots=True)
class Operation:
    """What counts for one operation in its pool."""

    weight: float | None
    limits: Amounts | None
    tolerance: float
    timeout: int
    threshold: Amounts
    aggressive_allowed: bool
    graceful: bool
    gang: bool
    step: bool
    tag_filter: TagFilter | None
    medium: str | None
    limits_demand: bool
    preemption_timeout: int
    graceful_timeout: int
    since: int | None
    historic: float | None


def tree_of(state: State) -> Tree:
    """The tree's options as the file's `doctrine` gives them."""
    choice = state.static.doctrine
    read = state.tree.derived.get("ytsaurus.tree")
    if read is None or read[0] is not choice:
        read = choice, tree_from({} if choice is None else choice.settings)
        state.tree.derived["ytsaurus.tree"] = read
    tree: Tree = read[1]
    return tree


def tree_from(raw: Mapping[str, Any]) -> Tree:
    """The tree's options from what was given of them."""
    given = TreeSettings.model_validate(dict(raw))
    ssd, full_host, integral = (
        given.ssd_priority_preemption,
        given.default_gpu_full_host_preemption,
        given.integral_guarantees,
    )
    spare = given.min_spare_allocation_resources_on_node
    return Tree(
        timeout=given.starvation_timeout,
        aggressive_timeout=given.fair_share_aggressive_starvation_timeout,
        tolerance=given.fair_share_starvation_tolerance,
        aggressive_starvation=given.enable_aggressive_starvation,
        pool_starvation=given.enable_pool_starvation,
        satisfaction=given.preemption_satisfaction_threshold,
        aggressive_satisfaction=given.aggressive_preemption_satisfaction_threshold,
        threshold=given.non_preemptible_resource_usage_threshold,
        backoff=given.preemptive_scheduling_backoff,
        preemption_timeout=given.allocation_preemption_timeout,
        graceful_timeout=given.allocation_graceful_preemption_timeout,
        from_starving=given.allow_preemption_from_starving_operations,
        scope_only_operation=given.scheduling_preemption_priority_scope == "operation_only",
        timeout_coefficient=given.allocation_count_preemption_timeout_coefficient,
        absolute_tolerance=given.enable_absolute_fair_share_starvation_tolerance,
        bound_is_preemptible=given.consider_allocation_on_fair_share_bound_preemptible,
        precommit=given.use_precommit_for_preemption,
        infinite_overcommit=given.enable_infinite_resource_limits_overcommit,
        aggressive_for_gangs=given.allow_aggressive_preemption_for_gang_operations,
        gangs_only_in_fifo=given.allow_gang_operations_only_in_fifo_pools,
        step_for_gangs=given.enable_step_function_for_gang_operations,
        improved=given.enable_improved_fair_share_by_fit_factor_computation,
        guarantee_priority=given.enable_guarantee_priority_scheduling,
        ssd=Ssd(ssd.enable, parse_tag_filter(ssd.node_tag_filter), frozenset(ssd.medium_names)),
        full_host=FullHost(full_host.enable, full_host.max_preemption_penalty, full_host.timeout),
        main_resource=given.main_resource,
        fifo_schedulable=given.max_schedulable_element_count_in_fifo_pool,
        max_running=given.max_running_operation_count,
        max_running_per_pool=given.max_running_operation_count_per_pool,
        max_operations=given.max_operation_count,
        max_operations_per_pool=given.max_operation_count_per_pool,
        smooth_period=integral.smooth_period,
        capacity_period=integral.pool_capacity_saturation_period,
        relaxed_multiplier=integral.relaxed_share_multiplier_limit,
        distributes_free=given.should_distribute_free_volume_among_children,
        infer_weight=given.infer_weight_from_guarantees_share_multiplier,
        min_spare=MIN_SPARE if spare is None else spare,
        overcommit_duration=given.allowed_node_resources_overcommit_duration,
        waiting_blocks=given.disable_scheduling_on_node_with_waiting_allocations,
    )


def pools_of(state: State, tree: Tree) -> list[Pool]:
    """What counts for each queue, by its row; kept until a queue's entry changes. To look at, not to change."""
    read = state.tree.derived.get("ytsaurus.pools")
    if read is None or read[0] is not tree:
        read = tree, _pools(state, tree)
        state.tree.derived["ytsaurus.pools"] = read
    pools: list[Pool] = read[1]
    return pools


def _pools(state: State, tree: Tree) -> list[Pool]:
    queues = state.tree
    settings: dict[int, Pool] = {}
    root = root_pool(tree)
    for row in range(queues.size):
        for at in reversed(queues.path(row)):
            if at not in settings:
                above = queues.path(at)[1:2]
                own = PoolSettings.model_validate(queues.settings(at))
                document = queues.documents[at]
                weight = own.weight if document is None or document.weight is None else document.weight
                settings[at] = pool_from(own, settings[above[0]] if above else root, tree, weight=weight)
    return [settings[row] for row in range(queues.size)]


def root_pool(tree: Tree) -> Pool:
    """The root, which operations without a queue are in: the tree's own options."""
    return Pool(
        weight=None,
        fifo=False,
        fifo_sort=("weight", "start_time"),
        integral=Integral(NO_INTEGRAL, {}, {}, tree.relaxed_multiplier, True, tree.distributes_free),
        tolerance=tree.tolerance,
        timeout=tree.timeout,
        threshold=tree.threshold,
        aggressive_starvation=tree.aggressive_starvation,
        aggressive_allowed=True,
        normal_allowed=True,
        overcommit={},
        promised=False,
        step_for_gangs=True,
        max_running=tree.max_running,
        max_operations=tree.max_operations,
        historic_period=None,
        since=None,
        volume={},
        historic=None,
    )


def pool_from(own: PoolSettings, above: Pool, tree: Tree, *, weight: float | None = None) -> Pool:
    """What counts for a pool that gives these options below one for which `above` counts."""
    integral = own.integral_guarantees
    multiplier, distributes = (
        integral.relaxed_share_multiplier_limit,
        integral.should_distribute_free_volume_among_children,
    )
    return Pool(
        weight=weight,
        fifo=own.mode == "fifo",
        fifo_sort=tuple(own.fifo_sort_parameters),
        integral=Integral(
            kind=integral.guarantee_type,
            flow=integral.resource_flow,
            burst=integral.burst_guarantee_resources,
            multiplier=_or(multiplier, tree.relaxed_multiplier),
            accepts_free=integral.can_accept_free_volume,
            distributes_free=_or(distributes, tree.distributes_free),
        ),
        tolerance=_or(own.fair_share_starvation_tolerance, above.tolerance),
        timeout=_or(own.starvation_timeout, above.timeout),
        threshold=_or(own.non_preemptible_resource_usage_threshold, above.threshold),
        aggressive_starvation=_or(own.enable_aggressive_starvation, above.aggressive_starvation),
        aggressive_allowed=_or(own.aggressive_allowed, above.aggressive_allowed),
        normal_allowed=own.allow_normal_preemption and above.normal_allowed,
        overcommit=own.resource_limits_overcommit_tolerance,
        promised=own.compute_promised_guarantee_fair_share,
        step_for_gangs=_or(own.enable_step_function_for_gang_operations, True),
        max_running=_or(own.max_running_operation_count, tree.max_running_per_pool),
        max_operations=_or(own.max_operation_count, tree.max_operations_per_pool),
        historic_period=own.historic_usage_aggregation_period,
        since=own.below_fair_share_since,
        volume=own.accumulated_resource_volume,
        historic=own.historic_usage_share,
    )


_NOTHING = OperationSettings()


def operation_of(entry: App | None, pool: Pool, tree: Tree) -> Operation:
    """What counts for an operation in this pool, given the entry of its app if the file lists it."""
    if entry is None or not entry.settings:
        return _operation(_NOTHING, pool, tree, None if entry is None else entry.weight)
    own = OperationSettings.model_validate(entry.settings)
    return _operation(own, pool, tree, own.weight if entry.weight is None else entry.weight)


def _operation(own: OperationSettings, pool: Pool, tree: Tree, weight: float | None) -> Operation:
    """An operation may starve later and be protected less than its pool says, never the other way round."""
    tolerance, timeout = own.fair_share_starvation_tolerance, own.starvation_timeout
    return Operation(
        weight=weight,
        limits=own.resource_limits,
        tolerance=pool.tolerance if tolerance is None else min(tolerance, pool.tolerance),
        timeout=pool.timeout if timeout is None else max(timeout, pool.timeout),
        threshold=_lower(pool.threshold, own.non_preemptible_resource_usage_threshold),
        aggressive_allowed=pool.aggressive_allowed and (tree.aggressive_for_gangs or not own.is_gang),
        graceful=own.preemption_mode == "graceful",
        gang=own.is_gang,
        step=tree.step_for_gangs and pool.step_for_gangs and own.is_gang,
        tag_filter=parse_tag_filter(own.scheduling_tag_filter) if own.scheduling_tag_filter.strip() else None,
        medium=None if own.disk_request is None else own.disk_request.medium_name,
        limits_demand=own.apply_specified_resource_limits_to_demand,
        preemption_timeout=_or(own.allocation_preemption_timeout, tree.preemption_timeout),
        graceful_timeout=_or(own.allocation_graceful_preemption_timeout, tree.graceful_timeout),
        since=own.below_fair_share_since,
        historic=own.historic_usage_share,
    )


def _lower(inherited: Amounts, own: Amounts) -> Amounts:
    """The operation's value where none is inherited or it is smaller, so that it fills in what is not mentioned."""
    if not own:
        return inherited
    return {**own, **{name: min(nano, own.get(name, nano)) for name, nano in inherited.items()}}


def _or(given: T | None, default: T) -> T:
    return default if given is None else given
