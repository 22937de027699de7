"""Edition `bep-1014` without words: the decisions that act, found by looking only at what can have changed.

A workload that found no room finds none until somebody leaves, so that whoever comes is looked at alone; and of all
that wait alike only the first is. The answers are those of `proposal`, which also says why the others wait.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import replace

from cede.doctrines.backendai import rules
from cede.doctrines.backendai.answers import preempting
from cede.doctrines.backendai.known import Kind, kind_of
from cede.doctrines.backendai.proposal import candidates, victims_for
from cede.doctrines.parts.claim import Claim
from cede.doctrines.parts.doctrine import Cycle
from cede.doctrines.parts.fit import fits, place
from cede.doctrines.parts.front import Form, Front, Fronts, Key
from cede.doctrines.parts.limits import broken
from cede.doctrines.parts.outcomes import flavors_of, names_of
from cede.doctrines.parts.reservation import Ends, Reservation, reserve
from cede.doctrines.parts.room import Room
from cede.doctrines.parts.shapes import about
from cede.model.plan import Decision
from cede.state.columns import NEVER
from cede.state.state import State

FRONTS = "backendai.fronts"


def order(state: State, row: int) -> tuple[int, int]:
    """Priority descending, then submission."""
    return -int(state.work.priority[row]), int(state.work.submitted[row])


def applies(state: State) -> bool:
    """Whether nothing is there that only the whole search weighs: tenants, policies, nodes kept for somebody."""
    return not (state.static.tenants or state.static.policies or state.reservations)


def decide(cycle: Cycle) -> Iterator[Decision]:
    """What `proposal.decide` decides that acts, up to the first preemption, and refusals of those that just came."""
    state = cycle.state
    fronts: Fronts | None = cycle.memory.get(FRONTS)
    if fronts is None or not fronts.follow(state):
        fronts = cycle.memory[FRONTS] = Fronts(state, order)
    names = state.partitions.names
    partitions = list(fronts.by_partition)
    if len(partitions) > 1:
        partitions.sort(key=names.__getitem__)
    for partition in partitions:
        front = fronts.by_partition[partition]
        if front.line:
            preempts = yield from _Pass(cycle, fronts, front).decide()
            if preempts:
                return


class _Pass:
    """One partition in one cycle."""

    def __init__(self, cycle: Cycle, fronts: Fronts, front: Front) -> None:
        self.cycle = cycle
        self.state = cycle.state
        self.front = front
        self.rows = fronts.rows
        self.room = Room(cycle.state)
        self.taken: set[int] = set()
        self._unbooked: tuple[int, list[int]] | None = None

    def decide(self) -> Generator[Decision, None, bool]:
        """Whether one of the decisions preempts: then it is the last."""
        front, journal = self.front, self.state.journal
        now = (journal.grown, journal.reshaped)
        everything = front.seen != now
        easy = self.cycle.backfill == "easy"
        if easy and front.ends and front.ends[0][0] <= self.state.now:
            everything = True  # what is overdue is expected to end at once: as time goes on, more is
        fresh = front.fresh
        if not everything and not fresh:
            return False
        if len(fresh) > 1:
            fresh.sort()
        line = front.line
        if easy and fresh and fresh[0] <= line[0]:
            everything = True  # another head, or room taken ahead of it, is another time by which to end
        for key in fresh:
            refused = self._answer(key)[1]
            if refused is not None:
                self.taken.add(key[4])
                yield about(refused, key[3])
        head: Key | None = None
        if everything or fresh[0] <= line[0]:
            for key in line:  # from the top, until one does not fit
                if key[4] not in self.taken and self._answer(key)[1] is None:
                    made = self._start(key)
                    if made is None:
                        head = key
                        break
                    yield made
        else:
            head = next((key for key in line if key[4] not in self.taken and self._answer(key)[1] is None), None)
        front.heads = ()
        if head is not None:
            made = self._preempt(head)
            if made is not None:
                yield made
                return True
            front.heads = (head,)
            if self.cycle.backfill != "off" and self.rows[head[4]].form.limited:
                head = yield from self._waits_for_room(head)
                everything = True
            if head is not None:
                front.heads = (*front.heads, head)
                yield from self._behind(head, line if everything else fresh, everything)
        front.seen = now
        fresh.clear()
        return False

    # -- the head and those behind it --------------------------------------------------------------------------

    def _waits_for_room(self, head: Key) -> Generator[Decision, None, Key | None]:
        """The first that waits for room on nodes: one that waits for something else holds nobody back."""
        for key in self.front.line:
            if key < head or key[4] in self.taken or self._answer(key)[1] is not None:
                continue
            made = None if key == head else self._start(key)
            if made is not None:
                yield made
                continue
            self._book()
            if not fits(self.state, self.rows[key[4]].form.claim):
                return key
        return None

    def _behind(self, head: Key, keys: list[Key], everything: bool) -> Iterator[Decision]:
        if self.cycle.backfill == "strict":
            return
        forms = self.front.live if everything else [self.rows[key[4]].form for key in keys]
        if not any(map(self.room.may_fit, forms)):
            return
        self._book()
        if self.cycle.backfill == "easy":
            reservation = reserve(self.state, self.rows[head[4]].form.claim, self._ends())
            if reservation is not None:
                yield from self._backfill(head, keys, reservation)
                return
        if everything:
            yield from self._by_form(head)
            return
        for key in keys:
            if key > head and key[4] not in self.taken:
                made = self._start(key)
                if made is not None:
                    yield made

    def _ends(self) -> Ends:
        """When everybody is expected to end, those that start in this cycle among them."""
        state = self.state
        known = self.front.ends
        if not state.booked_on:
            return known
        work, now = state.work, state.now
        more = [(now + int(work.walltime[row]), row, self.rows[row].form.totals) for row in state.booked_on]
        return sorted([*known, *(end for end in more if end[0] < NEVER)])

    def _by_form(self, head: Key) -> Iterator[Decision]:
        """Of all forms that may fit the first in line, again and again, until none does."""
        open_forms = [(form, 0) for form in self.front.live if self.room.may_fit(form)]
        while open_forms:
            best: tuple[Key, int] | None = None
            for number, (form, since) in enumerate(open_forms):
                entries, at = form.entries, since
                while at < len(entries) and (entries[at] <= head or entries[at][4] in self.taken):
                    at += 1
                open_forms[number] = (form, at)
                if at < len(entries) and (best is None or entries[at] < best[0]):
                    best = entries[at], number
            if best is None:
                return
            made = self._start(best[0])
            if made is None:
                del open_forms[best[1]]
            else:
                yield made
                self._book()
                open_forms = [(form, at) for form, at in open_forms if self.room.may_fit(form)]

    def _backfill(self, head: Key, keys: list[Key], reservation: Reservation) -> Iterator[Decision]:
        state, room, rows, taken = self.state, self.room, self.rows, self.taken
        in_time = reservation.at - state.now
        shut: dict[Form, bool] = {}
        late: dict[Form, bool] = {}
        for key in keys:
            row = key[4]
            if key <= head or row in taken:
                continue
            waiting = rows[row]
            form, walltime = waiting.form, waiting.walltime
            closed = shut.get(form)
            if closed is None:
                closed = shut[form] = not room.may_fit(form)
            if closed:
                continue
            if walltime > in_time:
                closed = late.get(form)
                if closed is None:
                    closed = late[form] = not reservation.may_pass(form.needs)
                if closed:
                    continue
            kind, refused = self._answer(key)
            if refused is not None or (form.limited and broken(kind.limits_of(state, row))):
                continue
            self._book()
            nodes = self._only(form) or place(state, form.claim)
            if nodes is None:
                shut[form] = True
            elif not reservation.allows(form.claim, nodes, state.now, walltime):
                late[form] = True
            else:
                reservation.take(form.claim, nodes, state.now, walltime)
                yield self._started(row, form.claim, nodes)
                self._book()
                room.changed()
                shut.clear()
                late.clear()

    def _preempt(self, head: Key) -> Decision | None:
        state, front, row = self.state, self.front, head[4]
        form = self.rows[row].form
        if not front.standing:
            return None
        kind = self._answer(head)[0]
        if not state.work.preempts[row]:
            return None
        priority, threshold = -head[0], kind.settings.threshold
        lower = [level for level in front.standing if level < priority and level <= threshold]
        if not lower:
            return None
        question = (row, head, front.changes, state.journal.grown, state.journal.reshaped, len(self.taken))
        if front.failed == question or not self._enough(form, lower):
            return None
        self._book()
        claim = replace(form.claim, row=row, name=head[3])
        short = broken(kind.limits_of(state, row))
        found = candidates(state, claim, kind.settings)
        victims = victims_for(self.cycle, claim, kind.settings, found.open, short)
        if victims is None:
            front.failed = question
            return None
        leave = self.cycle.trial.evict
        return preempting(self.cycle, claim, kind.settings, found, victims, rules.LOWER, leave, limits=short)

    def _enough(self, form: Form, lower: list[int]) -> bool:
        """Whether all that is free and all that may be preempted come to what it needs; more than that is searched."""
        if not self.state.nodes.size:
            return True
        free = self.state.nodes.free
        for column, _, total in form.needs:
            more = sum(self.front.standing[level].amounts[column] for level in lower)
            if int(free[column, : self.state.nodes.size].clip(0).sum()) + more < total:
                return False
        return True

    # -- one workload ------------------------------------------------------------------------------------------

    def _answer(self, key: Key) -> tuple[Kind, Decision | None]:
        """What holds for all like it, and the refusal that all of them get."""
        form = self.rows[key[4]].form
        found: tuple[Kind, Decision | None] | None = form.answer
        if found is None:
            kind = replace(kind_of(self.cycle, key[4]), claim=form.claim)
            found = form.answer = (kind, kind.refused or kind.too_big(self.state))
        return found

    def _start(self, key: Key) -> Decision | None:
        """It starts if it fits, and within its limits."""
        row = key[4]
        form = self.rows[row].form
        if not self.room.may_fit(form):
            return None
        if self._unbooked is not None:
            self._book()
            if not self.room.may_fit(form):
                return None
        if form.limited and broken(self._answer(key)[0].limits_of(self.state, row)):
            return None
        nodes = self._only(form) or place(self.state, form.claim)
        return None if nodes is None else self._started(row, form.claim, nodes)

    def _only(self, form: Form) -> list[int] | None:
        """Where it goes if there is but one node, on which it was found to fit."""
        return None if form.only_node is None else [form.only_node] * form.claim.members

    def _started(self, row: int, claim: Claim, nodes: list[int]) -> Decision:
        state = self.state
        self.taken.add(row)
        self._unbooked = (row, nodes)
        names = names_of(state, nodes)
        where = names[0] if len(names) == 1 else ", ".join(dict.fromkeys(names))
        sentence = rules.FITS.because(nodes=where or "its quota (the file has no nodes)")
        flavors = flavors_of(state, claim, nodes)
        return Decision(state.work_names[row], "start", rules.FITS.id, sentence, nodes=names, flavors=flavors)

    def _book(self) -> None:
        """What was decided last is booked when somebody else is looked at, and not before."""
        if self._unbooked is not None:
            self.cycle.trial.book(*self._unbooked)
            self._unbooked = None
            self.room.changed()
