"""Queues above their max, in a line or two."""

from __future__ import annotations

from typing import Any

import cede
from cede.engine.cluster import Cluster
from cede.engine.verify import verify
from cede.model.plan import Decision
from tests.unit.yunikorn.fact_files import NOW, load

ON = {"preemption.quotapreemptionenabled": True}
Entry = dict[str, Any]


def queue(name: str, *, since: float | None = None, delay: str | None = "60s", **more: Any) -> Entry:
    parent = {"parent": name.rpartition(".")[0]} if "." in name else {}
    settings = {} if delay is None else {"settings": {"quota.preemption.delay": delay}}
    return {"name": name, **parent, **settings, **({} if since is None else {"over_limit_since": since}), **more}


def work(name: str, queue: str, cpu: float | str, **more: Any) -> Entry:
    return {"name": name, "queue": queue, "state": "running", "nodes": ["n"], "requests": {"cpu": cpu}, **more}


def cluster(*entries: Entry, cpu: int = 100, settings: Entry = ON) -> Cluster:
    queues = [entry for entry in entries if "requests" not in entry]
    works = [entry for entry in entries if "requests" in entry]
    return load(queues, works, [{"name": "n", "capacity": {"cpu": cpu}}], **settings)


def cuts(found: Cluster, **how: Any) -> list[Decision]:
    made = cede.plan(found, **how)
    assert verify(found, made) == []
    return [decision for decision in made.decisions if decision.workload is None]


def victims(found: Cluster) -> set[str]:
    return {victim.workload for decision in cuts(found) for victim in decision.victims}


LEAF = queue("root.a", max={"cpu": 4}, since=NOW - 60)
FULL = (LEAF, work("one", "root.a", 4), work("two", "root.a", 4))
