"""The machines of a cluster."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from cede.model.values import Count, Labels, Maybe, Name, Part, Resources, Time

NodeState = Literal["ready", "cordoned", "down"]


class Node(Part):
    """One node; in a file, `count` alike ones."""

    name: Name
    count: Maybe[Count] = Field(None, description="3 makes NAME-0, NAME-1, NAME-2.")
    capacity: Resources = Field(default_factory=dict)
    occupied: Resources = Field(default_factory=dict, description="Used by what Cede does not manage.")
    partition: Maybe[Name] = None
    flavor: Maybe[Name] = Field(None, description="Capacity then counts for NAME@FLAVOR.")
    home: Maybe[Name] = Field(None, description="The queue that owns the node; others only borrow it.")
    labels: Labels = Field(default_factory=dict)
    state: NodeState = Field("ready", description="Default ready.")
    reserved_for: Maybe[Name] = Field(None, description="A workload that holds this node.")
    reserved_since: Maybe[Time] = Field(None, description="Since when.")
    overcommitted_since: Maybe[Time] = None
    last_preemptive_attempt: Maybe[Time] = None
