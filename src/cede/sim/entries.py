"""Jobs of a trace as the workloads and terms they are submitted with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from cede.engine.drive.terms import Terms
from cede.model.cluster import Checkpoint, ClusterFile, Constraints, Workload
from cede.model.times import Instant
from cede.sim.machine import Attempt
from cede.sim.records import Records
from cede.sim.traces.trace import Trace

ALIKE = (
    "shape",
    "queue",
    "user",
    "project",
    "kind",
    "priority",
    "job_priority",
    "preemptible",
    "preempts",
    "checkpoint",
)
"""Jobs equal in these are submitted as copies of one entry that was checked."""


class Entries:
    """Entries are made when they are submitted, so that a long trace costs no memory before its time."""

    def __init__(self, trace: Trace, terms: Terms) -> None:
        jobs = trace.jobs
        self._trace = trace
        self._names: list[str] = jobs["name"].to_list()
        origin = trace.origin or 0
        time = Instant if trace.origin is not None else int
        self._submitted = [time(at + origin) for at in jobs["submitted"].to_list()]
        self._walltime: list[int | None] = jobs["walltime"].to_list()
        self._takes: list[int | None] = jobs["checkpoint_time"].to_list()
        self._keys = list(zip(*(jobs[name].to_list() for name in ALIKE), strict=True))
        self._digits = max(6, len(str(len(self._names))))
        self._terms = (terms, replace(terms, answers=True))
        self._samples: dict[tuple[Any, ...], Workload] = {}
        self._saves = (jobs["checkpoint"] != "none").to_list()

    def entry(self, job: int) -> Workload:
        """The entry of this job, as somebody would submit it. Its place in the trace is its uid: the last tie-break."""
        key = (*self._keys[job], self._takes[job])
        sample = self._samples.get(key)
        if sample is None:
            sample = self._samples[key] = self._sample(key)
        return sample.like(
            name=self._names[job],
            uid=f"{job:0{self._digits}}",
            submitted=self._submitted[job],
            walltime=self._walltime[job],
        )

    def terms(self, job: int) -> Terms:
        return self._terms[self._saves[job]]

    def _sample(self, key: tuple[Any, ...]) -> Workload:
        values = dict(zip(ALIKE, key[:-1], strict=True))
        shape = self._trace.shapes[values["shape"]]
        made = {
            "name": "sample",
            "uid": "sample",
            "submitted": 0,
            "walltime": 0,
            "queue": values["queue"],
            "user": values["user"],
            "project": values["project"],
            "kind": values["kind"] or "batch",
            "priority": values["priority"],
            "job_priority": values["job_priority"],
            "preemptible": values["preemptible"],
            "preempts": values["preempts"],
            "members": shape.members,
            "requests": dict(shape.requests),
            "constraints": Constraints(labels=dict(shape.labels)) if shape.labels else None,
            "checkpoint": None
            if values["checkpoint"] == "none"
            else Checkpoint(mode=values["checkpoint"], time=key[-1]),
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
                saved = now - (now - attempt.works_from) % interval + (self._trace.origin or 0)
                last = Instant(saved) if self._trace.origin is not None else saved
                checkpoint = (entry.checkpoint or Checkpoint()).model_copy(update={"last": last})
                workloads.append(entry.model_copy(update={"checkpoint": checkpoint}))
            else:
                workloads.append(entry)
        return cluster.model_copy(update={"workloads": workloads})

    _records: Records

    def follow(self, records: Records) -> None:
        """Where the jobs' intervals are, for `moment`."""
        self._records = records
