"""Edition `bep-1014` word for word, one workload at a time: take in order until it fits, then spare, last taken first.

The placement of what starts is the scheduler's own business; the referee takes it from the plan, after checking it.
"""

from __future__ import annotations

from collections.abc import Iterator

import cede
from tests.referees.reading import Board, Document, Work, read

DEFAULTS = {"preemptible_priority": 5, "preemption_order": "oldest", "preemption_mode": "terminate"}


def differences(document: Document, plan: cede.Plan) -> Iterator[str]:
    """Where the plan decides otherwise than the text."""
    board = read(document)
    waiting = [work for work in board.works.values() if work.state in ("pending", "suspended")]
    decided = iter(plan.decisions)
    for partition in sorted({work.partition for work in waiting}):
        head: Work | None = None
        queue = [work for work in waiting if work.partition == partition]
        for work in sorted(queue, key=lambda w: (-w.priority, w.submitted, w.last_key)):
            made = next(decided, None)
            if made is None or made.workload != work.name:
                yield f"expected {work.name} next, got {made and made.workload}"
                return
            action, victims = judge(board, work, may_preempt=head is None)
            got = {victim.workload: victim.fate for victim in made.victims}
            if made.action != action or got != victims:
                yield f"{work.name}: expected {action} {victims}, got {made.action} {got} ({made.why})"
                return
            if action in ("wait", "preempt") and head is None:
                head = work
            board.gone |= set(victims)
            if action in ("start", "preempt"):
                if board.machines and not stands_well(board, work, list(made.nodes)):
                    yield f"{work.name} cannot stand on {list(made.nodes)}"
                    return
                board.placed[work.name] = list(made.nodes)


def judge(board: Board, work: Work, *, may_preempt: bool) -> tuple[str, dict[str, str]]:
    """The action for one workload, and its victims with what becomes of them."""
    if board.refused_by_policy(work) or board.over_limits(work, alone=True):
        return "refuse", {}
    if board.machines and not board.matching(work):
        return "refuse", {}
    if has_room(board, work, []):
        return "start", {}
    if not board.fits_empty(work):
        return "refuse", {}
    if not may_preempt or not work.asks("preempts", True):
        return "wait", {}
    settings = DEFAULTS | board.settings(work.asks("queue"))
    taken: list[str] = []
    for candidate in in_order(board, work, settings):
        taken.append(candidate.name)
        if has_room(board, work, taken):
            break
    else:
        return "wait", {}
    for name in list(reversed(taken)):
        others = [other for other in taken if other != name]
        if has_room(board, work, others):
            taken = others
    return "preempt", {name: fate(board.works[name], settings) for name in taken}


def has_room(board: Board, work: Work, without: list[str]) -> bool:
    return not board.over_limits(work, without) and board.fits(work, without)


def in_order(board: Board, work: Work, settings: Document) -> list[Work]:
    """All that are eligible, in the order in which they are taken."""
    usable = {machine.name for machine in board.usable(work)}
    eligible = [
        other
        for other in board.works.values()
        if other.name not in board.gone
        and other.state == "running"
        and other.partition == work.partition
        and other.asks("preemptible", True)
        and other.kind != "system"
        and other.priority <= settings["preemptible_priority"]
        and other.priority < work.priority
        and (not board.machines or usable & set(other.nodes))
    ]

    def key(other: Work) -> tuple[object, ...]:
        newest = float("inf") if other.started is None else other.started
        start = newest if settings["preemption_order"] == "oldest" else -newest
        return other.priority, start, other.last_key

    return sorted(eligible, key=key)


def fate(victim: Work, settings: Document) -> str:
    resumes = settings["preemption_mode"] == "suspend" and victim.kind not in ("interactive", "inference")
    return "requeued" if resumes else "ended"


def stands_well(board: Board, work: Work, nodes: list[str]) -> bool:
    """Whether these nodes, one a member, may all be used and have room at once, victims gone."""
    usable = {machine.name: machine for machine in board.usable(work)}
    if len(nodes) != len(work.needs) or not set(nodes) <= set(usable):
        return False
    for name in set(nodes):
        room, people = board.free(usable[name]), board.people(usable[name])
        if any(other.exclusive for other in people) or (work.exclusive and (people or nodes.count(name) > 1)):
            return False
        for node, need in zip(nodes, work.needs, strict=True):
            if node == name:
                room = {key: room.get(key, 0) - need.get(key, 0) for key in room | need}
        if any(left < 0 and any(need.get(key) for need in work.needs) for key, left in room.items()):
            return False
    groups = [board.group_of(usable[name]) for name in nodes]
    if work.asks("placement") == "tight":
        return len(set(groups)) <= 1
    most = board.most_in_a_group(work, list(usable.values()))
    return work.asks("placement") != "spread" or all(groups.count(group) <= most for group in groups)
