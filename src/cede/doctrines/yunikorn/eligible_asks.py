"""Which asks of each leaf may try to preempt now, and when the others may: kept from cycle to cycle.

An ask is too young first. Once it is old enough it is ready, and each time it tried in vain it is left alone for a
while; but at the moment of that try it may try again, as often as there is a plan.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable
from heapq import heappop, heappush

from cede.doctrines.parts.doctrine import Cycle
from cede.doctrines.yunikorn.memory import Checked, Memory
from cede.doctrines.yunikorn.settings import CHECK_INTERVAL
from cede.doctrines.yunikorn.snapshot import promised_at_most
from cede.doctrines.yunikorn.sparse_amounts import Vector
from cede.doctrines.yunikorn.waiting_line import Key, Line
from cede.state.columns import NONE
from cede.state.state import State

MEMORY = "yunikorn-eligible"


class Leaf:
    """One leaf's asks that may preempt at all. Entries of some that left are dropped when somebody comes to them."""

    __slots__ = ("batches", "delay", "promised", "ready", "tried", "tried_at", "young")

    def __init__(self, delay: int, promised: Vector[int]) -> None:
        self.delay = delay
        self.promised = promised
        """What it may be owed at most, if nothing was held."""
        self.ready: list[Key] = []
        """Those that may try, in order."""
        self.young: list[tuple[int, Key]] = []
        """When each will be old enough; a heap."""
        self.batches: list[tuple[int, list[Key]]] = []
        """Those that tried at one moment, and when they may try again; in order."""
        self.tried: dict[Key, None] = {}
        """Those that are ready although they tried: it was at the moment `tried_at`, which is not over."""
        self.tried_at = 0

    def add(self, key: Key, now: int, seen: Checked | None) -> None:
        """One that came to the line."""
        if key[1] + self.delay > now:
            heappush(self.young, (key[1] + self.delay, key))
        elif seen is not None and seen.at < now < seen.at + CHECK_INTERVAL:
            insort(self.batches, (seen.at + CHECK_INTERVAL, [key]))
        else:
            insort(self.ready, key)
            if seen is not None and seen.at == now:
                self.tried[key] = None
                self.tried_at = now

    def advance(self, now: int, line: Line, memory: Memory) -> None:
        """As it is at this time."""
        if self.tried and self.tried_at < now:
            self._set_aside(now)
        while self.young and self.young[0][0] <= now:
            _, key = heappop(self.young)
            if line.waits(key):
                self.add(key, now, memory.checked.get(key[2]))
        while self.batches and self.batches[0][0] <= now:
            self.ready += self.batches.pop(0)[1]
            self.ready.sort()

    def _set_aside(self, now: int) -> None:
        """Those that tried at a moment that is over are ready no more, until their time has come."""
        tried, until = list(self.tried), self.tried_at + CHECK_INTERVAL
        if until > now:
            if self.ready[: len(tried)] == tried:
                del self.ready[: len(tried)]
            else:
                self.ready = [key for key in self.ready if key not in self.tried]
            insort(self.batches, (until, tried))
        self.tried.clear()

    def may_be_due_before(self, at: int | None) -> bool:
        """Whether anybody here can be the first who may try, where somebody else may at this time."""
        young, batches = self.young, self.batches
        if at is None:
            return bool(young or batches)
        return bool((young and young[0][0] < at) or (batches and batches[0][0] < at))

    def wake(self, cycle: Cycle, line: Line, memory: Memory, gone: set[int], before: Key | None) -> None:
        """The cycle knows when the next one may try, of those before this one; not of those that are served, nor on
        what has not changed since it tried.
        """
        young, version = self.young, cycle.state.version
        while young and not line.waits(young[0][1]):
            heappop(young)
        triggered = memory.triggered

        def counts(key: Key) -> bool:
            return (before is None or key < before) and key[4] not in gone and key[2] not in triggered

        if young and counts(young[0][1]):
            cycle.wake(young[0][0])
        else:
            for due, key in young:
                if counts(key) and line.waits(key):
                    cycle.wake(due)
        for until, keys in self.batches:
            current = False
            for key in keys:
                seen = memory.checked.get(key[2])
                if seen is None or seen.at + CHECK_INTERVAL != until or not line.waits(key):
                    continue
                if seen.version == version:
                    current = True
                elif counts(key):
                    cycle.wake(until)
                    return
            if current:
                return  # the others tried later, and so on the same version


class EligibleAsks:
    """The leaves of one line."""

    def __init__(self, line: Line) -> None:
        self.line = line
        self.leaves: dict[int, Leaf] = {}

    def admit(self, state: State, rows: Iterable[int], memory: Memory) -> None:
        """These came to the line."""
        line, now = self.line, state.now
        for row in rows:
            known = line.waiting[row]
            form = known.kind.form
            if form.refusal is None and form.ask.claim.single and known.kind.preempts and not form.pinned:
                self.leaf(state, form.ask.leaf).add(known.key, now, memory.checked.get(known.key[2]))

    def leaf(self, state: State, queue: int) -> Leaf:
        leaf = self.leaves.get(queue)
        if leaf is None:
            queues = self.line.queues
            delay = queues.properties[queue].delay if queue != NONE else 0
            leaf = self.leaves[queue] = Leaf(delay, promised_at_most(state, queues, queue))
        return leaf


def eligible_of(cycle: Cycle, line: Line, memory: Memory, came: list[int]) -> EligibleAsks:
    """Kept as long as the line is; these came since."""
    now = cycle.state.now
    eligible = cycle.memory.get(MEMORY)
    if not isinstance(eligible, EligibleAsks) or eligible.line is not line:
        eligible = cycle.memory[MEMORY] = EligibleAsks(line)
        came = list(line.waiting)
    for leaf in eligible.leaves.values():
        young, batches = leaf.young, leaf.batches
        if leaf.tried or (young and young[0][0] <= now) or (batches and batches[0][0] <= now):
            leaf.advance(now, line, memory)
    eligible.admit(cycle.state, came, memory)
    return eligible
