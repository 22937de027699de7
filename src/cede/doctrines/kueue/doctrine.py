"""The doctrine of Kueue: its parts put together, what `shares` shows, and a cluster file to start from."""

from __future__ import annotations

from typing import Any

from cede.doctrines.kueue.audit import HOLDING, Audit
from cede.doctrines.kueue.decide import decide
from cede.doctrines.kueue.dominant_share import Shares
from cede.doctrines.kueue.lint import lint
from cede.doctrines.kueue.memory import copied
from cede.doctrines.kueue.question import question
from cede.doctrines.kueue.quota import quotas_of
from cede.doctrines.kueue.rules import AWAITS, RULES
from cede.doctrines.kueue.settings import DIALECT, EDITION
from cede.doctrines.kueue.usage import QuotaUsage, quota_usage_of
from cede.doctrines.parts.doctrine import Doctrine, Traits
from cede.doctrines.parts.starting_file import Outline, Starter
from cede.model.plan import REQUEUED
from cede.model.quantities import format_quantity
from cede.state.state import State

SETTINGS = {"withinClusterQueue": "LowerPriority", "reclaimWithinCohort": "Any"}


def starter(outline: Outline, _edition: str) -> Starter:
    """Quotas share the nodes evenly; what a queue does not use the others borrow, and it may have it back."""
    return Starter(
        [{"name": name, "guaranteed": outline.guarantee(name), "settings": dict(SETTINGS)} for name in outline.queues]
    )


def shares(state: State, _edition: str) -> dict[str, dict[str, Any]]:
    """Queues and cohorts by name: dominant share and resource, whether they borrow, available, potential, usage."""
    quotas = quotas_of(state)
    quota_usage = quota_usage_of(state, quotas)
    dominant_shares = Shares(quota_usage)
    queues = {
        quotas.names[row]: _of(quota_usage, dominant_shares, row)
        for row in sorted(range(quotas.size), key=quotas.names.__getitem__)
    }
    return {"queues": queues, "apps": {}, "workloads": {}}


def _of(quota_usage: QuotaUsage, shares: Shares, row: int) -> dict[str, Any]:
    quotas = quota_usage.quotas
    share = shares.share(row)
    pairs = quotas.declared[row]

    def amounts(numbers: list[int]) -> dict[str, int | str]:
        named = zip(pairs, numbers, strict=True)
        return {f"{quotas.name(pair)}": format_quantity(number * quotas.nano[pair]) for pair, number in named}

    return {
        "dominant_share": 1e9 if share[0] else shares.per_mille(row, share),
        "dominant_resource": shares.dominant(row),
        "borrowing": shares.borrowing(row),
        "quota": amounts([quotas.subtree[pair][row] for pair in pairs]),
        "usage": amounts([quota_usage.used[pair][row] for pair in pairs]),
        "available": amounts([quota_usage.available(pair, row) for pair in pairs]),
        "potential": amounts([quotas.potential[pair][row] for pair in pairs]),
    }


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
