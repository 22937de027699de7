"""YuniKorn put together."""

from __future__ import annotations

from collections.abc import Iterator

from cede.doctrines.parts.doctrine import Cycle, Doctrine, Traits
from cede.doctrines.yunikorn import laws, shipped
from cede.doctrines.yunikorn.check import Audit
from cede.doctrines.yunikorn.dialect import DIALECT
from cede.doctrines.yunikorn.lint import lint
from cede.doctrines.yunikorn.memory import copied, lasting
from cede.doctrines.yunikorn.question import question
from cede.doctrines.yunikorn.reservations import may_be_cancelled
from cede.doctrines.yunikorn.rules import NO_GAIN, RULES
from cede.doctrines.yunikorn.settings import EDITIONS, LAWS, SHIPPED
from cede.doctrines.yunikorn.shares import shares
from cede.doctrines.yunikorn.starter import starter
from cede.model.plan import REQUEUED, Decision
from cede.state.columns import NONE
from cede.state.state import State


def decide(cycle: Cycle) -> Iterator[Decision]:
    """One cycle under the edition asked for."""
    return laws.decide(cycle) if cycle.edition == LAWS else shipped.decide(cycle)


def fate(_state: State, _edition: str, _row: int) -> str:
    """What is preempted is deleted, and what owns it makes it anew: it queues again."""
    return REQUEUED


def takes_cordoned(state: State, edition: str, row: int) -> bool:
    """Release 1.9 does not look whether a node takes new work where an ask needs that node and no other."""
    return edition == SHIPPED and bool(state.work.required_node[row] != NONE)


DOCTRINE = Doctrine(
    dialect=DIALECT,
    title="YuniKorn: guaranteed queues, fences and the seven laws of preemption",
    rules=RULES,
    decide=decide,
    fate=fate,
    audit=Audit,
    traits=Traits(
        exact=frozenset({LAWS}),
        falls_short=NO_GAIN.id,
    ),
    shares=shares,
    incremental=frozenset(EDITIONS),
    lint=lint,
    lasting=lasting,
    copied=copied,
    cancels=lambda state, edition, node, claimant: edition == SHIPPED and may_be_cancelled(state, node, claimant),
    takes_cordoned=takes_cordoned,
    question=question,
    starter=starter,
)
