"""The best of all victim sets on one node, exactly: covers that must be met, caps that must not be exceeded.

A set is better with fewer that opted out, then fewer originators, then fewer victims, then fewer of the highest
priority, of the next, and so on, then more of the youngest, of the next, then by uids. Each of these is a count, fixed
one after the other at the best value for which some set is left. Whether one is left is decided by search over groups
of victims that nothing tells apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, product

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
    """So many of these items are in the set."""

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
                    found = self._some_set(everyone, sized)
                    if found is not None:
                        return [self.items[at] for at in self._refined(everyone, sized, found, size)]
        return None

    def for_these_alone(self, covers: Sequence[int]) -> Iterator[Puzzle]:
        """Puzzles whose sets together are those of this one in which everybody is needed for one of these covers.

        Somebody is needed for a cover if the others give less than is short. That is: all give less than that and what
        it gives, together. So for every choice of a least amount for some of these covers there is a puzzle, in which
        nobody is left that gives less to all of them, and in which the sum stays below what is short and that amount. A
        set of which everybody is needed is found where the amounts are the least that those needed for a cover give.
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
        """No set is smaller: as many as it takes of those that give the most to one of the covers."""
        found = 1
        for cover, short in enumerate(self.short):
            given = accumulate(sorted((item.gives[cover] for item in self.items), reverse=True))
            found = max(found, next((count for count, total in enumerate(given, 1) if total >= short), found))
        return found

    def _refined(self, pool: list[int], rules: list[Exactly], found: list[int], size: int) -> list[int]:
        """Of the sets of this size, the one with the lowest priorities, then the youngest, then the first uids."""
        for priority in sorted({self.items[at].priority for at in pool}, reverse=True):
            level = frozenset(at for at in pool if self.items[at].priority == priority)
            found = self._settled(pool, rules, found, level, range(min(len(level), size) + 1))
        left = size
        tied: list[int] = []
        for submitted in sorted({self.items[at].submitted for at in pool}, reverse=True):
            level = frozenset(at for at in pool if self.items[at].submitted == submitted)
            found = self._settled(pool, rules, found, level, range(min(len(level), left), -1, -1))
            taken = len(level.intersection(found))
            left -= taken
            if 0 < taken < len(level):
                tied += level
            if not left:
                break
        for at in sorted(tied, key=lambda one: self.items[one].last):
            found = self._settled(pool, rules, found, frozenset({at}), (1, 0))
        return sorted(found)

    def _settled(
        self, pool: list[int], rules: list[Exactly], found: list[int], level: frozenset[int], counts: Iterable[int]
    ) -> list[int]:
        """A set with the first of these counts of the level that some set has; that is a rule from now on. Of a level
        with none nobody stays in the pool.
        """
        held = len(level.intersection(found))
        for count in counts:
            rule = Exactly(level, count)
            other = found if held == count else self._some_set(pool, [*rules, rule])
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


State = tuple[int, Counts, Counts, Counts]
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
        self.dead: set[State] = set()

    def take(self, short: Counts, caps: Counts, wanted: Counts) -> list[int] | None:
        """How many of each group; none if nothing does. Depth first, with a stack of its own: groups can be many."""
        state: State = (0, short, caps, wanted)
        stack: list[tuple[State, Iterator[int]]] = []
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

    def _further(self, stack: list[tuple[State, Iterator[int]]], taken: list[int]) -> State | None:
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

    def _ends(self, state: State) -> bool | None:
        """Whether nothing more is needed (true) or nothing can help (false); none if the search goes on."""
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

    def _at_most(self, state: State) -> int:
        """So many of the next group neither caps nor counts forbid."""
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

    def _after(self, state: State, count: int) -> State:
        at, short, caps, wanted = state
        group = self.groups[at]
        return (
            at + 1,
            tuple([max(0, need - give * count) for need, give in zip(short, group.gives, strict=True)]),
            tuple([cap - take * count for cap, take in zip(caps, group.takes, strict=True)]),
            tuple([left - one * count for left, one in zip(wanted, group.counts, strict=True)]),
        )
