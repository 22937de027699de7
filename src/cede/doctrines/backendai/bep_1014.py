"""Edition `bep-1014`: the head of the queue may preempt lower priorities up to a threshold, and no more than needed."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cede.doctrines.backendai import rules
from cede.doctrines.backendai.kinds import Kind, Kinds
from cede.doctrines.backendai.settings import Settings
from cede.doctrines.backendai.wording import groups_with_work, pending_rows, preempting, waiting
from cede.doctrines.parts.candidates import Candidates
from cede.doctrines.parts.claim import Claim
from cede.doctrines.parts.cover import VictimOrder, take_until_fits
from cede.doctrines.parts.doctrine import Cycle
from cede.doctrines.parts.equivalence import Answers, about
from cede.doctrines.parts.fit import place
from cede.doctrines.parts.limits import Limit, broken, nodes_over
from cede.doctrines.parts.orders import Rows, ordered
from cede.doctrines.parts.outcomes import started
from cede.doctrines.parts.selection import best_of, cover_of
from cede.model.plan import Decision
from cede.model.rules import Rule
from cede.state.columns import RESERVED, RUNNING, SYSTEM, Bools
from cede.state.state import State


def decide(cycle: Cycle) -> Iterator[Decision]:
    """Every group's queue from its head: start what fits; the first that does not may preempt.

    Where one workload is asked for, those ahead of it are decided too, so that it finds what they leave.
    """
    for partition in groups_with_work(cycle.state):
        queue = queue_of(cycle.state, partition)
        if cycle.only is not None and cycle.only not in queue:
            continue
        kinds, answers = Kinds(cycle.state, queue), Answers(cycle)
        head: int | None = None
        for row in queue.tolist():
            asked = cycle.only in (None, row)
            kind = kinds.of(cycle, row)
            made = answers.answer(row, like := (kind, head, asked))
            if made is None:
                made = _decide_one(cycle if asked else cycle.quiet(), row, head, kind)
                answers.keep(like, made)
            if head is None and made.action in ("wait", "preempt"):
                head = row
            if asked:
                yield made
            if row == cycle.only:
                break


def queue_of(state: State, partition: int) -> Rows:
    """Priority descending, then submission, then uid."""
    rows = pending_rows(state, partition)
    return ordered(state, rows, -state.work.priority[rows], state.work.submitted[rows])


def _decide_one(cycle: Cycle, row: int, head: int | None, kind: Kind) -> Decision:
    state, settings = cycle.state, kind.settings
    if kind.refused is not None:
        return about(kind.refused, state.work_names[row])
    claim = kind.claim_of(state, row)
    short = broken(kind.limits_of(state, row))
    nodes = None if short else place(state, claim)
    if nodes is not None:
        over = nodes_over(state, row, nodes)
        if over is None:
            return started(cycle, claim, nodes, rules.FITS)
        short = [over]
    looked_at: Candidates | None = None
    cannot: Rule | None = None
    if head is not None:
        cannot = rules.NOT_HEAD
    elif not state.work.preempts[row]:
        cannot = rules.MAY_NOT
    else:
        looked_at = candidates(state, claim, settings)
        victims = victims_for(cycle, claim, settings, looked_at.open, short)
        if victims is not None:
            return preempting(cycle, claim, settings, looked_at, victims, rules.LOWER, cycle.trial.evict, limits=short)
    refused = kind.too_big(state)
    if refused is not None:
        return about(refused, claim.name)
    if looked_at is None and cycle.told:
        looked_at = candidates(state, claim, settings)
    rule = cannot or rules.NO_ROOM
    if short:
        rule = rules.QUOTA
    elif state.nodes.size and not claim.allowed.any():
        rule = rules.NO_NODES
    ahead = "" if head is None else state.work_names[head]
    return waiting(cycle, claim, settings, looked_at, short, rule, cannot, head=ahead)


def victims_for(cycle: Cycle, claim: Claim, settings: Settings, open_: Bools, limits: list[Limit]) -> list[int] | None:
    """Who goes of those who are open, in the group's order or as the file's `selection` says; None: there is no way."""
    state, order = cycle.state, victim_order(cycle.state, settings)

    def take(these: Bools) -> list[int] | None:
        victims = take_until_fits(state, claim, these, order, limits)
        return victims if victims is not None and _within_the_tenants_nodes(cycle, claim, victims) else None

    own = take(open_)
    if own is None or not cycle.optimal:
        return own
    asked = cover_of(state, claim, np.flatnonzero(open_), limits)
    return best_of(cycle, own, list, lambda: asked, lambda only: take(open_ & only))


def _within_the_tenants_nodes(cycle: Cycle, claim: Claim, victims: list[int]) -> bool:
    """Whether the claimant, placed where the victims left, stays within the nodes its tenant may hold."""
    if not cycle.state.static.tenants:
        return True
    mark = cycle.trial.mark()
    for victim in victims:
        cycle.trial.evict(victim)
    nodes = place(cycle.state, claim) or []
    over = nodes_over(cycle.state, claim.row, nodes)
    cycle.trial.undo(mark)
    return over is None


def candidates(state: State, claim: Claim, settings: Settings) -> Candidates:
    """All that hold room in the group; the first rule that protects one is its verdict."""
    work, size = state.work, state.work.size
    phase, priority = work.state[:size], work.priority[:size]
    looked = (phase >= RESERVED) & (work.partition[:size] == work.partition[claim.row])
    candidates = Candidates(looked).protect(
        (rules.NOT_RUNNING, phase != RUNNING),
        (rules.SYSTEM, work.kind[:size] == SYSTEM),
        (rules.OPTED_OUT, ~work.preemptible[:size]),
        (rules.OVER_BAR, priority > settings.threshold),
    )
    if work.priority[claim.row] <= settings.threshold:  # else whoever is not lower is above the threshold anyway
        candidates.protect((rules.NOT_LOWER, priority >= work.priority[claim.row]))
    return candidates


def victim_order(state: State, settings: Settings) -> VictimOrder:
    """Priority ascending, then start: oldest or newest first; what has no start time is newest of all."""
    work, size = state.work, state.work.size
    begun = work.started[:size]
    return VictimOrder(work.priority[:size], -begun if settings.order == "newest" else begun)
