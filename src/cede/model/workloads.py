"""What is started and preempted."""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import ConfigDict, Field

from cede.model.values import Amount, Count, Duration, Integer, Labels, Maybe, Name, Part, Resources, Time

Kind = Literal["batch", "interactive", "inference", "service", "system"]
State = Literal["pending", "reserved", "running", "checkpointing", "preempting", "suspended"]
HOLDING = ("reserved", "running", "checkpointing", "preempting")
"""The states in which a workload holds room."""
Placement = Literal["any", "tight", "spread"]
CheckpointMode = Literal["auto", "manual", "none"]


class PodSet(Part):
    """Some equal members of a workload whose parts differ."""

    name: Name
    count: Count
    requests: Resources
    min_count: Maybe[Count] = Field(None, description="Partial admission may shrink the pod set to this.")


class Constraints(Part):
    """Where a workload may run: labels that must match, and the only nodes allowed."""

    labels: Labels = Field(default_factory=dict)
    nodes: Maybe[list[Name]] = None


class Checkpoint(Part):
    """Whether and when a workload's progress was saved, and how long saving takes."""

    mode: CheckpointMode = "none"
    last: Maybe[Time] = None
    time: Maybe[Duration] = None


class Workload(Part):
    """The unit that is started and preempted."""

    model_config = ConfigDict(
        json_schema_extra={"allOf": [{"not": {"required": ["pod_sets", key]}} for key in ("members", "requests")]}
    )

    name: Name
    queue: Maybe[Name] = None
    app: Maybe[Name] = Field(None, description="Default: the workload's own name.")
    user: Maybe[Name] = None
    project: Maybe[Name] = None
    domain: Maybe[Name] = None
    tenant: Maybe[Name] = None
    kind: Kind = "batch"
    priority: Maybe[Integer] = Field(None, description="Lattice: the preemption class, 0..10; Backend.AI: 0..100.")
    job_priority: Maybe[Integer] = Field(None, description="Backend.AI 26.8 only.")
    state: State = "pending"
    members: Count = Field(1, description="Default 1.")
    requests: Resources = Field(default_factory=dict, description="For one member; a NAME@FLAVOR key pins the flavor.")
    pod_sets: Maybe[list[PodSet]] = Field(
        None, min_length=1, description="Instead of members and requests, where parts differ."
    )
    usage: Maybe[Resources] = Field(None, description="Total held, where flavors matter; default members x requests.")
    exclusive: bool = Field(False, description="Each member takes a whole node; default false.")
    nodes: Maybe[list[Name]] = Field(None, description="One entry a member, once placed.")
    placement: Placement = Field("any", description="Default any.")
    constraints: Maybe[Constraints] = None
    required_node: Maybe[Name] = Field(None, description="A DaemonSet pod.")
    submitted: Maybe[Time] = None
    started: Maybe[Time] = Field(None, description="Also: when quota was reserved.")
    walltime: Maybe[Duration] = None
    checkpoint: Maybe[Checkpoint] = None
    preemptible: bool = Field(True, description="Default true; false asks not to be preempted.")
    preempts: bool = Field(True, description="Default true; false never preempts others.")
    originator: bool = Field(False, description="Default false.")
    sensitive: bool = Field(False, description="Default false.")
    preempted: Amount = Field(0, description="How often so far.")
    uid: Maybe[Name] = Field(None, description="Last tie-break; default the name.")

    def like(self, **values: Any) -> Self:
        """The same entry but for these values, which were checked: many times faster than a validated copy."""
        made = object.__new__(type(self))
        put = object.__setattr__
        put(made, "__dict__", self.__dict__ | values)
        known = self.__pydantic_fields_set__
        put(made, "__pydantic_fields_set__", known if known.issuperset(values) else known | values.keys())
        put(made, "__pydantic_extra__", None)
        put(made, "__pydantic_private__", None)
        return made

    @property
    def size(self) -> int:
        """How many members it has, over all its pod sets."""
        return self.members if self.pod_sets is None else sum(pod_set.count for pod_set in self.pod_sets)
