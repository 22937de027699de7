"""The preemption of a head that has one member, found without the columns: what `proposal.victims_for` finds there.

Victims are taken in order of priority, so that only those nodes matter which are ready at the lowest priority at which
any node is: what may be preempted up to that is summed by node and priority anyway.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

import numpy as np

from cede.doctrines.backendai import rules
from cede.doctrines.backendai.facts import fate_of_kind
from cede.doctrines.backendai.settings import Settings
from cede.doctrines.parts.front import Form, Front, Key, Row, Start
from cede.doctrines.parts.outcomes import flavors_of, names_of
from cede.doctrines.parts.shortage import lacking
from cede.model.plan import Decision, Victim
from cede.state.columns import NONE
from cede.state.state import State

Turn = tuple[int, int, str, str]
"""Where a workload stands in the order of victims: priority, start, uid, name."""


def preempt(
    state: State, front: Front, rows: dict[int, Row], head: Key, form: Form, settings: Settings, lower: list[int]
) -> Decision | None:
    """The decision; none if nobody's going makes room. Every workload is in records, and no limit is in the way."""
    assert form.shape is not None
    need, free = form.shape.need, front.index.free
    levels = sorted(lower)
    nodes, at = _ready_first(front, need, levels)
    if not nodes:
        return None
    newest = settings.order == "newest"
    standing, records, uids, names = state.room().standing, state.records, state.uids, state.work_names

    def turn(row: int) -> Turn:
        record = records[row]
        return record.priority, -record.started if newest else record.started, uids[row], names[row]

    below, level = levels[:at], levels[at]
    short: dict[int, dict[int, int]] = {}
    ready: list[int] = []
    last = NONE
    for last in _in_order(front.standing[level], newest):
        record = records[last]
        for node in set(record.nodes) & nodes:
            lacks = short.get(node)
            if lacks is None:
                kind, there = free[node], front.standing_on[node]
                gone = [there[one] for one in below if one in there]
                lacks = short[node] = {
                    column: count - kind[column + 1] - sum(amounts[column] for amounts in gone)
                    for column, count in need
                }
            members = standing[node][last]
            for column, count in record.mould.need:
                if column in lacks:
                    lacks[column] -= count * members
            if max(lacks.values()) <= 0:
                ready.append(node)
        if ready:
            break
    until = turn(last)
    prefix = {
        row
        for node in ready
        for row in standing[node]
        if rows[row].open and rows[row].priority <= level and rows[row].priority in levels and turn(row) <= until
    }
    victims = _spared(state, front, need, ready, sorted(prefix, key=turn))
    return _decision(state, front, head, form, settings, victims)


def _in_order(began: list[Start], newest: bool) -> Iterator[int]:
    """Rows by their start, the oldest or the newest first; those that began at one time by uid."""
    if not newest:
        yield from (start[3] for start in began)
        return
    for _, together in groupby(reversed(began), key=lambda start: start[0]):
        yield from (start[3] for start in sorted(together))


def _ready_first(front: Front, need: tuple[tuple[int, int], ...], levels: list[int]) -> tuple[set[int], int]:
    """The nodes that have room when all up to the lowest possible of these priorities are gone from them, and which of
    the priorities that is."""
    free = front.index.free
    most = len(levels)
    found: set[int] = set()
    for node, standing in front.standing_on.items():
        kind = free.get(node)
        if kind is None:
            continue
        short = [(column, count - kind[column + 1]) for column, count in need if count > kind[column + 1]]
        for at in range(most):
            amounts = standing.get(levels[at])
            if amounts is None:
                continue
            short = [(column, lacks - amounts[column]) for column, lacks in short if lacks > amounts[column]]
            if not short:
                if at < most - 1:
                    most = at + 1
                    found.clear()
                found.add(node)
                break
    return found, most - 1


def _spared(
    state: State,
    front: Front,
    need: tuple[tuple[int, int], ...],
    ready: list[int],
    prefix: list[int],
) -> list[int]:
    """Of those that go up to the one that makes these nodes ready, whoever must so that one of them stays so."""
    if len(prefix) == 1:
        return prefix
    standing = state.room().standing
    slack: dict[int, dict[int, int]] = {}
    for node in ready:
        kind = front.index.free[node]
        left = slack[node] = {column: kind[column + 1] - count for column, count in need}
        for row in prefix:
            members = standing[node].get(row, 0)
            for column, count in state.records[row].mould.need if members else ():
                if column in left:
                    left[column] += count * members
    victims: list[int] = []
    for row in reversed(prefix):
        without: dict[int, dict[int, int]] = {}
        for node, left in slack.items():
            members = standing[node].get(row, 0)
            taken = dict(state.records[row].mould.need)
            without[node] = {column: amount - taken.get(column, 0) * members for column, amount in left.items()}
        if any(min(left.values()) >= 0 for left in without.values()):
            slack = without
        else:
            victims.append(row)
    return victims[::-1]


def _decision(state: State, front: Front, head: Key, form: Form, settings: Settings, victims: list[int]) -> Decision:
    """It goes where it fits best of the nodes that they leave: on the others it did not fit before."""
    assert form.shape is not None
    index, records = front.index, state.records
    then: dict[int, list[int]] = {}
    for row in victims:
        record = records[row]
        for node in record.nodes:
            if node in index.free:
                kind = then.setdefault(node, list(index.free[node]))
                for column, count in record.mould.need:
                    kind[column + 1] += count
    scores = {node: score for node, kind in then.items() if (score := index.score(kind, form.shape)) is not None}
    node = min(scores, key=lambda node: (scores[node][0], index.rank[node]))
    before = np.array(index.free[node][1:], np.int64)
    short = lacking(state, form.claim, [node], {node: before})
    who = ", ".join(f"{state.work_names[row]} (priority {records[row].priority})" for row in victims)
    lost = tuple(
        Victim(state.work_names[row], rules.LOWER.id, fate_of_kind(records[row].mould.kind, settings))
        for row in victims
    )
    return Decision(
        head[3],
        "preempt",
        rules.LOWER.id,
        f"{short}; it has priority {-head[0]} and preempts {who}",
        lost,
        names_of(state, [node]),
        flavors_of(state, form.claim, [node]) if state.units.flavored else {},
    )
