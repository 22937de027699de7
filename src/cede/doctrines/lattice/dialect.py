"""What a cluster file may say under Lattice: the settings of the cluster and of a vCluster."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field

from cede.model.cluster import ClusterFile
from cede.model.dialect import Dialect, SensitiveClass
from cede.model.values import Amount, Duration, Maybe, Number, Part

POLICY = "policy"
CORE = "core"
HIGHEST = 10
"""The class that is never preempted."""


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


class LatticeQueueSettings(Part):
    type: Maybe[Literal["hpc_batch", "ml_training", "service", "sensitive", "interactive"]] = None
    allow_borrowing: Maybe[bool] = None
    allow_lending: Maybe[bool] = None


TIMES = ("checkpoint_timeout", "timeout_extension", "max_deferral", "grace_period")


def times(document: ClusterFile, _app: str | None) -> dict[str, Any]:
    """The times of the sequence that the file gives."""
    settings = LatticeSettings.model_validate({} if document.doctrine is None else document.doctrine.settings)
    return {key: value for key in TIMES if (value := getattr(settings, key)) is not None}


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
