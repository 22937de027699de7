"""One plan: passes over the heads of all queues, until every pending workload was decided or stands behind one."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

from cede.doctrines.kueue import wording
from cede.doctrines.kueue.audit import HOLDING
from cede.doctrines.kueue.flavors import FIT, NO_FIT
from cede.doctrines.kueue.kinds import FIRST, Group, Kind, LinePosition
from cede.doctrines.kueue.limits import over_limit
from cede.doctrines.kueue.memory import AWAIT, DEFER, PARK, PREEMPT, SKIP, START, Memory, memory_of, view_of
from cede.doctrines.kueue.nominate import Entry, Nominations, nominate
from cede.doctrines.kueue.pass_order import in_turn
from cede.doctrines.kueue.quota_bounds import AttainableQuota, QuotaBounds
from cede.doctrines.kueue.settings import ANY
from cede.doctrines.kueue.snapshot import HOLDS, Claimant, Snapshot, snapshot_of
from cede.doctrines.kueue.usage import QuotaUsage
from cede.doctrines.kueue.waiting_line import WaitingLines
from cede.doctrines.parts.doctrine import Cycle
from cede.doctrines.parts.equivalence import about
from cede.model.plan import Decision


def decide(cycle: Cycle) -> Iterator[Decision]:
    """One cycle: every pending workload decided once, or the one that is asked for; without words, what acts."""
    decisions = _all_decisions(cycle) if cycle.words else _acting_decisions(cycle)
    if cycle.only is None:
        return decisions
    wanted = cycle.state.work_names[cycle.only]
    return islice((decision for decision in decisions if decision.workload == wanted), 1)


def _all_decisions(cycle: Cycle) -> Iterator[Decision]:
    memory = memory_of(cycle)
    view = view_of(cycle, memory)
    yield from _refused(view.waiting)
    if view.waiting.lines:
        plan = _Plan(snapshot_of(cycle, view.running), view.waiting, memory)
        yield from plan.decisions()
        yield from plan.behind()


def _acting_decisions(cycle: Cycle) -> Iterator[Decision]:
    """The decisions that act, up to the first preemption, and refusals; all of the plan is made, for what is remembered
    of those after it. Workloads that wait and hold room back are named before those that act: without them these may
    look unlawful.
    """
    memory = memory_of(cycle)
    view = view_of(cycle, memory)
    yield from _refused(view.waiting)
    if not view.waiting.lines:
        return
    plan = _Plan(snapshot_of(cycle, view.running, silent=True), view.waiting, memory)
    holding: list[Decision] = []
    over = False
    try:
        for decision in plan.decisions():
            if over:
                continue
            if decision.action == "refuse":
                yield decision
            elif decision.action != "wait":
                yield from holding
                yield decision
                holding.clear()
                over = plan.snapshot.over = bool(decision.victims)
            elif decision.rule in HOLDING:
                holding.append(decision)
    finally:
        view.running.end_plan()


def _refused(waiting: WaitingLines) -> Iterator[Decision]:
    """Those that came and have no queue, or use a priority they may not."""
    for row in waiting.fresh:
        refusal = waiting.kind[row].refusal
        if refusal is not None:
            yield about(refusal, waiting.state.work_names[row])


class _Plan:
    """The lines of every queue, pass by pass; which head blocks a queue, and how.

    In one pass the heads of all queues have the same place in their lines: one is decided in each pass, until one
    stays in front. `keepers` block their queue and hold room back: in every pass, at their turn in it.
    """

    def __init__(self, snapshot: Snapshot, waiting: WaitingLines, memory: Memory) -> None:
        self.snapshot = snapshot
        self.waiting = waiting
        self.memory = memory
        self._nominations: Nominations | None = None
        self.blocked: dict[int, tuple[Claimant, str, int]] = {}
        self.keepers: list[Entry] = []
        self._moment: tuple[int, int] | None = None
        self._quota_bounds: QuotaBounds
        self._awake: dict[Group, list[Kind]] = {}
        """The kinds that are awake, of the groups looked at in this moment."""
        self._asleep: set[Kind] = set()
        """Kinds of groups not looked at, of which one had no way in this moment when its turn came."""
        self._began_with: set[Group] = set()
        """The groups that were looked at when nothing had changed yet."""
        self._still: list[Entry] = []

    @property
    def nominations(self) -> Nominations:
        """What was nominated so far; most plans nominate nothing."""
        if self._nominations is None:
            self._nominations = Nominations(self.snapshot, self.waiting.kind)
        return self._nominations

    def decisions(self) -> Iterator[Decision]:
        """One decision a head; without words only of heads that may have a way, and of others that matter for them."""
        words = self.snapshot.cycle.words
        number = 0
        while self._anybody(number):
            if self.snapshot.log:
                self.snapshot.end_pass()
            if not words:
                upcoming = self._next(number)
                if upcoming is None:
                    return
                number = upcoming
                yield from self._standing_still()
            heads = [self.nominations.claimant(place[-1]) for place in self._heads(number)]
            if not heads:
                return
            yield from _Pass(self, number).decisions(heads)
            number += 1

    def _anybody(self, number: int) -> bool:
        """Whether a line goes on in this pass; if none does, the usage after the last one is not worked out."""
        blocked = self.blocked
        if not number and not blocked:
            return bool(self.waiting.lines)
        return any(len(line) > number and queue not in blocked for queue, line in self.waiting.lines.items())

    def _heads(self, number: int) -> list[LinePosition]:
        blocked = self.blocked
        heads = [
            line[number] for queue, line in self.waiting.lines.items() if len(line) > number and queue not in blocked
        ]
        return heads if self.snapshot.cycle.words else [place for place in heads if self._counts(place)]

    def behind(self) -> Iterator[Decision]:
        """Workloads that wait behind a head, queue by queue."""
        for queue in sorted(self.blocked, key=self.snapshot.quotas.names.__getitem__):
            head, outcome, number = self.blocked[queue]
            answered: dict[Kind, Decision] = {}
            for place in self.waiting.lines[queue][number + 1 :]:
                row = place[-1]
                kind = self.waiting.kind[row]
                if kind not in answered:
                    answered[kind] = wording.behind(self.snapshot, self.nominations.claimant(row), head, outcome)
                yield about(answered[kind], self.snapshot.state.work_names[row])

    def decided(self, claimant: Claimant, outcome: str, number: int) -> None:
        """The head has its answer: it is the next one's turn, unless it stays in front."""
        if outcome in (PREEMPT, SKIP, DEFER, AWAIT) or (outcome == PARK and claimant.settings.strict):
            self.blocked[claimant.queue] = (claimant, outcome, number)

    # -- kinds that sleep --------------------------------------------------------------------------------------------

    def _counts(self, place: LinePosition) -> bool:
        """Whether this head has a say in its pass: it may have a way, or hold room back from those who have one.

        With fair sharing every head counts, for the order depends on all of them.
        """
        kind = self.waiting.kind[place[-1]]
        return self.snapshot.mode.fair or kind.settings.reclaim != ANY or self._restless(place) or self._is_awake(kind)

    def _restless(self, place: LinePosition) -> bool:
        """Whether something is remembered of it, so that its turn may go otherwise than that of others like it."""
        return not place[0] or (bool(self.memory.tried) and place[4] in self.memory.tried)

    def _next(self, number: int) -> int | None:
        """The first pass from this one on in which some head may have a way; none if there is none.

        A head without a way waits for as long as nothing changes, whatever its place in line, and what it holds back
        is free again when the pass ends. So a pass of such heads alone changes nothing, and is skipped.
        """
        if self.snapshot.moment != self._moment:
            self._moment = self.snapshot.moment
            self._quota_bounds = QuotaBounds(self.snapshot)
            self._awake, self._asleep = {}, set()
        waiting, blocked, strict = self.waiting, self.blocked, self.waiting.quotas.strict
        best: int | None = None
        for queue, line in waiting.lines.items() if strict else ():
            if queue in strict and queue not in blocked and len(line) > number:
                if self._may_have_a_way(line[number]):
                    best = number
                else:
                    self._stand_still(line[number], number)
        for queue, line in waiting.lines.items():  # the first awake one tells, and most of the others need no look
            if queue not in blocked and len(line) > number and self._may_have_a_way(line[number]):
                return number
        candidates: list[tuple[int, list[LinePosition]]] = []
        for claims, group in waiting.groups.items():
            if claims.queue not in blocked and len(waiting.lines[claims.queue]) > number:
                candidates += [(claims.queue, group.kinds[kind]) for kind in self._awake_of(group)]
        if waiting.sticky or self.memory.tried:
            candidates += [(waiting.kind[row].queue, [place]) for row, place in self._remembered()]
        for queue, places in candidates:
            line = waiting.lines[queue]
            if queue in blocked or len(line) <= number or queue in strict:
                continue
            at = bisect_left(places, line[number])
            if at < len(places):
                position = bisect_left(line, places[at])
                if best is None or position < best:
                    best = position
        return best

    def _remembered(self) -> Iterator[tuple[int, LinePosition]]:
        """Waiting workloads of which something is remembered."""
        waiting = self.waiting
        for row in waiting.sticky:
            yield row, waiting.places[row]
        for name in self.memory.tried:
            row = waiting.state.work_index.get(name, -1)
            if row in waiting.places:
                yield row, waiting.places[row]

    def _stand_still(self, place: LinePosition, number: int) -> None:
        """The head of a strict queue has no way: nothing passes it, and in every pass it keeps what it can."""
        claimant = self.nominations.claimant(place[-1])
        self.decided(claimant, PARK, number)
        if self.snapshot.mode.fair or claimant.settings.reclaim != ANY:
            entry = self.nominations.nominated(claimant, None)
            if entry.without_way:
                self._still.append(entry)

    def _standing_still(self) -> Iterator[Decision]:
        for entry in self._still:
            self.keepers.append(entry)
            yield wording.no_victims(self.snapshot, entry)
        self._still.clear()

    def _may_have_a_way(self, place: LinePosition) -> bool:
        return self._restless(place) or self._is_awake(self.waiting.kind[place[-1]])

    def _is_awake(self, kind: Kind) -> bool:
        """Whether those like it may have a way at this moment; the others certainly have none."""
        return kind in self._awake_of(kind.group)

    def _awake_of(self, group: Group) -> list[Kind]:
        """The kinds of a group that may have a way in this moment.

        Most groups are never asked about: a queue whose head has a way stands still behind it, or all changes after it.
        """
        awake = self._awake.get(group)
        if awake is None:
            awake = self._awake[group] = self._look_at(group)
        return awake

    def _look_at(self, group: Group) -> list[Kind]:
        """The kinds of a group that are awake.

        What is remembered of a group holds from when a plan began; of one that was not looked at in this plan then, it
        is of another plan, and counts for nothing later on.
        """
        quota_bounds, running = self._quota_bounds, self.snapshot.running
        began = quota_bounds.began
        if began:
            self._began_with.add(group)
        known = group in self._began_with
        changes = running.changes if began else None
        bounds = quota_bounds.bounds(group)
        attainable: AttainableQuota | None = None
        grew: bool | None = None if known and not began else True
        still = known and quota_bounds.stays_short(group, bounds)
        settled = still or not began
        awake: list[Kind] = []
        for kind in group.loose if still else group.kinds:  # the others sleep
            if kind in self._asleep:
                continue
            if kind.asked and not kind.refused:
                # a threshold tells of quota alone; this also of limits, and of searches without victims
                if kind.asleep == changes and group.kinds[kind][0][2] >= kind.oldest:
                    continue
                if kind.steady:
                    if kind.short:
                        if grew is None:
                            grew = quota_bounds.grew(bounds)
                        if not grew:
                            continue
                    if attainable is None:
                        attainable = quota_bounds.attainable(group, bounds)
                    if not quota_bounds.may_have_a_way(kind, attainable):
                        if changes is not None:
                            kind.asleep, kind.oldest = changes, FIRST
                            settled = settled and kind.need is None
                        continue
            awake.append(kind)
        if not settled:
            group.settle(running.node_bounds.moved[group.claims.queue])
        return awake

    def nominated(self, claimant: Claimant) -> Entry:
        """The head as nominated when the pass begins; if it has no way, none of its kind has in this moment."""
        tried = self.memory.tried.get(claimant.name)
        entry = self.nominations.nominated(claimant, tried)
        if not self.snapshot.cycle.words and tried is None:
            kind = self.waiting.kind[claimant.row]
            kind.asked = True
            kind.steady = entry.assignment.steady
            kind.claim = entry.assignment.claim if all(part.min_count is None for part in kind.parts) else None
            kind.refused = entry.mode == NO_FIT and entry.assignment.hopeless
            if entry.parks and not kind.refused and max(entry.assignment.tried.values(), default=-1) < 0:
                self.sleep(claimant)
        return entry

    def sleep_limited(self, entry: Entry) -> None:
        """A limit keeps this one from starting, and with it all of its kind, as long as nothing changes."""
        snapshot, claimant, tried = self.snapshot, entry.claimant, entry.assignment.tried.values()
        if snapshot.moment != self._moment or snapshot.victims or max(tried, default=-1) >= 0:
            return
        if not self.waiting.kind[claimant.row].aged and claimant.name not in self.memory.tried:
            self.sleep(claimant)

    def sleep(self, claimant: Claimant) -> None:
        """This one has no way at this moment, so none like it has; of those whose age counts, none that is younger.

        A younger one may take fewer, and of those it may take none comes later in its order than the others do.
        """
        kind = self.waiting.kind[claimant.row]
        if kind.aged and (self.snapshot.mode.fair or claimant.submitted > self.waiting.lines_by_kind[kind][0][2]):
            return
        awake = self._awake.get(kind.group)
        if awake is None:
            if kind not in self._asleep:  # what is remembered of how it was short is of another plan
                kind.short, kind.need = False, None
                self._asleep.add(kind)
        elif kind in awake:
            awake.remove(kind)
        if self._moment == (0, 0):
            kind.asleep, kind.oldest = self.snapshot.running.changes, claimant.submitted if kind.aged else FIRST


class _Pass:
    """One head a queue: all nominated on the same snapshot, then processed in turn."""

    def __init__(self, plan: _Plan, number: int) -> None:
        self.plan = plan
        self.number = number
        self.snapshot = plan.snapshot
        self.nominations = plan.nominations
        self.now: QuotaUsage | None = None
        self.left = 0

    def decisions(self, heads: list[Claimant]) -> Iterator[Decision]:
        snapshot, plan = self.snapshot, self.plan
        snapshot.begin_pass()
        entries = [plan.nominated(head) for head in heads]
        self.now = snapshot.still_there() if snapshot.left else None
        keepers = list(plan.keepers)
        self.left = len(entries) + len(keepers)
        for entry in in_turn(snapshot, entries + keepers):
            self.left -= 1
            if entry in keepers:
                self._hold_back(entry)
                continue
            outcome, decision = self._answer(entry)
            if outcome == PARK and not entry.parks and decision.action == "wait" and not snapshot.cycle.words:
                plan.sleep_limited(entry)
            plan.memory.note(snapshot.cycle, entry, outcome, refused=decision.action == "refuse")
            plan.decided(entry.claimant, outcome, self.number)
            yield decision

    def _answer(self, entry: Entry) -> tuple[str, Decision]:
        """What becomes of the head; as of the one like it before, if nothing is different."""
        if self.snapshot.silent:
            return self._process(entry)
        told, place = self.nominations.answers, self.nominations.place(entry)
        known = None if place is None else told.answer(entry.claimant.row, place)
        if known is not None:
            self._keep(entry)
            return PARK, known
        outcome, decision = self._process(entry)
        if outcome == PARK and place is not None:
            told.keep(place, decision)
        return outcome, decision

    def _keep(self, entry: Entry) -> None:
        """Hold room back for a head without victims; a strict one does so at its turn in every later pass too."""
        if entry.without_way:
            self._hold_back(entry)
            if entry.claimant.settings.strict:
                _ = entry.assignment.level  # as things stand now
                self.plan.keepers.append(entry)

    def _process(self, entry: Entry) -> tuple[str, Decision]:
        snapshot = self.snapshot
        if snapshot.victims and not snapshot.victims.keys().isdisjoint(entry.rows):
            entry = self._without_earlier_victims(entry)
            if entry.mode == FIT:
                return DEFER, self._deferred(entry)
        if entry.mode == NO_FIT:
            return PARK, wording.no_fit(snapshot, entry)
        if entry.without_way:
            decision = wording.no_victims(snapshot, entry)
            self._keep(entry)
            return PARK, decision
        nodes = self._room(entry)
        if nodes is None:
            return SKIP, (wording.stuck if entry.assignment.stuck else wording.lost)(snapshot, entry)
        claimant = entry.claimant
        over = over_limit(snapshot, entry, nodes)
        if over is not None:
            return PARK, wording.limited(snapshot, entry, over)
        if entry.mode == FIT and self.now is not None and not self.now.fits(claimant.queue, entry.assignment.asked):
            return DEFER, wording.deferred(snapshot, entry, nodes)
        if entry.mode == FIT:
            return START, wording.started(snapshot, entry, nodes)
        if snapshot.leaving_rows.issuperset(entry.rows):
            return AWAIT, wording.awaiting(snapshot, entry, nodes)
        return PREEMPT, wording.preempting(snapshot, entry, nodes)

    def _without_earlier_victims(self, entry: Entry) -> Entry:
        """Assignment and victims anew with the victims of earlier heads gone, in the flavors nominated before."""
        return nominate(self.snapshot.later(), entry.claimant, only=entry.assignment.flavors)

    def _deferred(self, entry: Entry) -> Decision:
        """It will fit when the victims of others have left: its usage counts from now on."""
        nodes = [] if entry.assignment.room is None else entry.assignment.room.place()
        return wording.deferred(self.snapshot, entry, nodes or [])

    def _room(self, entry: Entry) -> list[int] | None:
        """Where it goes with all victims so far and its own gone; None if it does not fit any more."""
        if (entry.assignment.stuck or entry.seen != len(self.snapshot.log)) and not self._has_quota(entry):
            return None
        if entry.assignment.room is None:
            return []
        if self.snapshot.unbooked or entry.victims or entry.nodes_seen != self.snapshot.steps:
            self.snapshot.settle()
            room = entry.assignment.room.afresh()
            for victim in entry.victims:
                room.take(victim.row)
        else:
            room = entry.assignment.room
        nodes = room.place()
        if nodes is None:
            entry.assignment = replace(entry.assignment, lacking=room)  # others may have the same
        return nodes

    def _has_quota(self, entry: Entry) -> bool:
        snapshot = self.snapshot
        quota_usage = snapshot.without_victims().copy()
        for row in entry.rows:
            snapshot.let_go(quota_usage, row)
        return quota_usage.fits(entry.claimant.queue, entry.assignment.asked)

    def _hold_back(self, entry: Entry) -> None:
        """What a blocked head keeps from borrowers; nothing if it could always reclaim it."""
        claimant, quota_usage = entry.claimant, self.snapshot.quota_usage
        if claimant.settings.reclaim == ANY:
            return
        held = quota_usage.held_back(claimant.queue, entry.assignment.asked, entry.assignment.level)
        if self.left:
            self.snapshot.charge(claimant, held, HOLDS, lasting=False)
        else:  # no head is left in this pass that it could be kept from
            self.snapshot.note(claimant, held, HOLDS)
