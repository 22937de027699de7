"""Kueue put together."""

from __future__ import annotations

from cede.doctrines.kueue.check import HOLDING, Audit
from cede.doctrines.kueue.decide import decide
from cede.doctrines.kueue.dialect import DIALECT
from cede.doctrines.kueue.lint import lint
from cede.doctrines.kueue.memory import copied
from cede.doctrines.kueue.question import question
from cede.doctrines.kueue.rules import AWAITS, RULES
from cede.doctrines.kueue.settings import EDITION
from cede.doctrines.kueue.shares import shares
from cede.doctrines.kueue.starter import starter
from cede.doctrines.parts.doctrine import Doctrine, Traits
from cede.model.plan import REQUEUED
from cede.state.state import State


def fate(_state: State, _edition: str, _row: int) -> str:
    """What is preempted is suspended and queues again."""
    return REQUEUED


DOCTRINE = Doctrine(
    dialect=DIALECT,
    title="Kueue: quotas in cohorts, flavors, classical and fair-sharing preemption",
    rules=RULES,
    decide=decide,
    fate=fate,
    audit=Audit,
    traits=Traits(
        counted=frozenset(HOLDING),
        awaits=frozenset({AWAITS.id}),
    ),
    shares=shares,
    lint=lint,
    incremental=frozenset({EDITION}),
    copied=copied,
    question=question,
    starter=starter,
)
