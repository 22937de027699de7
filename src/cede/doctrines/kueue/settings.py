"""What a cluster file may say under Kueue: the settings of the cluster and of a queue, and what Kueue refuses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from cede.model.dialect import Dialect
from cede.model.errors import Loc, shown
from cede.model.queues import Queue
from cede.model.reports import Finding
from cede.model.settings import Means
from cede.model.values import EACH_ONCE, Integer, Maybe, Part

EDITION = "0.20"
LEAST_WEIGHT = 1e-9

Strategy = Literal["LessThanOrEqualToFinalShare", "LessThanInitialShare"]
STRATEGIES: tuple[Strategy, ...] = ("LessThanOrEqualToFinalShare", "LessThanInitialShare")
Fungibility = Literal["MayStopSearch", "TryNextFlavor"]


def _final_share_first(strategies: list[Strategy]) -> list[Strategy]:
    """The strategies as Kueue takes them; it refuses to start with the two the other way round."""
    if strategies[0] == "LessThanInitialShare" and len(strategies) > 1:
        raise ValueError("LessThanOrEqualToFinalShare comes first; Kueue takes both in that order only, or one alone")
    return strategies


class KueueSettings(Part):
    preemption: Annotated[
        Literal["Classical", "FairSharing"],
        Means("how victims are chosen: Classical (priority and quota) or FairSharing (shares of the cohort)"),
    ] = "Classical"
    strategies: Annotated[
        list[Strategy],
        *EACH_ONCE,
        AfterValidator(_final_share_first),
        Means(
            "FairSharing: the share rules, tried in this order",
        ),
    ] = Field(default_factory=lambda: list(STRATEGIES))
    recheck_final_set: Annotated[
        bool, Means("FairSharing: check the share rules again on the victims that are left after sparing")
    ] = Field(False, description="Default false: as shipped. True: share rules hold on the final victim set too.")


class BorrowWithinCohort(Part):
    policy: Literal["Never", "LowerPriority"] = "Never"
    max_priority_threshold: Maybe[Integer] = Field(None, alias="maxPriorityThreshold")


class FlavorFungibility(Part):
    when_can_borrow: Fungibility = Field("MayStopSearch", alias="whenCanBorrow", description="Default MayStopSearch.")
    when_can_preempt: Fungibility = Field("TryNextFlavor", alias="whenCanPreempt", description="Default TryNextFlavor.")
    preference: Literal["BorrowingOverPreemption", "PreemptionOverBorrowing"] = "BorrowingOverPreemption"


class KueueQueueSettings(Part):
    within_cluster_queue: Annotated[
        Literal["Never", "LowerPriority", "LowerOrNewerEqualPriority"],
        Means("which workloads of its own queue it may preempt: Never, LowerPriority, LowerOrNewerEqualPriority"),
    ] = Field("Never", alias="withinClusterQueue", description="Default Never.")
    reclaim_within_cohort: Annotated[
        Literal["Never", "LowerPriority", "Any"],
        Means("which workloads of queues above their quota it may preempt: Never, LowerPriority, Any"),
    ] = Field("Never", alias="reclaimWithinCohort", description="Default Never.")
    borrow_within_cohort: Annotated[
        BorrowWithinCohort,
        Means(
            "whether it may preempt while its own queue ends above quota: policy Never or LowerPriority, "
            "and maxPriorityThreshold"
        ),
    ] = Field(default_factory=BorrowWithinCohort, alias="borrowWithinCohort")
    flavor_fungibility: Annotated[
        FlavorFungibility, Means("when the search for a flavor goes on: whenCanBorrow, whenCanPreempt, preference")
    ] = Field(default_factory=FlavorFungibility, alias="flavorFungibility")
    queueing_strategy: Annotated[
        Literal["BestEffortFIFO", "StrictFIFO"],
        Means("BestEffortFIFO: a head that cannot start lets others pass; StrictFIFO: nothing passes"),
    ] = Field("BestEffortFIFO", alias="queueingStrategy", description="Default BestEffortFIFO.")


def queue_findings(queue: Queue, settings: Mapping[str, Any], broken: frozenset[Loc]) -> Iterator[Finding]:
    """Everything that Kueue would refuse, beside what is `broken`; places are relative to the queue.

    `settings` are those of the queue, or none if they are wrong as they stand.
    """
    own = KueueQueueSettings.model_validate(settings)
    yield from _policies(own, broken)
    yield from _preference(own, broken)
    if queue.parent is None and ("parent",) not in broken:
        for key in ("borrowing_limit", "lending_limit"):
            if getattr(queue, key):
                yield Finding((key,), "there is no parent to share with", f"add a parent, or leave out '{key}'")
    if queue.weight is not None and 0 < queue.weight <= LEAST_WEIGHT:
        yield Finding(("weight",), f"{shown(queue.weight)} is too small; a weight is 0, or above {LEAST_WEIGHT}")
    first: dict[str, int] = {}
    for index, group in enumerate(queue.resource_groups or ()):
        for at, name in enumerate(group.resources):
            if first.setdefault(name, index) != index:
                message = f"{shown(name)} is in resource_groups[{first[name]}] already; a resource is in one group"
                yield Finding(("resource_groups", index, "resources", at), message)


def _policies(settings: KueueQueueSettings, broken: frozenset[Loc]) -> Iterator[Finding]:
    policy, reclaim = settings.borrow_within_cohort.policy, settings.reclaim_within_cohort
    if policy != "Never" and reclaim == "Never" and ("settings", "reclaimWithinCohort") not in broken:
        message = f"is {policy}, but reclaimWithinCohort is Never, and then nothing is taken from the cohort"
        yield Finding(("settings", "borrowWithinCohort", "policy"), message, "set reclaimWithinCohort too")


def _preference(settings: KueueQueueSettings, broken: frozenset[Loc]) -> Iterator[Finding]:
    given = settings.flavor_fungibility
    if "preference" not in given.model_fields_set or any(
        loc[:2] == ("settings", "flavorFungibility") for loc in broken
    ):
        return
    when = {"whenCanBorrow": given.when_can_borrow, "whenCanPreempt": given.when_can_preempt}
    stops = [key for key, answer in when.items() if answer != "TryNextFlavor"]
    if stops:
        message = f"counts only if all flavors are tried, but {' and '.join(stops)} may stop the search"
        hint = f"set {' and '.join(stops)} to TryNextFlavor"
        yield Finding(("settings", "flavorFungibility", "preference"), message, hint)


DIALECT = Dialect(
    "kueue",
    cluster=KueueSettings,
    queues={EDITION: KueueQueueSettings},
    quota=True,
    queue_findings=queue_findings,
)


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
        """Whether a workload of this queue may preempt at all."""
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
