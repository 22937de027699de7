"""What a cluster file may say under Lattice: the settings of the cluster and of a vCluster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from cede.doctrines.parts.cost import Assumed
from cede.model.cluster import ClusterFile
from cede.model.dialect import Dialect, SensitiveClass
from cede.model.settings import Means
from cede.model.times import SECOND
from cede.model.values import Amount, Duration, Maybe, Number, Part
from cede.state.columns import Bools, Int8s
from cede.state.state import State

POLICY = "policy"
CORE = "core"
MINUTE = 60 * SECOND
HIGHEST = 10
"""The class that is never preempted."""


class LatticeSettings(Part):
    max_victims: Annotated[Amount, Means("how many workloads one claimant of a higher class may preempt")] = Field(
        3, description="Default 3."
    )
    near_completion_threshold: Annotated[
        Duration,
        Means("how near the end of its walltime work is safe from all but sensitive claims", only=(POLICY,)),
    ] = Field(5 * MINUTE, description="Default 5m.")
    checkpoint_timeout: Annotated[Duration, Means("how long a victim may take to write a checkpoint")] = Field(
        10 * MINUTE, description="Default 10m."
    )
    timeout_extension: Annotated[
        Number, Means("by which share that is extended, once, for a victim that answers but is slow")
    ] = Field(0.5, description="Default 0.5.")
    max_deferral: Annotated[Duration, Means("how long a victim may put its checkpoint off")] = Field(
        5 * MINUTE, description="Default 5m."
    )
    grace_period: Annotated[Duration, Means("from the signal to end until it is killed")] = Field(
        30 * SECOND, description="Default 30s."
    )
    manual_checkpoint_time: Annotated[
        Duration,
        Means("how long a checkpoint is taken to last that the application writes on its own terms", only=(POLICY,)),
    ] = Field(10 * MINUTE, description="Default 10m.")
    value_rule: Annotated[bool, Means("whether victims must cost less than the claimant is worth", only=(POLICY,))] = (
        Field(True, description="Default true.")
    )
    patience: Annotated[
        Duration, Means("so long a claimant rather waits for natural ends than preempts", only=(POLICY,))
    ] = Field(0, description="Default 0s: how long a claimant rather waits for natural ends than preempts.")


class LatticeQueueSettings(Part):
    type: Annotated[
        Maybe[Literal["hpc_batch", "ml_training", "service", "sensitive", "interactive"]],
        Means("the kind of vCluster: hpc_batch, ml_training, service, sensitive, interactive"),
    ] = None
    allow_borrowing: Annotated[
        bool, Means("whether its work may stand on nodes of other vClusters", only=(POLICY,))
    ] = True
    allow_lending: Annotated[bool, Means("whether work of other vClusters may stand on its nodes", only=(POLICY,))] = (
        True
    )


TIMES = ("checkpoint_timeout", "timeout_extension", "max_deferral", "grace_period")


def times(document: ClusterFile, _app: str | None) -> dict[str, Any]:
    """The times of the sequence that the file gives."""
    settings = LatticeSettings.model_validate({} if document.doctrine is None else document.doctrine.settings)
    return {key: getattr(settings, key) for key in TIMES if key in settings.model_fields_set}


def for_sensitive_work(settings: Mapping[str, Any]) -> bool:
    """Whether a vCluster of these settings is for sensitive work."""
    return LatticeQueueSettings.model_validate(settings).type == "sensitive"


DIALECT = Dialect(
    "lattice",
    cluster=LatticeSettings,
    queues={POLICY: LatticeQueueSettings, CORE: LatticeQueueSettings},
    priorities=(0, HIGHEST),
    times=times,
    sensitive=SensitiveClass(HIGHEST, for_sensitive_work),
    priority_words="priorities (preemption classes)",
)


EDITIONS = (POLICY, CORE)

TYPES = ("hpc_batch", "ml_training", "service", "sensitive", "interactive")
HPC_BATCH, ML_TRAINING, SERVICE, SENSITIVE, INTERACTIVE = range(len(TYPES))
NO_TYPE = len(TYPES)


"""The class that is never preempted."""
UNPROTECTED = 7
"""From this class on, work without checkpoints is not preempted for a higher class."""
EVERYBODY = 10**9
"""More than there ever are: a claimant that may take so many may take all."""
EXACT = 200
"""Up to this number of candidates the best set is found, above that a good one may be taken."""

ONLY_POLICY = DIALECT.only_in(POLICY)


@dataclass(frozen=True, slots=True)
class Settings:
    """What holds for the whole cluster; times in microseconds."""

    max_victims: int
    near_end: int
    manual: int
    value_rule: bool
    patience: int

    @property
    def assumed(self) -> Assumed:
        return Assumed(manual=self.manual)


@dataclass(frozen=True, slots=True)
class VClusters:
    """One entry a queue, and a last one for work without a queue, which is of no type and may borrow."""

    type: Int8s
    borrows: Bools
    lends: Bools


def settings_of(state: State) -> Settings:
    """The settings of the cluster."""
    choice = state.static.doctrine
    given = LatticeSettings.model_validate({} if choice is None else choice.settings)
    return Settings(
        max_victims=min(given.max_victims, EVERYBODY),
        near_end=given.near_completion_threshold,
        manual=given.manual_checkpoint_time,
        value_rule=given.value_rule,
        patience=given.patience,
    )


def vclusters_of(state: State) -> VClusters:
    """The settings of all vClusters; read again only when one of them changes."""
    tree = state.tree
    vclusters: VClusters | None = tree.derived.get("lattice.vclusters")
    if vclusters is None:
        given = [LatticeQueueSettings.model_validate(tree.settings(row)) for row in range(tree.size)]
        given.append(LatticeQueueSettings())
        vclusters = VClusters(
            type=np.array([NO_TYPE if one.type is None else TYPES.index(one.type) for one in given], np.int8),
            borrows=np.array([one.allow_borrowing for one in given], np.bool_),
            lends=np.array([one.allow_lending for one in given], np.bool_),
        )
        tree.derived["lattice.vclusters"] = vclusters
    return vclusters
