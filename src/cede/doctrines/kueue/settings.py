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
NEXT = "TryNextFlavor"
FINAL = "LessThanOrEqualToFinalShare"
INITIAL = "LessThanInitialShare"
PREEMPT_FIRST = "PreemptionOverBorrowing"

CLUSTER_DEFAULTS = DIALECT.defaults("cluster", EDITION)
QUEUE_DEFAULTS = DIALECT.defaults("queue", EDITION)


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
