"""What a queue may still use, and where the limit that stands in an ask's way makes a fence (sections 1.2 and 2.3)."""

from __future__ import annotations

from collections import Counter

from tests.referees.yunikorn_19_vectors import Maybe, add, fits_undef, least, sub_existing
from tests.referees.yunikorn_reading import NOWHERE, Amounts, Board, Work


def total(board: Board) -> Amounts:
    """All capacity of all nodes, which is the limit of a root."""
    found = Counter[str]()
    for machine in board.machines.values():
        found.update(machine.capacity)
    return dict(found)


def own_max(board: Board, queue: str) -> Maybe:
    if len(board.path(queue)) == 1:
        return None if NOWHERE in board.machines else total(board)
    return board.maximum(queue) or None


def effective_max(board: Board, queue: str) -> Maybe:
    found: Maybe = None
    for name in board.path(queue):
        found = least(found, own_max(board, name))
    return found


def has_headroom(board: Board, work: Work) -> bool:
    found: Maybe = None
    for name in board.path(work.queue):
        limit = own_max(board, name)
        if limit is not None:
            found = least(found, sub_existing(limit, board.usage(name)))
    return fits_undef(found or {}, work.whole)


def ladder(board: Board, ask: Work) -> dict[str, int]:
    """The ask's priority as seen from each queue of its path, up to the fence root, which is the last."""
    found: dict[str, int] = {}
    priority = ask.priority
    for queue in board.path(ask.queue):
        offset = board.setting(queue, "priority.offset") or 0
        fenced = board.setting(queue, "priority.policy") == "fence"
        priority = found[queue] = offset if fenced else priority + offset
        if board.setting(queue, "preemption.policy") == "fence" or _full(board, queue, ask):
            break
    return found


def _full(board: Board, queue: str, ask: Work) -> bool:
    """Whether usage and ask together are above a limit in a type that they and it name."""
    limit, wanted = effective_max(board, queue) or {}, add(board.usage(queue), ask.need)
    return any(wanted[key] > limit[key] for key in wanted.keys() & limit.keys())
