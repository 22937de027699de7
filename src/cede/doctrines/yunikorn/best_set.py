"""The best of all victim sets on one node, exactly: covers that must be met, caps that must not be exceeded.

A set is better with fewer that opted out, then fewer originators, then fewer victims, then fewer of the highest
priority, of the next, and so on, then more of the youngest, of the next, then by uids. Each of these is a count, fixed
one after the other at the best value for which some set is left. Whether one is left is decided by search over groups
of victims that nothing tells apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate, product

import numpy as np

from cede.doctrines.parts.claim import Claim
from cede.doctrines.parts.limits import Limit
from cede.doctrines.parts.orders import Rows, ordered, tie_break
from cede.doctrines.yunikorn.covers import Covers, node_of, unwilling
from cede.doctrines.yunikorn.seven_laws import Slack
from cede.state.columns import NONE, Int64s
from cede.state.state import State

Counts = tuple[int, ...]
WHOLE = 2
"""The place of the rule that says how many victims there are, after those about unwilling ones."""
Tier = tuple[int, int, int]
"""How many opted out, how many are originators, how many there are."""


@dataclass(frozen=True, slots=True)
class Item:
    """A workload that may be taken: what it gives to each cover and takes of each cap."""

    row: int
    opted: bool
    originator: bool
    priority: int
    submitted: int
    last: tuple[str, str]
    gives: Counts
    takes: Counts


@dataclass(frozen=True, slots=True)
class Exactly:
    """How many of these items are in the set."""

    items: frozenset[int]
    count: int


@dataclass(slots=True)
class _Group:
    """Items that give, take and count alike."""

    gives: Counts
    takes: Counts
    counts: Counts
    items: list[int]


class Puzzle:
    """Items of one node, by number; `short` is what they must cover together, `caps` what they may take at most."""

    def __init__(self, items: Sequence[Item], short: Counts, caps: Counts) -> None:
        self.items = sorted(items, key=lambda item: (item.priority, -item.submitted, item.last))
        self.short = short
        self.caps = caps

    def best(self, worse_than: Tier | None = None) -> list[Item] | None:
        """The best set; none if there is none, or if its first three counts are above `worse_than`."""
        everyone = list(range(len(self.items)))
        opted = [at for at in everyone if self.items[at].opted]
        first = [at for at in everyone if self.items[at].originator]
        for out in range(len(opted) + 1):
            for leading in range(len(first) + 1):
                if worse_than is not None and (out, leading) > worse_than[:2]:
                    return None
                rules = [Exactly(frozenset(opted), out), Exactly(frozenset(first), leading)]
                if self._some_set(everyone, rules) is None:
                    continue
                for size in range(max(self._fewest(), out, leading), len(everyone) + 1):
                    if worse_than is not None and (out, leading, size) > worse_than:
                        return None
                    sized = [*rules, Exactly(frozenset(everyone), size)]
                    chosen = self._some_set(everyone, sized)
                    if chosen is not None:
                        return [self.items[at] for at in self._refined(everyone, sized, chosen, size)]
        return None

    def for_these_alone(self, covers: Sequence[int]) -> Iterator[Puzzle]:
        """Puzzles whose sets together are those of this one in which every victim is needed for one of these covers.

        A victim is needed for a cover if the others give less than is short. That is: all give less than that and what
        it gives, together. So for every choice of a least amount for some of these covers there is a puzzle, in which
        nobody is left that gives less to all of them, and in which the sum stays below what is short and that amount. A
        set of which every victim is needed is found where the amounts are the least that those needed for a cover give.
        """
        short: dict[Counts, int] = {}
        for cover in covers:  # of those to which all give the same, the one that is shortest of it needs the most
            gives = tuple([item.gives[cover] for item in self.items])
            short[gives] = max(short.get(gives, 0), self.short[cover])
        amounts = [(0, *sorted({amount for amount in gives if amount > 0})) for gives in short]
        for least in product(*amounts):
            bound = [(gives, low, need) for (gives, need), low in zip(short.items(), least, strict=True) if low]
            needed = [at for at in range(len(self.items)) if any(gives[at] >= low for gives, low, _ in bound)]
            if needed:
                items = [
                    replace(self.items[at], takes=(*self.items[at].takes, *(gives[at] for gives, _, _ in bound)))
                    for at in needed
                ]
                yield Puzzle(items, self.short, (*self.caps, *(need + low - 1 for _, low, need in bound)))

    def _fewest(self) -> int:
        """No set is smaller: to each cover so many give no more than as many of those that give the most."""
        least = 1
        for cover, short in enumerate(self.short):
            given = accumulate(sorted((item.gives[cover] for item in self.items), reverse=True))
            least = max(least, next((count for count, total in enumerate(given, 1) if total >= short), least))
        return least

    def _refined(self, pool: list[int], rules: list[Exactly], chosen: list[int], size: int) -> list[int]:
        """Of the sets of this size, the one with the lowest priorities, then the youngest, then the first uids."""
        for priority in sorted({self.items[at].priority for at in pool}, reverse=True):
            level = frozenset(at for at in pool if self.items[at].priority == priority)
            chosen = self._settled(pool, rules, chosen, level, range(min(len(level), size) + 1))
        left = size
        tied: list[int] = []
        for submitted in sorted({self.items[at].submitted for at in pool}, reverse=True):
            level = frozenset(at for at in pool if self.items[at].submitted == submitted)
            chosen = self._settled(pool, rules, chosen, level, range(min(len(level), left), -1, -1))
            taken = len(level.intersection(chosen))
            left -= taken
            if 0 < taken < len(level):
                tied += level
            if not left:
                break
        for at in sorted(tied, key=lambda one: self.items[one].last):
            chosen = self._settled(pool, rules, chosen, frozenset({at}), (1, 0))
        return sorted(chosen)

    def _settled(
        self, pool: list[int], rules: list[Exactly], chosen: list[int], level: frozenset[int], counts: Iterable[int]
    ) -> list[int]:
        """A set with the first of these counts of the level that some set has; that is a rule from now on. Of a level
        with none nothing stays in the pool.
        """
        held = len(level.intersection(chosen))
        for count in counts:
            rule = Exactly(level, count)
            other = chosen if held == count else self._some_set(pool, [*rules, rule])
            if other is not None:
                if count:
                    rules.append(rule)
                else:
                    pool[:] = [at for at in pool if at not in level]
                return other
        raise AssertionError("the set that was found before has one of these counts")

    def _some_set(self, pool: list[int], rules: Sequence[Exactly]) -> list[int] | None:
        """Any set that covers what is short, stays within the caps and has the counts of all rules."""
        groups: dict[tuple[Counts, Counts, Counts], _Group] = {}
        for at in pool:
            item = self.items[at]
            counts = tuple([1 if at in rule.items else 0 for rule in rules])
            key = (item.gives, item.takes, counts)
            group = groups.get(key)
            if group is None:
                groups[key] = group = _Group(item.gives, item.takes, counts, [])
            group.items.append(at)
        wanted = tuple(rule.count for rule in rules)
        ordered = sorted(groups.values(), key=lambda group: self._use(group.gives), reverse=True)
        search = _Search(ordered, len(self.short), wanted, WHOLE if len(rules) > WHOLE else None)
        taken = search.take(self.short, self.caps, wanted)
        if taken is None:
            return None
        return [at for group, count in zip(ordered, taken, strict=True) for at in group.items[:count]]

    def _use(self, gives: Counts) -> float:
        """How much of what is short it covers, in shares; only an order of search, so it need not be exact."""
        return sum(min(give / short, 1.0) for give, short in zip(gives, self.short, strict=True) if short > 0)


Counted = tuple[int, Counts, Counts, Counts]
"""From which group on, what is short, what the caps leave, and the counts that are still to be reached."""


class _Search:
    """Counts for groups, the most useful group first and as many of it as possible, with dead ends remembered."""

    def __init__(self, groups: list[_Group], covers: int, wanted: Counts, whole: int | None) -> None:
        self.groups = groups
        self.whole = whole
        """Which of the counts is that of all victims; none if their number is not fixed yet."""
        self.most: list[list[list[int]]] = []
        """From each group on, by cover, what the largest one, two, three and so on give together."""
        if whole is not None:
            largest: list[list[int]] = [[] for _ in range(covers)]
            for group in reversed(groups):
                for at, give in enumerate(group.gives):
                    largest[at] += [give] * len(group.items)
                    largest[at].sort(reverse=True)
                    del largest[at][wanted[whole] :]
                self.most.append([[0, *accumulate(each)] for each in largest])
            self.most.reverse()
            self.most.append([[0] for _ in range(covers)])
        self.rest_gives = [(0,) * covers]
        self.rest_counts = [(0,) * len(wanted)]
        for group in reversed(groups):
            number = len(group.items)
            last = zip(self.rest_gives[-1], group.gives, strict=True)
            self.rest_gives.append(tuple([rest + give * number for rest, give in last]))
            ends = zip(self.rest_counts[-1], group.counts, strict=True)
            self.rest_counts.append(tuple([rest + count * number for rest, count in ends]))
        self.rest_gives.reverse()
        self.rest_counts.reverse()
        self.dead: set[Counted] = set()

    def take(self, short: Counts, caps: Counts, wanted: Counts) -> list[int] | None:
        """How many of each group; none if nothing does. Depth first, with a stack of its own: groups can be many."""
        state: Counted = (0, short, caps, wanted)
        stack: list[tuple[Counted, Iterator[int]]] = []
        taken: list[int] = []
        while True:
            ends = self._ends(state)
            if ends:
                return taken + [0] * (len(self.groups) - len(taken))
            if ends is None:
                stack.append((state, iter(range(self._at_most(state), -1, -1))))
            further = self._further(stack, taken)
            if further is None:
                return None
            state = further

    def _further(self, stack: list[tuple[Counted, Iterator[int]]], taken: list[int]) -> Counted | None:
        """The next state: one less of the last group that has a choice left; none if no group has."""
        while stack:
            above, counts = stack[-1]
            del taken[len(stack) - 1 :]
            for count in counts:
                taken.append(count)
                return self._after(above, count)
            self.dead.add(above)
            stack.pop()
        return None

    def _ends(self, state: Counted) -> bool | None:
        """Whether nothing more is needed (true) or nothing can help (false); none if the search goes on.

        Nothing helps where all groups that are left do not give what is short, or have too few that count; where as
        many as may still go, each the largest that is left, do not; or where the same groups were left with the same
        amounts before, and led to no set: what follows depends on that state alone.
        """
        at, short, _, wanted = state
        if any(need > rest for need, rest in zip(short, self.rest_gives[at], strict=True)):
            return False
        if any(need > rest for need, rest in zip(wanted, self.rest_counts[at], strict=True)):
            return False
        if self.whole is not None and any(
            need > best[wanted[self.whole]] for need, best in zip(short, self.most[at], strict=True)
        ):
            return False
        if not any(wanted) and max(short, default=0) <= 0:
            return True
        return False if at == len(self.groups) or state in self.dead else None

    def _at_most(self, state: Counted) -> int:
        """How many of the next group caps and counts allow."""
        at, _, caps, wanted = state
        group = self.groups[at]
        most = len(group.items)
        for cap, take in zip(caps, group.takes, strict=True):
            if take > 0:
                most = min(most, cap // take)
        for left, count in zip(wanted, group.counts, strict=True):
            if count:
                most = min(most, left)
        return most

    def _after(self, state: Counted, count: int) -> Counted:
        at, short, caps, wanted = state
        group = self.groups[at]
        return (
            at + 1,
            tuple([max(0, need - give * count) for need, give in zip(short, group.gives, strict=True)]),
            tuple([cap - take * count for cap, take in zip(caps, group.takes, strict=True)]),
            tuple([left - one * count for left, one in zip(wanted, group.counts, strict=True)]),
        )


FAR = np.iinfo(np.int64).max
PATIENCE = 16
"""After so many nodes the bounds of the others are made sharper, at some cost."""

MANY = 8
"""More different priorities than this are not told apart in the first bounds."""

WIDE = 4096
"""Priorities further apart than this are not told apart there either."""
SMALL = 127
"""The largest count that fits one key: eight counts of seven bits."""

Key = tuple[Tier, tuple[int, ...], tuple[int, ...], int]
"""The first counts of a set, its priorities, highest first, its submissions, youngest first, and the node's place."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """Victims, and the node they stand on; NONE where the file has no nodes. `elsewhere`: it is not the claimant's."""

    node: int
    victims: list[int]
    elsewhere: bool = False


class NodeSearch:
    """Nodes in the order of what they could have at best, with the best set so far.

    Victims of one decision stand on one node, so that each node has a best set of its own, and the bound of a node is a
    key that none of its sets is below: opted-out work and originators count only if the others of the node are not
    enough; the number of victims is at least what is short over the largest that gives it; as many have at best the
    lowest priorities there are, and the youngest submissions at these. A set with more victims than the bound counts is
    worse by that alone. Nodes are looked at by their bounds, and the first whose bound is above the best set ends the
    search: all after it are above it, too. After `PATIENCE` nodes bounds are made of single candidates, not of sums.
    """

    def __init__(self, state: State, covers: Covers, slack: Slack, single: int | None) -> None:
        self.state = state
        self.covers = covers
        self.slack = slack
        self.last = tie_break(state)
        self.best_key: tuple[Key, list[tuple[str, str]]] | None = None
        self.chosen: Chosen | None = None
        self.place = np.full(state.work.size, NONE, np.int64)
        """By workload, its place among the candidates."""
        self.place[covers.rows] = np.arange(len(covers.rows))
        self.rank = state.node_rank() if state.nodes.size else np.zeros(1, np.int64)
        if single is not None:
            self._keep(node_of(state, single), [self._item(single, (), ())])

    def best(self) -> Chosen | None:
        """The best set of all; none if there is none."""
        nodes, tiers = self._turn()
        levels, most, youngest = self._levels(tiers[2])
        keys = [*packed(tiers, nodes), *packed(most[::-1], nodes), -youngest[nodes], self.rank[nodes]]
        turn = nodes[np.lexsort(keys[::-1])]
        for tried, node in enumerate(turn.tolist()):
            if tried == PATIENCE:
                return self._go_on(turn[tried:], tiers)
            out, leading, count = (int(tier[node]) for tier in tiers)
            counts = zip(levels[::-1], (int(each[node]) for each in most[::-1]), strict=True)
            priorities = tuple([level for level, held in counts for _ in range(held)])
            bound = ((out, leading, count), priorities, (-int(youngest[node]),) * count, int(self.rank[node]))
            if self.best_key is not None and bound > self.best_key[0]:
                break
            self._look_at(node)
        return self.chosen

    def _levels(self, count: Int64s) -> tuple[list[int], list[Int64s], Int64s]:
        """Priorities, ascending; by node how many of each so many victims have at best, taking the lowest there are;
        and the youngest of those that come into question then. Of very many priorities only the lowest is looked at.
        """
        rows, node, nodes = self.covers.rows, self.covers.node, len(self.covers.allowed)
        priority = self.state.work.priority[rows].astype(np.int64)
        lowest, span = int(priority.min()), int(priority.max() - priority.min()) + 1
        levels = np.flatnonzero(np.bincount(priority - lowest)) if span <= WIDE else np.zeros(1, np.intp)
        if len(levels) > MANY:
            levels = levels[:1]
        size = len(levels)
        place = np.searchsorted(levels, priority - lowest) if size > 1 else np.zeros(len(rows), np.intp)
        at = node * size + place
        there = np.bincount(at, minlength=nodes * size).reshape(nodes, size).cumsum(axis=1)
        upto = np.minimum(count[:, None], there)
        most = np.diff(upto, axis=1, prepend=0)
        latest = np.full(nodes * size, -FAR, np.int64)
        np.maximum.at(latest, at, self.state.work.submitted[rows])
        youngest: Int64s = np.where(most > 0, latest.reshape(nodes, size), -FAR).max(axis=1)
        return (levels + lowest).tolist(), [most[:, level] for level in range(size)], youngest

    def _turn(self) -> tuple[Rows, tuple[Int64s, Int64s, Int64s]]:
        """Nodes whose candidates cover everything together, and by node the first three counts at best."""
        covers, nodes = self.covers, len(self.covers.allowed)
        enough = covers.total()
        kind = unwilling(self.state, covers.rows)
        out, leading = np.zeros(nodes, np.int64), np.zeros(nodes, np.int64)
        if kind.any():
            willing, agreed = covers.total(kind > 0), covers.total(kind > 1)
            out[~agreed] = 1
            leading[~willing & agreed] = 1
        return np.flatnonzero(enough), (out, leading, covers.fewest())

    def _go_on(self, nodes: Rows, tiers: tuple[Int64s, Int64s, Int64s]) -> Chosen | None:
        """The rest of the walk, with bounds from what each node has of everything, and of what its queues may lose."""
        nodes = nodes[self.covers.within(self.slack)[nodes]]
        for key, node in sorted(self._sharp(nodes, tiers)):
            if self.best_key is not None and key > self.best_key[0]:
                break
            self._look_at(node)
        return self.chosen

    def _sharp(self, nodes: Rows, tiers: tuple[Int64s, Int64s, Int64s]) -> Iterator[tuple[Key, int]]:
        """For each node no set can be better than its lowest priorities and, apart from that, its youngest."""
        work = self.state.work
        counts = tiers[2][nodes]
        there = np.bincount(self.covers.node, minlength=len(self.covers.allowed))
        begins = np.concatenate(([0], np.cumsum(there)))
        for count in np.unique(counts).tolist():
            same = nodes[counts == count]
            same = same[there[same] >= count]
            lowest = self._first(work.priority[self.covers.rows].astype(np.int64), begins[same], count)[:, ::-1]
            youngest = self._first(-work.submitted[self.covers.rows], begins[same], count)
            firsts = zip(*(tier[same].tolist() for tier in tiers[:2]), strict=True)
            places = self.rank[same].tolist()
            table = zip(firsts, lowest.tolist(), youngest.tolist(), places, same.tolist(), strict=True)
            for (out, leading), low, young, place, node in table:
                yield ((out, leading, count), tuple(low), tuple(young), place), node

    def _first(self, values: Int64s, begins: Rows, count: int) -> Int64s:
        """Of each node the smallest of these values of its candidates, so many, ascending; it begins at `begins`."""
        ordered = values[np.lexsort((values, self.covers.node))]
        smallest: Int64s = ordered[begins[:, None] + np.arange(count)]
        return smallest

    def _on(self, node: int) -> Rows:
        """The places of the candidates of a node."""
        if not self.state.nodes.size:
            return np.arange(len(self.covers.rows))
        places = self.place[self.state.residents.work[self.state.node_residents[node]]]
        on_node: Rows = places[places != NONE]
        return on_node

    def _look_at(self, node: int) -> None:
        covers = self.covers
        at = self._on(node)
        rows = covers.rows[at].tolist()
        queues = self.state.work.queue[covers.rows[at]].tolist()
        short = [int(each[node]) for each in covers.short]
        wanted = [index for index, each in enumerate(short) if each > 0]
        gives = [covers.gives[index][at].tolist() for index in wanted]
        takes, caps = self._caps(rows, queues)
        items = [
            self._item(row, tuple([given[place] for given in gives]), tuple([taken[place] for taken in takes]))
            for place, row in enumerate(rows)
        ]
        puzzle = Puzzle(items, tuple([short[index] for index in wanted]), caps)
        decisive = [at for at, index in enumerate(wanted) if index in covers.decisive]
        # Where nothing is short but limits, the best set has no victim that they do not need.
        puzzles = puzzle.for_these_alone(decisive) if 0 < len(decisive) < len(wanted) else (puzzle,)
        for each in puzzles:
            victims = each.best(None if self.best_key is None else self.best_key[0][0])
            if victims is not None:
                self._keep(node if self.state.nodes.size else NONE, victims)

    def _caps(self, rows: list[int], queues: list[int]) -> tuple[list[list[int]], tuple[int, ...]]:
        """What each takes of the queues that could not lose them all, and how much those may lose."""
        takes: list[list[int]] = []
        caps: list[int] = []
        slack, usage = self.slack, self.state.work.usage
        for pair in sorted({pair for queue in set(queues) for pair in slack.of_leaf.get(queue, ())}):
            _, column, most = slack.pairs[pair]
            inside = {queue for queue in set(queues) if pair in slack.of_leaf.get(queue, ())}
            each = [int(usage[column, row]) if queue in inside else 0 for row, queue in zip(rows, queues, strict=True)]
            if sum(each) > most:
                takes.append(each)
                caps.append(most)
        return takes, tuple(caps)

    def _item(self, row: int, gives: tuple[int, ...], takes: tuple[int, ...]) -> Item:
        work = self.state.work
        return Item(
            row,
            not work.preemptible[row],
            bool(work.originator[row]),
            int(work.priority[row]),
            int(work.submitted[row]),
            self.last(row),
            gives,
            takes,
        )

    def _keep(self, node: int, items: list[Item]) -> None:
        key: Key = (
            (sum(item.opted for item in items), sum(item.originator for item in items), len(items)),
            tuple(sorted((item.priority for item in items), reverse=True)),
            tuple(sorted(-item.submitted for item in items)),
            int(self.rank[node]) if node != NONE else 0,
        )
        whole = (key, sorted(item.last for item in items))
        if self.best_key is None or whole < self.best_key:
            self.best_key = whole
            self.chosen = Chosen(node, [item.row for item in items])


def packed(counts: Sequence[Int64s], at: Rows) -> list[Int64s]:
    """Keys that sort like these counts, the first one first; a single one where all are small."""
    taken = [count[at] for count in counts]
    if len(taken) > MANY or any(count.max(initial=0) > SMALL for count in taken):
        return taken
    key = np.zeros(len(at), np.int64)
    for count in taken:
        key = key * (SMALL + 1) + count
    return [key]


def best_set(
    state: State, claim: Claim, limits: Sequence[Limit], rows: Rows, slack: Slack, *, roomy: bool = False
) -> Chosen | None:
    """The best set of victims among these workloads, each of which is lawful alone; none if no set makes room.

    `roomy`: some node has room for the claimant as it is, so that only limits are short. Then it goes where its victims
    stood if there is a set after which it fits there, and no victim of it goes for that alone; else the set is chosen
    for the limits alone, and the claimant does not fit there.
    """
    if not roomy:
        return _best_of(state, Covers(state, claim, limits, rows), slack)
    there = _best_of(state, Covers(state, claim, limits, rows, limits_alone=True), slack)
    if there is not None:
        return there
    chosen = _best_of(state, Covers(state, claim, limits, rows, anywhere=True), slack)
    return None if chosen is None else replace(chosen, elsewhere=True)


def _best_of(state: State, covers: Covers, slack: Slack) -> Chosen | None:
    rows = covers.rows
    inside = covers.allowed[covers.node] if len(rows) else np.zeros(0, np.bool_)
    if not inside.any():
        return None
    single = _best_single(state, covers)
    if single is not None and not unwilling(state, np.array([single]))[0]:
        return Chosen(node_of(state, single), [single])
    return NodeSearch(state, covers, slack, single).best()


def _best_single(state: State, covers: Covers) -> int | None:
    """Of those that are enough alone, the best.

    A set of more victims is better only with fewer that opted out or are originators: if the best single one is
    neither, no other set needs to be looked for.
    """
    at = np.flatnonzero(covers.alone())
    if not len(at):
        return None
    work = state.work
    keys: tuple[Callable[[Rows], Int64s], ...] = (
        partial(unwilling, state),
        lambda rows: work.priority[rows].astype(np.int64),
        lambda rows: -work.submitted[rows],
    )
    for key in keys:
        values = key(covers.rows[at])
        at = at[values == values.min()]
    rank = state.node_rank()[covers.node[at]] if state.nodes.size else np.zeros(len(at), np.int64)
    return int(ordered(state, covers.rows[at], rank)[0])
