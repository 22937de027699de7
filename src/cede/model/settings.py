"""The settings each doctrine has of its own, for the whole cluster and for one queue."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, ConfigDict, Field

from cede.model.errors import shown
from cede.model.values import EACH_ONCE, Amount, Duration, Integer, Maybe, Number, Part, Reads, whole
from cede.model.ytsaurus_settings import OperationSettings, PoolSettings, TreeSettings

_OFFSET = re.compile(r"[+-]?[0-9]+")
_MOST_OFFSET_DIGITS = 20


def _parse_offset(raw: object) -> int:
    if isinstance(raw, str):
        if len(raw) > _MOST_OFFSET_DIGITS or _OFFSET.fullmatch(raw) is None:
            raise ValueError(f"{shown(raw)} is no whole number")
        return int(raw)
    return int(whole().parse(raw))


Priority = Annotated[int, whole(least=0, most=100)]
Offset = Annotated[
    int, Reads(_parse_offset, {"anyOf": [{"type": "integer"}, {"type": "string", "pattern": "^[+-]?[0-9]+$"}]})
]
Strategy = Literal["LessThanOrEqualToFinalShare", "LessThanInitialShare"]
Fungibility = Literal["MayStopSearch", "TryNextFlavor"]


def _final_share_first(strategies: list[Strategy]) -> list[Strategy]:
    """The strategies as Kueue takes them; it refuses to start with the two the other way round."""
    if strategies[0] == "LessThanInitialShare" and len(strategies) > 1:
        raise ValueError("LessThanOrEqualToFinalShare comes first; Kueue takes both in that order only, or one alone")
    return strategies


class Open(Part):
    """Any settings: what they are is for the doctrine to say."""

    model_config = ConfigDict(extra="allow")


class KueueSettings(Part):
    preemption: Maybe[Literal["Classical", "FairSharing"]] = None
    strategies: Maybe[Annotated[list[Strategy], *EACH_ONCE, AfterValidator(_final_share_first)]] = None
    recheck_final_set: Maybe[bool] = Field(
        None, description="Default false: as shipped. True: share rules hold on the final victim set too."
    )


class YunikornSettings(Part):
    preemption_enabled: Maybe[bool] = Field(None, alias="preemption.enabled", description="Default true.")
    quota_preemption_enabled: Maybe[bool] = Field(
        None, alias="preemption.quotapreemptionenabled", description="Default false."
    )


class BackendaiSettings(Part):
    """None: all of them are per resource group."""


class LatticeSettings(Part):
    max_victims: Maybe[Amount] = Field(None, description="Default 3.")
    near_completion_threshold: Maybe[Duration] = Field(None, description="Default 5m.")
    checkpoint_timeout: Maybe[Duration] = Field(None, description="Default 10m.")
    timeout_extension: Maybe[Number] = Field(None, description="Default 0.5.")
    max_deferral: Maybe[Duration] = Field(None, description="Default 5m.")
    grace_period: Maybe[Duration] = Field(None, description="Default 30s.")
    manual_checkpoint_time: Maybe[Duration] = Field(None, description="Default 10m.")
    value_rule: Maybe[bool] = Field(None, description="Default true.")
    patience: Maybe[Duration] = Field(
        None, description="Default 0s: how long a claimant rather waits for natural ends than preempts."
    )


class BorrowWithinCohort(Part):
    policy: Maybe[Literal["Never", "LowerPriority"]] = None
    max_priority_threshold: Maybe[Integer] = Field(None, alias="maxPriorityThreshold")


class FlavorFungibility(Part):
    when_can_borrow: Maybe[Fungibility] = Field(None, alias="whenCanBorrow", description="Default MayStopSearch.")
    when_can_preempt: Maybe[Fungibility] = Field(None, alias="whenCanPreempt", description="Default TryNextFlavor.")
    preference: Maybe[Literal["BorrowingOverPreemption", "PreemptionOverBorrowing"]] = None


class KueueQueueSettings(Part):
    within_cluster_queue: Maybe[Literal["Never", "LowerPriority", "LowerOrNewerEqualPriority"]] = Field(
        None, alias="withinClusterQueue", description="Default Never."
    )
    reclaim_within_cohort: Maybe[Literal["Never", "LowerPriority", "Any"]] = Field(
        None, alias="reclaimWithinCohort", description="Default Never."
    )
    borrow_within_cohort: Maybe[BorrowWithinCohort] = Field(None, alias="borrowWithinCohort")
    flavor_fungibility: Maybe[FlavorFungibility] = Field(None, alias="flavorFungibility")
    queueing_strategy: Maybe[Literal["BestEffortFIFO", "StrictFIFO"]] = Field(
        None, alias="queueingStrategy", description="Default BestEffortFIFO."
    )


class YunikornQueueSettings(Part):
    preemption_policy: Maybe[Literal["default", "fence", "disabled"]] = Field(None, alias="preemption.policy")
    preemption_delay: Maybe[Duration] = Field(None, alias="preemption.delay", description="Default 30s.")
    priority_policy: Maybe[Literal["default", "fence"]] = Field(None, alias="priority.policy")
    priority_offset: Maybe[Offset] = Field(None, alias="priority.offset", description="Default 0.")
    quota_preemption_delay: Maybe[Duration] = Field(None, alias="quota.preemption.delay", description="Default 0, off.")


class Bep1014QueueSettings(Part):
    preemptible_priority: Maybe[Priority] = Field(None, description="Default 5.")
    preemption_order: Maybe[Literal["oldest", "newest"]] = Field(None, description="Default oldest.")
    preemption_mode: Maybe[Literal["terminate", "suspend"]] = Field(None, description="Default terminate.")


class BackendaiQueueSettings(Part):
    preemptible_priority: Maybe[Priority] = Field(None, description="Stored, read by nobody.")
    preemption_order: Maybe[Literal["oldest", "newest", "fewest-sessions", "smallest-resources"]] = Field(
        None, description="Default oldest."
    )
    preemption_mode: Maybe[Literal["terminate", "reschedule"]] = Field(None, description="Default terminate.")
    enabled: Maybe[bool] = Field(None, description="Default false.")
    preemption_min_runtime: Maybe[Duration] = Field(None, description="Default 0.")
    victim_scope: Maybe[Literal["user", "project", "domain", "resource-group"]] = Field(
        None, description="Default user."
    )
    scheduler: Maybe[Literal["fifo", "lifo", "drf", "fair-share"]] = Field(None, description="Default drf.")
    agent_selection_strategy: Maybe[Literal["concentrated", "dispersed", "roundrobin", "legacy"]] = Field(
        None, description="Default dispersed."
    )


class LatticeQueueSettings(Part):
    type: Maybe[Literal["hpc_batch", "ml_training", "service", "sensitive", "interactive"]] = None
    allow_borrowing: Maybe[bool] = None
    allow_lending: Maybe[bool] = None


CLUSTER_SETTINGS: dict[str, type[Part]] = {
    "kueue": KueueSettings,
    "yunikorn": YunikornSettings,
    "ytsaurus": TreeSettings,
    "backendai": BackendaiSettings,
    "lattice": LatticeSettings,
}

QUEUE_SETTINGS: dict[str, dict[str, type[Part]]] = {
    "kueue": {"0.20": KueueQueueSettings},
    "yunikorn": {"laws": YunikornQueueSettings, "1.9": YunikornQueueSettings},
    "ytsaurus": {"docs": PoolSettings, "25.4": PoolSettings},
    "backendai": {"bep-1014": Bep1014QueueSettings, "26.8": BackendaiQueueSettings},
    "lattice": {"policy": LatticeQueueSettings, "core": LatticeQueueSettings},
}
"""By doctrine and edition; the editions stand in the contract's order, the first is the default."""

APP_SETTINGS: dict[str, type[Part]] = {"ytsaurus": OperationSettings}
"""By doctrine; the others have nothing of their own in an app."""
