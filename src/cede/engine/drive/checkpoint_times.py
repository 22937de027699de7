"""How long a workload is expected to take to write a checkpoint, and how that is known."""

from __future__ import annotations

from collections.abc import Mapping

from cede.doctrines.parts.cost import ASSUMED, Assumed
from cede.engine.drive.job import Job
from cede.model.times import about
from cede.model.value_class import value

MOST_OWNERS = 10_000
"""Apps and users that are remembered; beyond that the one measured longest ago is forgotten."""


@value
class Estimate:
    """`takes` in microseconds; none: what the doctrine assumes. `source` in words."""

    takes: int | None
    source: str

    @property
    def words(self) -> str:
        """`saving takes 1.1s, as it took the last time`; nothing of one that saves nothing."""
        if self.takes is None:
            return self.source
        return f"saving takes {about(self.takes)}, {self.source}"


class CheckpointTimes:
    """What was measured, by app and by user, the latest last; it outlives the workloads that it was measured of.

    A workload that was never asked is expected to save as fast as others of its app, or of its user. Nobody is taken to
    need longer than its timeout: who claims more would buy protection with it.
    """

    def __init__(self, assumed: Assumed = ASSUMED) -> None:
        self._assumed = assumed
        """What the doctrine takes where nothing is known."""
        self._measured: dict[str, int] = {}
        self._unmeasured: dict[str, dict[str, Job]] = {}
        """By app and by user, workloads of which nothing was measured themselves."""

    def follow(self, job: Job) -> None:
        """This workload is expected to take what others take, until it is measured itself."""
        if job.takes is None and saves(job):
            for owner in _owners(job):
                self._unmeasured.setdefault(owner, {})[job.name] = job

    def forget(self, job: Job) -> None:
        """Nobody expects anything of this workload any more but of itself."""
        for owner in _owners(job):
            others = self._unmeasured.get(owner, {})
            others.pop(job.name, None)
            if not others:
                self._unmeasured.pop(owner, None)

    def measure(self, job: Job, takes: int) -> list[Job]:
        """The workload wrote a checkpoint in this time, or its application says that it will; of whom else that is
        expected now."""
        self.forget(job)
        for owner in _owners(job):
            self._measured.pop(owner, None)
            self._measured[owner] = takes
        while len(self._measured) > MOST_OWNERS:
            self._measured.pop(next(iter(self._measured)))
        others = {name: one for owner in _owners(job) for name, one in self._unmeasured.get(owner, {}).items()}
        return [others[name] for name in sorted(others)]

    def of(self, job: Job) -> Estimate:
        """What is expected of this workload."""
        entry = job.workload.checkpoint
        if entry is None or not saves(job):
            return Estimate(None, "")
        most = job.terms.checkpoint_timeout
        if job.takes is not None:
            return Estimate(min(job.takes, most), "as it took the last time")
        for owner in _owners(job):
            if owner in self._measured:
                kind, name = owner.split(":", 1)
                return Estimate(min(self._measured[owner], most), f"as others of the {kind} {name} took")
        if entry.time is not None:
            return Estimate(min(entry.time, most), "as its owner says")
        if most < (self._assumed.manual if entry.mode == "manual" else self._assumed.auto):
            return Estimate(most, "all the time that it is given for that, for nothing was measured yet")
        return Estimate(None, "how long saving takes is assumed, for nothing was measured yet")

    @property
    def measured(self) -> Mapping[str, int]:
        """What was measured, as plain JSON."""
        return self._measured

    def recall(self, measured: Mapping[str, int]) -> None:
        """This was measured, and nothing else."""
        self._measured = dict(measured)


def saves(job: Job) -> bool:
    """Whether the workload says that it writes checkpoints."""
    return job.workload.checkpoint is not None and job.workload.checkpoint.mode != "none"


def _owners(job: Job) -> list[str]:
    app, user = job.workload.app, job.workload.user
    return [f"{kind}:{name}" for kind, name in (("app", app), ("user", user)) if name is not None]
