"""The doctrine of YTsaurus: its parts put together, and a cluster file to start from."""

from __future__ import annotations

from typing import Any

from cede.doctrines.parts.doctrine import Doctrine, Traits
from cede.doctrines.parts.starting_file import ROOT, Outline, Starter, in_seconds
from cede.doctrines.ytsaurus.audit import Audit, audit_touched, tolerated
from cede.doctrines.ytsaurus.decide import decide
from cede.doctrines.ytsaurus.lint import lint
from cede.doctrines.ytsaurus.memory import copied, kept, recalled
from cede.doctrines.ytsaurus.options import TreeSettings
from cede.doctrines.ytsaurus.question import question
from cede.doctrines.ytsaurus.rules import RULES, TOO_MANY
from cede.doctrines.ytsaurus.settings import DIALECT, EDITIONS
from cede.doctrines.ytsaurus.shares import share_curves, shares
from cede.model.plan import REQUEUED
from cede.model.quantities import NANO, format_quantity
from cede.model.times import SECOND
from cede.state.state import State

OPERATIONS = 10_000
"""How many operations a pool may have and run. A job of a trace is an operation; a pool's own default, 50, is meant for
operations of thousands of jobs each."""
TREE = 50_000
TIMEOUTS = ("allocation_preemption_timeout", "allocation_graceful_preemption_timeout")
LEAVING = 30 * SECOND
"""What an allocation has left to end when its checkpoint is written."""


def starter(outline: Outline, _edition: str) -> Starter:
    """Half of an even share is guaranteed to each pool, and the rest is shared by weight, so that fair share moves with
    demand and what is below it starves.

    Operations starve for themselves alone. By default a pool that starves lends its right to preempt to all that wait
    in it: while its first operation fits nowhere, two others that have no share take the same room from each other, at
    every turn, for as long as that lasts. Here most operations have one allocation, so that one that starves for itself
    has a share, and keeps what it takes.

    What is preempted has time to save its work and to leave: one that is aborted while it saves, every time, gets
    nowhere and is given up.
    """
    main = outline.main
    settings: dict[str, Any] = {} if main is None else {"main_resource": main}
    if outline.longest_save:
        within = outline.longest_save + LEAVING
        settings |= {name: in_seconds(within) for name in TIMEOUTS if within > TreeSettings.model_fields[name].default}
    settings |= {
        "scheduling_preemption_priority_scope": "operation_only",
        "max_running_operation_count": TREE,
        "max_operation_count": TREE,
        "max_running_operation_count_per_pool": OPERATIONS,
        "max_operation_count_per_pool": OPERATIONS,
    }
    halves = {
        name: 0 if main is None else share.get(main, 0) // NANO // 2 * NANO for name, share in outline.queues.items()
    }
    root = _pool(ROOT, main, sum(halves.values()), max_operation_count=TREE, max_running_operation_count=TREE)
    return Starter([root, *(_pool(name, main, half, mode="fifo") for name, half in halves.items())], settings)


def _pool(name: str, main: str | None, guaranteed: int, **settings: Any) -> dict[str, Any]:
    """A pool below the tree's own root is guaranteed what those below it are: else theirs would be void."""
    promised = {} if main is None or not guaranteed else {main: format_quantity(guaranteed)}
    return {"name": name, "guaranteed": promised, "settings": settings}


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
