"""Who goes where a queue uses more than its max for too long, as edition `1.9` picks them (section 2.10)."""

from __future__ import annotations

from cede.model.times import parse_duration, parse_time
from tests.referees.yunikorn_19_vectors import Maybe, Vector, add, clip, touches
from tests.referees.yunikorn_reading import STAYS, Board, Work

HOUR = parse_duration("1h")


def over_quota(board: Board) -> set[str]:
    """The victims of all queues that fire, from the root down; they are gone from the board."""
    if not board.document["doctrine"].get("preemption.quotapreemptionenabled", False):
        return set()
    found: set[str] = set()
    for root in sorted(name for name in board.queues if len(board.path(name)) == 1):
        found |= _from(board, root)
    return found


def _from(board: Board, queue: str) -> set[str]:
    if not _fires(board, queue):
        return {name for child in board.children(queue) for name in _from(board, child)}
    found = _spread(board, queue, _amount(board, queue))
    board.gone |= found
    return found


def _fires(board: Board, queue: str) -> bool:
    limit, used = board.maximum(queue), _used(board, queue)
    since = board.queues[queue].get("over_limit_since")
    delay = parse_duration(board.inherited(queue, "quota.preemption.delay") or 0)
    if since is None or not delay or parse_time(since) + delay > board.now:
        return False
    return any(used.get(key, 0) > amount for key, amount in limit.items())


def _used(board: Board, queue: str) -> Vector:
    """All that is allocated, with what leaves already."""
    return add(_staying(board, queue), board.usage(queue, states=("preempting",)))


def _staying(board: Board, queue: str) -> Vector:
    return board.usage(queue, states=STAYS)


def _amount(board: Board, queue: str) -> Vector:
    """How much has to go: what is above the own max, but no more than the largest excess over a guarantee above it."""
    limit, used = board.maximum(queue), _staying(board, queue)
    found: dict[str, int] = {}
    for key, amount in limit.items():
        above = used.get(key, 0) - amount
        excess = [
            _staying(board, name).get(key, 0) - board.guaranteed(name)[key]
            for name in board.path(queue)
            if key in board.guaranteed(name)
        ]
        caps = [part for part in excess if part > 0]
        if above > 0:
            found[key] = min(above, max(caps)) if caps else above
    return found


def _spread(board: Board, queue: str, amount: Vector) -> set[str]:
    """The victims below the queue that make up the amount, each child giving its share."""
    children = board.children(queue)
    if not children:
        return _of_leaf(board, queue, amount)
    excess = {child: part for child in children if (part := _excess(board, child)) is not None}
    whole: Vector = {}
    for part in excess.values():
        whole = add(whole, part)
    found: set[str] = set()
    for child, part in excess.items():
        share = {key: part[key] * amount[key] // max(1, whole[key]) for key in part if key in amount}
        found |= _spread(board, child, share)
    return found


def _excess(board: Board, child: str) -> Maybe:
    """What a child is judged by; None if it gives nothing."""
    used, promised = _used(board, child), board.guaranteed(child)
    if not any(used.values()):
        return None
    if not promised:
        return used
    if all(used.get(key, 0) <= amount for key, amount in promised.items()):
        return None
    return {key: abs(amount - used.get(key, 0)) for key, amount in promised.items()}


def _of_leaf(board: Board, leaf: str, amount: Vector) -> set[str]:
    candidates = [
        work
        for work in board.holders()
        if work.queue == leaf and work.state == "running" and work.required is None and touches(work.need, amount)
    ]
    taken: Vector = {}
    found: set[str] = set()
    for work in sorted(candidates, key=lambda work: _rank(work, amount)):
        total = add(taken, work.whole)
        if all(total.get(key, 0) <= limit for key, limit in clip(amount).items()):
            taken = total
            found.add(work.name)
    return found


def _rank(work: Work, amount: Vector) -> tuple[object, ...]:
    """First of them goes first; the size, which only decides between equals of one hour, is left out."""
    return (-_score(work, amount), work.priority, -(work.submitted // HOUR), work.uid, work.name)


def _score(work: Work, amount: Vector) -> int:
    matching = 100 * len(work.need.keys() & amount.keys()) // len(work.need)
    return matching + (2**33 if work.originator else 0) + (0 if work.preemptible else 2**34)
