"""How much could be free on each node if everybody left who may be taken: a bound, kept from cycle to cycle.

It leaves out laws that spare somebody for one claimant only, and counts each candidate as if it went alone. So no
search for victims finds more room on a node; and where the bound is too little for a claimant, there is nothing to
search for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cede.doctrines.yunikorn.queues import Queues
from cede.state.columns import NONE, RUNNING
from cede.state.state import State

if TYPE_CHECKING:
    from cede.doctrines.yunikorn.line import Kind

LOG = 4096
"""After so many entries bounds are worked out anew instead of followed."""


class _Size:
    """Candidates of one queue that take the same of its own guarantee, by row, each with its node."""

    __slots__ = ("lawful", "nodes")

    def __init__(self, lawful: bool) -> None:
        self.lawful = lawful
        """Whether the queue keeps its guarantee without one of them."""
        self.nodes: dict[int, int] = {}


class _Candidate:
    """One that runs on one node and may stand on others, with what it gives back there."""

    __slots__ = ("amounts", "node", "priority", "queue", "size")

    def __init__(self, queue: int, priority: int, node: int, amounts: list[int], size: _Size) -> None:
        self.queue = queue
        self.priority = priority
        self.node = node
        self.amounts = amounts
        self.size = size


class Bound:
    """What could be free on each node, for claimants of one leaf and priority."""

    __slots__ = ("above", "kinds", "most", "open", "priority", "read")

    def __init__(self, queues: Queues, leaf: int, priority: int) -> None:
        self.priority = priority
        self.above = frozenset(queues.path_of(leaf))
        """Guarantees that the claimant is under itself: law 2 does not ask for them."""
        fence = queues.inside(queues.fence(leaf))
        self.open = frozenset(queue for queue in fence if queue != leaf and not queues.properties[queue].disabled)
        self.kinds: list[Kind] = []
        """Those that it was asked for."""
        self.most: list[list[int]] = []
        self.read = -1
        """Up to which entry of the log it is true; -1: it is not worked out."""


class Freeable:
    """All candidates by node and by queue; `log` names nodes on which a bound may have changed, in order."""

    def __init__(self, state: State, queues: Queues) -> None:
        self.queues = queues
        self.log: list[int] = []
        self.bounds: dict[tuple[int, int], Bound] = {}
        self._candidates: dict[int, _Candidate] = {}
        self._on_node: list[dict[int, _Candidate]] = [{} for _ in range(state.nodes.size)]
        self._sizes: dict[int, dict[tuple[int, ...], _Size]] = {}
        """By queue, and by what each takes of its own guarantee."""
        self._left: dict[int, list[int]] = {}
        """By queue, what it holds beyond its own guarantee, type by type."""

    def stand(self, state: State, row: int, code: int, resident: int) -> None:
        """One that holds room with one resident; it may be a candidate from now on."""
        work = state.work
        queue = int(work.queue[row])
        if code != RUNNING or queue == NONE or work.required_node[row] != NONE:
            return
        usage = work.usage[:, row].tolist()
        takes = tuple([usage[column] for column in self.queues.guarantee(queue)])
        sizes = self._sizes.setdefault(queue, {})
        size = sizes.get(takes)
        if size is None:
            size = sizes[takes] = _Size(_within(takes, self._left.get(queue, ())))
        node, amounts = int(state.residents.node[resident]), state.residents.amount[:, resident].tolist()
        one = _Candidate(queue, int(work.priority[row]), node, amounts, size)
        self._candidates[row] = self._on_node[node][row] = one
        size.nodes[row] = node
        self.log.append(node)

    def go(self, row: int) -> None:
        """It holds no room any more, or holds it otherwise."""
        one = self._candidates.pop(row, None)
        if one is not None:
            del self._on_node[one.node][row]
            del one.size.nodes[row]
            self.log.append(one.node)

    def hold(self, queue: int, used: list[int]) -> None:
        """The queue uses so much now: of its candidates others may be lawful."""
        left = [used[column] - amount for column, amount in self.queues.guarantee(queue).items()]
        if not left or self._left.get(queue) == left:
            return
        self._left[queue] = left
        for takes, size in self._sizes.get(queue, {}).items():
            if size.lawful != _within(takes, left):
                size.lawful = not size.lawful
                self.log += size.nodes.values()

    def trim(self) -> None:
        """Nobody follows a log that has become long."""
        if len(self.log) > LOG:
            self.log.clear()
            for bound in self.bounds.values():
                bound.read = -1

    def drop_unused(self) -> None:
        """Bounds that nobody waits for."""
        for bound in self.bounds.values():
            bound.kinds = [kind for kind in bound.kinds if kind.entries]
        self.bounds = {key: bound for key, bound in self.bounds.items() if bound.kinds}
        for queue, sizes in self._sizes.items():
            self._sizes[queue] = {takes: size for takes, size in sizes.items() if size.nodes}

    def bound(self, leaf: int, priority: int) -> Bound:
        """The bound of such claimants; `refresh` makes it true."""
        found = self.bounds.get((leaf, priority))
        if found is None:
            found = self.bounds[leaf, priority] = Bound(self.queues, leaf, priority)
        return found

    def refresh(self, bound: Bound, free: list[list[int]]) -> list[int]:
        """The nodes on which more may be free than when this was asked last."""
        log = self.log
        if bound.read == len(log):
            return []
        most = bound.most
        if bound.read < 0:
            bound.most = [self.most_on(node, bound, free[node]) for node in range(len(free))]
            grown = list(range(len(free)))
        else:
            grown = []
            for node in set(log[bound.read :]):
                now, before = self.most_on(node, bound, free[node]), most[node]
                if now != before:
                    most[node] = now
                    if any(map(int.__gt__, now, before)):
                        grown.append(node)
        bound.read = len(log)
        return grown

    def most_on(self, node: int, bound: Bound, free: list[int]) -> list[int]:
        """What is free there, and what all candidates of the node would leave."""
        priority, open_, above = bound.priority, bound.open, bound.above
        found = free
        for one in self._on_node[node].values():
            if one.priority <= priority and one.queue in open_ and (one.size.lawful or one.queue in above):
                found = [*map(int.__add__, found, one.amounts)]
        return found


def _within(takes: Sequence[int], left: Sequence[int]) -> bool:
    """Whether so much may go of a queue that may lose this; nothing is known of one that `left` does not name."""
    for amount, most in zip(takes, left, strict=False):  # noqa: SIM110 - any() takes three times as long
        if amount > most:
            return False
    return True
