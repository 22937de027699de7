"""Backend.AI put together."""

from __future__ import annotations

from collections.abc import Iterator

from cede.doctrines.backendai import incremental, proposal, shipped
from cede.doctrines.backendai.check import audit
from cede.doctrines.backendai.dialect import DIALECT
from cede.doctrines.backendai.facts import fate_of
from cede.doctrines.backendai.lint import lint
from cede.doctrines.backendai.question import question
from cede.doctrines.backendai.rules import RULES
from cede.doctrines.backendai.settings import DOCUMENT, SHIPPED, settings_of
from cede.doctrines.backendai.shares import shares
from cede.doctrines.backendai.starter import starter
from cede.doctrines.backendai.strategies import copied, kept, recalled
from cede.doctrines.parts.doctrine import Cycle, Doctrine, Traits
from cede.model.plan import Decision
from cede.state.state import State


def decide(cycle: Cycle) -> Iterator[Decision]:
    """One cycle under the edition asked for."""
    if cycle.edition != DOCUMENT:
        return shipped.decide(cycle)
    return proposal.decide(cycle) if cycle.words or cycle.only is not None else incremental.decide(cycle)


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
