"""The order in which release 1.9 comes to the asks: queues down the tree, then applications, then asks.

The tree is walked anew in every pass. Queues come by priority with offsets, then by the used share of what is theirs,
then with more that waits first, then by name; applications by the priority of their first ask, then by age, then name;
asks by priority, age and uid.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from cede.doctrines.parts.orders import Rows, ordered
from cede.doctrines.yunikorn.queues import Amounts, Queues, total_capacity
from cede.doctrines.yunikorn.settings import INT32
from cede.model.plan import Decision
from cede.state.columns import GONE, NONE, SUSPENDED
from cede.state.entry import partition_of
from cede.state.state import State
from cede.state.units import WHOLE

Key = tuple[int, float, list[int], str]


def waiting_line(state: State) -> Rows:
    """All that wait: priority descending, then submission, then uid."""
    rows: Rows = np.fromiter(state.pending, np.intp, len(state.pending))
    rows = rows[state.work.state[rows] <= SUSPENDED]
    return ordered(state, rows, -state.work.priority[rows].astype(np.int64), state.work.submitted[rows])


class QueueOrder:
    """Queues with work that waits in or below them, in the order in which they are come to.

    `first` says the highest priority that waits in a queue itself, `asked` what all that wait there ask for.
    """

    def __init__(
        self,
        state: State,
        queues: Queues,
        waiting: Iterable[int],
        first: Callable[[int], int | None],
        asked: Callable[[int], Sequence[int]],
    ) -> None:
        self.state = state
        self.queues = queues
        self._first = first
        self._asked = asked
        names = state.units.names
        self._by_name = sorted((column for column in range(len(names)) if column != WHOLE), key=names.__getitem__)
        self._leads = {above for queue in waiting for above in queues.path_of(queue)}
        """Queues with work that waits in or below them, when the cycle began."""
        self._tops = sorted({queues.path[queue][-1] for queue in waiting if queue != NONE})
        self._priority: dict[int, int | None] = {}
        self._share: dict[int, float] = {}
        self._fair: dict[int, Amounts] = {}
        """By queue, what its share is taken of where it guarantees nothing."""
        self._backlog: dict[int, list[int]] = {}

    def in_order(self, has_left: Callable[[int], object]) -> Iterator[int]:
        """Each queue before those below it, of those with somebody left to decide."""
        for top in self._sorted(filter(has_left, self._tops)):
            yield from self._below(top, has_left)

    def changed(self, path: Sequence[int], *, preempted: bool) -> None:
        """One below these queues waits no more, and they hold more; if it preempted, others hold less."""
        for queue in path:
            self._priority.pop(queue, None)
            self._backlog.pop(queue, None)
            self._share.pop(queue, None)
        if preempted:
            self._share.clear()

    def _below(self, queue: int, has_left: Callable[[int], object]) -> Iterator[int]:
        yield queue
        for child in self._sorted(filter(has_left, self._children(queue))):
            yield from self._below(child, has_left)

    def _sorted(self, queues: Iterable[int]) -> list[int]:
        some = list(queues)
        return sorted(some, key=self._key) if len(some) > 1 else some

    def _children(self, queue: int) -> list[int]:
        return [child for child in self.queues.children[queue] if child in self._leads]

    def _key(self, queue: int) -> Key:
        waits = [-amount for amount in self._waits(queue)]
        return -(self._of(queue) or 0), self._used_share(queue), waits, self.queues.names[queue]

    def _of(self, queue: int) -> int | None:
        """The priority of the queue: of its first ask, with the offsets on the way; none if nothing waits below it."""
        if queue not in self._priority:
            first = self._first(queue)
            own = [] if first is None else [first]
            own += [below for child in self._children(queue) if (below := self._of(child)) is not None]
            properties = self.queues.properties[queue]
            value = None
            if own:
                value = properties.offset if properties.priority_fence else max(own) + properties.offset
                value = max(-INT32, min(INT32 - 1, value))
            self._priority[queue] = value
        return self._priority[queue]

    def _waits(self, queue: int) -> list[int]:
        """What all that waits in or below the queue asks for, type by type in the order of their names.

        The release puts the queue first that has more of one type and less of none, and leaves the others as they come.
        The first type by name in which two differ keeps to that, and decides between the others too.
        """
        amounts = self._backlog.get(queue)
        if amounts is None:
            own = self._asked(queue)
            amounts = [own[column] for column in self._by_name]
            for child in self._children(queue):
                amounts = [*map(int.__add__, amounts, self._waits(child))]
            self._backlog[queue] = amounts
        return amounts

    def _used_share(self, queue: int) -> float:
        """The largest share of any type that the queue uses: of its guarantee if that names the type, else of its fair
        maximum. As doubles, as the release has them.
        """
        share = self._share.get(queue)
        if share is None:
            guaranteed, fair = self.queues.guarantee(queue), self._fair_max(queue)
            share = 0.0
            for column, used in enumerate(self.state.tree.usage[:, queue].tolist()):
                whole = guaranteed.get(column, fair.get(column))
                if used > 0 and whole is not None and column != WHOLE:
                    share = max(share, used / whole if whole > 0 else 1.0)
            self._share[queue] = share
        return share

    def _fair_max(self, queue: int) -> Amounts:
        """The limit of every type: of the queue, else of the nearest queue above it with one, else what nodes have."""
        limits = self._fair.get(queue)
        if limits is None:
            limits = dict(total_capacity(self.state, partition_of(self.state, queue)))
            for above in reversed(self.queues.path[queue]):
                limits |= self.queues.max[above] or {}
            self._fair[queue] = limits
        return limits


class AskOrder:
    """Who waits, in order; `decide` keeps it current within a cycle."""

    def __init__(self, state: State, queues: Queues) -> None:
        self.state = state
        self.queues = queues
        self._line: dict[int, list[int]] = {}
        """By leaf, those that are not decided yet, in order; made when somebody looks."""
        self._left: dict[int, int] = {}
        """By queue, how many in or below it are not decided yet."""
        self._decided: set[int] = set()
        self.rows = rows = waiting_line(state)
        self.waiting: dict[int, list[int]] = {}
        for row in rows.tolist():
            self.waiting.setdefault(int(state.work.queue[row]), []).append(row)
        for queue, rows_there in self.waiting.items():
            for above in (queue, *queues.path_of(queue)[1:]):
                self._left[above] = self._left.get(above, 0) + len(rows_there)
        self._age: dict[tuple[int, str], int] = {}
        for queue, apps in self._ages().items():
            self._age |= {(queue, app): age for app, age in apps.items()}
        self._order = QueueOrder(state, queues, self.waiting, self._first, self._asked)

    def _ages(self) -> dict[int, dict[str, int]]:
        """By queue and application, the earliest submission of any of its workloads."""
        work, size = self.state.work, self.state.work.size
        oldest: dict[int, dict[str, int]] = {queue: {} for queue in self.waiting}
        asks_there = np.zeros(self.queues.size + 1, np.bool_)
        asks_there[list(oldest)] = True
        asks = np.zeros(len(self.state.apps.names) + 1, np.bool_)
        asks[work.app[self.rows]] = True
        asks[NONE] = False
        live = (work.state[:size] != GONE) & asks_there[work.queue[:size]] & asks[work.app[:size]]
        for row in (*np.flatnonzero(live).tolist(), *self.rows.tolist()):
            apps = oldest[int(work.queue[row])]
            app = self.app_of(row)
            apps[app] = min(int(work.submitted[row]), apps.get(app, int(work.submitted[row])))
        return oldest

    def is_waiting(self, row: int) -> bool:
        """Whether it waits, and neither starts nor preempts by what was decided so far."""
        return row in self.waiting.get(int(self.state.work.queue[row]), ())

    def app_of(self, row: int) -> str:
        return self.state.apps.name(int(self.state.work.app[row])) or self.state.work_names[row]

    def one_pass(self) -> Iterator[int]:
        """Everybody who is not decided yet, as the tree stands now."""
        for queue in self._order.in_order(self._left.__getitem__):
            yield from tuple(self._in_leaf(queue))
        yield from tuple(self._in_leaf(NONE))

    def decide(self, row: int, made: Decision) -> None:
        """This ask was answered; if it starts or preempts, it waits no more and queues hold more, or less."""
        queue = int(self.state.work.queue[row])
        path = (queue, *self.queues.path_of(queue)[1:])
        self._decided.add(row)
        for above in path:
            self._left[above] -= 1
        if made.action not in ("start", "preempt"):
            self._line[queue].remove(row)
            return
        del self._line[queue]
        self.waiting[queue].remove(row)
        self._order.changed(path, preempted=made.action == "preempt")

    def _first(self, queue: int) -> int | None:
        rows = self.waiting.get(queue)
        return int(self.state.work.priority[rows[0]]) if rows else None

    def _asked(self, queue: int) -> list[int]:
        amounts: list[int] = self.state.work.usage[:, self.waiting.get(queue, [])].sum(axis=1).tolist()
        return amounts

    def _in_leaf(self, queue: int) -> list[int]:
        line = self._line.get(queue)
        if line is None:
            line = self._line[queue] = list(self._lined_up(queue))
        return line

    def _lined_up(self, queue: int) -> Iterator[int]:
        rows = self.waiting.get(queue, [])
        by_app: dict[str, list[int]] = {}
        for row in rows:
            by_app.setdefault(self.app_of(row), []).append(row)
        first = self.state.work.priority
        apps = sorted(by_app, key=lambda app: (-int(first[by_app[app][0]]), self._age[queue, app], app))
        for app in apps:
            yield from (row for row in by_app[app] if row not in self._decided)
