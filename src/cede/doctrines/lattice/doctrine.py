"""Lattice as a doctrine: its parts, and the shares that it shows."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from cede.doctrines.lattice import core, policy
from cede.doctrines.lattice.audit import objections
from cede.doctrines.lattice.core_order import order_within, queues_with_work
from cede.doctrines.lattice.lending import claims_nodes, open_to
from cede.doctrines.lattice.lint import lint
from cede.doctrines.lattice.memory import copied, kept, lasting, recalled
from cede.doctrines.lattice.node_facts import any_home
from cede.doctrines.lattice.periodic_checkpoints import saves, savings
from cede.doctrines.lattice.policy import value_of
from cede.doctrines.lattice.question import question
from cede.doctrines.lattice.rules import NO_GAIN, QUOTA, RULES
from cede.doctrines.lattice.score import NAMES, Scores, actual_share, waiting_rows
from cede.doctrines.lattice.settings import CORE, DIALECT, EDITIONS, NO_TYPE, POLICY, TYPES, settings_of, vclusters_of
from cede.doctrines.parts.cost import PARTS
from cede.doctrines.parts.doctrine import Cycle, Doctrine, Traits
from cede.model.plan import REQUEUED, Decision
from cede.state.columns import NONE, Bools
from cede.state.state import State


def shares(state: State, edition: str) -> dict[str, dict[str, Any]]:
    """Queues: type and nodes, lent and borrowed. Pending workloads: turn, score and factors, value. Running ones that
    write checkpoints when asked: what one costs now, and what it is worth."""
    settings = settings_of(state)
    scores = Scores(state, settings, policy=edition == POLICY)
    rows = waiting_rows(state)
    if edition == POLICY:
        turns = scores.ordered(rows).tolist()
    else:
        turns = [row for queue in queues_with_work(state) for row in order_within(state, settings, queue)]
    place = {int(row): turn for turn, row in enumerate(turns, 1)}
    columns = (rows, scores.of(rows), scores.factors(rows), scores.budgets(rows))
    table = zip(*(column.tolist() for column in columns), strict=True)
    workloads: dict[str, Any] = {
        state.work_names[row]: {
            "turn": place[row],
            "score": score,
            "factors": dict(zip(NAMES, factors, strict=True)),
            "value": value_of(state, row) / PARTS,
            **_tenant(state, edition, row, budget),
        }
        for row, score, factors, budget in table
    }
    workloads |= _savings(state, edition)
    return {"queues": _queues(state), "apps": {}, "workloads": dict(sorted(workloads.items()))}


def _savings(state: State, edition: str) -> dict[str, Any]:
    saving = savings(state, edition)
    table = (saving.rows, saving.since, saving.cost, saving.value, saving.due, saving.asks)
    return {
        state.work_names[row]: {"unsaved_s": since, "cost": cost, "worth": worth, "due": due, "save_now": now}
        for row, since, cost, worth, due, now in zip(*(column.tolist() for column in table), strict=True)
    }


def _tenant(state: State, edition: str, row: int, budget: float) -> dict[str, Any]:
    code = int(state.work.tenant[row])
    if (state.tenants.name(code) or "") not in state.static.tenants:
        return {}
    share = actual_share(state, code, policy=edition == POLICY)
    return {"budget_multiplier": budget, "tenant_share": share}


def _queues(state: State) -> dict[str, Any]:
    types = vclusters_of(state).type
    homes = state.nodes.home[: state.nodes.size]
    residents = state.residents
    live = residents.count[: residents.size] > 0
    queues = state.work.queue[residents.work[: residents.size][live]]
    nodes = residents.node[: residents.size][live]
    table: dict[str, Any] = {}
    for name in sorted(state.tree.index):
        row = state.tree.index[name]
        foreign = (homes[nodes] != NONE) & (homes[nodes] != row)
        table[name] = {
            "type": None if types[row] == NO_TYPE else TYPES[types[row]],
            "home_nodes": int((homes == row).sum()),
            "lent": len(set(nodes[(homes[nodes] == row) & (queues != row)].tolist())),
            "borrowed": len(set(nodes[foreign & (queues == row)].tolist())),
        }
    return table


def decide(cycle: Cycle) -> Iterator[Decision]:
    """One cycle under the edition asked for."""
    return policy.decide(cycle) if cycle.edition == POLICY else core.decide(cycle)


def fate(_state: State, _edition: str, _row: int) -> str:
    """A victim queues again, with its old submission time."""
    return REQUEUED


def usable(state: State, edition: str, row: int) -> Bools | None:
    """Nodes whose home lets a workload stand there; none where all do."""
    if edition != POLICY or not any_home(state) or claims_nodes(state, row):
        return None
    nodes = open_to(state, row)
    return None if nodes.all() else nodes


DOCTRINE = Doctrine(
    dialect=DIALECT,
    title="Lattice: classes, checkpoint cost, lending between vClusters",
    rules=RULES,
    decide=decide,
    fate=fate,
    audit=lambda state, edition: partial(objections, state, edition),
    traits=Traits(
        exact=frozenset({POLICY}),
        loose=frozenset({CORE}),
        reads_checkpoints=True,
        falls_short=NO_GAIN.id,
        retries=frozenset({QUOTA.id}),
    ),
    shares=shares,
    lint=lint,
    question=question,
    usable=usable,
    saves=saves,
    incremental=frozenset(EDITIONS),
    lasting=lasting,
    kept=kept,
    recalled=recalled,
    copied=copied,
)
