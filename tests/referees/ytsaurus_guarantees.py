"""What a pool is promised before anything is shared: guarantees, limits, weights, and which operations run at all."""

from __future__ import annotations

from fractions import Fraction

from tests.referees.ytsaurus_tree import ONE, WAITS, ZERO, Amounts, Element, Tree, Vector, add, amounts_of, exact, least

TINY = Fraction(1, 10**9)


def prepare(tree: Tree) -> None:
    """Usage, demand, limits, guarantees and weights of every element."""
    admit(tree)
    for element in tree.elements[::-1]:
        _weigh_up(tree, element)
    _guarantee(tree)
    for element in tree.elements:
        element.integral = tuple(ZERO for _ in tree.resources)
        element.weight = weight_of(tree, element)


# -- which operations run ----------------------------------------------------------------------------------------------


def admit(tree: Tree) -> None:
    """Operations that hold room first, then the earliest, each while no pool above it, nor the tree, is full."""
    accepted: dict[Element, int] = {}
    running: dict[Element, int] = {}

    def seniority(operation: Element) -> tuple[bool, int, str]:
        holds = any(work.state not in WAITS for work in operation.works)
        return (not holds, operation.started, operation.name)

    for operation in sorted(tree.operations, key=seniority):
        above = [*operation.pools, tree.root]
        operation.accepted = all(accepted.get(one, 0) < _most(tree, one, "max_operation_count") for one in above)
        operation.running = operation.accepted and all(
            running.get(one, 0) < _most(tree, one, "max_running_operation_count") for one in above
        )
        for one in above:
            accepted[one] = accepted.get(one, 0) + operation.accepted
            running[one] = running.get(one, 0) + operation.running
    first = tree.option("max_schedulable_element_count_in_fifo_pool")
    for operation in tree.operations:
        operation.schedulable = operation.running and bool(operation.waiting)
        parent = operation.parent
        if first is not None and parent is not None and parent.settings.get("mode") == "fifo":
            order = [one for one in fifo_order(tree, parent) if one.running]
            operation.schedulable = operation.schedulable and operation in order[:first]


def _most(tree: Tree, element: Element, name: str) -> int:
    if element.kind == "root":
        return int(tree.option(name, {"max_operation_count": 50000}.get(name, 2000)))
    given = element.settings.get(name)
    return int(tree.option(f"{name}_per_pool", 50) if given is None else given)


def fifo_order(tree: Tree, pool: Element) -> list[Element]:
    keys = pool.settings.get("fifo_sort_parameters", ["weight", "start_time"])

    def key(child: Element) -> tuple[object, ...]:
        values = {
            "weight": -weight_of(tree, child),
            "start_time": child.started,
            "pending_job_count": len(child.waiting),
        }
        return (*(values[name] for name in keys), child.name)

    return sorted(pool.children, key=key)


# -- usage, demand, limits ---------------------------------------------------------------------------------------------


def _weigh_up(tree: Tree, element: Element) -> None:
    element.usage = tree.usage_share(element)
    limit = element.limit if element.kind != "root" else {}
    element.limits = tuple(
        (min(limit.get(name, whole), whole) / whole if whole else ZERO)
        for name, whole in zip(tree.resources, tree.total, strict=True)
    )
    if element.kind != "operation":
        element.demand = add(*([child.demand for child in element.children] or [element.usage]))
        return
    demand = element.used()
    for work in element.waiting if element.running else ():
        for name, amount in work.need.items():
            demand[name] = demand.get(name, ZERO) + amount
    element.demand = tree.ratio(tree.vector(demand))
    element.limits = least(element.limits, _best_allocation(tree, demand))


def _best_allocation(tree: Tree, demand: Amounts) -> Vector:
    """Of memory only as much as whole allocations of the average size would take of the nodes."""
    slots, memory = demand.get("user_slots", ZERO), demand.get("memory", ZERO)
    if not (slots and memory):
        return tuple(ONE for _ in tree.resources)
    size = memory / slots
    fits = sum((max(ZERO, one.room.get("memory", ZERO)) // size * size for one in tree.counted), ZERO)
    share = tree.ratio(tree.vector({"memory": fits}))
    return tuple(one if name == "memory" else ONE for name, one in zip(tree.resources, share, strict=True))


# -- guarantees --------------------------------------------------------------------------------------------------------


def strong_of(pool: Element) -> Amounts:
    names = ("strong_guarantee_resources", "min_share_resources")
    given = next((pool.settings[name] for name in names if pool.settings.get(name) is not None), None)
    return amounts_of(pool.entry.get("guaranteed") if given is None else given)


def _guarantee(tree: Tree) -> None:
    amounts = {tree.root: dict(zip(tree.resources, tree.total, strict=True))}
    for element in tree.elements:
        if element.kind == "operation":
            element.guarantee = tuple(ZERO for _ in tree.resources)
        else:
            amounts |= _inferred(tree, element, amounts[element])
            element.guarantee = tree.ratio(tree.vector(amounts[element]))
    root = tree.root
    root.guarantee = add(tuple(ZERO for _ in tree.resources), *(child.guarantee for child in root.children))
    bursts = sum((burst_ratio(tree, pool) for pool in tree.pools), ZERO)
    factor = min([ONE, *(ONE / (strong + bursts) for strong in root.guarantee if strong + bursts > 1)])
    root.guarantee = _scaled(root.guarantee, factor)
    tree.root.entry["burst_factor"] = factor
    for element in tree.elements:
        element.guarantee = least(element.guarantee, element.limits)
        sums = add(tuple(ZERO for _ in tree.resources), *(child.guarantee for child in element.children))
        pairs = zip(element.guarantee, sums, strict=True)
        fits = min([ONE, *(most / asked for most, asked in pairs if asked > most)])
        for child in element.children:
            child.guarantee = _scaled(child.guarantee, fits)


def _scaled(vector: Vector, factor: Fraction) -> Vector:
    return tuple(one * factor for one in vector)


def _inferred(tree: Tree, parent: Element, have: Amounts) -> dict[Element, Amounts]:
    """What the pools right below one are guaranteed; what a pool does not list follows the main resource."""
    main = tree.option("main_resource", "cpu")
    pools = [child for child in parent.children if child.kind == "pool"]
    found = {pool: dict(strong_of(pool)) for pool in pools}
    for name in tree.resources:
        if name == main:
            continue
        explicit = sum((found[pool][name] for pool in pools if name in found[pool]), ZERO)
        part = {
            pool: have[name] * (found[pool].get(main, ZERO) / have[main]) if have.get(main) else ZERO
            for pool in pools
            if name not in found[pool]
        }
        left, asked = max(ZERO, have[name] - explicit), sum(part.values(), ZERO)
        factor = left / asked if parent.kind != "root" and asked > left else ONE
        for pool, amount in part.items():
            found[pool][name] = amount * factor
    return {pool: {name: found[pool].get(name, ZERO) for name in tree.resources} for pool in pools}


# -- integral guarantees, as far as they are settings ------------------------------------------------------------------


def integral_settings(pool: Element) -> dict[str, object]:
    found: dict[str, object] = pool.settings.get("integral_guarantees") or {}
    return found


def promise(tree: Tree, pool: Element, key: str) -> Amounts:
    """A flow, a burst or a volume; what is not listed follows the main resource."""
    given = pool.settings.get(key) if key == "accumulated_resource_volume" else integral_settings(pool).get(key)
    amounts = amounts_of(given)  # type: ignore[arg-type]
    main = tree.option("main_resource", "cpu")
    totals = dict(zip(tree.resources, tree.total, strict=True))
    part = amounts.get(main, ZERO) / totals[main] if totals.get(main) else ZERO
    return {name: amounts.get(name, part * whole) for name, whole in totals.items()}


def smallest_part(tree: Tree, amounts: Amounts) -> Fraction:
    """The least share of any resource that the cluster has."""
    return min(
        (amounts[name] / whole for name, whole in zip(tree.resources, tree.total, strict=True) if whole), default=ZERO
    )


def burst_ratio(tree: Tree, pool: Element) -> Fraction:
    if integral_settings(pool).get("guarantee_type") != "burst":
        return ZERO
    return smallest_part(tree, promise(tree, pool, "burst_guarantee_resources"))


def flow_ratio(tree: Tree, pool: Element) -> Fraction:
    if integral_settings(pool).get("guarantee_type") not in ("burst", "relaxed"):
        return ZERO
    return smallest_part(tree, promise(tree, pool, "resource_flow"))


# -- weights -----------------------------------------------------------------------------------------------------------


def weight_of(tree: Tree, element: Element) -> Fraction:
    """Less for what was used before, where the parent remembers it."""
    weight = _own_weight(tree, element)
    if element.parent is None or element.parent.settings.get("historic_usage_aggregation_period") is None:
        return weight
    return weight * Fraction(2 ** -float(element.settings.get("historic_usage_share") or 0))


def _own_weight(tree: Tree, element: Element) -> Fraction:
    given = element.settings.get("weight")
    given = element.entry.get("weight") if given is None else given
    if given is not None:
        return exact(given)
    multiplier = tree.option("infer_weight_from_guarantees_share_multiplier")
    if multiplier is None or element.kind != "pool" or element.parent is None:
        return ONE
    own, above = _owed(tree, element), _owed(tree, element.parent)
    return ONE if own < TINY or above < TINY else exact(multiplier) * own / above


def _owed(tree: Tree, element: Element) -> Fraction:
    flows = sum((flow_ratio(tree, one) for one in element.below if one.kind == "pool"), ZERO)
    return max(element.guarantee, default=ZERO) + flows
