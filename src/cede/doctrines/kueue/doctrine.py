"""Kueue put together."""

from __future__ import annotations

from cede.doctrines.kueue.check import HOLDING, Audit
from cede.doctrines.kueue.decide import decide
from cede.doctrines.kueue.lint import lint
from cede.doctrines.kueue.question import question
from cede.doctrines.kueue.rules import AWAITS, RULES
from cede.doctrines.kueue.settings import CLUSTER_DEFAULTS, EDITION, MEANINGS, QUEUE_DEFAULTS
from cede.doctrines.kueue.shares import shares
from cede.doctrines.kueue.starter import starter
from cede.doctrines.parts.doctrine import Doctrine, Setting
from cede.model.plan import REQUEUED
from cede.state.state import State


def fate(_state: State, _edition: str, _row: int) -> str:
    """What is preempted is suspended and queues again."""
    return REQUEUED


def _settings() -> tuple[Setting, ...]:
    found = [Setting(name, "cluster", {EDITION: default}, MEANINGS[name]) for name, default in CLUSTER_DEFAULTS.items()]
    return (
        *found,
        *(Setting(name, "queue", {EDITION: value}, MEANINGS[name]) for name, value in QUEUE_DEFAULTS.items()),
    )


DOCTRINE = Doctrine(
    name="kueue",
    title="Kueue: quotas in cohorts, flavors, classical and fair-sharing preemption",
    editions=(EDITION,),
    rules=RULES,
    settings=_settings(),
    decide=decide,
    shares=shares,
    exact=frozenset(),
    fate=fate,
    audit=Audit,
    lint=lint,
    incremental=frozenset({EDITION}),
    quota=True,
    question=question,
    counted=frozenset(HOLDING),
    awaits=frozenset({AWAITS.id}),
    starter=starter,
)
