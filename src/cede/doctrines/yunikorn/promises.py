"""Where a decision of release 1.9 breaks a law of its own design, or gains nothing, with the numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from cede.doctrines.parts.candidates import Candidates
from cede.doctrines.parts.limits import used_quota
from cede.doctrines.yunikorn import rules
from cede.doctrines.yunikorn.ask import Ask, say
from cede.doctrines.yunikorn.attempt import Outcome
from cede.doctrines.yunikorn.best_set import best_set
from cede.doctrines.yunikorn.covers import unwilling
from cede.doctrines.yunikorn.queues import Queues
from cede.doctrines.yunikorn.seven_laws import is_over, lawful_candidates, owed, same_app
from cede.doctrines.yunikorn.snapshot import Snapshot
from cede.doctrines.yunikorn.wording import asks, held_of, promised_to
from cede.model.plan import Warning
from cede.state.columns import NONE, UNSET
from cede.state.state import State


def broken_promises(
    state: State, queues: Queues, before: Snapshot, ask: Ask, outcome: Outcome, candidates: Candidates
) -> tuple[Warning, ...]:
    """Laws broken by this set of victims, and victims that are not needed; nothing is booked yet.

    An ask that needs a certain node is bound by laws 3 and 6 only.
    """
    broken = [*_although_it_may_not(state, ask), *_about_each(state, ask, outcome)]
    if state.work.required_node[ask.row] == NONE:
        broken = [*_law_1(state, queues, before, ask, outcome, candidates), *broken]
        broken += [*_about_queues(state, queues, before, ask, outcome)]
    broken += [*_needless(state, ask, outcome)]
    return tuple(broken)


def _although_it_may_not(state: State, ask: Ask) -> Iterator[Warning]:
    if not state.work.preempts[ask.row]:
        yield _warning(rules.MAY_NOT_READ.id, rules.MAY_NOT_READ.because(claimant=ask.claim.name))


def _law_1(
    state: State, queues: Queues, before: Snapshot, ask: Ask, outcome: Outcome, candidates: Candidates
) -> Iterator[Warning]:
    """Those who should have been spared, where a lawful set has fewer of them."""
    rows = np.array(outcome.victims, np.intp)
    shy = rows[unwilling(state, rows) > 0].tolist()
    if not shy:
        return
    lawful = lawful_candidates(state, queues, before, ask)
    rows = np.flatnonzero(candidates.open & lawful.candidates.open)
    better = best_set(state, ask.claim, ask.short_limits, rows, lawful.slack)
    if better is None or _shyness(state, better.victims) >= _shyness(state, outcome.victims):
        return
    instead = ", ".join(state.work_names[row] for row in better.victims)
    for row in shy:
        if row not in better.victims:
            who = {"victim": state.work_names[row], "asks": asks(state, row), "instead": instead}
            yield _warning(rules.BREAKS_1.id, rules.BREAKS_1.because(**who))


def _shyness(state: State, rows: Sequence[int]) -> tuple[int, int]:
    """How many asked to be spared, and how many are originators."""
    victims = np.array(rows, np.intp)
    return int((~state.work.preemptible[victims]).sum()), int(state.work.originator[victims].sum())


def _about_each(state: State, ask: Ask, outcome: Outcome) -> Iterator[Warning]:
    same = same_app(state, ask.row)
    app = state.apps.name(int(state.work.app[ask.row])) or ask.claim.name
    for row in outcome.victims:
        victim = state.work_names[row]
        if same[row]:
            yield _warning(rules.BREAKS_3.id, rules.BREAKS_3.because(victim=victim, app=app))
        priority, own = int(state.work.priority[row]), int(state.work.priority[ask.row])
        if priority > own:
            why = rules.BREAKS_6.because(victim=victim, priority=priority, claimant_priority=own)
            yield _warning(rules.BREAKS_6.id, why)
        where = set(state.nodes_of(row))
        if outcome.node != NONE and where != {state.node_names[outcome.node]}:
            node, on = ", ".join(sorted(where)), state.node_names[outcome.node]
            yield _warning(rules.BREAKS_NODE.id, rules.BREAKS_NODE.because(victim=victim, node=node, on=on))


def _about_queues(state: State, queues: Queues, before: Snapshot, ask: Ask, outcome: Outcome) -> Iterator[Warning]:
    queue, full = owed(queues, before, ask.leaf, ask.amounts)
    if queue == NONE or full:
        name = queues.name(ask.leaf if queue == NONE else queue)
        reason = (
            "no queue on its path guarantees a requested type"
            if queue == NONE
            else (f"it holds {held_of(state, queues, before, queue, {})} of {promised_to(state, queues, queue)}")
        )
        yield _warning(rules.BREAKS_4.id, rules.BREAKS_4.because(queue=name, reason=reason))
    for row in outcome.victims:
        leaf = int(state.work.queue[row])
        if not is_over(queues, before, ask, queue, leaf):
            why = rules.BREAKS_5.because(
                queue=queues.name(leaf),
                victim=state.work_names[row],
                used=held_of(state, queues, before, leaf, ask.amounts),
                guaranteed=promised_to(state, queues, leaf),
            )
            yield _warning(rules.BREAKS_5.id, why)
    after = before.fresh()
    touched: dict[int, None] = {}
    for row in outcome.victims:
        leaf = int(state.work.queue[row])
        after.move(leaf, list(enumerate(state.work.usage[:, row].tolist())), -1)
        touched |= dict.fromkeys(queues.below_common(leaf, ask.leaf))
    for queue in touched:
        rest = after.own(queue) or {}
        under = {column: amount for column, amount in rest.items() if amount > 0}
        if under:
            left = say(state, {column: after.used(queue)[column] for column in under})
            promised = say(state, {column: queues.guarantee(queue)[column] for column in under})
            why = rules.BREAKS_2.because(queue=queues.name(queue), left=left, guaranteed=promised)
            yield _warning(rules.BREAKS_2.id, why)


def _needless(state: State, ask: Ask, outcome: Outcome) -> Iterator[Warning]:
    """Victims without which the claimant would fit where it goes, once the others that are needed left."""
    node, limits = outcome.node, ask.short_limits
    rows = np.array(outcome.victims, np.intp)
    kept = np.ones(len(rows), np.bool_)
    gives = np.zeros((len(state.units), len(rows)), np.int64)
    need = ask.claim.vectors[0]
    if node != NONE:
        for place, row in enumerate(rows.tolist()):
            for resident in state.residents_of(row):
                if state.residents.node[resident] == node:
                    gives[:, place] += state.residents.amount[:, resident]
    credits = [(limit.short, limit.credit(state, rows)) for limit in limits]

    def enough() -> bool:
        if any(int(credit[kept].sum()) < short for short, credit in credits):
            return False
        if node == NONE:
            return True
        room = state.nodes.free[:, node] + gives[:, kept].sum(axis=1)
        return bool((room >= need)[ask.claim.columns].all())

    if not enough():
        return
    for place in reversed(range(len(rows))):
        kept[place] = False
        if enough():
            why = rules.NEEDLESS.because(victim=state.work_names[int(rows[place])], claimant=ask.claim.name)
            yield _warning(rules.NEEDLESS.id, why)
        else:
            kept[place] = True


def does_not_fit(state: State, ask: Ask, nodes: list[int]) -> Iterator[Warning]:
    """What is still short once the victims are gone and the claimant is booked."""
    short: list[str] = []
    names = state.units.names
    for node in nodes:
        left = state.nodes.free[:, node]
        over = {c: -int(left[c]) for c in ask.claim.columns if left[c] < 0 and names[c]}
        if over:
            short.append(f"{state.node_names[node]} lacks {say(state, over)}")
    for queue in state.tree.path(ask.leaf):
        most, used = state.tree.max[:, queue], used_quota(state, queue)
        over = {c: int(used[c] - most[c]) for c in ask.amounts if most[c] != UNSET and used[c] > most[c]}
        if over:
            short.append(f"{state.tree.names[queue]} is {say(state, over)} above its max")
    if short:
        yield _warning(rules.NO_GAIN.id, rules.NO_GAIN.because(short="; ".join(short)))


def _warning(rule: str, why: str) -> Warning:
    return Warning(rule, why)
