"""Integral guarantees: what burst and relaxed pools may use beyond their strong guarantee for a while."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from cede.model.times import parse_duration
from tests.referees.ytsaurus_guarantees import (
    burst_ratio,
    flow_ratio,
    integral_settings,
    prepare,
    promise,
    smallest_part,
)
from tests.referees.ytsaurus_shares import Curve, distribute
from tests.referees.ytsaurus_tree import ONE, ZERO, Amounts, Element, Tree, Vector, add, exact, within

SECOND = 10**6
STEPS = 60


@dataclass
class Volumes:
    """What the pools have saved up, in resources times seconds, and the integral shares of the update before."""

    saved: dict[str, Amounts] = field(default_factory=dict)
    spent: dict[str, Vector] = field(default_factory=dict)


def update(tree: Tree, volumes: Volumes | None = None, elapsed: int = 0) -> Volumes:
    """One fair share update: every element has its share when it is done."""
    prepare(tree)
    volumes = volumes or Volumes()
    _refill(tree, volumes, Fraction(elapsed, SECOND))
    root = Curve(tree, tree.root)
    curves = {curve.element: curve for curve in root.below}
    bursts = [pool for pool in tree.pools if integral_settings(pool).get("guarantee_type") == "burst"]
    relaxed = [pool for pool in tree.pools if integral_settings(pool).get("guarantee_type") == "relaxed"]
    for pool in bursts:
        scaled = burst_ratio(tree, pool) * tree.root.entry["burst_factor"]
        _raise(curves, pool, beyond(curves, pool, min(scaled, by_volume(tree, pool, volumes))))
    _relax(tree, curves, relaxed, volumes)
    distribute(tree, root)
    for pool in [*bursts, *relaxed]:
        volumes.spent[pool.name] = pool.integral
    return volumes


def by_volume(tree: Tree, pool: Element, volumes: Volumes) -> Fraction:
    """How much of the cluster the saved volume pays for during one smooth period."""
    given = (tree.option("integral_guarantees") or {}).get("smooth_period", 60)
    return smallest_part(tree, volumes.saved[pool.name]) / Fraction(parse_duration(given), SECOND)


def beyond(curves: dict[Element, Curve], pool: Element, ratio: Fraction) -> Vector:
    """What the pool would use beyond its guarantee, were it raised by the ratio as far as the limits above allow."""
    curve = curves[pool]
    room = [max(ZERO, most - have) for most, have in zip(*_narrowest(pool.pools), strict=True)]
    curve.extra = tuple(min(ratio, free) for free in room)
    curve.forget()
    used = curve.share(ZERO).value
    curve.extra = curve.zero
    curve.forget()
    return tuple(max(ZERO, one - strong) for one, strong in zip(used, pool.guarantee, strict=True))


def _narrowest(pools: list[Element]) -> tuple[Vector, Vector]:
    """Of every resource the limit, and what is promised, of the pool on the path with the least between them."""
    columns = zip(*(zip(one.limits, add(one.guarantee, one.integral), strict=True) for one in pools), strict=True)
    chosen = [min(column, key=lambda pair: pair[0] - pair[1]) for column in columns]
    return tuple(most for most, _ in chosen), tuple(have for _, have in chosen)


def _raise(curves: dict[Element, Curve], pool: Element, integral: Vector) -> None:
    """The integral share counts as a guarantee of the pool and of all above it."""
    root = next(curve for curve in curves.values() if curve.element.kind == "root")
    for one in [*pool.path, root.element]:
        one.integral = add(one.integral, integral)
        curves[one].extra = one.integral
        curves[one].forget()


def _relax(tree: Tree, curves: dict[Element, Curve], pools: list[Element], volumes: Volumes) -> None:
    """The largest part of what each saved, the same for all, that fits what the others leave at the top."""
    if not pools:
        return
    root = curves[tree.root]
    used = add(root.zero, *(child.share(ZERO).value for child in root.children))
    left = tuple(max(ZERO, whole - one) for whole, one in zip(tree.root.limits, used, strict=True))

    def asked(part: Fraction) -> list[Vector]:
        return [beyond(curves, pool, min(part * by_volume(tree, pool, volumes), _most(tree, pool))) for pool in pools]

    def fits(part: Fraction) -> bool:
        return within(add(root.zero, *asked(part)), left)

    part = _largest(fits)
    for pool in pools:
        ratio = min(part * by_volume(tree, pool, volumes), _most(tree, pool))
        _raise(curves, pool, beyond(curves, pool, ratio))


def _most(tree: Tree, pool: Element) -> Fraction:
    tree_wide = (tree.option("integral_guarantees") or {}).get("relaxed_share_multiplier_limit", 3)
    own = integral_settings(pool).get("relaxed_share_multiplier_limit")
    return flow_ratio(tree, pool) * exact(tree_wide if own is None else own)


def _largest(fits: object) -> Fraction:
    """The largest part in [0, 1] that fits, by bisection; a simple fraction right beside it is taken for it."""
    assert callable(fits)
    low, high = ZERO, ONE
    if fits(high):
        return high
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    near = low.limit_denominator(10**6)
    return near if abs(near - low) < Fraction(1, 10**12) and fits(near) else low


# -- volumes -----------------------------------------------------------------------------------------------------------


def _refill(tree: Tree, volumes: Volumes, seconds: Fraction) -> None:
    """Saved at the flow, spent at the last integral share; what is above the capacity is kept but does not grow."""
    given = (tree.option("integral_guarantees") or {}).get("pool_capacity_saturation_period", 86400)
    period = Fraction(parse_duration(given), SECOND)
    over: dict[Element, Amounts] = {}
    pools = [one for one in tree.pools if integral_settings(one).get("guarantee_type") in ("burst", "relaxed")]
    for pool in pools:
        flow, spent = promise(tree, pool, "resource_flow"), volumes.spent.get(pool.name)
        saved = volumes.saved.get(pool.name) or promise(tree, pool, "accumulated_resource_volume")
        over[pool], volumes.saved[pool.name] = {}, {}
        for index, name in enumerate(tree.resources):
            used = spent[index] * tree.total[index] * seconds if spent else ZERO
            had = saved.get(name, ZERO)
            grown, most = max(ZERO, had + flow[name] * seconds - used), max(had, flow[name] * period)
            volumes.saved[pool.name][name] = min(grown, most)
            over[pool][name] = max(ZERO, grown - most)
    for name in tree.resources:
        free = _Free(tree, volumes, name, period, {one: over[one][name] for one in over})
        _pour(tree, volumes, tree.root, ZERO, free)


@dataclass
class _Free:
    """Volume of one resource that pools could not save."""

    tree: Tree
    volumes: Volumes
    name: str
    period: Fraction
    over: dict[Element, Fraction]

    def balance(self, pool: Element) -> tuple[Fraction, Fraction]:
        """What overflows out of a pool with all below it, and what it has room for."""
        if pool in self.over:
            left = promise(self.tree, pool, "resource_flow")[self.name] * self.period
            found = self.over[pool], max(ZERO, left - self.volumes.saved[pool.name][self.name])
        else:
            sides = [self.balance(child) for child in pool.children if child.kind == "pool"]
            more = sum((one for one, _ in sides), ZERO) - sum((one for _, one in sides), ZERO)
            found = max(ZERO, more), max(ZERO, -more)
        return found if integral_settings(pool).get("can_accept_free_volume", True) else (found[0], ZERO)

    def flow(self, pool: Element) -> Fraction:
        """The flow of a pool with all below it, as a part of the cluster."""
        return sum((flow_ratio(self.tree, one) for one in pool.below if one in self.over), ZERO)


def _pour(tree: Tree, volumes: Volumes, pool: Element, given: Fraction, free: _Free) -> None:
    """To the pool what it was given; to its children that and what overflows among them, in proportion to flow. Those
    who are full soonest have theirs first, the others share the rest."""
    if pool in free.over:
        volumes.saved[pool.name][free.name] += given
        return
    children = [child for child in pool.children if child.kind == "pool"]
    own = integral_settings(pool).get("should_distribute_free_volume_among_children")
    parts = dict.fromkeys(children, ZERO)
    if tree.option("should_distribute_free_volume_among_children", False) if own is None else own:
        rest = given + sum((free.balance(child)[0] for child in children), ZERO)
        rooms = {child: free.balance(child)[1] for child in children if free.flow(child)}
        takers = sorted((child for child in rooms if rooms[child]), key=lambda one: rooms[one] / free.flow(one))
        for at, child in enumerate(takers):
            weight = sum((free.flow(one) for one in takers[at:]), ZERO)
            parts[child] = min(rooms[child], rest * free.flow(child) / weight)
            rest -= parts[child]
    for child in children:
        _pour(tree, volumes, child, parts[child], free)
