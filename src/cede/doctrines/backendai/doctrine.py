"""Backend.AI as a doctrine: its parts, the shares that it shows, and a cluster file to start from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from cede.doctrines.backendai import bep_1014, incremental, release_26_8
from cede.doctrines.backendai.audit import audit
from cede.doctrines.backendai.bep_1014 import queue_of
from cede.doctrines.backendai.lint import lint
from cede.doctrines.backendai.question import question
from cede.doctrines.backendai.release_26_8 import group_settings
from cede.doctrines.backendai.rules import RULES
from cede.doctrines.backendai.session_order import dominant_shares, sequence
from cede.doctrines.backendai.settings import DEFAULTS, DIALECT, DOCUMENT, SHIPPED, settings_of
from cede.doctrines.backendai.strategies import copied, kept, recalled
from cede.doctrines.backendai.wording import fate_of, groups_with_work
from cede.doctrines.parts.doctrine import Cycle, Doctrine, Traits
from cede.doctrines.parts.starting_file import Outline, Starter
from cede.model.plan import Decision
from cede.model.quantities import format_quantity
from cede.state.columns import Int64s
from cede.state.state import State

BEP_1014 = {"preemption_mode": "suspend"}
RELEASE_26_8 = {
    "enabled": True,
    "preemption_mode": "reschedule",
    "victim_scope": "resource-group",
    "agent_selection_strategy": "concentrated",
}
"""The release preempts only where it is switched on, and within one user's sessions unless told otherwise; dispersed
sessions leave a gang no whole node, and nothing passes it."""


def starter(outline: Outline, edition: str) -> Starter:
    """One resource group a queue. The document's threshold is below the top class; the release never reads it."""
    if edition == SHIPPED:
        settings: dict[str, Any] = RELEASE_26_8
    else:
        bar = DEFAULTS[edition]["preemptible_priority"] if outline.bar is None else outline.bar
        settings = {"preemptible_priority": bar, **BEP_1014}
    return Starter([{"name": name, "settings": dict(settings)} for name in outline.queues])


def shares(state: State, edition: str) -> dict[str, dict[str, Any]]:
    """Queues: usage and the capacity of the group's nodes. Pending workloads: their turn, the owner's share."""
    queues: dict[str, Any] = {}
    for name in sorted(state.tree.index):
        row = state.tree.index[name]
        here = state.nodes.partition[: state.nodes.size] == max(int(state.tree.partition[row]), 0)
        capacity = _amounts(state, state.nodes.capacity[:, : state.nodes.size][:, here].sum(axis=1))
        queues[name] = {
            "usage": _amounts(state, state.tree.usage[:, row]),
            "capacity": {name: amount for name, amount in capacity.items() if "@" not in name},
        }
    workloads: dict[str, Any] = {}
    for partition in groups_with_work(state):
        if edition == DOCUMENT:
            for turn, row in enumerate(queue_of(state, partition).tolist(), 1):
                workloads[state.work_names[row]] = {"turn": turn}
            continue
        rows = sequence(state, partition, group_settings(state, partition))
        owners = state.work.user[rows].tolist()
        dominant = dominant_shares(state, partition, owners)
        for turn, (row, owner) in enumerate(zip(rows.tolist(), owners, strict=True), 1):
            workloads[state.work_names[row]] = {"turn": turn, "dominant_share": float(dominant[owner])}
    return {"queues": queues, "apps": {}, "workloads": workloads}


def _amounts(state: State, row: Int64s) -> dict[str, int | str]:
    amounts = state.units.amounts(row.tolist())
    return {name: format_quantity(amounts[name]) for name in sorted(amounts)}


def decide(cycle: Cycle) -> Iterator[Decision]:
    """One cycle under the edition asked for."""
    if cycle.edition != DOCUMENT:
        return release_26_8.decide(cycle)
    return bep_1014.decide(cycle) if cycle.words or cycle.only is not None else incremental.decide(cycle)


def fate(state: State, edition: str, row: int) -> str:
    """What becomes of a workload that its own group preempts."""
    return fate_of(state, row, settings_of(state.tree.settings(int(state.work.queue[row])), edition))


DOCTRINE = Doctrine(
    dialect=DIALECT,
    title="Backend.AI: priority threshold per resource group",
    rules=RULES,
    decide=decide,
    fate=fate,
    audit=audit,
    traits=Traits(
        exact=frozenset({DOCUMENT}),
        transactional=frozenset({SHIPPED}),
        awaits_start=frozenset({SHIPPED}),
        by_job_priority=frozenset({SHIPPED}),
        backfills=frozenset({DOCUMENT}),
        for_claimants=frozenset({DOCUMENT, SHIPPED}),
    ),
    shares=shares,
    lint=lint,
    question=question,
    kept=kept,
    recalled=recalled,
    copied=copied,
    incremental=frozenset({DOCUMENT, SHIPPED}),
    starter=starter,
)
