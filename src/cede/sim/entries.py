"""Jobs of a trace as the workloads and terms they are submitted with."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from cede.engine.drive.terms import Terms
from cede.model.cluster import Checkpoint, ClusterFile, Constraints, Workload
from cede.model.times import Instant
from cede.sim.allocations import Allocations
from cede.sim.attempt import Attempt
from cede.sim.initial_workloads import InitialWorkloads
from cede.sim.records import Records
from cede.sim.traces.trace import Trace

ALIKE = [
    "shape",
    "queue",
    "kind",
    "priority",
    "job_priority",
    "preemptible",
    "preempts",
    "checkpoint",
    "checkpoint_time",
]
"""Jobs equal in these are submitted as copies of one entry that was checked."""


class Entries:
    """Entries are made when they are submitted, so that a long trace costs no memory before its time."""

    def __init__(
        self,
        trace: Trace,
        terms: Terms,
        records: Records,
        there: Sequence[InitialWorkloads] = (),
        apps: Mapping[str, Terms] | None = None,
        allocations: Allocations | None = None,
    ) -> None:
        jobs = trace.jobs
        self._apps = apps or {}
        self._allocations = allocations
        self._there = there
        self._trace = trace
        self._records = records
        self._origin = trace.origin or 0
        self._time = Instant if trace.origin is not None else int
        self._walltime = array("q", jobs["walltime"].fill_null(-1).to_list())
        self._owners = jobs["user"].to_list(), jobs["project"].to_list()
        kinds = jobs.select(ALIKE).unique(maintain_order=True).with_row_index("kind_number")
        self._kinds = kinds.drop("kind_number").to_dicts()
        joined = jobs.select(ALIKE).join(kinds, on=ALIKE, how="left", nulls_equal=True, maintain_order="left")
        self._kind = array("l", joined["kind_number"].to_list())
        self._digits = max(6, len(str(len(jobs))))
        self._terms = (terms, replace(terms, answers=True))
        self._samples: dict[int, Workload] = {}

    def entry(self, job: int) -> Workload:
        """The entry of this job, as a user would submit it. Its place in the trace is its uid: the last tie-break.

        Workloads of the cluster file come before, in the order of their own uids.
        """
        if job < len(self._there):
            return self._of_file(job, self._there[job])
        kind = self._kind[job]
        sample = self._samples.get(kind)
        if sample is None:
            sample = self._samples[kind] = self._sample(self._kinds[kind])
        walltime = self._walltime[job]
        app = None if self._allocations is None else self._allocations.app(job)
        return sample.like(
            name=self._records.names[job],
            uid=f"{job:0{self._digits}}",
            submitted=self._at(self._records.submitted[job]),
            walltime=None if walltime < 0 else walltime,
            user=self._owners[0][job],
            project=self._owners[1][job],
            **({} if app is None else {"app": app}),
        )

    def _of_file(self, job: int, initial: InitialWorkloads) -> Workload:
        values, entry = self._kinds[self._kind[job]], initial.workload
        checkpoint = _checkpoint(values["checkpoint"], values["checkpoint_time"])
        if initial.saved is not None:
            checkpoint = (checkpoint or Checkpoint()).model_copy(update={"last": self._at(initial.saved)})
        return entry.like(
            uid=f"{initial.place:0{self._digits}}",
            state="suspended" if entry.state == "suspended" else "pending",
            nodes=None,
            started=None,
            submitted=self._at(initial.submitted),
            checkpoint=checkpoint,
        )

    def _at(self, time: int) -> int:
        """A time of the trace as the driver and its files have it."""
        return self._time(time + self._origin)

    def terms(self, job: int) -> Terms:
        answers = self._records.answers[job]
        if self._apps and job < len(self._there):
            entry = self._there[job].workload
            own = self._apps.get(entry.app or entry.name)
            if own is not None:
                return replace(own, answers=answers)
        return self._terms[answers]

    def _sample(self, values: Mapping[str, Any]) -> Workload:
        shape = self._trace.shapes[values["shape"]]
        made = {
            "name": "sample",
            "uid": "sample",
            "submitted": 0,
            "walltime": 0,
            "queue": values["queue"],
            "user": "",
            "project": "",
            "kind": values["kind"] or "batch",
            "priority": values["priority"],
            "job_priority": values["job_priority"],
            "preemptible": values["preemptible"],
            "preempts": values["preempts"],
            "members": shape.members,
            "requests": dict(shape.requests),
            "constraints": Constraints(labels=dict(shape.labels)) if shape.labels else None,
            "checkpoint": _checkpoint(values["checkpoint"], values["checkpoint_time"]),
        }
        return Workload.model_construct(**{name: value for name, value in made.items() if value is not None})

    def moment(self, cluster: ClusterFile, attempts: Mapping[int, Attempt], now: int) -> ClusterFile:
        """The cluster of this moment with the checkpoints that were written since, at each workload's interval."""
        records = self._records
        workloads = []
        for entry in cluster.workloads:
            attempt = attempts.get(records.index[entry.name])
            interval = 0 if attempt is None else records.checkpoint_interval[attempt.job]
            if attempt is not None and interval and attempt.stopped is None and now - attempt.works_from >= interval:
                saved = self._at(now - (now - attempt.works_from) % interval)
                checkpoint = entry.checkpoint or Checkpoint()
                last = saved if checkpoint.last is None else max(saved, checkpoint.last)
                checkpoint = checkpoint.model_copy(update={"last": last})
                workloads.append(entry.model_copy(update={"checkpoint": checkpoint}))
            else:
                workloads.append(entry)
        return cluster.model_copy(update={"workloads": workloads})


def _checkpoint(mode: str, takes: int | None) -> Checkpoint | None:
    """What the entry says of saving; the time is in microseconds already, where an entry as written has seconds."""
    if mode == "none":
        return None
    known = {} if takes is None else {"time": takes}
    return Checkpoint.model_construct(mode=mode, **known)  # type: ignore[arg-type]
