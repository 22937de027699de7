"""Edition `1.9` word for word: quota preemption, then pass after pass over the asks, each ending with its first result.

On which node something starts is not pinned; the referee takes it from the plan, after checking it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple

import cede
from tests.referees.yunikorn_19_attempt import Attempt
from tests.referees.yunikorn_19_limits import has_headroom
from tests.referees.yunikorn_19_order import order
from tests.referees.yunikorn_19_quota import over_quota
from tests.referees.yunikorn_19_required import required_victims
from tests.referees.yunikorn_reading import NOWHERE, Board, Document, Machine, Work, read

ATTEMPTS = 10


class Answer(NamedTuple):
    """What becomes of one workload; the node is named where victims decide it."""

    action: str
    victims: frozenset[str] = frozenset()
    node: str | None = None


WAIT = Answer("wait")
Seats = Callable[[Board, Work], list[str]]


class Passes:
    """One plan; `seats` says where something starts."""

    def __init__(self, board: Board, seats: Seats) -> None:
        self.board = board
        self.seats = seats
        self.answers: dict[str, Answer] = {}
        self.attempts = Counter[str]()

    def run(self) -> dict[str, Answer]:
        while self.one_pass():
            pass
        return self.answers | {name: WAIT for name in order(self.board) if name not in self.answers}

    def one_pass(self) -> bool:
        """Whether there was a result; who found all attempts of its leaf used up is not decided yet."""
        self.attempts.clear()
        self.drop_old_reservations()
        for name in order(self.board):
            if name in self.answers:
                continue
            answer = self.decide(self.board.works[name])
            if answer is None:
                continue
            self.answers[name] = answer
            if answer.action in ("start", "preempt"):
                return True
        return False

    def drop_old_reservations(self) -> None:
        """Reservations come before everything else in a pass: those older than an hour go where headroom is short."""
        board = self.board
        for machine in board.machines.values():
            holder = board.works.get(machine.reserved_for or "")
            if holder is None or holder.state not in ("pending", "suspended") or holder.name in board.placed:
                continue
            if holder.required is None and board.reserved_for_long(machine) and not has_headroom(board, holder):
                machine.reserved_for = None

    def decide(self, ask: Work) -> Answer | None:
        """The answer, which is on the board already; None if no attempt was left."""
        board = self.board
        if board.never(ask):
            return Answer("refuse")
        if not has_headroom(board, ask):
            return self.preempt(ask, nodes_tried=False)
        if ask.required is not None:
            return self.on_required_node(ask)
        if board.fits_somewhere(ask):
            return self.start(ask)
        return self.preempt(ask, nodes_tried=True)

    def start(self, ask: Work) -> Answer:
        self.board.seat(ask, self.seats(self.board, ask))
        return Answer("start")

    def preempt(self, ask: Work, *, nodes_tried: bool) -> Answer | None:
        board = self.board
        if board.document["doctrine"].get("preemption.enabled") is False:
            return WAIT
        young = board.now - ask.submitted < board.delay(ask.queue)
        if self.attempts[ask.queue] >= ATTEMPTS:
            return None
        if not ask.preempts or ask.required is not None or ask.members > 1 or young:
            return WAIT
        self.attempts[ask.queue] += 1
        found = Attempt(board, ask, nodes_tried=nodes_tried).run()
        return WAIT if found is None else self.take(ask, *found)

    def on_required_node(self, ask: Work) -> Answer:
        """Reservations of others do not count; a node that cannot take the ask is kept for it."""
        for machine in open_nodes(self.board, ask):
            if self.board.takes(machine, self.board.free(machine), ask) >= ask.members:
                return self.start(ask)
            machine.reserved_for = ask.name
            victims = required_victims(self.board, ask, machine) if ask.members == 1 else None
            if victims is not None:
                return self.take(ask, victims, machine.name)
        return WAIT

    def take(self, ask: Work, victims: list[Work], node: str) -> Answer:
        """The victims have left, and the node is kept for the ask: nothing else can use a reserved node."""
        names = frozenset(work.name for work in victims)
        self.board.gone |= names
        self.board.seat(ask, [node])
        if node != NOWHERE:
            self.board.machines[node].reserved_for = ask.name
        return Answer("preempt", names, node)


def opened(document: Document) -> Board:
    """The board; where somebody waits for its victims, the node is reserved."""
    board = read(document)
    for work in board.works.values():
        for node in work.nodes if work.state == "reserved" else ():
            board.machines[node].reserved_for = work.name
    return board


def open_nodes(board: Board, ask: Work) -> list[Machine]:
    if ask.required is None:
        return board.usable(ask)
    return [machine for machine in board.matching(ask) if not machine.down]


def first_nodes(board: Board, ask: Work) -> list[str]:
    """The first usable nodes by name, with as many members on each as it takes."""
    found: list[str] = []
    for machine in sorted(open_nodes(board, ask), key=lambda one: one.name):
        found += [machine.name] * board.takes(machine, board.free(machine), ask)
    return found[: ask.members]


def plan(document: Document, only: str | None = None) -> dict[str, Answer]:
    """The answers of the referee alone; the empty name stands for what serves no claimant."""
    board = opened(document)
    quota = {"": Answer("preempt", frozenset(over_quota(board)))}
    passes = Passes(board, first_nodes)
    if only is not None:
        return quota | {only: passes.decide(board.works[only]) or WAIT}
    return quota | passes.run()


def differences(document: Document, made: cede.Plan) -> Iterator[str]:
    """Where a plan takes other victims, acts otherwise or goes elsewhere."""
    board = opened(document)
    got = {decision.workload: decision for decision in made.decisions if decision.workload is not None}
    problems: list[str] = []

    def seats(board: Board, work: Work) -> list[str]:
        nodes = list(got[work.name].nodes) if work.name in got and got[work.name].action == "start" else []
        if not nodes and not board.document.get("nodes"):
            return []
        if board.can_stand(work, nodes, open_nodes(board, work)):
            return nodes
        problems.append(f"{work.name} cannot start on {nodes}")
        return first_nodes(board, work)

    freed = {victim.workload for one in made.decisions if one.workload is None for victim in one.victims}
    wanted = over_quota(board)
    if freed != wanted:
        problems.append(f"expected {sorted(wanted)} to go for quota, got {sorted(freed)}")
    answers = Passes(board, seats).run()
    for name, want in answers.items():
        one = got.pop(name, None)
        victims = frozenset(victim.workload for victim in one.victims) if one else frozenset()
        nodes = list(one.nodes) if one else []
        if one is None or (one.action, victims) != (want.action, want.victims):
            shown = f"{one.action} {sorted(victims)} on {nodes} ({one.why})" if one else "nothing"
            problems.append(f"{name}: expected {want.action} {sorted(want.victims)} on {want.node}, got {shown}")
        elif want.action == "preempt" and nodes != [node for node in [want.node] if node]:
            problems.append(f"{name}: expected it on {want.node}, got {nodes}")
    yield from problems
    yield from (f"expected no decision on {name}" for name in got)
