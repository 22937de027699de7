"""In which order edition `1.9` looks at what is pending: queue by queue, app by app, ask by ask."""

from __future__ import annotations

from collections import Counter

from tests.referees.yunikorn_19_limits import total
from tests.referees.yunikorn_reading import Board, Work


def order(board: Board) -> list[str]:
    """The names of all that wait, the next one first."""
    roots = sorted(name for name in board.queues if len(board.path(name)) == 1)
    return [work.name for root in roots for work in _below(board, root)]


def _pending(board: Board, queue: str) -> list[Work]:
    return [
        work
        for work in board.works.values()
        if work.state in ("pending", "suspended") and work.name not in board.placed and queue in board.path(work.queue)
    ]


def _below(board: Board, queue: str) -> list[Work]:
    children = [child for child in board.children(queue) if _pending(board, child)]
    if not children:
        return _of_leaf(board, queue)
    rank = {child: (-_priority(board, child), _share(board, child), _waits(board, child), child) for child in children}
    children.sort(key=rank.__getitem__)
    return [work for child in children for work in _below(board, child)]


def _priority(board: Board, queue: str) -> int:
    """The highest pending ask below with the offsets on its way; a priority fence shows its offset alone."""
    offset: int = board.setting(queue, "priority.offset") or 0
    if board.setting(queue, "priority.policy") == "fence":
        return offset
    children = [child for child in board.children(queue) if _pending(board, child)]
    inside = [_priority(board, child) for child in children] or [work.priority for work in _pending(board, queue)]
    return max(inside) + offset


def _share(board: Board, queue: str) -> float:
    """The largest part of a type that a queue uses: of its guarantee, else of the nearest limit, else of all nodes."""
    whole = total(board)
    for name in reversed(board.path(queue)):
        whole |= board.maximum(name)
    whole |= board.guaranteed(queue)
    parts = [0.0]
    for key, used in board.usage(queue).items():
        if used > 0 and key in whole:
            parts.append(float(used) / float(whole[key]) if whole[key] else 1.0)
    return max(parts)


def _waits(board: Board, queue: str) -> list[int]:
    """What waits in the queue, type by type in the order of names; less is first, so that more comes first."""
    waits = Counter[str]()
    for work in _pending(board, queue):
        waits.update(work.whole)
    types = sorted({key for work in board.works.values() for key in work.need})
    return [-waits[key] for key in types]


def _of_leaf(board: Board, leaf: str) -> list[Work]:
    waiting = _pending(board, leaf)
    apps = {work.app: [other for other in waiting if other.app == work.app] for work in waiting}
    mine = [work for work in board.works.values() if work.queue == leaf]
    first = {app: min(work.submitted for work in mine if work.app == app) for app in apps}
    names = sorted(apps, key=lambda app: (-max(work.priority for work in apps[app]), first[app], app))
    return [
        work
        for app in names
        for work in sorted(apps[app], key=lambda work: (-work.priority, work.submitted, work.uid, work.name))
    ]
