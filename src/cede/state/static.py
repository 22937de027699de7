"""What a decision reads that does not change while a cluster runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from cede.model.cluster import App, DoctrineChoice, Policy, Tenant
from cede.state.columns import RESERVED

DEFAULT_PARTITION = "default"


@dataclass(slots=True)
class Static:
    """What a decision reads as it stands in the file: policies and the like, a few entries each."""

    doctrine: DoctrineChoice | None = None
    topology: str = "group"
    selection: str = "doctrine"
    apps: Sequence[App] = ()
    tenants: Mapping[str, Tenant] = field(default_factory=dict)
    policies: Sequence[Policy] = ()
    default_priority: int = 0
    flavored_quota: bool = False
    zero_is_unset: bool = False
    """Whether a queue's limit or guarantee of nothing but zeros is none at all."""


def holds(state: int) -> bool:
    """Whether a workload in this state holds room."""
    return state >= RESERVED
