"""The preemption of a head that has one member, found without the columns: what `bep_1014.victims_for` finds there.

Victims are taken in order, by priority first, until some node has room, so that only those nodes matter which are ready
at the lowest priority at which any node is: every other node becomes ready later in the order. What may be preempted is
summed by node and priority anyway, which finds these nodes without a look at one workload. Within that priority the
order is followed victim by victim, on those nodes alone; the first of them that is ready ends it, and those of the
prefix that stand elsewhere are spared by the rule that none is superfluous.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterator
from dataclasses import replace
from heapq import heapify, heappop, heapreplace
from itertools import groupby

import numpy as np

from cede.doctrines.backendai import rules
from cede.doctrines.backendai.bep_1014 import candidates, victims_for
from cede.doctrines.backendai.kinds import Kind, kind_of
from cede.doctrines.backendai.settings import Settings
from cede.doctrines.backendai.wording import fate_of_kind, preempting
from cede.doctrines.parts.best_fit import Need
from cede.doctrines.parts.doctrine import Cycle
from cede.doctrines.parts.equivalence import about
from cede.doctrines.parts.fit import fits, place
from cede.doctrines.parts.limits import broken, nodes_over
from cede.doctrines.parts.outcomes import flavors_of, names_of
from cede.doctrines.parts.reservation import Reservation, reserve
from cede.doctrines.parts.shortage import lacking
from cede.doctrines.parts.waiting_line import End, Form, Front, Fronts, Key, Row, Start
from cede.model.plan import Decision, Victim
from cede.state.columns import NEVER, NONE
from cede.state.state import State

Turn = tuple[int, int, str, str]
"""Where a workload stands in the order of victims: priority, start, uid, name."""


def preempt(
    state: State, front: Front, rows: dict[int, Row], head: Key, form: Form, settings: Settings, lower: list[int]
) -> Decision | None:
    """The decision; none if no victims make room. Every workload is in records, and no limit is in the way."""
    assert form.shape is not None
    need, free = form.shape.need, front.index.free
    levels = sorted(lower)
    nodes, at = _ready_first(front, need, levels)
    if not nodes:
        return None
    newest = settings.order == "newest"
    standing, records, uids, names = state.room().standing, state.records, state.uids, state.work_names

    def turn(row: int) -> Turn:
        record = records[row]
        return record.priority, -record.started if newest else record.started, uids[row], names[row]

    below, level = levels[:at], levels[at]
    short: dict[int, dict[int, int]] = {}
    ready: list[int] = []
    last = NONE
    for last in _in_order(front.standing[level], newest):
        record = records[last]
        for node in set(record.nodes) & nodes:
            lacks = short.get(node)
            if lacks is None:
                kind, there = free[node], front.standing_on[node]
                gone = [there[one] for one in below if one in there]
                lacks = short[node] = {
                    column: count - kind[column + 1] - sum(amounts[column] for amounts in gone)
                    for column, count in need
                }
            members = standing[node][last]
            for column, count in record.template.need:
                if column in lacks:
                    lacks[column] -= count * members
            if max(lacks.values()) <= 0:
                ready.append(node)
        if ready:
            break
    until = turn(last)
    prefix = {
        row
        for node in ready
        for row in standing[node]
        if rows[row].open and rows[row].priority <= level and rows[row].priority in levels and turn(row) <= until
    }
    victims = _spared(state, front, need, ready, sorted(prefix, key=turn))
    return _decision(state, front, head, form, settings, victims)


def _in_order(began: list[Start], newest: bool) -> Iterator[int]:
    """Rows by their start, the oldest or the newest first; those that began at one time by uid."""
    if not newest:
        yield from (start[3] for start in began)
        return
    for _, together in groupby(reversed(began), key=lambda start: start[0]):
        yield from (start[3] for start in sorted(together))


def _ready_first(front: Front, need: tuple[tuple[int, int], ...], levels: list[int]) -> tuple[set[int], int]:
    """The nodes that have room when all up to the lowest possible of these priorities are gone from them, and which of
    the priorities that is."""
    free = front.index.free
    most = len(levels)
    nodes: set[int] = set()
    for node, standing in front.standing_on.items():
        kind = free.get(node)
        if kind is None:
            continue
        short = [(column, count - kind[column + 1]) for column, count in need if count > kind[column + 1]]
        for at in range(most):
            amounts = standing.get(levels[at])
            if amounts is None:
                continue
            short = [(column, lacks - amounts[column]) for column, lacks in short if lacks > amounts[column]]
            if not short:
                if at < most - 1:
                    most = at + 1
                    nodes.clear()
                nodes.add(node)
                break
    return nodes, most - 1


def _spared(
    state: State,
    front: Front,
    need: tuple[tuple[int, int], ...],
    ready: list[int],
    prefix: list[int],
) -> list[int]:
    """Of those that go up to the one that makes these nodes ready, whoever must so that one of them stays so."""
    if len(prefix) == 1:
        return prefix
    standing = state.room().standing
    slack: dict[int, dict[int, int]] = {}
    for node in ready:
        kind = front.index.free[node]
        left = slack[node] = {column: kind[column + 1] - count for column, count in need}
        for row in prefix:
            members = standing[node].get(row, 0)
            for column, count in state.records[row].template.need if members else ():
                if column in left:
                    left[column] += count * members
    victims: list[int] = []
    for row in reversed(prefix):
        without: dict[int, dict[int, int]] = {}
        for node, left in slack.items():
            members = standing[node].get(row, 0)
            taken = dict(state.records[row].template.need)
            without[node] = {column: amount - taken.get(column, 0) * members for column, amount in left.items()}
        if any(min(left.values()) >= 0 for left in without.values()):
            slack = without
        else:
            victims.append(row)
    return victims[::-1]


def _decision(state: State, front: Front, head: Key, form: Form, settings: Settings, victims: list[int]) -> Decision:
    """It goes where it fits best of the nodes that they leave: on the others it did not fit before."""
    assert form.shape is not None
    index, records = front.index, state.records
    then: dict[int, list[int]] = {}
    for row in victims:
        record = records[row]
        for node in record.nodes:
            if node in index.free:
                kind = then.setdefault(node, list(index.free[node]))
                for column, count in record.template.need:
                    kind[column + 1] += count
    scores = {node: score for node, kind in then.items() if (score := index.score(kind, form.shape)) is not None}
    node = min(scores, key=lambda node: (scores[node][0], index.rank[node]))
    before = np.array(index.free[node][1:], np.int64)
    short = lacking(state, form.claim, [node], {node: before})
    who = ", ".join(f"{state.work_names[row]} (priority {records[row].priority})" for row in victims)
    lost = tuple(
        Victim(state.work_names[row], rules.LOWER.id, fate_of_kind(records[row].template.kind, settings))
        for row in victims
    )
    return Decision(
        head[3],
        "preempt",
        rules.LOWER.id,
        f"{short}; it has priority {-head[0]} and preempts {who}",
        lost,
        names_of(state, [node]),
        flavors_of(state, form.claim, [node]) if state.units.flavored else {},
    )


FRONTS = "backendai.fronts"


def order(priority: int, submitted: int) -> tuple[int, int]:
    """Priority descending, then submission."""
    return -priority, submitted


def decide(cycle: Cycle) -> Iterator[Decision]:
    """What `bep_1014.decide` decides that acts, up to the first preemption, and refusals of those that just came."""
    state = cycle.state
    fronts: Fronts | None = cycle.memory.get(FRONTS)
    if fronts is None or not fronts.follow(state):
        fronts = cycle.memory[FRONTS] = Fronts(state, order)
    grown = state.journal.grown
    made: list[Decision] = []
    for front in fronts.in_order:
        if not front.line:
            continue
        everything = front.seen != grown
        if not everything and cycle.backfill == "easy" and front.ends and front.ends[0][0] <= state.now:
            everything = True  # what is overdue is expected to end at once: as time goes on, more is
        if everything or front.fresh:
            if not _all_wait(front, fronts.rows, cycle.backfill) and _Pass(cycle, fronts, front, made).decide(
                everything=everything
            ):
                break
            front.seen = grown
            front.fresh.clear()
    return iter(made)


def _all_wait(front: Front, rows: dict[int, Row], backfill: str) -> bool:
    """Whether it is plain that nothing starts, is preempted or is refused, as mostly where somebody came or went.

    The first in line finds no room since its form was shut, and no priority below its own may be preempted. Behind it
    nothing may pass, or nothing fits either.
    """
    if backfill != "strict":
        for other in front.live:
            if not other.shut:
                return False
    for head in front.line:
        form = rows[head[4]].form
        if form.answer is None:
            return False
        if form.answer[1] is None:
            break
    else:
        return False
    if not form.shut or form.limited:
        return False
    for level in front.levels:
        if level < -head[0]:
            return False
    for key in front.fresh:
        answer = rows[key[4]].form.answer
        if answer is None or answer[1] is not None:
            return False
    front.heads = (head,)
    return True


class _Pass:
    """One partition in one cycle, that something happened in. What it decides is added to `made`."""

    __slots__ = ("_unbooked", "backfill", "booked", "cycle", "front", "index", "made", "rows", "state", "taken")

    def __init__(self, cycle: Cycle, fronts: Fronts, front: Front, made: list[Decision]) -> None:
        self.cycle = cycle
        self.state = cycle.state
        self.backfill = cycle.backfill
        self.front = front
        self.index = front.index
        self.rows = fronts.rows
        self.made = made
        self.taken: set[int] = set()
        self.booked: list[End] = []
        """When those are expected to end that start in this cycle."""
        self._unbooked: list[tuple[int, list[int]]] = []
        """Who starts in this cycle and where, as far as the columns do not know it yet."""

    def decide(self, *, everything: bool) -> bool:
        """Whether one of the decisions preempts: then it is the last. Where not everything can have changed, only those
        that just came are looked at."""
        front, line, rows, taken = self.front, self.front.line, self.rows, self.taken
        fresh = front.fresh
        if len(fresh) > 1:
            fresh.sort()
        from_the_top = everything
        if not everything:  # whoever is ahead of all that may ever run is the head, or takes room ahead of it
            for key in line:
                if self._refused(rows[key[4]].form, key) is None:
                    from_the_top = fresh[0] <= key
                    break
            everything = from_the_top and self.backfill == "easy"  # another head is another time by which to end
        for key in fresh:
            form = rows[key[4]].form
            refused = (form.answer or self._answer(form, key[4]))[1]
            if refused is not None:
                taken.add(key[4])
                self.made.append(about(refused, key[3]))
        head: Key | None = None
        for key in line:  # from the top, until one does not fit
            row = rows[key[4]]
            if key[4] in taken or (row.form.answer or self._answer(row.form, key[4]))[1] is not None:
                continue
            if not from_the_top or not self._start(key, row):
                head = key
                break
        front.heads = ()
        if head is None:
            return False
        if front.levels:
            made = self._preempt(head)
            if made is not None:
                self.made.append(made)
                return True
        front.heads = (head,)
        if self.backfill != "off" and rows[head[4]].form.limited:
            then = self._waits_for_room(head)
            everything = True
            if then is None:
                return False
            if then != head:
                head = then
                front.heads = (*front.heads, head)
        if self.backfill != "strict":
            self._behind(head, line if everything else fresh, everything=everything)
        return False

    # -- the head and those behind it --------------------------------------------------------------------------

    def _waits_for_room(self, head: Key) -> Key | None:
        """The first that waits for room on nodes: one that waits for something else holds nothing back."""
        for key in self.front.line:
            row = self.rows[key[4]]
            if key < head or key[4] in self.taken or self._refused(row.form, key) is not None:
                continue
            if key != head and self._start(key, row):
                continue
            self._book()
            if not fits(self.state, row.form.claim):
                return key
        return None

    def _behind(self, head: Key, keys: list[Key], *, everything: bool) -> None:
        rows = self.rows
        if everything:
            for form in self.front.live:
                if not form.shut:
                    break
            else:
                return
        else:
            for key in keys:
                if not rows[key[4]].form.shut:
                    break
            else:
                return
        if self.backfill == "easy":
            form = rows[head[4]].form
            if len(self.state.node_names) == 1 and form.shape is not None and not self.state.between:
                there = self._reserve_on_the_node(form)
                if there is not None:
                    self._backfill_the_node(head, keys, *there)
                    return
            else:
                self._book()
                reservation = reserve(self.state, form.claim, self._ends())
                if reservation is not None:
                    self._backfill_around(head, keys, reservation)
                    return
        if everything:
            self._by_form(head)
            return
        for key in keys:
            if key > head and key[4] not in self.taken:
                self._start(key, rows[key[4]])

    def _ends(self) -> list[End]:
        """When everybody is expected to end, those that start in this cycle among them."""
        return sorted([*self.front.ends, *self.booked]) if self.booked else self.front.ends

    def _by_form(self, head: Key) -> None:
        """Of all forms that may fit the first in line, again and again, until none does.

        Within a pass starts only take room. So one that does not fit stands for all behind it of its form, and the
        smallest key among the forms' first ones is the next workload of the whole line that can start.
        """
        rows, taken = self.rows, self.taken
        firsts: list[tuple[Key, int, Form]] = []
        for form in self.front.live:
            if not form.shut:
                at = bisect_right(form.entries, head)
                if at < len(form.entries):
                    firsts.append((form.entries[at], at, form))
        heapify(firsts)  # no two keys are the same, so that nothing behind them is compared
        while firsts:
            key, at, form = firsts[0]
            if key[4] not in taken and not self._start(key, rows[key[4]]):
                heappop(firsts)
            elif at + 1 < len(form.entries):
                heapreplace(firsts, (form.entries[at + 1], at + 1, form))
            else:
                heappop(firsts)

    def _reserve_on_the_node(self, form: Form) -> tuple[int, list[int]] | None:
        """As `reserve` where there is but one node: when the form has room, and what is left beside it then."""
        if not self.index.free:
            return None
        ((_, *free),) = self.index.free.values()
        at: int | None = None
        for end, _, totals in self._ends():
            if at is not None and end > at:
                break
            for column, amount in totals:
                free[column] += amount
            if at is None:
                for column, _, total in form.needs:
                    if free[column] < total:
                        break
                else:
                    at = max(end, self.state.now)
        if at is None:
            return None
        for column, _, total in form.needs:
            free[column] -= total
        return at, free

    def _backfill_the_node(self, head: Key, keys: list[Key], at: int, left: list[int]) -> None:
        """Those behind the head that end before it has its room, or fit into what is left beside it then."""
        in_time = at - self.state.now
        rows, taken = self.rows, self.taken
        for key in keys:
            row = rows[key[4]]
            form = row.form
            if form.shut or key <= head or key[4] in taken:
                continue
            late = row.walltime > in_time
            if late:
                for column, _, total in form.needs:
                    if left[column] < total:
                        break
                else:
                    late = False
                if late:
                    continue
                late = True
            if self._refused(form, key) is not None:
                continue
            if self._start(key, row) and late:
                for column, _, total in form.needs:
                    left[column] -= total

    def _backfill_around(self, head: Key, keys: list[Key], reservation: Reservation) -> None:
        """The same on nodes of which each has something left beside the head."""
        state, rows, taken = self.state, self.rows, self.taken
        in_time = reservation.at - state.now
        late: set[Form] = set()
        for key in keys:
            row = rows[key[4]]
            form, walltime = row.form, row.walltime
            if form.shut or key <= head or key[4] in taken or (walltime > in_time and form in late):
                continue
            if self._refused(form, key) is not None:
                continue
            nodes = self._place(key, form)
            if nodes is None:
                continue
            if not reservation.allows(form.claim, nodes, state.now, walltime):
                late.add(form)
                continue
            reservation.take(form.claim, nodes, state.now, walltime)
            late.clear()
            self._started(key, row, nodes)

    def _preempt(self, head: Key) -> Decision | None:
        state, front, row = self.state, self.front, head[4]
        for level in front.levels:
            if level < -head[0]:
                break
        else:
            return None
        form = self.rows[row].form
        kind = self._answer(form, row)[0]
        record = state.records.get(row)
        if not (state.work.preempts[row] if record is None else record.template.preempts):
            return None
        priority, threshold = -head[0], kind.settings.threshold
        lower = [level for level in front.levels if level < priority and level <= threshold]
        if not lower:
            return None
        front.take_news(state)
        question: tuple[object, ...]
        if form.shape is None or form.limited:
            question = (row, head, front.changes, state.journal.grown, state.journal.reshaped, len(self.taken))
            if front.failed == question:
                return None
        else:
            # While nothing grows on a node, neither what is free there nor what may be preempted, it makes no more room
            # than before: of a head that one node must take only the others are looked at again. Priorities come and
            # go with those that stand there.
            question = (row, head)
            among = front.doubt if front.failed == question and form.shape.members == 1 else front.standing_on
            if not among or not self._would_fit(form, lower, among):
                front.failed = question
                front.doubt.clear()
                return None
            if form.shape.members == 1 and len(state.records) == len(state.work_index) and not self.cycle.optimal:
                made = preempt(state, front, self.rows, head, form, kind.settings, lower)
                assert made is not None, "there is room without them"
                return made
        self._book()
        claim = replace(form.claim, row=row, name=head[3])
        short = broken(kind.limits_of(state, row))
        if state.static.tenants and not short and (nodes := place(state, claim)) is not None:
            short = [over for over in (nodes_over(state, row, nodes),) if over is not None]
        looked_at = candidates(state, claim, kind.settings)
        victims = victims_for(self.cycle, claim, kind.settings, looked_at.open, short)
        if victims is None:
            front.failed = question
            front.doubt.clear()
            return None
        leave = self.cycle.trial.evict
        return preempting(self.cycle, claim, kind.settings, looked_at, victims, rules.LOWER, leave, limits=short)

    def _would_fit(self, form: Form, lower: list[int], among: Collection[int]) -> bool:
        """Whether it would fit if all of these priorities that may be preempted were gone from these nodes; exact."""
        assert form.shape is not None
        free, need = self.index.free, form.shape.need
        missing = form.shape.members
        if missing == 1:
            return self._one_would_fit(need, lower, among)
        missing -= self.index.room(form.shape)
        for node in among:
            kind, standing = free.get(node), self.front.standing_on.get(node)
            if kind is None or standing is None:
                continue
            takes = form.shape.members
            before = takes
            for column, count in need:
                has = kind[column + 1]
                before = min(before, max(0, has // count))
                for level in lower:
                    amounts = standing.get(level)
                    if amounts is not None:
                        has += amounts[column]
                if has < count:
                    takes = 0
                    break
                takes = min(takes, has // count)
            else:
                missing -= takes - before
                if missing <= 0:
                    return True
        return False

    def _one_would_fit(self, need: Need, lower: list[int], among: Collection[int]) -> bool:
        """The same of a single member."""
        free, standing_on = self.index.free, self.front.standing_on
        for node in among:
            kind, standing = free.get(node), standing_on.get(node)
            if kind is None or standing is None:
                continue
            for column, count in need:
                lacks = count - kind[column + 1]
                if lacks > 0:
                    for level in lower:
                        if level in standing:
                            lacks -= standing[level][column]
                    if lacks > 0:
                        break
            else:
                return True
        return False

    # -- one workload ------------------------------------------------------------------------------------------

    def _answer(self, form: Form, row: int) -> tuple[Kind, Decision | None]:
        """What holds for all like it, and the refusal that all of them get."""
        answer: tuple[Kind, Decision | None] | None = form.answer
        if answer is None:
            kind = replace(kind_of(self.cycle, row), claim=form.claim)
            answer = form.answer = (kind, kind.refused or kind.too_big(self.state))
        return answer

    def _refused(self, form: Form, key: Key) -> Decision | None:
        return (form.answer or self._answer(form, key[4]))[1]

    def _start(self, key: Key, row: Row) -> bool:
        """It starts if it fits, and within its limits."""
        form = row.form
        if form.shut or (form.answer or self._answer(form, key[4]))[1] is not None:
            return False
        if form.shape is not None and not form.limited and not self.state.static.tenants and self.index.free:
            nodes = self.index.place(form.shape)
            if nodes is None:
                form.shut = True
                return False
        else:
            nodes = self._place(key, form)
            if nodes is None:
                return False
        self._started(key, row, nodes)
        return True

    def _place(self, key: Key, form: Form) -> list[int] | None:
        """Where it would start; a form that finds no room on nodes is shut."""
        state = self.state
        if form.limited:
            self._book()
            if broken(self._answer(form, key[4])[0].limits_of(state, key[4])):
                return None
        if form.shape is not None and state.node_names:
            nodes = self.index.place(form.shape)
        else:
            self._book()
            nodes = place(state, form.claim)
        if nodes is None:
            form.shut = True
        elif state.static.tenants:
            self._book()
            return nodes if nodes_over(state, key[4], nodes) is None else None
        return nodes

    def _started(self, key: Key, row: Row, nodes: list[int]) -> None:
        state, form = self.state, row.form
        self.taken.add(key[4])
        self._unbooked.append((key[4], nodes))
        need = None if form.shape is None else form.shape.need
        if need is not None:
            self.index.book(nodes, need)
        else:
            for node, vector in zip(nodes, form.claim.vectors, strict=False):
                self.index.book([node], tuple((c, n) for c, n in enumerate(vector.tolist()) if n))
        if row.walltime != NEVER:
            self.booked.append((state.now + row.walltime, key[4], form.totals))
        names = tuple(map(state.node_names.__getitem__, nodes))
        if self.cycle.reasons:
            where = names[0] if len(names) == 1 else ", ".join(dict.fromkeys(names))
            sentence = rules.FITS.because(nodes=where or "its quota (the file has no nodes)")
        else:
            sentence = rules.FITS.sentence
        flavors = flavors_of(state, form.claim, nodes) if state.units.flavored else {}
        self.made.append(Decision(key[3], "start", rules.FITS.id, sentence, (), names, flavors))

    def _book(self) -> None:
        """What was decided is booked in the columns when somebody looks at them, and not before."""
        if self._unbooked:
            for row, nodes in self._unbooked:
                self.cycle.trial.book(row, nodes)
            self._unbooked.clear()
