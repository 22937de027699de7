"""The decision by which a queue is cut back: its sentence, who was looked at, and the laws it breaks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from cede.doctrines.parts.candidates import Candidates
from cede.doctrines.yunikorn import rules
from cede.doctrines.yunikorn.ask import say
from cede.doctrines.yunikorn.queues import Amounts
from cede.doctrines.yunikorn.quota_amounts import Held
from cede.doctrines.yunikorn.quota_cut import Cut, Leaf, Scales, holds_some
from cede.doctrines.yunikorn.words import asks
from cede.model.plan import Candidate, Decision, Victim, Warning
from cede.model.quantities import show_quantity
from cede.state.columns import NONE, RESERVED, RUNNING, STATES, Int64s


def decision_of(scales: Scales, cut: Cut, *, explain: bool) -> Decision:
    """Who goes so that the queue is no longer above its max; it serves nobody's claim."""
    rule, names = rules.CUT_BACK.id, scales.state.work_names
    return Decision(
        None,
        "preempt",
        rule,
        _why(scales, cut),
        tuple(Victim(names[row], rule, rule=rule) for row in cut.victims),
        warnings=(*_unwilling(scales, cut), *_below_guarantee(scales, cut)),
        candidates=_explained(scales, cut) if explain else None,
    )


def _why(scales: Scales, cut: Cut) -> str:
    used, limit = scales.used(cut.queue), scales.limit(cut.queue) or {}
    held = _say(scales, {column: used[column] for column in cut.amount})
    most = _say(scales, {column: limit[column] for column in cut.amount})
    names, queues = scales.state.work_names, scales.queues
    who = ", ".join(f"{names[row]} ({_queue(scales, row)})" for row in cut.victims)
    back = _say(scales, cut.amount)
    return f"{queues.name(cut.queue)} holds {held} and may hold {most}; it gives back up to {back} and preempts {who}"


def _queue(scales: Scales, row: int) -> str:
    return scales.queues.name(int(scales.state.work.queue[row]))


def _say(scales: Scales, amounts: Amounts) -> str:
    """Amounts in nano-units, for a sentence."""
    named = scales.named({column: amount for column, amount in amounts.items() if amount})
    return ", ".join(f"{show_quantity(name, named[name])} {name}" for name in sorted(named)) or "nothing"


def _explained(scales: Scales, cut: Cut) -> tuple[Candidate, ...]:
    """Everybody that holds room below the queue."""
    state = scales.state
    work, size = state.work, state.work.size
    own, phase = work.queue[:size], work.state[:size]
    inside = np.isin(own, list(scales.queues.inside(cut.queue)))
    by_queue = {leaf.queue: leaf for leaf in cut.leaves}
    useless = np.ones(size, np.bool_)
    for leaf in cut.leaves:
        useless &= ~((own == leaf.queue) & holds_some(state, leaf.share))
    found = Candidates(inside & (phase >= RESERVED)).protect(
        (rules.NOT_RUNNING, phase != RUNNING),
        (rules.PINNED, work.required_node[:size] != NONE),
        (rules.NO_SHARE, useless),
    )

    def facts(row: int) -> Mapping[str, object]:
        leaf = by_queue.get(int(own[row]))
        required = int(work.required_node[row])
        return {
            "firing": scales.queues.name(cut.queue),
            "queue": _queue(scales, row),
            "share": _say(scales, leaf.share) if leaf is not None else "nothing",
            "held": _say(scales, scales.positive(work.usage[:, row])),
            "state": STATES[int(phase[row])],
            "required": state.node_names[required] if required != NONE else "",
        }

    return found.explain(state, facts, dict.fromkeys(cut.victims, rules.CUT_BACK), rules.KEPT)


def _unwilling(scales: Scales, cut: Cut) -> Iterator[Warning]:
    """Those who should have been spared, where an ordinary one of the leaf would have given as much."""
    names = scales.state.work_names
    for leaf in cut.leaves:
        for at in leaf.taken:
            other = None if _ordinary(leaf.held[at]) else _instead(leaf, at)
            if other is not None:
                row = leaf.rows[at]
                who = {"victim": names[row], "asks": asks(scales.state, row), "instead": names[other]}
                yield Warning(rules.BREAKS_1.id, rules.BREAKS_1.because(**who))


def _instead(leaf: Leaf, at: int) -> int | None:
    """One that stays, asks for nothing, and holds as much of what the leaf gives back."""
    gives = {column: leaf.held[at].amounts.get(column, 0) for column in leaf.share}
    for other, held in enumerate(leaf.held):
        alike = all(held.amounts.get(column, 0) == much for column, much in gives.items())
        if alike and other not in leaf.taken and _ordinary(held):
            return leaf.rows[other]
    return None


def _ordinary(held: Held[int]) -> bool:
    return not held.originator and not held.opted_out


def _below_guarantee(scales: Scales, cut: Cut) -> Iterator[Warning]:
    """Queues that end below their guarantee in a type of which something goes."""
    state, queues = scales.state, scales.queues
    gone: dict[int, Int64s] = {}
    for row in cut.victims:
        for queue in queues.path_of(int(state.work.queue[row])):
            gone[queue] = gone.get(queue, 0) + state.work.usage[:, row]
    for queue in sorted(gone, key=queues.names.__getitem__):
        after = state.tree.usage[:, queue] - scales.leaving.get(queue, 0) - gone[queue]
        promised = {
            column: amount
            for column, amount in queues.guarantee(queue).items()
            if gone[queue][column] and after[column] < amount
        }
        if promised:
            left = say(state, {column: int(after[column]) for column in promised})
            numbers = {"queue": queues.name(queue), "left": left, "guaranteed": say(state, promised)}
            yield Warning(rules.BREAKS_2.id, rules.BREAKS_2.because(**numbers))
