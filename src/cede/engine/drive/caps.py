"""How much one owner may have under way: counted where submissions are taken in, so that no two of them pass as one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from cede.engine.drive.job import Job
from cede.engine.drive.terms import RunningCap
from cede.model.cluster import Workload
from cede.model.lifecycle import FINAL, PRESENT, Phase
from cede.model.quantities import format_quantity
from cede.model.resources import split_flavor
from cede.state.amounts import sizes_of_workload, total_of

Owner = Literal["user", "project"]
OWNERS: tuple[Owner, ...] = ("user", "project")


@dataclass(frozen=True, slots=True)
class Cap:
    """The most that the owner of a workload may have under way. `keys` says where each number is written."""

    owner: Owner
    pending: int | None = None
    workloads: int | None = None
    """Pending and running."""
    running: int | None = None
    """Of these no submission is refused for: see `running_caps`."""
    requests: Mapping[str, int] = field(default_factory=dict)
    keys: Mapping[str, str] = field(default_factory=dict)


def running_of(caps: Iterable[Cap]) -> tuple[RunningCap, ...]:
    """Those of the caps that bound how many workloads run."""
    return tuple(RunningCap(cap.owner, cap.running, cap.keys["running"]) for cap in caps if cap.running is not None)


@dataclass(slots=True)
class Holding:
    """What one owner has under way."""

    pending: int = 0
    present: int = 0
    requests: dict[str, int] = field(default_factory=dict)


class Tally:
    """What each owner has under way."""

    def __init__(self, jobs: Iterable[Job]) -> None:
        self._holdings: dict[tuple[Owner, str], Holding] = {}
        for job in jobs:
            self.moved(job, None, job.phase)

    def moved(self, job: Job, before: Phase | None, after: Phase | None) -> None:
        """The workload changed its phase; none: it was not known before, or is not known any more."""
        was, now = _class(before), _class(after)
        if was == now:
            return
        asks = _asks(job.workload) if not was or not now else {}
        for holding in self._of(job.workload):
            holding.pending += (now == "pending") - (was == "pending")
            holding.present += (now == "present") - (was == "present")
            for name, nano in asks.items():
                holding.requests[name] = holding.requests.get(name, 0) + (nano if now else -nano)

    def _of(self, workload: Workload) -> list[Holding]:
        names = {"user": workload.user, "project": workload.project}
        return [
            self._holdings.setdefault((owner, name), Holding())
            for owner in OWNERS
            if (name := names[owner]) is not None
        ]

    def breach(self, workload: Workload, caps: Iterable[Cap]) -> str | None:
        """Why one more workload would be too much, if it would."""
        for cap in caps:
            name = workload.user if cap.owner == "user" else workload.project
            if name is None:
                continue
            found = _breach(self._holdings.get((cap.owner, name), Holding()), cap, _asks(workload))
            if found is not None:
                return f"the {cap.owner} {name} {found}"
        return None


def _breach(held: Holding, cap: Cap, asks: Mapping[str, int]) -> str | None:
    every = held.pending + held.present
    for key, count, what in (("pending", held.pending, "pending"), ("workloads", every, "pending and running")):
        most = cap.pending if key == "pending" else cap.workloads
        if most is not None and count >= most:
            noun = "workload" if count == 1 else "workloads"
            return f"has {count} {noun} {what}, and {most} is the most ({cap.keys.get(key, key)})"
    for name, nano in sorted(cap.requests.items()):
        more, now = asks.get(name, 0), held.requests.get(name, 0)
        if more and now + more > nano:
            amounts = f"{format_quantity(now)} {name} already and {format_quantity(more)} more"
            key = cap.keys.get(f"requests[{name}]", f"requests[{name}]")
            return f"asks for {amounts}, and {format_quantity(nano)} is the most ({key})"
    return None


def _asks(workload: Workload) -> dict[str, int]:
    """What all its members ask for, in whatever flavor."""
    found: dict[str, int] = {}
    for name, nano in total_of(sizes_of_workload(workload)).items():
        resource, _ = split_flavor(name)
        found[resource] = found.get(resource, 0) + nano
    return found


def _class(phase: Phase | None) -> str:
    if phase is None or phase in FINAL:
        return ""
    return "present" if phase in PRESENT else "pending"
