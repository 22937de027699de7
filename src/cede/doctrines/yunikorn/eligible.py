"""Which asks of each leaf may try to preempt now, and when the others may: kept from cycle to cycle.

An ask is too young first. Once it is old enough it is ready, and each time it tried in vain it is left alone for a
while; but at the moment of that try it may try again, as often as there is a plan.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from heapq import heappop, heappush

from cede.doctrines.parts.doctrine import Cycle
from cede.doctrines.yunikorn.line import Key, Line
from cede.doctrines.yunikorn.memory import Checked, Memory
from cede.doctrines.yunikorn.settings import CHECK_INTERVAL
from cede.doctrines.yunikorn.snapshot import promised_at_most
from cede.doctrines.yunikorn.vectors import Vector
from cede.state.columns import NONE
from cede.state.state import State

MEMORY = "yunikorn-eligible"


class Leaf:
    """One leaf's asks that may preempt at all. Entries of some that left are dropped when somebody comes to them."""

    __slots__ = ("checked", "delay", "promised", "ready", "recent", "recent_at", "young")

    def __init__(self, delay: int, promised: Vector[int]) -> None:
        self.delay = delay
        self.promised = promised
        """What it may be owed at most, if nobody held anything."""
        self.ready: list[Key] = []
        """Those that may try, in order."""
        self.young: list[tuple[int, Key]] = []
        """When each will be old enough; a heap."""
        self.checked: list[tuple[int, int, Key, Checked]] = []
        """When each may try again, the version of the state that it tried on, and that try; a heap."""
        self.recent: dict[Key, Checked] = {}
        """Those that are ready although they tried: it was at this very moment."""
        self.recent_at = 0

    def add(self, key: Key, now: int, seen: Checked | None) -> None:
        """One that came to the line."""
        if key[1] + self.delay > now:
            heappush(self.young, (key[1] + self.delay, key))
        elif seen is not None and seen.at < now < seen.at + CHECK_INTERVAL:
            heappush(self.checked, (seen.at + CHECK_INTERVAL, seen.version, key, seen))
        else:
            self._ready(key)
            if seen is not None and seen.at == now:
                self.tried(key, seen)

    def tried(self, key: Key, seen: Checked) -> None:
        """One that is ready tried in vain at this moment."""
        self.recent[key] = seen
        self.recent_at = seen.at

    def advance(self, now: int, line: Line, memory: Memory) -> None:
        """As it is at this time."""
        if self.recent and self.recent_at < now:
            self._set_aside(now, line, memory)
        while self.young and self.young[0][0] <= now:
            _, key = heappop(self.young)
            if line.waits(key):
                self.add(key, now, memory.checked.get(key[2]))
        while self.checked and self.checked[0][0] <= now:
            _, _, key, seen = heappop(self.checked)
            if memory.checked.get(key[2]) is seen and line.waits(key):
                self._ready(key)

    def _set_aside(self, now: int, line: Line, memory: Memory) -> None:
        ready = self.ready
        for key, seen in self.recent.items():
            until = seen.at + CHECK_INTERVAL
            if until <= now:
                continue
            at = bisect_left(ready, key)
            if at < len(ready) and ready[at] == key:
                del ready[at]
            if line.waits(key) and memory.checked.get(key[2]) is seen:
                heappush(self.checked, (until, seen.version, key, seen))
        self.recent.clear()

    def _ready(self, key: Key) -> None:
        at = bisect_left(self.ready, key)
        if at == len(self.ready) or self.ready[at] != key:
            self.ready.insert(at, key)

    def next_ready(self, after: Key | None, line: Line) -> Key | None:
        """The first that may try, of those after this one."""
        ready = self.ready
        at = 0 if after is None else bisect_right(ready, after)
        while at < len(ready):
            if line.waits(ready[at]):
                return ready[at]
            del ready[at]
        return None

    def wake(self, cycle: Cycle, line: Line, memory: Memory, gone: set[int], before: Key | None) -> None:
        """The cycle knows when the next one may try, of those before this one; not of those that are served, nor on
        what has not changed since it tried.
        """
        young, checked, version = self.young, self.checked, cycle.state.version
        while young and not line.waits(young[0][1]):
            heappop(young)
        while checked and not (line.waits(checked[0][2]) and memory.checked.get(checked[0][2][2]) is checked[0][3]):
            heappop(checked)
        triggered = memory.triggered

        def counts(key: Key) -> bool:
            return (before is None or key < before) and key[4] not in gone and key[2] not in triggered

        if young and counts(young[0][1]):
            cycle.wake(young[0][0])
        else:
            for due, key in young:
                if counts(key) and line.waits(key):
                    cycle.wake(due)
        if not checked or checked[0][1] == version:
            return  # the others tried later, and so on the same version
        if counts(checked[0][2]):
            cycle.wake(checked[0][0])
            return
        for until, seen_on, key, seen in checked:
            if seen_on != version and counts(key) and line.waits(key) and memory.checked.get(key[2]) is seen:
                cycle.wake(until)


class Eligible:
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
        found = self.leaves.get(queue)
        if found is None:
            queues = self.line.queues
            delay = queues.properties[queue].delay if queue != NONE else 0
            found = self.leaves[queue] = Leaf(delay, promised_at_most(state, queues, queue))
        return found


def eligible_of(cycle: Cycle, line: Line, memory: Memory, came: list[int]) -> Eligible:
    """Kept as long as the line is; these came since."""
    now = cycle.state.now
    found = cycle.memory.get(MEMORY)
    if not isinstance(found, Eligible) or found.line is not line:
        found = cycle.memory[MEMORY] = Eligible(line)
        came = list(line.waiting)
    for leaf in found.leaves.values():
        leaf.advance(now, line, memory)
    found.admit(cycle.state, came, memory)
    return found
