"""Quota preemption of release 1.9: when a queue above its max is cut back, by how much, and which pods go for it.

As release 1.9 does it. Types are whatever the caller counts in; amounts are whole numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Generic, TypeVar

import numpy as np

from cede.doctrines.parts.candidates import Candidates
from cede.doctrines.parts.doctrine import Cycle
from cede.doctrines.parts.orders import ordered
from cede.doctrines.yunikorn import rules
from cede.doctrines.yunikorn.ask import say
from cede.doctrines.yunikorn.queues import Amounts, Queues
from cede.doctrines.yunikorn.settings import mode_of
from cede.doctrines.yunikorn.snapshot import leaving_of
from cede.doctrines.yunikorn.sparse_amounts import Vector, covers, fits, within
from cede.doctrines.yunikorn.wording import asks
from cede.model.plan import Candidate, Decision, Victim, Warning
from cede.model.quantities import show_quantity
from cede.model.times import SECOND
from cede.state.columns import NEVER, NONE, RESERVED, RUNNING, STATES, Bools, Int64s
from cede.state.state import State
from cede.state.units import COARSEST, WHOLE

T = TypeVar("T", bound=Hashable)
Q = TypeVar("Q", bound=Hashable)
Grain = Callable[[T], int]
"""Of a type, the amount that YuniKorn counts as 1: it splits nothing finer."""

ORIGINATOR = 1 << 33
OPTED_OUT = 1 << 34
PERCENT = 100


@dataclass(frozen=True, slots=True)
class Held(Generic[T]):
    """An allocation of a leaf: what it holds, and what it is sorted by. `hour` is when it was made, in whole hours."""

    amounts: Mapping[T, int]
    priority: int = 0
    hour: int = 0
    originator: bool = False
    opted_out: bool = False


# -- since when a queue is above its max, and when it will be cut back ------------------------------------------

Limits = Mapping[str, int]
TIMERS = "yunikorn-quota"
"""Where they are in the memory."""


@dataclass(frozen=True, slots=True)
class Timer:
    """`start` is when the queue is cut back, None while no timer runs; limit and delay are as they were seen last.

    `taken` are the victims of a run whose departure was not seen yet. `over`: usage was above the limit.
    """

    limit: Vector[str] = None
    delay: int = 0
    start: int | None = None
    over: bool = False
    taken: tuple[str, ...] = ()


@dataclass(slots=True)
class Timers:
    """By name of the queue."""

    by_queue: dict[str, Timer] = field(default_factory=dict)


def fires(timer: Timer, used: Limits, now: int) -> bool:
    """Whether the start time is reached and usage is not within the limit."""
    due = timer.start is not None and timer.start <= now
    return due and not (timer.limit and within(timer.limit, used))


def first_seen(limit: Vector[str], delay: int, used: Limits, now: int, since: int | None) -> Timer:
    """A queue that nothing is known of: above its limit since the time given, or else from now on."""
    over = exceeds(limit, used)
    start = (now if since is None else since) + delay if over and delay else None
    return Timer(limit, delay, start, over)


def advanced(timer: Timer, limit: Vector[str], delay: int, used: Limits, now: int) -> Timer:
    """The timer after what changed since the cycle before.

    Within the limit it is cleared. It begins when the limit was lowered, when a delay is there for the first time, or
    when usage came to be above the limit; it is moved by what the delay changed, and otherwise it stays.
    """
    over = exceeds(limit, used)
    if not over or not delay:
        return Timer(limit, delay, None, over)
    if timer.start is not None:
        start = timer.start + delay - timer.delay if timer.delay else now + delay
        return Timer(limit, delay, start, over, timer.taken)
    begins = lowered(timer.limit, limit) or not timer.delay or not timer.over
    return Timer(limit, delay, now + delay if begins else None, over)


def exceeds(limit: Vector[str], used: Limits) -> bool:
    """Whether usage is above the limit in some type."""
    return bool(limit) and not within(limit, used)


def lowered(before: Vector[str], limit: Vector[str]) -> bool:
    """Whether some type may be used less than before; one that had no limit had more."""
    return any(kind not in (before or {}) or most < (before or {})[kind] for kind, most in (limit or {}).items())


# -- how much it gives back, and who goes ------------------------------------------------------------------------


def above(limit: Mapping[T, int], used: Mapping[T, int]) -> dict[T, int]:
    """What is used beyond the limit, of the types in which it is exceeded."""
    return {kind: used[kind] - most for kind, most in limit.items() if kind in used and used[kind] > most}


def amount_of(
    limit: Vector[T], used: Mapping[T, int], path: Iterable[tuple[Vector[T], Mapping[T, int]]]
) -> dict[T, int]:
    """What the queue has to give back; `path` has guarantee and usage of it and of all above it.

    No more than the largest excess over a guarantee on the path: a type that nobody guarantees, or that is within
    the guarantee everywhere, is not capped.
    """
    if not limit or not used:
        return {}
    caps: dict[T, int] = {}
    for guaranteed, held in path:
        for kind, excess in above(guaranteed or {}, held).items():
            caps[kind] = max(excess, caps.get(kind, 0))
    return {kind: min(excess, caps.get(kind, excess)) for kind, excess in above(limit, used).items()}


def excess_of(guaranteed: Vector[T], used: Mapping[T, int]) -> dict[T, int] | None:
    """A child's part in the split: how far it is from its guarantee in each type of that, to whichever side; all it
    uses where it has none. None if it uses nothing or is within its guarantee.
    """
    if not used or (guaranteed and covers(guaranteed, used, equal=True)):
        return None
    if not guaranteed:
        return dict(used)
    return {kind: abs(amount - used.get(kind, 0)) for kind, amount in guaranteed.items()}


def split(amount: Mapping[T, int], excess: Mapping[Q, Mapping[T, int]], grain: Grain[T]) -> dict[Q, dict[T, int]]:
    """The amount over the children by their excess, rounded down; types that a child has no part in are not named."""
    total: dict[T, int] = {}
    for part in excess.values():
        for kind, much in part.items():
            total[kind] = total.get(kind, 0) + much
    return {
        child: {
            kind: much * amount[kind] // (total[kind] * grain(kind)) * grain(kind) if much else 0
            for kind, much in part.items()
            if kind in amount
        }
        for child, part in excess.items()
    }


def score(held: Held[T], amount: Mapping[T, int]) -> int:
    """Higher goes first: per cent of its types that are given back, and before that who should have been spared."""
    matching = sum(kind in amount for kind in held.amounts)
    share = PERCENT * matching // len(held.amounts) if held.amounts else 0
    return share + ORIGINATOR * held.originator + OPTED_OUT * held.opted_out


def in_order(candidates: Sequence[Held[T]], amount: Mapping[T, int], limit: Vector[T], grain: Grain[T]) -> list[int]:
    """The turn of these candidates, as positions; of equals the later one goes first.

    Higher score, lower priority, younger hour, and smaller share of the leaf's own limit over the amount's types, the
    largest share compared first. A type that the limit does not name is compared by its plain number.
    """

    def key(at: int) -> tuple[int, int, int, list[Fraction]]:
        held = candidates[at]
        shares = [Fraction(held.amounts.get(kind, 0), (limit or {}).get(kind) or grain(kind)) for kind in amount]
        return -score(held, amount), held.priority, -held.hour, sorted(shares, reverse=True)

    return sorted(range(len(candidates) - 1, -1, -1), key=key)


def chosen(candidates: Sequence[Held[T]], turn: Iterable[int], amount: Mapping[T, int]) -> list[int]:
    """Of the candidates, in their turn, those that go: each that fits what is still to be given back.

    No search: the release takes what comes next, and passes over one that is larger than what is left. So the queue
    may stay above its max although another set would bring it below; that is what the release does.
    """
    victims: list[int] = []
    total: dict[T, int] = {}
    for at in turn:
        held = candidates[at].amounts
        if not fits({kind: amount.get(kind, much) for kind, much in held.items()}, held):
            continue
        sums = {kind: total.get(kind, 0) + held.get(kind, 0) for kind in total.keys() | held.keys()}
        if within(amount, sums):
            victims.append(at)
            total = sums
    return victims


HOUR = 3600 * SECOND
THOUSANDTHS = frozenset({"cpu", "vcore"})
"""Resources that YuniKorn counts in thousandths; all others it counts in whole units."""


@dataclass(slots=True)
class Leaf:
    """What one leaf gives back; `held` are its candidates, in the order of uids, and `rows` who they are."""

    queue: int
    share: Amounts
    rows: list[int]
    held: list[Held[int]]
    taken: list[int] = field(default_factory=list)

    @property
    def victims(self) -> list[int]:
        return [self.rows[at] for at in self.taken]


@dataclass(slots=True)
class Cut:
    """A queue, what it has to give back in all, and its leaves."""

    queue: int
    amount: Amounts
    leaves: list[Leaf]

    @property
    def victims(self) -> list[int]:
        return [row for leaf in self.leaves for row in leaf.victims]


class Scales:
    """The numbers of one cycle. Amounts are nano-units by column, so that they are rounded as YuniKorn counts."""

    def __init__(self, state: State, queues: Queues) -> None:
        self.state = state
        self.queues = queues
        self.leaving = leaving_of(state, queues)

    def used(self, queue: int, *, staying: bool = False) -> Amounts:
        """What the queue uses, type by type; `staying`: less what is being preempted."""
        column = self.state.tree.usage[:, queue]
        return self.positive(column - self.leaving[queue] if staying and queue in self.leaving else column)

    def limit(self, queue: int) -> Amounts | None:
        return self._nano(self.queues.max[queue])

    def guaranteed(self, queue: int) -> Amounts | None:
        return self._nano(self.queues.guaranteed[queue])

    def positive(self, counts: Int64s) -> Amounts:
        nano = self.state.units.nano
        return {int(c): int(counts[c]) * nano[c] for c in np.flatnonzero(counts > 0).tolist() if c != WHOLE}

    def grain(self, column: int) -> int:
        """What YuniKorn counts as 1."""
        resource = self.state.units.names[column].partition("@")[0]
        return COARSEST // 1000 if resource in THOUSANDTHS else COARSEST

    def named(self, amounts: Amounts) -> dict[str, int]:
        return {self.state.units.names[column]: amount for column, amount in amounts.items()}

    def _nano(self, counts: Amounts | None) -> Amounts | None:
        nano = self.state.units.nano
        return None if counts is None else {column: count * nano[column] for column, count in counts.items()}


def cut_of(scales: Scales, queue: int) -> Cut:
    """What becomes of the queue if it is cut back now."""
    path = [(scales.guaranteed(above), scales.used(above, staying=True)) for above in scales.queues.path[queue]]
    amount = amount_of(scales.limit(queue), path[0][1], path)
    shares = shares_of(scales, queue, amount)
    return Cut(queue, amount, [leaf_of(scales, leaf, share) for leaf, share in shares.items() if any(share.values())])


def shares_of(scales: Scales, queue: int, amount: Amounts) -> dict[int, Amounts]:
    """The amount over the leaves below the queue; a leaf gives back all of its own."""
    children = scales.queues.children[queue]
    if not children:
        return {queue: amount}
    excess = {child: excess_of(scales.guaranteed(child), scales.used(child)) for child in children}
    parts = split(amount, {child: part for child, part in excess.items() if part is not None}, scales.grain)
    shares: dict[int, Amounts] = {}
    for child, part in parts.items():
        shares |= shares_of(scales, child, part)
    return shares


def holds_some(state: State, share: Amounts) -> Bools:
    """Workloads that hold something of what is given back."""
    size = state.work.size
    some = np.zeros(size, np.bool_)
    for column in share:
        some |= state.work.usage[column, :size] > 0
    return some


def leaf_of(scales: Scales, queue: int, share: Amounts) -> Leaf:
    """The candidates of a leaf, and those of them that go for its share."""
    state = scales.state
    work, size = state.work, state.work.size
    running = (work.queue[:size] == queue) & (work.state[:size] == RUNNING)
    looked = running & (work.required_node[:size] == NONE) & holds_some(state, share)
    rows = ordered(state, np.flatnonzero(looked)).tolist()
    held = [
        Held(
            scales.positive(work.usage[:, row]),
            int(work.priority[row]),
            int(work.submitted[row]) // HOUR,
            bool(work.originator[row]),
            not work.preemptible[row],
        )
        for row in rows
    ]
    turn = in_order(held, share, scales.limit(queue), scales.grain)
    return Leaf(queue, share, rows, held, chosen(held, turn, share))


def decision_of(scales: Scales, cut: Cut, *, explain: bool) -> Decision:
    """What goes so that the queue is no longer above its max; it serves no claimant."""
    rule, names = rules.CUT_BACK.id, scales.state.work_names
    return Decision(
        None,
        "preempt",
        rule,
        _why(scales, cut),
        tuple(Victim(names[row], rule, rule=rule) for row in cut.victims),
        warnings=(*_unwilling(scales, cut), *_below_guarantee(scales, cut)),
        candidates=_explained(scales, cut) if explain else None,
    )


def _why(scales: Scales, cut: Cut) -> str:
    used, limit = scales.used(cut.queue), scales.limit(cut.queue) or {}
    held = _say(scales, {column: used[column] for column in cut.amount})
    most = _say(scales, {column: limit[column] for column in cut.amount})
    names, queues = scales.state.work_names, scales.queues
    who = ", ".join(f"{names[row]} ({_queue(scales, row)})" for row in cut.victims)
    back = _say(scales, cut.amount)
    return f"{queues.name(cut.queue)} holds {held} and may hold {most}; it gives back up to {back} and preempts {who}"


def _queue(scales: Scales, row: int) -> str:
    return scales.queues.name(int(scales.state.work.queue[row]))


def _say(scales: Scales, amounts: Amounts) -> str:
    """Amounts in nano-units, for a sentence."""
    named = scales.named({column: amount for column, amount in amounts.items() if amount})
    return ", ".join(f"{show_quantity(name, named[name])} {name}" for name in sorted(named)) or "nothing"


def _explained(scales: Scales, cut: Cut) -> tuple[Candidate, ...]:
    """All that holds room below the queue."""
    state = scales.state
    work, size = state.work, state.work.size
    own, phase = work.queue[:size], work.state[:size]
    inside = np.isin(own, list(scales.queues.inside(cut.queue)))
    by_queue = {leaf.queue: leaf for leaf in cut.leaves}
    useless = np.ones(size, np.bool_)
    for leaf in cut.leaves:
        useless &= ~((own == leaf.queue) & holds_some(state, leaf.share))
    candidates = Candidates(inside & (phase >= RESERVED)).protect(
        (rules.NOT_RUNNING, phase != RUNNING),
        (rules.PINNED, work.required_node[:size] != NONE),
        (rules.NO_SHARE, useless),
    )

    def facts(row: int) -> Mapping[str, object]:
        leaf = by_queue.get(int(own[row]))
        required = int(work.required_node[row])
        return {
            "firing": scales.queues.name(cut.queue),
            "queue": _queue(scales, row),
            "share": _say(scales, leaf.share) if leaf is not None else "nothing",
            "held": _say(scales, scales.positive(work.usage[:, row])),
            "state": STATES[int(phase[row])],
            "required": state.node_names[required] if required != NONE else "",
        }

    return candidates.explain(state, facts, dict.fromkeys(cut.victims, rules.CUT_BACK), rules.KEPT)


def _unwilling(scales: Scales, cut: Cut) -> Iterator[Warning]:
    """Those who should have been spared, where an ordinary one of the leaf would have given as much."""
    names = scales.state.work_names
    for leaf in cut.leaves:
        for at in leaf.taken:
            other = None if _ordinary(leaf.held[at]) else _instead(leaf, at)
            if other is not None:
                row = leaf.rows[at]
                who = {"victim": names[row], "asks": asks(scales.state, row), "instead": names[other]}
                yield Warning(rules.BREAKS_1.id, rules.BREAKS_1.because(**who))


def _instead(leaf: Leaf, at: int) -> int | None:
    """One that stays, asks for nothing, and holds as much of what the leaf gives back."""
    gives = {column: leaf.held[at].amounts.get(column, 0) for column in leaf.share}
    for other, held in enumerate(leaf.held):
        alike = all(held.amounts.get(column, 0) == much for column, much in gives.items())
        if alike and other not in leaf.taken and _ordinary(held):
            return leaf.rows[other]
    return None


def _ordinary(held: Held[int]) -> bool:
    return not held.originator and not held.opted_out


def _below_guarantee(scales: Scales, cut: Cut) -> Iterator[Warning]:
    """Queues that end below their guarantee in a type of which something goes."""
    state, queues = scales.state, scales.queues
    gone: dict[int, Int64s] = {}
    for row in cut.victims:
        for queue in queues.path_of(int(state.work.queue[row])):
            gone[queue] = gone.get(queue, 0) + state.work.usage[:, row]
    for queue in sorted(gone, key=queues.names.__getitem__):
        after = state.tree.usage[:, queue] - scales.leaving.get(queue, 0) - gone[queue]
        promised = {
            column: amount
            for column, amount in queues.guarantee(queue).items()
            if gone[queue][column] and after[column] < amount
        }
        if promised:
            left = say(state, {column: int(after[column]) for column in promised})
            numbers = {"queue": queues.name(queue), "left": left, "guaranteed": say(state, promised)}
            yield Warning(rules.BREAKS_2.id, rules.BREAKS_2.because(**numbers))


INTERVAL = SECOND
"""YuniKorn looks at the quotas once a second."""


def cut_back(cycle: Cycle, queues: Queues) -> Iterator[Decision]:
    """One decision for each queue that is above its max, whose time has come, and that finds somebody to take.

    From the root down; what is below a queue that is cut back is left alone in this cycle.
    """
    state = cycle.state
    choice = state.static.doctrine
    if choice is None or not mode_of(choice.settings).quota:
        return
    timers = _timers_of(cycle)
    _tick(cycle, queues, timers)
    below = [queue for queue in range(queues.size) if len(queues.path[queue]) == 1]
    below.sort(key=queues.names.__getitem__, reverse=True)
    while below:
        queue = below.pop()
        name = queues.names[queue]
        timer, scales = timers.get(name), Scales(state, queues)
        if timer is None or not fires(timer, scales.named(scales.used(queue)), state.now):
            below += reversed(queues.children[queue])
            continue
        cut = cut_of(scales, queue)
        cycle.wake(state.now + INTERVAL)  # what is below may be due as well
        if not cut.victims:
            timers[name] = replace(timer, start=None)
            continue
        timers[name] = replace(timer, taken=tuple(state.work_names[row] for row in cut.victims))
        made = decision_of(scales, cut, explain=cycle.explain)
        for row in cut.victims:
            cycle.trial.evict(row)
        yield made


def _timers_of(cycle: Cycle) -> dict[str, Timer]:
    """The timers of a run of cycles; of a single plan, none yet."""
    timers = cycle.memory.get(TIMERS)
    if not isinstance(timers, Timers):
        timers = cycle.memory[TIMERS] = Timers()
    return timers.by_queue


def _tick(cycle: Cycle, queues: Queues, timers: dict[str, Timer]) -> None:
    """Every timer as it stands now; the cycle wakes when the next one runs out."""
    state, now = cycle.state, cycle.state.now
    scales = Scales(state, queues)
    for queue, name in enumerate(queues.names):
        limit = scales.limit(queue) if state.tree.listed[queue] else None
        delay, known = queues.properties[queue].quota_delay, timers.get(name)
        if known is None and (limit is None or not delay):
            continue
        named, used = None if limit is None else scales.named(limit), scales.named(scales.used(queue))
        if known is None:
            given = int(state.tree.over_limit_since[queue])
            timer = first_seen(named, delay, used, now, None if given == NEVER else given)
        else:
            timer = advanced(_carried_out(state, known), named, delay, used, now)
        timers[name] = timer
        if timer.start is not None and timer.start > now:
            cycle.wake(timer.start)


def _carried_out(state: State, timer: Timer) -> Timer:
    """A run stops the timer, unless its plan was not carried out: then all it took run on."""
    if not timer.taken:
        return timer
    index, phase = state.work_index, state.work.state
    still = all(name in index and phase[index[name]] == RUNNING for name in timer.taken)
    return replace(timer, taken=(), start=timer.start if still else None)
