"""The settings of the cluster and of its vClusters, defaults filled in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cede.doctrines.lattice.dialect import DIALECT, LatticeSettings
from cede.doctrines.parts.cost import MINUTE, Assumed
from cede.state.columns import Bools, Int8s
from cede.state.state import State

EDITIONS = POLICY, CORE = DIALECT.editions

TYPES = ("hpc_batch", "ml_training", "service", "sensitive", "interactive")
HPC_BATCH, ML_TRAINING, SERVICE, SENSITIVE, INTERACTIVE = range(len(TYPES))
NO_TYPE = len(TYPES)

_, HIGHEST = DIALECT.priorities
"""The class that is never preempted."""
UNPROTECTED = 7
"""From this class on, work without checkpoints is not preempted for a higher class."""
EVERYBODY = 10**9
"""So many workloads there never are: who may take more may take them all."""
EXACT = 200
"""Up to so many candidates the best set is found, above that a good one may be taken."""

CLUSTER_DEFAULTS: dict[str, Any] = {
    "max_victims": 3,
    "near_completion_threshold": "5m",
    "checkpoint_timeout": "10m",
    "timeout_extension": 0.5,
    "max_deferral": "5m",
    "grace_period": "30s",
    "manual_checkpoint_time": "10m",
    "value_rule": True,
    "patience": "0s",
}
QUEUE_DEFAULTS: dict[str, Any] = {"type": None, "allow_borrowing": True, "allow_lending": True}
ONLY_POLICY = frozenset(
    {
        "near_completion_threshold",
        "manual_checkpoint_time",
        "value_rule",
        "patience",
        "allow_borrowing",
        "allow_lending",
    }
)

MEANINGS = {
    "max_victims": "how many workloads one claimant of a higher class may preempt",
    "near_completion_threshold": "so near the end of its walltime nobody is preempted, but for a sensitive claim",
    "checkpoint_timeout": "how long a victim may take to write a checkpoint",
    "timeout_extension": "by which share that is extended, once, for who answers but is slow",
    "max_deferral": "how long a victim may put its checkpoint off",
    "grace_period": "from the signal to end until it is killed",
    "manual_checkpoint_time": "how long a checkpoint is taken to last that the application writes on its own terms",
    "value_rule": "whether victims must cost less than the claimant is worth",
    "patience": "so long a claimant rather waits for natural ends than preempts",
    "type": "the kind of vCluster: hpc_batch, ml_training, service, sensitive, interactive",
    "allow_borrowing": "whether its work may stand on nodes of other vClusters",
    "allow_lending": "whether work of other vClusters may stand on its nodes",
}


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
        max_victims=min(_or(given.max_victims, 3), EVERYBODY),
        near_end=_or(given.near_completion_threshold, 5 * MINUTE),
        manual=_or(given.manual_checkpoint_time, 10 * MINUTE),
        value_rule=_or(given.value_rule, True),
        patience=_or(given.patience, 0),
    )


def vclusters_of(state: State) -> VClusters:
    """The settings of all vClusters; read again only when one of them changes."""
    tree = state.tree
    found: VClusters | None = tree.derived.get("lattice.vclusters")
    if found is None:
        raw = [{**QUEUE_DEFAULTS, **_given(tree.settings(row))} for row in range(tree.size)] + [QUEUE_DEFAULTS]
        found = VClusters(
            type=np.array([NO_TYPE if one["type"] is None else TYPES.index(one["type"]) for one in raw], np.int8),
            borrows=np.array([one["allow_borrowing"] for one in raw], np.bool_),
            lends=np.array([one["allow_lending"] for one in raw], np.bool_),
        )
        tree.derived["lattice.vclusters"] = found
    return found


def _given(raw: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in raw.items() if value is not None}


def _or(given: Any, default: Any) -> Any:
    return default if given is None else given
