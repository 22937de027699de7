"""Integral guarantees: volume that a pool collects at its flow and spends as a share on top of its strong guarantee."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from cede.doctrines.ytsaurus.curves import EPSILON, OVER, Floats, by_suggestion
from cede.doctrines.ytsaurus.fair_share import FairShare
from cede.doctrines.ytsaurus.guarantees import counts_of
from cede.doctrines.ytsaurus.pool_tree import Pools
from cede.doctrines.ytsaurus.settings import BURST, RELAXED, Amounts
from cede.doctrines.ytsaurus.starvation import Memory
from cede.model.times import SECOND
from cede.state.columns import NONE

HALVINGS = 60


class Integrals:
    """The pools that have such a guarantee, and what they are given in an update."""

    def __init__(self, pools: Pools) -> None:
        self.pools = pools
        self.totals = [pools.total[partition].astype(np.float64) for partition in pools.tree_of]
        walked = self._depth_first()
        self.burst = [pool for pool in walked if pools.settings[pool].integral.kind == BURST]
        self.relaxed = [pool for pool in walked if pools.settings[pool].integral.kind == RELAXED]
        self.flow = {pool: self._amounts(pool, pools.settings[pool].integral.flow) for pool in self.all}
        self.burst_ratio = {
            pool: self._part(pool, self._amounts(pool, pools.settings[pool].integral.burst)) for pool in self.burst
        }

    @property
    def all(self) -> list[int]:
        return [*self.burst, *self.relaxed]

    def _depth_first(self) -> list[int]:
        order: list[int] = []
        stack = list(reversed(range(self.pools.size, len(self.pools.settings))))
        while stack:
            pool = stack.pop()
            order.append(pool)
            stack += reversed(self.pools.children[pool])
        return order

    def _amounts(self, pool: int, given: Amounts) -> Floats:
        """Counts; what is not named follows the main resource, as a part of the whole cluster."""
        pools, total = self.pools, self.totals[pool]
        names = [pools.state.units.names[column] for column in pools.columns]
        counts = counts_of(pools, given)
        if pools.tree.main_resource in names:
            main = names.index(pools.tree.main_resource)
            part = counts[main] / total[main] if total[main] > 0 else 0.0
            for at, name in enumerate(names):
                if name not in given:
                    counts[at] = part * total[at]
        return counts

    def _part(self, pool: int, amounts: Floats) -> float:
        """The part of the cluster that so much is of its scarcest resource."""
        there = self.totals[pool] > 0
        return float((amounts[there] / self.totals[pool][there]).min()) if there.any() else 0.0

    def burst_of_trees(self) -> Floats:
        """What burst pools are guaranteed in all, by tree."""
        burst = np.zeros((len(self.pools.total), len(self.pools.columns)))
        for pool in self.burst:
            burst[self.pools.tree_of[pool]] += self.burst_ratio[pool]
        return burst

    def flows(self) -> Floats:
        """The share of resource flow of each pool with all below it."""
        flows = np.zeros(len(self.pools.settings))
        for pool in self.all:
            flows[self.pools.paths[pool]] += self._part(pool, self.flow[pool])
        return flows

    # -- volumes ---------------------------------------------------------------------------------------------------

    def _collect(self, memory: Memory, elapsed: int) -> dict[int, Floats]:
        """The volume of each pool in amounts times seconds, after so many microseconds; kept for the next time."""
        self._convert(memory)
        seconds = elapsed / SECOND
        period = self.pools.tree.capacity_period / SECOND
        volumes: dict[int, Floats] = {}
        spare: dict[int, Floats] = {}
        for pool in self.all:
            name = self.pools.name(pool)
            kept = memory.volumes.get(name)
            if kept is None:
                volumes[pool] = self._amounts(pool, self.pools.settings[pool].volume)
                continue
            had, spent = np.array(kept), np.array(memory.spent.get(name, [0.0] * len(kept)))
            growth = (self.flow[pool] - spent * self.totals[pool]) * seconds
            room = np.maximum(self.flow[pool] * period - had, 0.0)
            volumes[pool] = np.maximum(had + np.minimum(growth, room), 0.0)
            # of the growth alone: beside a huge volume it has no digits left
            spare[pool] = np.maximum(growth - room, 0.0)
        self._hand_on(volumes, spare, period)
        memory.volumes = {self.pools.name(pool): volume.tolist() for pool, volume in volumes.items()}
        return volumes

    def _convert(self, memory: Memory) -> None:
        """What was kept in counts of the cycle before, in those of this one; of a new resource as of the main one."""
        units, before = self.pools.state.units, memory.resources
        memory.resources = {units.names[column]: units.nano[column] for column in self.pools.columns.tolist()}
        if not before or before == memory.resources:
            return
        for pool in self.all:
            name = self.pools.name(pool)
            if name in memory.volumes:
                kept = zip(before.items(), memory.volumes[name], strict=True)
                nanos = {resource: round(count * nano) for (resource, nano), count in kept}
                spent = dict(zip(before, memory.spent.get(name, ()), strict=False))
                memory.volumes[name] = self._amounts(pool, nanos).tolist()
                memory.spent[name] = [spent.get(resource, 0.0) for resource in memory.resources]

    def _hand_on(self, volumes: dict[int, Floats], spare: dict[int, Floats], period: float) -> None:
        """What overflows goes to siblings that take it, where the parent says so; what these leave, to its siblings."""
        settings = self.pools.settings
        if not any(one.integral.distributes_free for one in settings):
            return
        walked, none = self._depth_first(), np.zeros((len(settings), len(self.pools.columns)))
        over, room, below, taken = none.copy(), none.copy(), none.copy(), none.copy()
        for pool in reversed(walked):
            if pool in spare:
                over[pool] = spare[pool]
                room[pool] = np.maximum(self.flow[pool] * period - volumes[pool], 0.0)
            else:
                children = self.pools.children[pool]
                below[pool] = over[children].sum(axis=0)
                left = below[pool] - room[children].sum(axis=0)
                over[pool], room[pool] = np.maximum(left, 0.0), np.maximum(-left, 0.0)
            if not settings[pool].integral.accepts_free:
                room[pool] = 0.0
        flows = self.flows()
        for pool in walked:
            children = self.pools.children[pool]
            if pool in spare:
                volumes[pool] = volumes[pool] + taken[pool]
            elif children and settings[pool].integral.distributes_free:
                taken[children] = _poured(taken[pool] + below[pool], room[children], flows[children])

    # -- shares ----------------------------------------------------------------------------------------------------

    def shares(self, fair: FairShare, strong: Floats, factors: Floats, memory: Memory, elapsed: int) -> Floats | None:
        """What each pool is given on top of its strong guarantee, ancestors included; none where no pool has any."""
        if not self.all:
            return None
        volumes = self._collect(memory, elapsed)
        smooth = self.pools.tree.smooth_period / SECOND
        by_volume = {pool: self._part(pool, volume) / smooth for pool, volume in volumes.items()}
        fair.refresh()
        curves = {pool: fair.by_fit(pool) for pool in self.all}
        given = np.zeros_like(strong)

        def raised(pool: int, more: float) -> Floats:
            """What the pool would use beyond its guarantee if it were guaranteed so much more."""
            polyline = curves[pool]
            if polyline is None or more <= 0:
                return np.zeros(strong.shape[1])
            path = [above for above in self.pools.paths[pool] if self.pools.parent[above] != NONE]
            free = np.maximum((fair.limits[path] - strong[path] - given[path]).min(axis=0), 0.0)
            guarantee = strong[pool] + np.minimum(more, free)
            used = by_suggestion(*polyline, guarantee, fair.limits[pool]).at(0.0)[1]
            more_than: Floats = np.maximum(used - strong[pool], 0.0)
            return more_than

        def give(pool: int, more: float) -> None:
            given[self.pools.paths[pool]] += raised(pool, more)

        for pool in self.burst:
            give(pool, min(self.burst_ratio[pool] * factors[self.pools.tree_of[pool]], by_volume[pool]))
        for partition in range(len(self.pools.total)):
            relaxed = [pool for pool in self.relaxed if self.pools.tree_of[pool] == partition]
            if relaxed:
                left = self._left(fair, strong + given, partition)
                for pool, more in self._relaxed(relaxed, by_volume, raised, left).items():
                    give(pool, more)
        memory.spent = {self.pools.name(pool): given[pool].tolist() for pool in self.all}
        return given

    def _relaxed(
        self, relaxed: list[int], by_volume: dict[int, float], raised: Callable[[int, float], Floats], left: Floats
    ) -> dict[int, float]:
        """What relaxed pools are raised by: all in proportion to their volume, as much as is left."""
        most = {
            pool: self._part(pool, self.flow[pool]) * self.pools.settings[pool].integral.multiplier for pool in relaxed
        }

        def more(part: float) -> dict[int, float]:
            return {pool: min(part * by_volume[pool], most[pool]) for pool in relaxed}

        return more(_largest(lambda part: np.sum([raised(*one) for one in more(part).items()], axis=0), left))

    def _left(self, fair: FairShare, guarantee: Floats, partition: int) -> Floats:
        """What strong and burst guarantees leave unused at the top of a tree."""
        changed = np.flatnonzero((guarantee != fair.guarantee).any(axis=1))
        fair.guarantee = guarantee
        fair.touch(changed.tolist())
        fair.refresh()
        root = self.pools.size + partition
        used = np.sum([fair.curves[child].at(0.0)[1] for child in self.pools.children[root]], axis=0)
        there = self.totals[root] > 0
        unused: Floats = np.where(there, np.maximum(1.0 - used, 0.0), 0.0)
        return unused


def _poured(volume: Floats, room: Floats, weights: Floats) -> Floats:
    """What each takes of a volume, (takers, resources): by weight; what is too much for one goes to the others."""
    poured = np.zeros_like(room)
    for resource, most in enumerate(volume.tolist()):
        rest = most
        takers = [at for at in range(len(weights)) if room[at, resource] > 0 and weights[at] > EPSILON]
        heavy = float(weights[takers].sum())
        for at in sorted(takers, key=lambda one: room[one, resource] / weights[one]):
            poured[at, resource] = min(rest * weights[at] / heavy, room[at, resource])
            rest, heavy = rest - poured[at, resource], heavy - weights[at]
    return poured


def _largest(use: Callable[[float], Floats], left: Floats) -> float:
    """The largest part up to 1 of which the use is no more than what is left."""
    if (use(1.0) <= left + OVER).all():
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if (use(middle) <= left + OVER).all() else (low, middle)
    return low
