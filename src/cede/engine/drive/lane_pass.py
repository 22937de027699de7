"""One look at the lane: who of those that wait starts now, with room on nodes as the only question."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cede.doctrines.parts.front import Form
from cede.engine.drive.holds import launch
from cede.engine.drive.lane import Item, Key, Lane
from cede.model.lifecycle import Signal

if TYPE_CHECKING:
    from cede.engine.drive.roll import Roll


def look(roll: Roll, lane: Lane) -> bool:
    """Start whom the doctrine starts; False if the rest needs the long way: somebody may be preempted, or refused."""
    everything = lane.grown
    now = roll.step.at
    if lane.backfill == "easy" and lane.ends and lane.ends[0][0] <= now:
        everything = True  # what is overdue is expected to end at once: as time goes on, more is
    fresh, line = lane.fresh, lane.line
    if not line or not (everything or fresh):
        fresh.clear()
        lane.grown = False
        return True
    if len(fresh) > 1:
        fresh.sort()
    if fresh and lane.backfill == "easy" and fresh[0] <= line[0]:
        everything = True  # another head, or room taken ahead of it, is another time by which to end
    head: Item | None = None
    if everything or fresh[0] <= line[0]:
        while line and head is None:
            item = line[0][4]
            if not _starts(roll, lane, item):
                head = item
    else:
        head = line[0][4]
    if head is not None and (lane.may_preempt(head) or not _behind(roll, lane, head, everything)):
        return False
    fresh.clear()
    lane.grown = False
    return True


def _behind(roll: Roll, lane: Lane, head: Item, everything: bool) -> bool:
    """Those behind a head that waits; False if only the long way can tell."""
    if lane.backfill == "strict" or not lane.plain.passes:
        return True
    forms = lane.live if everything else [key[4].form for key in lane.fresh]
    if not any(map(lane.may_fit, forms)):
        return True
    if lane.backfill == "easy":
        if lane.alone is None:
            return False
        reserved = _reserve(lane, lane.alone, head.form, roll.step.at)
        if reserved is not None:
            _backfill(roll, lane, head, list(lane.line if everything else lane.fresh), *reserved)
            return True
    if everything:
        _by_form(roll, lane, head.key)
    else:
        for key in list(lane.fresh):
            if key > head.key:
                _starts(roll, lane, key[4])
    return True


def _by_form(roll: Roll, lane: Lane, head: Key) -> None:
    """Of all forms that may fit the first in line, again and again, until none does."""
    forms = [form for form in lane.live if lane.may_fit(form)]
    while forms:
        best: Key | None = None
        for form in forms:
            key = _first_behind(form, head)
            if key is not None and (best is None or key < best):
                best = key
        if best is None:
            return
        item = best[4]
        if not _starts(roll, lane, item):
            forms.remove(item.form)
        else:
            forms = [form for form in forms if lane.may_fit(form)]


def _first_behind(form: Form, head: Key) -> Key | None:
    for key in form.entries:
        if key > head:
            return key  # type: ignore[return-value]
    return None


def _reserve(lane: Lane, alone: list[int], form: Form, now: int) -> tuple[int, list[int]] | None:
    """As `parts.reservation.reserve` where there is but one node: when the form has room, and what is left then."""
    free = list(alone)
    at: int | None = None
    for end, _, totals in lane.ends:
        if at is not None and end > at:
            break
        for column, amount in totals:
            free[column] += amount
        if at is None:
            for column, _, total in form.needs:
                if free[column] < total:
                    break
            else:
                at = max(end, now)
    if at is None:
        return None
    for column, _, total in form.needs:
        free[column] -= total
    return at, free


def _backfill(roll: Roll, lane: Lane, head: Item, keys: list[Key], at: int, left: list[int]) -> None:
    """Those behind the head that end before it has its room, or fit into what is left beside it then."""
    first = head.key
    in_time = at - roll.step.at
    alone = lane.alone
    assert alone is not None
    for key in keys:
        item = key[4]
        needs = item.form.needs
        late = item.walltime > in_time
        for column, _, total in needs:
            if alone[column] < total or (late and left[column] < total):
                break
        else:
            if key > first and item.waits and _starts(roll, lane, item) and late:
                for column, _, total in needs:
                    left[column] -= total


def _starts(roll: Roll, lane: Lane, item: Item) -> bool:
    """Whether it fits; then it starts."""
    nodes = lane.place(roll.columns, item.form)
    if nodes is None:
        return False
    job = item.job
    names = roll.columns.node_names
    job.nodes = (names[nodes[0]],) if len(nodes) == 1 else tuple([names[node] for node in nodes])
    job.decision = roll.next_decision
    roll.next_decision += 1
    roll.move(job, Signal.START)
    roll.later(job)
    launch(roll, job)
    return True
