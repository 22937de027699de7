"""Kubernetes objects as YAML, and what becomes of them."""

from __future__ import annotations

from typing import Any

import pytest

from cede.imports.kueue.convert import from_kueue
from cede.imports.report import Imported
from cede.model.errors import InputError
from cede.model.reading import read_text

QUEUES = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: main}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: q}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [cpu]
    flavors: [{name: main, resources: [{name: cpu, nominalQuota: 8}]}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {namespace: team, name: lq}
spec: {clusterQueue: q}
---
"""
"""A flavor, a queue of 8 CPUs, and a way into it."""


def imported(text: str, **options: Any) -> Imported:
    return from_kueue([("f.yaml", read_text(text))], **options)


def with_queues(text: str, **options: Any) -> Imported:
    """The objects, beside a queue of 8 CPUs in one flavor."""
    return imported(QUEUES + text, **options)


def document(text: str, **options: Any) -> dict[str, Any]:
    return imported(text, **options).document


def only_queue(text: str) -> dict[str, Any]:
    [queue] = document(text)["queues"]
    return dict(queue)


def workloads(text: str, **options: Any) -> dict[str, dict[str, Any]]:
    """The workloads by name, beside the queue of 8 CPUs."""
    return {one["name"]: one for one in with_queues(text, **options).document["workloads"]}


def notes(found: Imported) -> list[str]:
    return list(map(str, found.notes))


def problems(text: str, **options: Any) -> list[str]:
    """What is wrong with the objects."""
    with pytest.raises(InputError) as error:
        imported(text, **options)
    return list(map(str, error.value.problems))


def workload(spec: str = "", status: str = "", meta: str = "", pods: str = "", *, version: str = "v1beta2") -> str:
    """A Workload team/w of one pod of 2 CPUs, unless `pods` says otherwise; the rest in flow style."""
    sets = pods or "[{name: main, count: 1, template: {spec: {containers: [{resources: {requests: {cpu: 2}}}]}}}]"
    return (
        f"apiVersion: kueue.x-k8s.io/{version}\nkind: Workload\n"
        f"metadata: {{namespace: team, name: w{meta and ', ' + meta}}}\n"
        f"spec: {{queueName: lq, podSets: {sets}{spec and ', ' + spec}}}\n"
        + (f"status: {{{status}}}\n" if status else "")
    )


def condition(name: str, at: str = "08:00:00", reason: str = "R", status: str = "True") -> str:
    return f'{{type: {name}, status: "{status}", reason: {reason}, lastTransitionTime: "2026-01-31T{at}Z"}}'


def admitted(*conditions: str, usage: str = "cpu: 2", count: int = 1) -> str:
    """The status of a workload that holds quota in the flavor main."""
    assignment = f"{{name: main, count: {count}, flavors: {{cpu: main}}, resourceUsage: {{{usage}}}}}"
    every = ", ".join((condition("QuotaReserved", "08:00:04"), *conditions))
    return f"admission: {{clusterQueue: q, podSetAssignments: [{assignment}]}}, conditions: [{every}]"
