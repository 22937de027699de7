"""Room for an ask that must run on one node, as edition `1.9` makes it (section 2.10)."""

from __future__ import annotations

from functools import cmp_to_key

from tests.referees.yunikorn_19_vectors import Vector, add, touches
from tests.referees.yunikorn_reading import Board, Machine, Work


def required_victims(board: Board, ask: Work, machine: Machine) -> list[Work] | None:
    """Victims that cover the ask by themselves as far as there are any; None if room and they are not enough."""
    candidates = [
        work
        for work in board.residents(machine.name)
        if work.state == "running"
        and work.required is None
        and len(set(board.standing(work))) == 1
        and work.priority <= ask.priority
        and touches(work.need, ask.need)
    ]
    taken: Vector = {}
    victims: list[Work] = []
    for work in sorted(candidates, key=cmp_to_key(_compare)):
        if _enough(taken, ask.need):
            break
        victims.append(work)
        taken = add(taken, work.whole)
    return victims if _enough(add(taken, board.free(machine)), ask.need) else None


def _enough(amounts: Vector, ask: Vector) -> bool:
    return all(amounts.get(key, 0) >= amount for key, amount in ask.items())


def _compare(a: Work, b: Work) -> int:
    """Class, priority, youngest, smaller in every type, uid."""
    one, other = ((_class(work), work.priority, -work.submitted) for work in (a, b))
    if one != other:
        return -1 if one < other else 1
    types = a.whole.keys() | b.whole.keys()
    signs = {(x > y) - (x < y) for x, y in ((a.whole.get(key, 0), b.whole.get(key, 0)) for key in types)} - {0}
    if len(signs) == 1:
        return signs.pop()
    return -1 if (a.uid, a.name) < (b.uid, b.name) else 1


def _class(work: Work) -> int:
    if work.originator:
        return 3
    return 1 if work.preemptible else 2
