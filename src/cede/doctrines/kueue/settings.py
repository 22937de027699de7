"""The settings of the cluster and of a queue, with Kueue's defaults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cede.doctrines.kueue.dialect import DIALECT

(EDITION,) = DIALECT.editions

NEVER = "Never"
LOWER = "LowerPriority"
LOWER_OR_NEWER = "LowerOrNewerEqualPriority"
ANY = "Any"
STOP = "MayStopSearch"
NEXT = "TryNextFlavor"
FINAL = "LessThanOrEqualToFinalShare"
INITIAL = "LessThanInitialShare"
BORROW_FIRST = "BorrowingOverPreemption"
PREEMPT_FIRST = "PreemptionOverBorrowing"

CLUSTER_DEFAULTS: dict[str, Any] = {
    "preemption": "Classical",
    "strategies": [FINAL, INITIAL],
    "recheck_final_set": False,
}
QUEUE_DEFAULTS: dict[str, Any] = {
    "withinClusterQueue": NEVER,
    "reclaimWithinCohort": NEVER,
    "borrowWithinCohort": {"policy": NEVER},
    "flavorFungibility": {"whenCanBorrow": STOP, "whenCanPreempt": NEXT, "preference": BORROW_FIRST},
    "queueingStrategy": "BestEffortFIFO",
}
MEANINGS = {
    "preemption": "how victims are chosen: Classical (priority and quota) or FairSharing (shares of the cohort)",
    "strategies": "FairSharing: the share rules, tried in this order",
    "recheck_final_set": "FairSharing: check the share rules again on the victims that are left after sparing",
    "withinClusterQueue": "whom a workload may preempt in its own queue: Never, LowerPriority, "
    "LowerOrNewerEqualPriority",
    "reclaimWithinCohort": "whom it may preempt in queues above their quota: Never, LowerPriority, Any",
    "borrowWithinCohort": "whether it may preempt while its own queue ends above quota: policy Never or "
    "LowerPriority, and maxPriorityThreshold",
    "flavorFungibility": "when the search for a flavor goes on: whenCanBorrow, whenCanPreempt, preference",
    "queueingStrategy": "BestEffortFIFO: a head that cannot start lets others pass; StrictFIFO: nobody passes",
}


@dataclass(frozen=True, slots=True)
class Mode:
    """The cluster-wide settings."""

    fair: bool
    strategies: tuple[str, ...]
    recheck: bool


@dataclass(frozen=True, slots=True)
class Settings:
    """One queue's settings."""

    within: str
    reclaim: str
    borrow: bool
    threshold: int | None
    borrow_next: bool
    preempt_next: bool
    preempt_first: bool
    strict: bool

    @property
    def preempts(self) -> bool:
        """Whether a workload of this queue may preempt anybody at all."""
        return self.within != NEVER or self.reclaim != NEVER


def mode_of(raw: Mapping[str, Any]) -> Mode:
    """The cluster-wide settings as the file's `doctrine` gives them."""
    full = CLUSTER_DEFAULTS | dict(raw)
    strategies = tuple(full["strategies"]) or (FINAL, INITIAL)
    return Mode(full["preemption"] == "FairSharing", strategies, bool(full["recheck_final_set"]))


def settings_of(raw: Mapping[str, Any]) -> Settings:
    """Settings from the queue's entry; what it leaves out is Kueue's default."""
    full = QUEUE_DEFAULTS | dict(raw)
    borrow = full["borrowWithinCohort"] or {}
    flavors = QUEUE_DEFAULTS["flavorFungibility"] | (full["flavorFungibility"] or {})
    return Settings(
        within=full["withinClusterQueue"],
        reclaim=full["reclaimWithinCohort"],
        borrow=borrow.get("policy", NEVER) != NEVER,
        threshold=borrow.get("maxPriorityThreshold"),
        borrow_next=flavors["whenCanBorrow"] == NEXT,
        preempt_next=flavors["whenCanPreempt"] == NEXT,
        preempt_first=flavors["preference"] == PREEMPT_FIRST,
        strict=full["queueingStrategy"] == "StrictFIFO",
    )
