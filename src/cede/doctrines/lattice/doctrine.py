"""Lattice put together."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from cede.doctrines.lattice import core, policy
from cede.doctrines.lattice.check import objections
from cede.doctrines.lattice.dialect import DIALECT
from cede.doctrines.lattice.kept import any_home
from cede.doctrines.lattice.lending import claims_nodes, open_to
from cede.doctrines.lattice.lint import lint
from cede.doctrines.lattice.memory import copied, kept, lasting, recalled
from cede.doctrines.lattice.question import question
from cede.doctrines.lattice.rules import NO_GAIN, QUOTA, RULES
from cede.doctrines.lattice.saving import saves
from cede.doctrines.lattice.settings import CORE, EDITIONS, POLICY
from cede.doctrines.lattice.shares import shares
from cede.doctrines.parts.doctrine import Cycle, Doctrine, Traits
from cede.model.plan import REQUEUED, Decision
from cede.state.columns import Bools
from cede.state.state import State


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
    found = open_to(state, row)
    return None if found.all() else found


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
