"""Whether a plan of release 1.9 goes to a reserved node only where that reservation was cancelled or dropped before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

from cede.doctrines.yunikorn.settings import LAWS
from cede.model.plan import REQUEUED, Decision
from cede.model.times import SECOND, parse_duration
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


Sums = dict[int, dict[int, int]]
HOLDING = np.array([word in ("reserved", "running", "checkpointing") for word in STATES])


class Audit:
    """Follows a plan. What a queue holds, without what is leaving, is summed up when a law asks for it."""

    def __init__(self, state: State, edition: str) -> None:
        self.state = state
        self.laws = edition == LAWS
        self._sums: Sums = {}
        self._moves: list[tuple[int, int]] = []
        """Who came (1) and who went (-1) by the decisions so far."""
        self.reservations = ReservationAudit(state) if not self.laws and state.reservations else None

    def __call__(self, made: Decision) -> Iterator[str]:
        if self.reservations is not None:
            yield from self.reservations(made)
        if made.action == "preempt" or made.victims:
            yield from self._objections(made)
        self._follow(made)

    # -- sums --------------------------------------------------------------------------------------------------

    def _used(self, queue: int, column: int) -> int:
        """What the queue and all below it hold of a type after the decisions so far."""
        sums = self._sums.get(queue)
        if sums is None:
            sums = self._sums[queue] = self._sum_up(queue)
            for row, sign in self._moves:
                self._move(queue, row, sign)
        return sums.get(column, 0)

    def _sum_up(self, queue: int) -> dict[int, int]:
        work, size = self.state.work, self.state.work.size
        below = np.array([queue in self._up(other) for other in (*range(self.state.tree.size), NONE)])
        here = below[work.queue[:size]] & HOLDING[work.state[:size]]
        return dict(enumerate(work.usage[:, :size][:, here].sum(axis=1).tolist()))

    def _follow(self, made: Decision) -> None:
        """Victims have left and who starts or preempts is there."""
        index = self.state.work_index
        moves = [(index[victim.workload], -1) for victim in made.victims if not victim.leaving]
        if made.workload is not None and made.action in ("start", "preempt"):
            moves.append((index[made.workload], 1))
        for row, sign in moves:
            self._moves.append((row, sign))
            for queue in self._sums:
                self._move(queue, row, sign)

    def _move(self, queue: int, row: int, sign: int) -> None:
        if queue in self._up(int(self.state.work.queue[row])):
            sums = self._sums[queue]
            for column, amount in enumerate(self.state.work.usage[:, row].tolist()):
                sums[column] = sums.get(column, 0) + sign * amount

    def _up(self, queue: int) -> list[int]:
        path = []
        while queue != NONE:
            path.append(queue)
            queue = int(self.state.tree.parent[queue])
        return path

    def _promised(self, queue: int) -> dict[int, int]:
        """What an entry guarantees; nothing unless some amount is above zero."""
        given = {c: int(v) for c, v in enumerate(self.state.tree.guaranteed[:, queue].tolist()) if v != UNSET}
        return given if max(given.values(), default=0) > 0 else {}

    def _setting(self, queue: int, name: str) -> Any:
        return self.state.tree.settings(queue).get(name)

    # -- what is wrong -----------------------------------------------------------------------------------------

    def _objections(self, made: Decision) -> Iterator[str]:
        rows = [self.state.work_index[victim.workload] for victim in made.victims]
        for victim, row in zip(made.victims, rows, strict=True):
            word = STATES[self.state.work.state[row]]
            if word != "running":
                yield f"{victim.workload} is {word}"
            if self.state.work.required_node[row] != NONE:
                yield f"{victim.workload} needs its node and is never a victim"
            if victim.fate != REQUEUED:
                yield f"{victim.workload} would be {victim.fate}; what YuniKorn preempts is made anew"
        if made.workload is None:
            if self.laws:
                yield "edition laws evicts for a claimant only"
            return
        claimant = self.state.work_index[made.workload]
        pinned = bool(self.state.work.required_node[claimant] != NONE)
        yield from self._may_preempt(made, claimant, pinned=pinned)
        if not pinned:
            yield from self._may_trigger(made.workload, claimant)
            yield from self._in_reach(claimant, rows)
        if not self.laws:
            return
        yield from self._laws_of_each(claimant, rows)
        if not pinned:
            yield from self._law_4(claimant)
            yield from self._law_5(claimant, rows)
            yield from self._law_2(claimant, rows)
        places = {frozenset(self.state.nodes_of(row)) for row in rows}
        if self.state.nodes.size and (len(places) != 1 or len(next(iter(places))) != 1):
            yield "its victims do not stand on one node"

    def _may_preempt(self, made: Decision, claimant: int, *, pinned: bool) -> Iterator[str]:
        """Who says `preempts: false` does not preempt, but for release 1.9 on a required node, which then says so."""
        if self.state.work.preempts[claimant]:
            return
        if self.laws or not pinned:
            yield f"{made.workload} never preempts, yet it has victims"
        elif all(warning.rule != "yunikorn.preempts-not-read" for warning in made.warnings):
            yield f"{made.workload} says that it never preempts, and no warning says why it does"

    def _may_trigger(self, name: str, claimant: int) -> Iterator[str]:
        choice = self.state.static.doctrine
        if choice is not None and choice.settings.get("preemption.enabled") is False:
            yield "preemption is off"
        leaf = int(self.state.work.queue[claimant])
        places = self._up(leaf)[:1] if self.laws else self._up(leaf)
        given = [self._setting(queue, "preemption.delay") for queue in places]
        raw = next((value for value in given if value is not None), None)
        delay = (parse_duration(raw) if raw is not None else 0) or 30 * SECOND
        if self.state.now - int(self.state.work.submitted[claimant]) < delay:
            yield f"{name} has not waited for its preemption.delay"

    def _in_reach(self, claimant: int, rows: list[int]) -> Iterator[str]:
        """Law 7, policies, and preemption between queues only."""
        leaf = int(self.state.work.queue[claimant])
        path = self._up(leaf)
        fence = next((queue for queue in path[:-1] if self._setting(queue, "preemption.policy") == "fence"), None)
        for row in rows:
            name, own = self.state.work_names[row], self._up(int(self.state.work.queue[row]))
            if own[:1] == [leaf]:
                yield f"{name} is in the claimant's own queue"
            if (fence if fence is not None else path[-1] if path else NONE) not in own:
                yield f"law 7: {name} is outside the claimant's fence"
            policies = [policy for queue in own if (policy := self._setting(queue, "preemption.policy"))]
            if "disabled" in (policies if self.laws else policies[:1]):
                yield f"{name} is in a queue whose policy is disabled"

    def _laws_of_each(self, claimant: int, rows: list[int]) -> Iterator[str]:
        work, names = self.state.work, self.state.work_names
        app = self._app(claimant)
        for row in rows:
            if self._app(row) == app:
                yield f"law 3: {names[row]} is of the application {app} too"
            if int(work.priority[row]) > int(work.priority[claimant]):
                yield f"law 6: {names[row]} has priority {work.priority[row]}, above {work.priority[claimant]}"

    def _app(self, row: int) -> str:
        return self.state.apps.name(int(self.state.work.app[row])) or self.state.work_names[row]

    def _asked(self, claimant: int) -> list[int]:
        return [c for c, amount in enumerate(self.state.work.usage[:, claimant].tolist()) if c and amount > 0]

    def _law_4(self, claimant: int) -> Iterator[str]:
        for queue in self._up(int(self.state.work.queue[claimant])):
            promised = self._promised(queue)
            named = [column for column in self._asked(claimant) if column in promised]
            if named:
                if any(self._used(queue, column) >= promised[column] for column in named):
                    yield f"law 4: {self.state.tree.names[queue]} is not under its guarantee"
                return
        yield "law 4: no queue on the claimant's path guarantees what it asks for"

    def _law_5(self, claimant: int, rows: list[int]) -> Iterator[str]:
        asked = self._asked(claimant)
        own = self._up(int(self.state.work.queue[claimant]))
        measure = next((queue for queue in own if any(c in self._promised(queue) for c in asked)), None)
        for row in rows:
            leaf = int(self.state.work.queue[row])
            promised = self._promised(leaf)
            over = [c for c in asked if self._used(leaf, c) > promised.get(c, 0)]
            if measure is not None and leaf != measure:
                over = [c for c in over if c in promised or self._nearest(leaf, c) != measure]
            if not over:
                yield f"law 5: {self.state.tree.names[leaf]} of {self.state.work_names[row]} is not over its guarantee"

    def _nearest(self, queue: int, column: int) -> int | None:
        return next((above for above in self._up(queue) if column in self._promised(above)), None)

    def _law_2(self, claimant: int, rows: list[int]) -> Iterator[str]:
        above = set(self._up(int(self.state.work.queue[claimant])))
        touched = {queue for row in rows for queue in self._up(int(self.state.work.queue[row]))} - above
        for queue in sorted(touched):
            gone = [row for row in rows if queue in self._up(int(self.state.work.queue[row]))]
            for column, amount in self._promised(queue).items():
                left = self._used(queue, column) - sum(int(self.state.work.usage[column, row]) for row in gone)
                if left < amount:
                    kind = self.state.units.names[column]
                    yield f"law 2: {self.state.tree.names[queue]} is left with less {kind} than it is guaranteed"
