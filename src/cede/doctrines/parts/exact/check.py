"""Whether a victim set does what a question asks for, in whole numbers, by code that knows nothing of the solver."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from cede.doctrines.parts.claim import Claim, residents_of_all
from cede.doctrines.parts.fit import fits, never_fits
from cede.doctrines.parts.orders import Rows
from cede.doctrines.parts.question import Linear, Over, Question
from cede.state.columns import GONE, PREEMPTING, RESERVED, Bools, Int64s
from cede.state.state import State

NEAR = 1e-9
"""Of numbers that are not whole, or too large for that, so little is not told apart."""
EXACT = 2.0**53
"""Sums of whole numbers below this are exact."""


def lawful(state: State, question: Question, rows: Rows) -> bool:
    """Whether the claimant fits when these candidates are gone, and no condition is broken."""
    return makes_room(state, question, rows) and keeps(question, rows)


def makes_room(state: State, question: Question, rows: Rows) -> bool:
    """Whether the claimant finds its place where these leave; on `one_node` on one that all of them stand on."""
    if not question.places or not state.nodes.size:
        return True
    free = freed(state, rows)
    if not question.one_node:
        return fits(state, question.claim, free)
    here = question.claim.allowed & everybody_stands_on(state, rows)
    return any(fits(state, on_node(question.claim, node), free) for node in np.flatnonzero(here).tolist())


def certainly_no_room(state: State, question: Question, rows: Rows) -> bool:
    """Whether it is proven that the claimant does not fit when these are gone; `one_node` is left aside."""
    if not question.places:
        return False
    return never_fits(state, question.claim, freed(state, rows))


def everybody_stands_on(state: State, rows: Rows) -> Bools:
    """The nodes that every one of these stands on."""
    residents = residents_of_all(state, rows)
    counts = np.bincount(state.residents.node[residents], minlength=state.nodes.size)
    shared: Bools = counts == len(rows)
    return shared


def on_node(claim: Claim, node: int) -> Claim:
    """The claim as if it could use no other node."""
    allowed = np.zeros_like(claim.allowed)
    allowed[node] = claim.allowed[node]
    return replace(claim, allowed=allowed)


def keeps(question: Question, rows: Rows) -> bool:
    """Whether every condition holds for this set."""
    if not question.conditions:
        return True
    gone = np.isin(question.rows, rows)
    return all(_holds(condition, gone) for condition in question.conditions)


def never_enough(state: State, question: Question, rows: Rows) -> bool:
    """Whether it is proven that neither these do nor only some of them."""
    if certainly_no_room(state, question, rows):
        return True
    gone = np.isin(question.rows, rows)
    return any(grows(condition) and not _holds(condition, gone) for condition in question.conditions)


def grows(condition: Linear) -> bool:
    """Whether the condition holds for every set that has one for which it does inside it."""
    if condition.low > -np.inf and (condition.adds < 0).any():
        return False
    if condition.high == np.inf:
        return True
    return bool((condition.adds <= 0).all()) and all(_falls(over) for over in condition.over)


def _falls(over: Over) -> bool:
    return bool((over.adds <= 0).all()) and all(_falls(other) for other in over.others)


def _holds(condition: Linear, gone: Bools) -> bool:
    terms = [*condition.adds[gone].tolist(), *(_over(over, gone) for over in condition.over)]
    total = math.fsum(terms)
    bounds = [bound for bound in (condition.low, condition.high) if math.isfinite(bound)]
    exact = _whole([*terms, *bounds]) and all(_is_whole(over) for over in condition.over)
    slack = 0.0 if exact else NEAR * max(1.0, *(abs(term) for term in (*terms, 1.0)))
    return bool(condition.low - slack <= total <= condition.high + slack)


def _is_whole(over: Over) -> bool:
    return _whole([over.base, *over.adds.tolist()]) and all(map(_is_whole, over.others))


def _whole(numbers: list[float]) -> bool:
    return all(float(number).is_integer() and abs(number) < EXACT for number in numbers)


def _over(over: Over, gone: Bools) -> float:
    terms = [over.base, *over.adds[gone].tolist(), *(_over(other, gone) for other in over.others)]
    return max(0.0, math.fsum(terms))


def freed(state: State, rows: Rows) -> Int64s:
    """What is free on every node once these are gone; what is leaving and what is reserved overlap."""
    size = state.nodes.size
    free = state.nodes.free[:, :size].copy()
    codes = state.work.state[rows]
    _add(state, free, rows[(codes != GONE) & (codes != PREEMPTING) & (codes != RESERVED)])
    between = rows[(codes == PREEMPTING) | (codes == RESERVED)]
    if len(between):
        buckets = {PREEMPTING: state.nodes.leaving[:, :size].copy(), RESERVED: state.nodes.held[:, :size].copy()}
        before = np.maximum(buckets[PREEMPTING], buckets[RESERVED])
        for code in buckets:
            gone = np.zeros_like(before)
            _add(state, gone, rows[codes == code])
            buckets[code] -= gone
        free += before - np.maximum(buckets[PREEMPTING], buckets[RESERVED])
    return free


def _add(state: State, amounts: Int64s, rows: Rows) -> None:
    residents = residents_of_all(state, rows)
    on = state.residents.node[residents]
    for column in range(len(amounts)):
        np.add.at(amounts[column], on, state.residents.amount[column, residents])
