"""How much could be free on each node if all that may be taken left: a bound, kept from cycle to cycle.

It leaves out rules that spare somebody for one claimant only, and counts each candidate as if it went alone. So no
search for victims finds more room on a node; and where the bound is too little for a claimant, there is nothing to
search for.

By the laws a candidate counts if its queue keeps its own guarantee without it. Release 1.9 takes of a queue if
something on its path is above its guarantee, or nothing on it has one; how much it takes then, it does not ask for. But
what is free beside its victims counts for nothing in the end: they must have as much of some type as is asked for.
"""

from __future__ import annotations

from collections.abc import Collection

from cede.doctrines.yunikorn.queues import Queues
from cede.state.columns import NONE, RUNNING
from cede.state.state import State
from cede.state.units import WHOLE

ANY = 1 << 40
"""A priority above every other."""
LOG = 4096
"""After so many entries bounds are worked out anew instead of followed."""


class _Size:
    """Candidates of one queue that take the same of its own guarantee (to release 1.9, all of a queue), by row, each
    with its node.
    """

    __slots__ = ("lawful", "nodes")

    def __init__(self, lawful: bool) -> None:
        self.lawful = lawful
        """Whether the queue may lose one of them."""
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


class RoomBound:
    """What could be free on each node, for claimants of one leaf and priority."""

    __slots__ = ("always", "most", "open", "priority", "read")

    def __init__(self, queues: Queues, leaf: int, priority: int, *, shipped: bool) -> None:
        fence = queues.inside(queues.fence(leaf))
        self.open = frozenset(queue for queue in fence if queue != leaf and not queues.properties[queue].disabled)
        self.always = frozenset(queues.path_of(leaf))
        """Queues whose candidates count whatever they hold. Of guarantees that the claimant is under itself law 2 says
        nothing; release 1.9 does not see those whose name the claimant's begins with."""
        self.priority = priority
        if shipped:
            name = queues.name(leaf)
            unseen = {queue for queue in range(queues.size) if name.startswith(queues.names[queue])}
            self.always = frozenset(queue for queue in self.open if queues.guarantor(queue) in (NONE, *unseen))
            if any(each.offset or each.priority_fence for each in queues.properties):
                self.priority = ANY  # priorities count otherwise in every queue
        self.most: list[list[int]] = []
        """By node, what could be free of each column; to release 1.9, and then what candidates alone would leave."""
        self.read = -1
        """Up to which entry of the log it is true; -1: it is not worked out."""


class Freeable:
    """All candidates by node and by queue; `log` names nodes on which a bound may have changed, in order."""

    def __init__(self, state: State, queues: Queues, *, shipped: bool) -> None:
        self.queues = queues
        self.shipped = shipped
        self.odd = False
        """Whether one takes something else of its queue than of its node."""
        self.log: list[int] = []
        self.bounds: dict[tuple[int, int], RoomBound] = {}
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
        usage, amounts = work.usage[:, row].tolist(), state.residents.amount[:, resident].tolist()
        if not self.odd and usage[WHOLE + 1 :] != amounts[WHOLE + 1 :]:
            self.odd = True
            self._forget_bounds()
        takes = () if self.shipped else tuple([usage[column] for column in self.queues.guarantee(queue)])
        sizes = self._sizes.setdefault(queue, {})
        size = sizes.get(takes)
        if size is None:
            size = sizes[takes] = _Size(self._is_lawful(queue, takes))
        node = int(state.residents.node[resident])
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
        for other in self.queues.inside(queue) if self.shipped else (queue,):
            for takes, size in self._sizes.get(other, {}).items():
                if size.lawful != self._is_lawful(other, takes):
                    size.lawful = not size.lawful
                    self.log += size.nodes.values()

    def _is_lawful(self, queue: int, takes: tuple[int, ...]) -> bool:
        """Whether the queue may lose one that takes so much; it may, as far as nothing is known of what it holds."""
        if not self.shipped:
            return all(map(int.__le__, takes, self._left.get(queue, takes)))
        lefts = [self._left.get(above) for above in self.queues.path_of(queue)]
        return any(left is not None and max(left) > 0 for left in lefts)

    def trim(self) -> None:
        """Nobody follows a log that has become long."""
        if len(self.log) > LOG:
            self.log.clear()
            self._forget_bounds()

    def _forget_bounds(self) -> None:
        for bound in self.bounds.values():
            bound.read = -1

    def keep(self, used: Collection[RoomBound]) -> None:
        """These bounds are still asked for, and no others."""
        self.bounds = {key: bound for key, bound in self.bounds.items() if bound in used}
        for queue, sizes in self._sizes.items():
            self._sizes[queue] = {takes: size for takes, size in sizes.items() if size.nodes}

    def bound(self, leaf: int, priority: int) -> RoomBound:
        """The bound of such claimants; `refresh` makes it true."""
        bound = self.bounds.get((leaf, priority))
        if bound is None:
            bound = self.bounds[leaf, priority] = RoomBound(self.queues, leaf, priority, shipped=self.shipped)
        return bound

    def refresh(self, bound: RoomBound, free: list[list[int]]) -> list[int]:
        """The nodes on which more may be free than when this was asked last.

        A node counts anew only if the log names it since: what is free there, who stands there, and whether its queues
        may lose one are all that its bound is made of, and each change of these is logged. Where the bound did not grow
        a claimant that found it too small finds it so again.
        """
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

    def most_on(self, node: int, bound: RoomBound, free: list[int]) -> list[int]:
        """What is free there, and what all candidates of the node would leave."""
        priority, open_, always = bound.priority, bound.open, bound.always
        freed = free
        if self.shipped:
            freed = [0] * len(free)
        for one in self._on_node[node].values():
            if one.priority <= priority and one.queue in open_ and (one.size.lawful or one.queue in always):
                freed = [*map(int.__add__, freed, one.amounts)]
        return [*map(int.__add__, freed, free), *freed] if self.shipped else freed
