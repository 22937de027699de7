"""The settings of the cluster and of its vClusters, defaults filled in."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cede.doctrines.lattice.dialect import DIALECT, LatticeQueueSettings, LatticeSettings
from cede.doctrines.parts.cost import Assumed
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
    found: VClusters | None = tree.derived.get("lattice.vclusters")
    if found is None:
        given = [LatticeQueueSettings.model_validate(tree.settings(row)) for row in range(tree.size)]
        given.append(LatticeQueueSettings())
        found = VClusters(
            type=np.array([NO_TYPE if one.type is None else TYPES.index(one.type) for one in given], np.int8),
            borrows=np.array([one.allow_borrowing for one in given], np.bool_),
            lends=np.array([one.allow_lending for one in given], np.bool_),
        )
        tree.derived["lattice.vclusters"] = found
    return found
