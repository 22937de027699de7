"""Who starts or preempts, in plain numbers: the same acts as `policy` and `core` find in columns, for work with members
that are alike, where no node has a home, no tenant a limit, no resource a flavor.

What is told here is booked in the index of nodes alone. Whoever comes to something else in the same cycle books it in
the columns first.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cede.doctrines.lattice import rules
from cede.doctrines.lattice.kinds import Form, Holding, Kind
from cede.doctrines.lattice.victim_pool import cost_ceiling
from cede.doctrines.lattice.waiting_line import Lines
from cede.doctrines.lattice.wording import in_minutes, minutes
from cede.doctrines.parts.best_fit import NodeIndex, Shape
from cede.doctrines.parts.orders import Rows, tie_break
from cede.doctrines.parts.shortage import lacking
from cede.model.plan import REQUEUED, Decision, Victim, Warning
from cede.state.columns import NONE, Bools

MOST_KINDS = 512
"""Of nodes that are more various in what is free on them the columns tell faster where somebody goes."""
MOST_CANDIDATES = 4_096
"""Of more than so many the columns tell faster who is the cheapest."""


def reads(form: Form) -> bool:
    """Whether nodes are told here for this one."""
    return form.index is not None and len(form.index.kinds) <= MOST_KINDS


def start(lines: Lines, row: int, form: Form) -> tuple[Decision, list[int]] | None:
    """It starts, and where; none if it finds no room."""
    index, shape = form.index, form.shape
    assert index is not None, "its nodes are told here"
    assert shape is not None, "its nodes are told here"
    nodes = index.place(shape) if lines.policy else by_name(lines.by_rank, index, shape)
    if nodes is None:
        return None
    names = tuple([lines.state.node_names[node] for node in nodes])
    why = rules.FITS.because(nodes=", ".join(dict.fromkeys(names)))
    return Decision(lines.state.work_names[row], "start", rules.FITS.id, why, nodes=names), nodes


def by_name(by_rank: list[int], index: NodeIndex, shape: Shape) -> list[int] | None:
    """A node for each member, the first by name that have room: `core_library.placed` where nodes are identical."""
    ranks: list[tuple[int, int]] = []
    total = 0
    for kind, there in index.kinds.items():
        score = index.score(kind, shape)
        if score is not None:
            ranks += [(rank, score[1]) for rank in (there[:1] if shape.members == 1 else there)]
            total += score[1] * len(there)
    if total < shape.members:
        return None
    nodes: list[int] = []
    for rank, takes in sorted(ranks):
        nodes += [by_rank[rank]] * min(takes, shape.members - len(nodes))
        if len(nodes) == shape.members:
            break
    return nodes


# -- the policy --------------------------------------------------------------------------------------------------------


def preempt_one(lines: Lines, row: int, kind: Kind) -> Decision | None:
    """The preemption of the one victim that `victim_choice.alone` finds for one member; none says nothing.

    It finds no idle room, so that it goes where its victim leaves."""
    form, state = kind.form, lines.state
    prices = lines.running.prices
    rows = prices.below(form.priority, form.partition, state.now, lines.settings.near_end)
    if not len(rows):
        return None
    if not form.claim.allowed.all():
        rows = _on(lines, rows, form.claim.allowed)
    alone = _alone(lines, kind, rows)
    if alone is None:
        return None
    victim, cost = alone
    held = lines.running.holding(victim)
    if len(held.nodes) > 1:
        return None  # it may go to one of several nodes
    node = held.nodes[0]
    short = lacking(state, form.claim, [node], {node: np.array(lines.running.freeable.free(node))})
    prefix, cost_in_words = f"{short}; " if short else "", minutes(cost)
    why = f"{prefix}it has class {form.priority} and preempts {held.name} (class {held.priority}, {cost_in_words})"
    if lines.settings.value_rule:
        why += f", {cost_in_words} in all, and is worth {minutes(kind.value)}"
    rule = rules.PRIORITY.id
    return Decision(
        state.work_names[row],
        "preempt",
        rule,
        why,
        (Victim(held.name, "priority", REQUEUED, rule=rule),),
        (state.node_names[node],),
    )


def _on(lines: Lines, rows: Rows, allowed: Bools) -> Rows:
    """Those of these who stand on some node that is allowed."""
    nodes = lines.running.prices.node[rows]
    here = allowed[nodes]
    for at in np.flatnonzero(nodes == NONE).tolist():
        here[at] = any(allowed[node] for node in lines.running.holding(rows[at]).nodes)
    return rows[here]


def _alone(lines: Lines, kind: Kind, rows: Rows) -> tuple[int, int] | None:
    """Who goes, and what that costs; the argument is that of `victim_choice.alone`."""
    prices, form = lines.running.prices, kind.form
    if not lines.settings.max_victims or not len(rows):
        return None
    cost = prices.costs(rows, lines.state.now)
    free, amount, nodes = lines.free, prices.amount, prices.node[rows]
    assert form.shape is not None, "its nodes are told here"
    needs = form.shape.need
    enough = cost < kind.value
    several = np.flatnonzero(enough & (nodes == NONE)).tolist()
    for column, need in needs:
        enough &= free[column, nodes] + amount[column, rows] >= need
    for at in several:
        held = lines.running.holding(rows[at])
        enough[at] = any(
            form.claim.allowed[node] and all(free[column, node] + amounts[column] >= need for column, need in needs)
            for node, amounts in zip(held.nodes, held.amounts, strict=True)
        )
    if not enough.any():
        return None
    least = int(cost[enough].min())
    if len(rows) > 1 and least > cost_ceiling(int(np.partition(cost, 1)[:2].sum())):
        return None
    cheapest: list[int] = rows[enough & (cost == least)].tolist()
    last = tie_break(lines.state)
    return min(cheapest, key=lambda row: (lines.running.holding(row).priority, last(row))), least


# -- the library -------------------------------------------------------------------------------------------------------


class Cheapest:
    """Those who may be taken for one class, the cheapest first, then by uid; nobody, where they are `many`."""

    def __init__(self, lines: Lines, class_: int, partition: int) -> None:
        rows = lines.running.prices.below(class_, partition)
        self.many = len(rows) > MOST_CANDIDATES
        if self.many:
            rows = rows[:0]
        costs = lines.running.prices.core_costs(rows, lines.state.now)
        turn = costs.argsort(kind="stable")
        self._rows: list[int] = rows[turn].tolist()
        self._costs: list[float] = costs[turn].tolist()
        self._last = tie_break(lines.state)

    def __iter__(self) -> Iterator[tuple[int, float]]:
        rows, costs, at = self._rows, self._costs, 0
        while at < len(rows):
            cost, end = costs[at], at + 1
            while end < len(rows) and costs[end] == cost:
                end += 1
            for row in sorted(rows[at:end], key=self._last) if end - at > 1 else (rows[at],):
                yield row, cost
            at = end


def preempt_cheapest(lines: Lines, row: int, kind: Kind, cheapest: Cheapest) -> Decision | None:
    """The preemption that `core` decides: the cheapest, up to as many nodes as it wants; none says nothing."""
    form, state = kind.form, lines.state
    members, most, in_vain = form.members, lines.settings.max_victims, kind.in_vain
    if cheapest.many:
        return None
    victims: list[Holding] = []
    costs: list[float] = []
    freed = 0
    for one, cost in cheapest:
        if freed >= members or len(victims) == most:
            break
        held = lines.running.holding(one)
        if held.name not in in_vain:
            victims.append(held)
            costs.append(cost)
            freed += held.size
    if freed < members or not victims:
        return None
    nodes, short_of_room = _after(lines, form, victims)
    if nodes is None:
        return None
    warnings = (Warning(rules.NO_GAIN.id, ""),) if short_of_room else ()
    before = {node: np.array(lines.running.freeable.free(node)) for held in victims for node in held.nodes}
    short = lacking(state, form.claim, nodes, before)
    who = ", ".join(
        f"{held.name} (class {held.priority}, {in_minutes(cost)})" for held, cost in zip(victims, costs, strict=True)
    )
    why = f"{short}; " if short else ""
    why += f"it has class {form.priority} and preempts {who}; nodes freed {freed}, wanted {members}"
    rule = rules.PRIORITY.id
    return Decision(
        state.work_names[row],
        "preempt",
        rule,
        why,
        tuple([Victim(held.name, "priority", REQUEUED, rule=rule) for held in victims]),
        tuple([state.node_names[node] for node in nodes]),
        warnings=warnings,
    )


def _after(lines: Lines, form: Form, victims: list[Holding]) -> tuple[list[int] | None, bool]:
    """Where it goes when these have left, and whether that is not room enough; none where the columns must tell."""
    index, shape = form.index, form.shape
    assert index is not None, "its nodes are told here"
    assert shape is not None, "its nodes are told here"
    left: dict[int, list[int]] = {}
    for held in victims:
        for node, amounts in zip(held.nodes, held.amounts, strict=True):
            left[node] = list(map(int.__add__, left.get(node) or lines.running.freeable.free(node), amounts))
    room: dict[int, int] = {}
    for node, free in left.items():
        if node in index.free:
            least = shape.members
            for column, need in shape.need:
                least = min(least, free[column] // need)
            room[node] = max(0, least)
    if shape.members == 1:  # it fits on no other node
        fitting = [node for node, members in room.items() if members]
        if fitting:
            return [min(fitting, key=index.rank.__getitem__)], False
    else:
        gained = 0
        for node, members in room.items():
            score = index.score(index.free[node], shape)
            gained += members - (0 if score is None else score[1])
        if index.room(shape) + gained >= shape.members:
            return None, False
    # There is none: by name, those first that the victims leave, and again from the first if they are too few.
    freed = sorted((node for node in left if node in index.free), key=index.rank.__getitem__)
    if len(freed) < shape.members:
        ranked = sorted(index.free, key=index.rank.__getitem__)
        freed += [node for node in ranked if node not in left]
    return [freed[member % len(freed)] for member in range(shape.members)], True
