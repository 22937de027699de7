"""Whether a plan of release 1.9 goes to a reserved node only where that reservation was cancelled or dropped before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np

from cede.model.plan import Decision
from cede.model.times import SECOND
from cede.state.columns import NEVER, NODE_STATES, NONE, STATES, UNSET
from cede.state.state import State
from cede.state.units import WHOLE

HOUR = 3600 * SECOND
HOLDS = ("reserved", "running", "checkpointing", "preempting")


class ReservationAudit:
    """Follows a plan: a start or a preemption ends a pass, and old reservations are looked at before each pass."""

    def __init__(self, state: State) -> None:
        self.state = state
        kept = state.nodes.reserved_for[: state.nodes.size]
        self.holder = {node: int(kept[node]) for node in np.flatnonzero(kept != NONE).tolist()}
        self.old = {node for node in self.holder if self._age(node) > HOUR}
        self.dropped: set[int] = set()
        self.came: set[int] = set()
        self.gone: set[int] = set()
        self.between_passes = True

    def _age(self, node: int) -> int:
        since = int(self.state.nodes.reserved_since[node])
        if since == NEVER:
            since = int(self.state.work.submitted[self.holder[node]]) + 2 * SECOND
        return self.state.now - since

    def __call__(self, made: Decision) -> Iterator[str]:
        if self.between_passes and made.workload is not None:
            self._begin_pass()
        self.gone |= {self.state.work_index[victim.workload] for victim in made.victims}
        if made.workload is not None and made.action in ("start", "preempt"):
            row = self.state.work_index[made.workload]
            for node in sorted({self.state.node_index[name] for name in made.nodes}):
                if self.holder.get(node, row) != row and not self._is_free(node, row):
                    holder = self.state.work_names[self.holder[node]]
                    yield f"{self.state.node_names[node]} is reserved for {holder}, which nothing cancels"
            self.came.add(row)
            self.between_passes = True

    def _is_free(self, node: int, row: int) -> bool:
        """Whether its reservation was dropped, or is cancelled for this one or for another who waits."""
        work = self.state.work
        if node in self.dropped or work.required_node[row] != NONE:
            return True
        if node not in self.old or work.required_node[self.holder[node]] != NONE:
            return False
        others = (other for other in self.state.pending if work.required_node[other] == NONE)
        return any(work.priority[other] > work.priority[self.holder[node]] for other in others)

    def _begin_pass(self) -> None:
        self.between_passes = False
        for node in self.old - self.dropped:
            holder = self.holder[node]
            waits = STATES[self.state.work.state[holder]] in ("pending", "suspended") and holder not in self.came
            pinned = self.state.work.required_node[holder] != NONE
            ready = NODE_STATES[self.state.nodes.state[node]] == "ready"
            if waits and ready and not pinned and not self._has_headroom(holder):
                self.dropped.add(node)

    def _has_headroom(self, holder: int) -> bool:
        """Whether it fits under every max on its path and into all that the nodes have."""
        state = self.state
        if state.static.tenants or len(state.partitions.names) > 1:
            return False  # not looked at any closer: its reservation counts as dropped
        asked = {c: amount for c, amount in enumerate(state.work.usage[:, holder].tolist()) if amount and c != WHOLE}
        path = state.tree.path(int(state.work.queue[holder]))
        for queue in path:
            used = self._used(queue)
            limits = state.tree.max[:, queue].tolist()
            if queue == path[-1] and state.nodes.size and not self._fits(asked, used, self._capacity()):
                return False
            if any(limits[c] not in (UNSET, 0) for c in range(len(limits))) and not self._fits(asked, used, limits):
                return False
        return True

    @staticmethod
    def _fits(asked: dict[int, int], used: Counter[int], limits: list[int]) -> bool:
        return all(limits[c] == UNSET or used[c] + amount <= limits[c] for c, amount in asked.items())

    def _capacity(self) -> list[int]:
        nodes = self.state.nodes
        return [total if total > 0 else UNSET for total in nodes.capacity[:, : nodes.size].sum(axis=1).tolist()]

    def _used(self, queue: int) -> Counter[int]:
        """What is held in and below a queue; of who leaves and who waits for that, the larger counts."""
        state = self.state
        sums = {word: Counter[int]() for word in HOLDS}
        for row in range(state.work.size):
            word = "running" if row in self.came else STATES[state.work.state[row]]
            if word in sums and row not in self.gone and queue in state.tree.path(int(state.work.queue[row])):
                sums[word].update(dict(enumerate(state.work.usage[:, row].tolist())))
        return sums["running"] + sums["checkpointing"] + (sums["reserved"] | sums["preempting"])
