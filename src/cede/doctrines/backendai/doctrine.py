"""Backend.AI put together."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from cede.doctrines.backendai import proposal, shipped, swift
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
from cede.doctrines.parts.doctrine import Cycle, Doctrine, Plain, Traits
from cede.model.plan import Decision
from cede.state.columns import NONE
from cede.state.state import State


def decide(cycle: Cycle) -> Iterator[Decision]:
    """One cycle under the edition asked for."""
    return proposal.decide(cycle) if cycle.edition == DOCUMENT else shipped.decide(cycle)


def quickly(cycle: Cycle) -> Iterator[Decision] | None:
    """What acts, where the edition has a way to find it without looking at everything."""
    return swift.decide(cycle) if cycle.edition == DOCUMENT and swift.applies(cycle.state) else None


def plain(state: State, edition: str) -> Plain | None:
    """As `swift` has it, without the columns."""
    if edition != DOCUMENT or not swift.applies(state):
        return None

    def threshold(queue: str | None) -> int:
        row = NONE if queue is None else state.tree.index[queue]
        return settings_of(state.tree.settings(row), edition).threshold

    return Plain(passes=True, threshold=cache(threshold))


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
    ),
    shares=shares,
    lint=lint,
    swift=quickly,
    plain=plain,
    question=question,
    kept=kept,
    recalled=recalled,
    copied=copied,
    incremental=frozenset({SHIPPED}),
    starter=starter,
)
