"""What workloads belong to: apps, tenants, and the policies of users and projects."""

from __future__ import annotations

from typing import Annotated

from pydantic import ConfigDict, Field

from cede.model.values import Amount, Integer, Maybe, Name, Number, Part, Settings, number


class App(Part):
    """What several workloads belong to."""

    name: Name
    queue: Maybe[Name] = None
    weight: Maybe[Number] = None
    user: Maybe[Name] = None
    settings: Settings = Field(default_factory=dict)


class Tenant(Part):
    """Hard limits, the target share, and how much of the budget is used."""

    name: Name
    max_nodes: Maybe[Amount] = None
    max_workloads: Maybe[Amount] = None
    share: Maybe[Annotated[float, number(most=1)]] = Field(None, description="Target share of the cluster, 0..1.")
    used: Maybe[Number] = Field(None, description="Share of the budget used so far.")
    burst: Maybe[Number] = Field(None, description="Allowed above the target while the cluster is quiet.")


class Policy(Part):
    """Which priorities a user or a project may use."""

    model_config = ConfigDict(json_schema_extra={"oneOf": [{"required": ["user"]}, {"required": ["project"]}]})

    user: Maybe[Name] = None
    project: Maybe[Name] = None
    default_priority: Maybe[Integer] = None
    may_change: Maybe[bool] = None
    min_priority: Maybe[Integer] = None
    max_priority: Maybe[Integer] = None
