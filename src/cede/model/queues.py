"""The queue tree: how much each queue is promised, and how much it may borrow."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from cede.model.values import EACH_ONCE, Maybe, Name, Number, Part, Quotas, Settings, Time

UniqueNames = Annotated[list[Name], *EACH_ONCE]


class ResourceGroup(Part):
    """Resources that take their flavor together, and the flavors in order of preference."""

    resources: UniqueNames
    flavors: UniqueNames


class Queue(Part):
    """A node of the queue tree."""

    name: Name
    parent: Maybe[Name] = Field(None, description="A parent that is not listed exists without limits.")
    partition: Maybe[Name] = None
    guaranteed: Maybe[Quotas] = None
    max: Maybe[Quotas] = None
    borrowing_limit: Maybe[Quotas] = None
    lending_limit: Maybe[Quotas] = None
    weight: Maybe[Number] = Field(None, description="Default 1.")
    resource_groups: Maybe[list[ResourceGroup]] = Field(
        None, description="Flavors in order of preference; default one group per resource."
    )
    over_limit_since: Maybe[Time] = Field(
        None, description="Since when the queue is over its max, for rules that wait."
    )
    settings: Settings = Field(default_factory=dict, description="The doctrine's own per-queue settings.")
