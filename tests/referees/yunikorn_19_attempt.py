"""One preemption attempt of edition `1.9`, word for word (sections 2.4 to 2.9)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tests.referees.yunikorn_19_limits import ladder
from tests.referees.yunikorn_19_snapshot import Snapshots, snapshots
from tests.referees.yunikorn_19_vectors import (
    Maybe,
    Vector,
    add,
    clip,
    covers,
    fits,
    fits_actual,
    over,
    same,
    sub,
    touches,
    under,
)
from tests.referees.yunikorn_reading import NOWHERE, Board, Machine, Work


class Check(NamedTuple):
    """A node that could be freed: its list, and the index of the last victim needed."""

    start: int
    node: str
    victims: list[Work]


class Attempt:
    def __init__(self, board: Board, ask: Work, *, nodes_tried: bool) -> None:
        self.board = board
        self.ask = ask
        self.nodes_tried = nodes_tried
        self.shot = snapshots(board, ask.queue)
        self.candidates = self.find_candidates()

    def run(self) -> tuple[list[Work], str] | None:
        """The final victims and the node, or nothing."""
        if not self.could_help():
            return None
        checks = [found for machine in self.nodes() if (found := self.check(machine)) is not None]
        if self.nodes_tried:
            checks = [check for check in checks if check.victims]
        if not checks:
            return None
        best = min(checks, key=lambda check: (check.start, check.node))
        chosen = best.victims[: best.start + 1]
        extra = self.extra(chosen)
        if extra is None:
            return None
        final = self.trimmed(self.board.machines[best.node], [*chosen, *extra])
        return None if final is None else (final, best.node)

    # -- candidates --------------------------------------------------------------------------------------------------

    def find_candidates(self) -> list[Work]:
        rungs = ladder(self.board, self.ask)
        root = list(rungs)[-1]
        found = self.below(root, rungs[root], rungs, is_open=False)
        return sorted(found, key=lambda work: (work.queue, work.uid, work.name))

    def below(self, queue: str, threshold: int, rungs: dict[str, int], *, is_open: bool) -> list[Work]:
        children = self.board.children(queue)
        if not children:
            return self.of_leaf(queue, threshold, is_open=is_open)
        found: list[Work] = []
        for child in children:
            offset = self.board.setting(child, "priority.offset") or 0
            if child in rungs:
                found += self.below(child, rungs[child], rungs, is_open=False)
            elif self.board.setting(child, "priority.policy") != "fence":
                found += self.below(child, threshold - offset, rungs, is_open=is_open)
            elif offset <= threshold:
                found += self.below(child, threshold, rungs, is_open=True)
        return found

    def of_leaf(self, leaf: str, threshold: int, *, is_open: bool) -> list[Work]:
        remaining = self.shot.remaining(leaf)
        if leaf == self.ask.queue or self.board.disabled(leaf):
            return []
        if remaining is not None and min(remaining.values()) >= 0:
            return []
        return [
            work
            for work in self.board.holders()
            if work.queue == leaf
            and work.state == "running"
            and len(set(self.board.standing(work))) == 1
            and touches(work.need, self.ask.need)
            and work.required is None
            and (is_open or work.priority <= threshold)
        ]

    # -- the first gate ----------------------------------------------------------------------------------------------

    def could_help(self) -> bool:
        remaining = self.shot.remaining(self.ask.queue)
        if remaining is not None and fits_actual(remaining, self.ask.need):
            return True
        trial = self.shot.copy()
        trial.charge(self.ask.queue, self.ask.need)
        for work in self.candidates:
            trial.release(work.queue, work.whole)
            remaining = trial.remaining(self.ask.queue)
            if remaining is not None and under(self.ask.need, remaining):
                return True
        return False

    # -- nodes -------------------------------------------------------------------------------------------------------

    def nodes(self) -> list[Machine]:
        """Nodes that may be freed for the ask; stale reservations of lower asks are cancelled on the way."""
        found = []
        for machine in self.board.matching(self.ask):
            if not machine.ready or not (machine.name == NOWHERE or fits(machine.capacity, self.ask.need)):
                continue
            if machine.reserved_for not in (None, self.ask.name):
                if not self.may_cancel(machine):
                    continue
                machine.reserved_for = None
            found.append(machine)
        return found

    def may_cancel(self, machine: Machine) -> bool:
        other = self.board.works[machine.reserved_for or ""]
        triggered = other.name in self.board.placed or other.state == "reserved"
        lower = other.required is None and other.priority < self.ask.priority
        return not triggered and lower and self.board.reserved_for_long(machine)

    def has_room(self, machine: Machine) -> bool:
        return machine.name == NOWHERE or fits(self.board.free(machine), self.ask.need)

    def check(self, machine: Machine) -> Check | None:
        """Both passes over the candidates of one node."""
        if self.has_room(machine):
            return Check(-1, machine.name, [])
        order = sorted(
            (work for work in self.candidates if machine.name in self.board.standing(work)),
            key=lambda work: (not work.preemptible, work.originator, -work.submitted),  # the others as they were found
        )
        listed = self.first_pass(order, self.board.free(machine))
        return self.second_pass(listed, self.board.free(machine), machine.name) if listed else None

    def first_pass(self, order: Iterable[Work], free: Vector) -> list[Work]:
        trial, head, tail = self.shot.copy(), [], []
        for work in order:
            if not self.taken(trial, work):
                continue
            if not self.charged(trial, work):
                break
            if same(clip(sub(self.ask.need, free)), clip(sub(self.ask.need, add(free, work.whole)))):
                trial.release(self.ask.queue, work.whole)
                trial.charge(work.queue, work.whole)
                tail.append(work)
            else:
                free = add(free, work.whole)
                head.append(work)
        return head + tail

    def second_pass(self, listed: Sequence[Work], free: Vector, node: str) -> Check | None:
        trial, kept, start = self.shot.copy(), [], -1
        for work in listed:
            if not self.taken(trial, work):
                continue
            kept.append(work)
            free = add(free, work.whole)
            if start < 0 and fits(free, self.ask.need):
                start = len(kept) - 1
        return None if start < 0 else Check(start, node, kept)

    def taken(self, trial: Snapshots, work: Work) -> bool:
        """Steps 1 and 2: out of its queue, unless that was not over its guarantee before."""
        before = trial.remaining(work.queue)
        if before is not None and not over(self.ask.need, before):
            return False
        trial.release(work.queue, work.whole)
        return True

    def charged(self, trial: Snapshots, work: Work) -> bool:
        """Step 3: what the asking leaf is owed pays for it, or it is put back."""
        owed = trial.remaining(self.ask.queue)
        if owed is None or not fits_actual(owed, work.whole):
            trial.charge(work.queue, work.whole)
            return False
        trial.charge(self.ask.queue, work.whole)
        return True

    # -- the rest ----------------------------------------------------------------------------------------------------

    def extra(self, chosen: Sequence[Work]) -> list[Work] | None:
        """More victims, on any node, for what the leaf is owed; None if they end above that."""
        trial, found = self.shot.copy(), []
        for work in chosen:
            trial.release(work.queue, work.whole)
        rest = sorted(
            (work for work in self.candidates if work not in chosen),
            key=lambda work: (not work.preemptible, work.originator, -work.submitted),  # the others as they were found
        )
        for work in rest:
            if not self.taken(trial, work):
                continue
            before = trial.remaining(self.ask.queue)
            if not self.charged(trial, work):
                break
            if same(before, trial.remaining(self.ask.queue)):
                trial.release(self.ask.queue, work.whole)
                trial.charge(work.queue, work.whole)
            else:
                found.append(work)
        remaining: Maybe = trial.remaining(self.ask.queue)
        if found and (remaining is None or not under(self.ask.need, remaining)):
            return None
        return found

    def trimmed(self, machine: Machine, victims: Sequence[Work]) -> list[Work] | None:
        """The victims that go; None if together they are short of the ask."""
        total: Vector = {}
        final: list[Work] = []
        for work in victims:
            if not self.has_room(machine) and machine.name not in self.board.standing(work):
                continue
            if covers(self.ask.need, total):
                final.append(work)
            total = add(total, work.whole)
        return None if covers(self.ask.need, total) else final
