"""YTsaurus put together."""

from __future__ import annotations

from cede.doctrines.parts.doctrine import Doctrine, Traits
from cede.doctrines.ytsaurus.check import Audit, audit_touched, tolerated
from cede.doctrines.ytsaurus.decide import decide
from cede.doctrines.ytsaurus.dialect import DIALECT
from cede.doctrines.ytsaurus.keeping import copied, kept, recalled
from cede.doctrines.ytsaurus.lint import lint
from cede.doctrines.ytsaurus.plotting import share_curves
from cede.doctrines.ytsaurus.question import question
from cede.doctrines.ytsaurus.rules import RULES, TOO_MANY
from cede.doctrines.ytsaurus.settings import EDITIONS
from cede.doctrines.ytsaurus.shares import shares
from cede.doctrines.ytsaurus.starter import starter
from cede.model.plan import REQUEUED
from cede.state.state import State


def fate(_state: State, _edition: str, _row: int) -> str:
    """What is preempted is started anew by its operation: it queues again."""
    return REQUEUED


NO_LINE = "fair shares say at every heartbeat whose turn it is, so there is no line whose head could be passed"

DOCTRINE = Doctrine(
    dialect=DIALECT,
    title="YTsaurus: vector fair share, starvation and aggressive preemption",
    rules=RULES,
    decide=decide,
    fate=fate,
    audit=Audit,
    audit_touched=audit_touched,
    traits=Traits(
        no_line=NO_LINE,
        one_node=True,
        members_apart=True,
        leaving_counts=False,
        waived=True,
        reads_checkpoints=True,
        retries=frozenset({TOO_MANY.id}),
    ),
    shares=shares,
    lint=lint,
    tolerates=tolerated,
    kept=kept,
    recalled=recalled,
    copied=copied,
    question=question,
    starter=starter,
    incremental=frozenset(EDITIONS),
    curves=share_curves,
)
