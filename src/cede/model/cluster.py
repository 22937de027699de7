"""The cluster file: one cluster at one moment."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, PrivateAttr

from cede.model.dialect import NO_DOCTRINE, Dialect
from cede.model.doctrine import Doctrine, DoctrineChoice
from cede.model.errors import shown
from cede.model.nodes import Node
from cede.model.owners import App, Policy, Tenant
from cede.model.queues import Queue, ResourceGroup
from cede.model.values import Maybe, Name, Part, Reads, Time
from cede.model.workloads import Checkpoint, Constraints, PodSet, Workload

if TYPE_CHECKING:
    from cede.model.named_settings import Aside

__all__ = [
    "FORMAT",
    "App",
    "Checkpoint",
    "ClusterFile",
    "Constraints",
    "DoctrineChoice",
    "Node",
    "PodSet",
    "Policy",
    "Queue",
    "ResourceGroup",
    "Tenant",
    "Workload",
]

FORMAT = 1


def _parse_format(raw: object) -> int:
    # Comparing a signalling NaN would be an error of its own.
    if isinstance(raw, bool | str) or (isinstance(raw, Decimal) and raw.is_nan()) or raw != FORMAT:
        raise ValueError(f"{shown(raw)} is no format this Cede reads; write cede: {FORMAT}")
    return FORMAT


class ClusterFile(Part):
    """A whole document. After `parse_document` its nodes are counted out and its names are known to agree."""

    cede: Annotated[int, Reads(_parse_format, {"const": FORMAT})] = Field(description="Format version.")
    now: Time = Field(0, description="The file's clock; default 0.")
    doctrine: Maybe[Doctrine] = None
    topology: Name = Field(
        "group", description="The node label that groups nodes for placement tight and spread; default group."
    )
    nodes: list[Node] = Field(default_factory=list, description="Without nodes only quota is decided.")
    queues: list[Queue] = Field(default_factory=list)
    apps: list[App] = Field(default_factory=list)
    tenants: list[Tenant] = Field(default_factory=list)
    policies: list[Policy] = Field(default_factory=list)
    selection: Literal["doctrine", "optimal"] = Field("doctrine", description="Default doctrine.")
    workloads: list[Workload] = Field(default_factory=list)
    _aside: Any = PrivateAttr(default_factory=dict)

    @property
    def aside(self) -> Aside:
        """What the file says to doctrines that are not in force."""
        aside: Aside = self._aside
        return aside

    def set_aside(self, aside: Aside) -> None:
        """Only for people who read the file: nothing that decides looks at it."""
        self._aside = dict(aside)

    @property
    def promised(self) -> tuple[Queue, ...]:
        """The queues with what the file promises them, whatever the doctrine in force makes of it: shared amounts and
        weights go before those that stand under its name."""
        queues = []
        for queue in self.queues:
            aside = self.aside.get(("queues", queue.name))
            shared = {} if aside is None else {key: value for key, value in aside.shared.items() if value is not None}
            if shared:
                read = Queue.model_validate({"name": queue.name, **shared})
                queue = queue.model_copy(update={key: getattr(read, key) for key in shared})  # noqa: PLW2901
            queues.append(queue)
        return tuple(queues)

    @property
    def dialect(self) -> Dialect:
        """How its doctrine reads it."""
        return NO_DOCTRINE if self.doctrine is None else self.doctrine.dialect
