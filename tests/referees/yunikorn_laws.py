"""Edition `laws` by brute force: every set of running workloads of every node is held against the seven laws."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from itertools import combinations
from typing import NamedTuple

import cede
from cede.model.times import parse_duration
from tests.referees.yunikorn_reading import NOWHERE, STAYS, Board, Document, Machine, Work, read

ANYWHERE = "a node that has room"


class Answer(NamedTuple):
    """What becomes of one workload; the node is named where victims decide it."""

    action: str
    victims: frozenset[str] = frozenset()
    node: str | None = None


# -- who may preempt at all --------------------------------------------------------------------------------------------


def triggers(board: Board, claimant: Work) -> bool:
    """Whether a workload that cannot start now may look for victims."""
    if claimant.members > 1 or not claimant.preempts:
        return False
    if claimant.required is not None:
        return True
    if board.document["doctrine"].get("preemption.enabled") is False:
        return False
    delay = board.setting(claimant.queue, "preemption.delay")
    old_enough = board.now - claimant.submitted >= parse_duration("30s" if delay is None else delay)
    return old_enough and is_owed(board, claimant)


def is_owed(board: Board, claimant: Work) -> bool:
    """Law 4, on the nearest guarantee that names a requested type."""
    for queue in board.path(claimant.queue):
        promised = board.guaranteed(queue)
        named = promised.keys() & claimant.need.keys()
        if named:
            used = board.usage(queue, states=STAYS)
            return all(used.get(key, 0) < promised[key] for key in named)
    return False


# -- what a set of victims breaks --------------------------------------------------------------------------------------


def broken(board: Board, claimant: Work, victims: Collection[Work]) -> list[str]:
    """The laws that these victims break, and what else forbids them; laws 4 and the delay are the trigger's."""
    found = [sentence for victim in victims for sentence in _breaks(board, claimant, victim)]
    if claimant.required is None:
        found += _law_2(board, claimant, victims)
    return found


def _breaks(board: Board, claimant: Work, victim: Work) -> Iterator[str]:
    if victim.state != "running" or victim.name in board.gone or victim.name in board.placed:
        yield f"{victim.name} does not run"
    if victim.required is not None:
        yield f"{victim.name} must be on its node"
    if len(set(board.standing(victim))) > 1:
        yield f"{victim.name} stands on several nodes"
    if victim.app == claimant.app:
        yield f"law 3: {victim.name} is of the same app"
    if victim.priority > claimant.priority:
        yield f"law 6: {victim.name} has a higher priority"
    if claimant.required is not None:
        return
    if victim.queue == claimant.queue:
        yield f"{victim.name} is in the claimant's own leaf"
    if any(board.setting(queue, "preemption.policy") == "disabled" for queue in board.path(victim.queue)):
        yield f"{victim.name} is in a queue that is not preempted"
    if fence(board, claimant) not in board.path(victim.queue):
        yield f"law 7: {victim.name} is outside the fence"
    used, promised = board.usage(victim.queue, states=STAYS), board.guaranteed(victim.queue)
    over = [key for key in claimant.need if used.get(key, 0) > promised.get(key, 0)]
    if not any(key in promised or _nearest(board, victim, [key]) != _nearest(board, claimant) for key in over):
        yield f"law 5: the queue of {victim.name} is not over its guarantee"


def _nearest(board: Board, work: Work, keys: Collection[str] | None = None) -> object:
    """The nearest queue that guarantees one of these types, or of all that it asks for; no two without are the same."""
    wanted = set(work.need if keys is None else keys)
    return next((queue for queue in board.path(work.queue) if wanted & board.guaranteed(queue).keys()), work)


def fence(board: Board, claimant: Work) -> str:
    """The nearest fenced queue, upwards; a fence on the root is none."""
    path = board.path(claimant.queue)
    return next((queue for queue in path[:-1] if board.setting(queue, "preemption.policy") == "fence"), path[-1])


def _law_2(board: Board, claimant: Work, victims: Collection[Work]) -> Iterator[str]:
    gone = {victim.name for victim in victims}
    shared = set(board.path(claimant.queue))
    touched = {queue for victim in victims for queue in board.path(victim.queue)} - shared
    for queue in sorted(touched):
        left = board.usage(queue, gone, states=STAYS)
        if any(left.get(key, 0) < amount for key, amount in board.guaranteed(queue).items()):
            yield f"law 2: {queue} is left below its guarantee"


def lawful(board: Board, claimant: Work, victims: Iterable[str], node: str | None) -> list[str]:
    """What is wrong with these victims for this claimant on this node; nothing, if they are lawful."""
    works = [board.works[name] for name in victims]
    found = broken(board, claimant, works)
    if not triggers(board, claimant):
        found.append("law 4, the delay or a setting: the claimant may not preempt")
    machine = board.machines.get(node or NOWHERE)
    if machine is None or machine not in board.usable(claimant):
        return [*found, f"{node} is no node that it may use"]
    found += [f"{work.name} is on another node" for work in works if machine.name not in board.standing(work)]
    if not makes_room(board, claimant, [work.name for work in works], machine):
        found.append("the claimant does not fit")
    return found


def superfluous(board: Board, claimant: Work, victims: Collection[str], node: str | None) -> list[str]:
    """Victims without whom the claimant would fit as well."""
    machine = board.machines[node or NOWHERE]
    return [one for one in victims if makes_room(board, claimant, [name for name in victims if name != one], machine)]


def makes_room(board: Board, claimant: Work, victims: Collection[str], machine: Machine) -> bool:
    return board.fits(claimant, machine, victims) and board.under_every_max(claimant, victims)


# -- the choice --------------------------------------------------------------------------------------------------------


def decide(board: Board, claimant: Work) -> Answer:
    """What becomes of the claimant on this board."""
    if board.never(claimant):
        return Answer("refuse")
    if board.fits_somewhere(claimant) and board.under_every_max(claimant):
        return Answer("start")
    if not triggers(board, claimant):
        return Answer("wait")
    if claimant.required is None and board.fits_somewhere(claimant):
        return _for_the_limit_alone(board, claimant)
    found = [
        (preference(victims, machine.name), victims, machine)
        for machine in board.usable(claimant)
        for victims in _sets(board, claimant, machine)
        if makes_room(board, claimant, [one.name for one in victims], machine) and not broken(board, claimant, victims)
    ]
    if not found:
        return Answer("wait")
    _, victims, machine = min(found, key=lambda one: one[0])
    return Answer("preempt", frozenset(one.name for one in victims), machine.name)


def _for_the_limit_alone(board: Board, claimant: Work) -> Answer:
    """Where a node has room and only a limit is short: victims whose node it can use then, none of them for that alone;
    if there are no such, victims on any one node, and the claimant where it fits.
    """
    found = [
        (preference(victims, machine.name), victims, machine)
        for machine in board.machines.values()
        for victims in _sets(board, claimant, machine)
        if board.under_every_max(claimant, [one.name for one in victims]) and not broken(board, claimant, victims)
    ]
    there = [
        one
        for one in found
        if one[2] in board.usable(claimant)
        and board.fits(claimant, one[2], [victim.name for victim in one[1]])
        and not any(_does_without(board, claimant, one[1], victim) for victim in one[1])
    ]
    if not found:
        return Answer("wait")
    _, victims, machine = min(there or found, key=lambda one: one[0])
    return Answer("preempt", frozenset(one.name for one in victims), machine.name if there else ANYWHERE)


def _does_without(board: Board, claimant: Work, victims: Collection[Work], spared: Work) -> bool:
    """Whether the limits are kept if one of the victims stays."""
    return board.under_every_max(claimant, [one.name for one in victims if one is not spared])


def _sets(board: Board, claimant: Work, machine: Machine) -> Iterator[tuple[Work, ...]]:
    """All sets of those who stand there; who breaks a law alone does so in every set."""
    there = [work for work in board.residents(machine.name) if not any(_breaks(board, claimant, work))]
    for size in range(1, len(there) + 1):
        yield from combinations(there, size)


def preference(victims: Collection[Work], node: str) -> tuple[object, ...]:
    """Less is better."""
    return (
        sum(not one.preemptible for one in victims),
        sum(one.originator for one in victims),
        len(victims),
        sorted((one.priority for one in victims), reverse=True),
        sorted(-one.submitted for one in victims),
        node,
        sorted(one.uid for one in victims),
        sorted(one.name for one in victims),
    )


# -- a whole plan ------------------------------------------------------------------------------------------------------


def in_order(board: Board) -> list[Work]:
    waiting = [work for work in board.works.values() if work.state in ("pending", "suspended")]
    return sorted(waiting, key=lambda work: (-work.priority, work.submitted, work.uid, work.name))


def plan(document: Document, only: str | None = None) -> dict[str, Answer]:
    """The answers of the referee alone, who starts what fits on the first node by name."""
    board, answers = read(document), {}
    for work in in_order(board):
        if only in (None, work.name):
            answers[work.name] = answer = decide(board, work)
            there = answer.action == "start" or answer.node == ANYWHERE
            take(board, work, answer, first_nodes(board, work) if there else [answer.node or ""])
    return answers


def first_nodes(board: Board, work: Work) -> list[str]:
    """The first usable nodes by name, with as many members on each as it takes."""
    found: list[str] = []
    for machine in sorted(board.usable(work), key=lambda one: one.name):
        found += [machine.name] * board.takes(machine, board.free(machine), work)
    return found[: work.members]


def take(board: Board, work: Work, answer: Answer, nodes: Iterable[str]) -> None:
    """Victims have left, and who starts or preempts stands where it will."""
    board.gone |= answer.victims
    if answer.action in ("start", "preempt"):
        board.seat(work, nodes)


def differences(document: Document, made: cede.Plan) -> Iterator[str]:
    """Where a plan breaks a law, takes too many or decides otherwise; on which node it starts what fits is free."""
    board, decisions = read(document), iter(made.decisions)
    for work in in_order(board):
        got = next(decisions, None)
        if got is None or got.workload != work.name:
            yield f"expected {work.name} next, got {got and got.workload}"
            return
        want, nodes = decide(board, work), list(got.nodes)
        victims = frozenset(victim.workload for victim in got.victims)
        if got.action == "preempt" and want.node == ANYWHERE and victims == want.victims:
            if not board.can_stand(work, nodes, board.usable(work)):
                yield f"{work.name} cannot stand on {nodes}"
            take(board, work, want, nodes)
            continue
        if got.action == "preempt":
            node = nodes[0] if nodes else None
            yield from (f"{work.name}: {sentence}" for sentence in lawful(board, work, victims, node))
            yield from (f"{work.name}: {name} is superfluous" for name in superfluous(board, work, victims, node))
        if (got.action, victims) != (want.action, want.victims):
            yield f"{work.name}: expected {_shown(want)}, got {got.action} {sorted(victims)} on {nodes} ({got.why})"
            return
        if want.action == "preempt" and nodes != [name for name in [want.node] if name]:
            yield f"{work.name}: expected {_shown(want)}, got it on {nodes}"
            return
        if want.action == "start" and not board.can_stand(work, nodes, board.usable(work)):
            yield f"{work.name} cannot stand on {nodes}"
            return
        take(board, work, want, nodes)
    yield from (f"expected no more, got {got.workload} {got.action}" for got in decisions)


def _shown(answer: Answer) -> str:
    return f"{answer.action} {sorted(answer.victims)} on {answer.node}"
