"""Classical preemption: by priority and quota, with the advantage of whoever stays within a quota further up."""

from __future__ import annotations

import numpy as np

from cede.doctrines.kueue import plain, rules
from cede.doctrines.kueue.candidates import allowed_by, pool_of, tested
from cede.doctrines.kueue.reach import HIERARCHY, PRIORITY, Branch, Reach
from cede.doctrines.kueue.search import BORROW, NOBODY, OWN, RECLAIM, Found, Outcome, Search, Taken
from cede.doctrines.kueue.walk import LineWalk, Walk
from cede.doctrines.parts.orders import Rows


def find(search: Search) -> Outcome:
    """The victims, or nobody; the first attempt that makes room wins."""
    by_sums = plain.is_plain(search)
    if search.snapshot.followed and search.notes is None and not by_sums:
        found = _along_lines(search)
        if found is not None:
            return found
    pool = pool_of(search)
    if not len(pool.own) and not len(pool.others):
        return NOBODY
    reach = Reach(search)
    if search.notes is not None:
        _note_unreached(search, reach)
    kind = reach.kind[search.snapshot.queue[pool.others]]
    hierarchy, priority = pool.others[kind == HIERARCHY], pool.others[kind == PRIORITY]
    walk = Walk(search, hierarchy, priority, pool.own)
    attempt = plain.attempt if by_sums else _attempt
    noted = {} if search.notes is None else dict(search.notes.found)
    attempts = _attempts(search, bool(len(hierarchy)), bool(len(priority)))
    for borrowing in attempts:
        if search.notes is not None:
            search.notes.found = dict(noted)  # what an attempt that failed had to say is of no interest
        elif attempts == (True, False) and not borrowing and not len(priority):
            continue  # the same walk as before, and it would have to end within its quota besides
        search.restore()
        if search.notes is None and not _enough(search, (pool.own, hierarchy, priority), borrowing):
            continue
        victims = attempt(search, reach, walk, borrowing)
        if victims:
            return Outcome(victims, within_quota=not borrowing)
    return NOBODY


def _along_lines(search: Search) -> Outcome | None:
    """The same along the lines in which candidates are kept; none where that is not told by the first ones of each.

    An attempt that is not cut sees all that the general one does, in the same order. Whether it could come to enough
    at all is not asked before: that would cost more than so few steps.
    """
    reach = Reach(search)
    walk = LineWalk(search, reach.queues(advantage=True), reach.queues(advantage=False))
    if walk.is_cut():
        return None
    attempts = _attempts(search, bool(walk.hierarchy), bool(walk.priority))
    for borrowing in attempts:
        if attempts == (True, False) and not borrowing and not walk.priority:
            continue
        search.restore()
        victims = _attempt(search, reach, walk, borrowing)
        if victims:
            return Outcome(victims, within_quota=not borrowing)
        if walk.is_cut():
            search.restore()
            return None
    return NOBODY


def _enough(search: Search, lists: tuple[Rows, Rows, Rows], borrowing: bool) -> bool:
    """False only if the claimant would certainly not fit, whoever an attempt took.

    The less is used, the more is available, as long as what a cohort uses is what its children take: then all of them
    gone is the most that any choice leaves.
    """
    snapshot, book, queue = search.snapshot, search.book, search.queue
    at: Rows = np.concatenate(lists[: 2 if borrowing and not search.claimant.settings.borrow else 3])
    if not len(at):
        return False
    rows = snapshot.rows[at]
    if book.moments is None and not snapshot.uneven:
        left = book.copy()
        queues = snapshot.queue[at]
        for pair, _ in search.asked:
            for column, factor in snapshot.quotas.columns[pair]:
                freed = np.zeros(snapshot.quotas.size, np.int64)
                np.add.at(freed, queues, snapshot.holdings.column(column)[rows])
                for other in np.flatnonzero(freed).tolist():
                    left.remove(pair, other, int(freed[other]) * factor)
        if not left.fits(queue, search.asked, borrowing):
            return False
    return search.room is None or search.room.enough(rows)


def _attempts(search: Search, hierarchy: bool, priority: bool) -> tuple[bool, ...]:
    """Whether the claimant's queue may end above its quota, attempt by attempt."""
    book, quotas = search.book, search.snapshot.quotas
    forbidden = not search.claimant.settings.borrow
    under = all(quotas.subtree[pair][search.queue] > book.used[pair][search.queue] for pair in search.contested)
    if not (hierarchy or priority) or (forbidden and not under):
        return (True,)
    return (False, True) if forbidden and not hierarchy else (True, False)


def _attempt(search: Search, reach: Reach, walk: Walk | LineWalk, borrowing: bool) -> Found:
    """Take one after another until the claimant fits; then spare. If it does not, all are to be put back."""
    book, contested = search.book, search.contested
    amounts = search.snapshot.amounts
    done: set[int] = set()
    taken: Found = []
    notes, room = search.notes, search.room
    for row, queue, usable, own in walk.candidates(done, borrowing):
        if own:
            reason = OWN
        else:
            if queue in done:
                if notes is not None:
                    _note_by_then(search, row, queue)
                continue
            if usable is False and borrowing:
                if notes is not None:
                    _note_no_borrowing(search, row)
                continue
            if book.any_within(reach.nodes(queue), contested):
                done.add(queue)
                if notes is not None:
                    _note_by_then(search, row, queue)
                continue
            reason = BORROW if usable else RECLAIM
        if notes is not None:
            _note_taken(search, reach, row, queue, reason)
        victim = Taken(row, queue, reason, amounts(row, search.pairs))
        search.take(victim)
        taken.append(victim)
        if (room is None or room.fits()) and search.fits(borrowing):
            return _spared(search, taken, walk, borrowing)
    search.tried = taken
    if notes is not None:
        for victim in taken:
            notes.stays(victim.row, rules.TOO_LITTLE)
    return []


def _spared(search: Search, taken: Found, walk: Walk | LineWalk, borrowing: bool) -> Found:
    kept = search.spare(taken, borrowing)
    if search.notes is not None:
        stay = {victim.row for victim in kept}
        for victim in taken:
            if victim.row not in stay:
                search.notes.stays(victim.row, rules.SPARED)
        for row, _, usable, _ in walk.candidates(set(), borrowing):
            if row in search.notes.found:
                continue
            if borrowing and usable is False:
                _note_no_borrowing(search, row)
            else:
                search.notes.put(row, rules.NOT_REACHED, how=allowed_by(search.snapshot, search.claimant, row))
    return kept


# -- explanations ----------------------------------------------------------------------------------------------------


def _note_taken(search: Search, reach: Reach, row: int, queue: int, reason: str) -> None:
    quotas, settings = search.snapshot.quotas, search.claimant.settings
    assert search.notes is not None
    test = tested(search.snapshot, search.claimant, row)
    if reason == OWN:
        search.notes.put(row, rules.WITHIN, queue=quotas.names[queue], policy=settings.within, test=test)
        return
    branch = reach.branch[queue]
    search.notes.put(
        row,
        rules.BORROW if reason == BORROW else rules.RECLAIM,
        queue=quotas.names[queue],
        held=held(search, queue),
        advantage=_advantage(search, branch),
        policy=settings.reclaim,
        threshold="" if settings.threshold is None else f" up to priority {settings.threshold}",
        test=test,
    )


def _advantage(search: Search, branch: Branch) -> str:
    names = search.snapshot.quotas.names
    where = f"common ancestor {names[branch.ancestor]}"
    if not branch.advantage:
        return f"{where}, no advantage: with the request no quota below it would be kept"
    what = "own quota of" if branch.decided == search.queue else "quota of cohort"
    return f"{where}, advantage decided at {names[branch.decided]}: the request fits the {what} {names[branch.decided]}"


def held(search: Search, queue: int) -> str:
    """What a queue holds of the contested pairs beside its quota: as it stands, and at this point of the search."""
    quotas, before, now = search.snapshot.quotas, search.snapshot.book.used, search.book.used
    return ", ".join(
        f"{quotas.show(pair, before[pair][queue])} of {quotas.show(pair, quotas.subtree[pair][queue])} "
        f"{quotas.name(pair)}"
        + (f" ({quotas.show(pair, now[pair][queue])} at its turn)" if now[pair][queue] != before[pair][queue] else "")
        for pair in search.contested
    )


def _note_by_then(search: Search, row: int, queue: int) -> None:
    assert search.notes is not None
    names = search.snapshot.quotas.names
    search.notes.put(row, rules.NOMINAL_BY_THEN, queue=names[queue], held=held(search, queue))


def _note_no_borrowing(search: Search, row: int) -> None:
    assert search.notes is not None
    settings, work = search.claimant.settings, search.snapshot.state.work
    priority = int(work.priority[row])
    if not settings.borrow:
        reason = "borrowWithinCohort is Never"
    elif priority >= search.claimant.priority:
        reason = f"its priority {priority} is not below {search.claimant.priority}"
    else:
        reason = f"its priority {priority} is above maxPriorityThreshold {settings.threshold}"
    search.notes.put(row, rules.NO_BORROWING, claimant_queue=search.snapshot.quotas.names[search.queue], reason=reason)


def _note_unreached(search: Search, reach: Reach) -> None:
    """Everyone in a queue, or below a cohort, that is within its quota to begin with."""
    snapshot, quotas = search.snapshot, search.snapshot.quotas
    assert search.notes is not None
    pool = pool_of(search)
    for at in pool.others.tolist():
        queue = int(snapshot.queue[at])
        if queue in reach.branch:
            continue
        row = int(snapshot.rows[at])
        mine = set(quotas.path[search.queue])
        above = [cohort for cohort in quotas.path[queue][1:] if cohort not in mine]
        cohort = next((c for c in reversed(above) if search.book.within(c, search.contested)), None)
        if cohort is None:
            search.notes.put(row, rules.NOMINAL, queue=quotas.names[queue], held=held(search, queue))
        else:
            facts = {"cohort": quotas.names[cohort], "held": held(search, cohort)}
            search.notes.put(row, rules.COHORT_NOMINAL, queue=quotas.names[queue], **facts)
