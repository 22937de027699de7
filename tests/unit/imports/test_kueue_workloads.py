from typing import Any

import pytest

from tests.unit.imports.kueue_objects import (
    QUEUES,
    admitted,
    condition,
    imported,
    notes,
    problems,
    with_queues,
    workload,
    workloads,
)

CREATED = 'creationTimestamp: "2026-01-31T07:00:00Z"'


def one(text: str, more: str = "", **options: Any) -> dict[str, Any]:
    return workloads(more + text, **options)["team/w"]


def test_a_workload_that_waits() -> None:
    assert one(workload("priority: 5", meta=f"uid: u-1, {CREATED}")) == {
        "name": "team/w",
        "queue": "q",
        "priority": 5,
        "requests": {"cpu": 2},
        "submitted": "2026-01-31T07:00:00Z",
        "uid": "u-1",
    }


def test_a_workload_that_holds_quota() -> None:
    found = one(workload(status=admitted(condition("Admitted")), meta=CREATED))

    assert found == {
        "name": "team/w",
        "queue": "q",
        "state": "running",
        "requests": {"cpu": 2},
        "usage": {"cpu@main": 2},
        "submitted": "2026-01-31T07:00:00Z",
        "started": "2026-01-31T08:00:04Z",
    }


STATES = {
    "quota reserved": (admitted(), "running"),
    "evicted, and still holding": (admitted(condition("Evicted", reason="Preempted")), "preempting"),
    "evicted before, and admitted again": (admitted(condition("Evicted", status="False")), "running"),
    "evicted, and gone": (
        f"conditions: [{condition('QuotaReserved', status='False')}, {condition('Evicted', reason='Preempted')}]",
        None,
    ),
}


@pytest.mark.parametrize(("status", "state"), STATES.values(), ids=STATES.keys())
def test_conditions_say_the_state(status: str, state: str | None) -> None:
    assert one(workload(status=status)).get("state") == state


def test_one_that_is_switched_off_while_it_holds_is_leaving() -> None:
    assert one(workload("active: false", admitted()))["state"] == "preempting"


def test_quota_reserved_and_not_admitted_counts_as_running_and_is_noted() -> None:
    found = with_queues(workload(status=admitted(condition("Admitted", status="False"))))

    assert "it waits for admission checks; here it runs" in notes(found)[0]


QUEUE_TIMES = {
    "created": ("", "", "07:00:00"),
    "pods not ready in time": (condition("Evicted", "09:00:00", "PodsReadyTimeout"), "", "09:00:00"),
    "pods not ready, configured to keep its time": (
        condition("Evicted", "09:00:00", "PodsReadyTimeout"),
        "waitForPodsReady: {requeuingStrategy: {timestamp: Creation}}",
        "07:00:00",
    ),
    "an admission check": (condition("Evicted", "09:00:00", "AdmissionCheck"), "", "09:00:00"),
    "preempted": (condition("Evicted", "09:00:00", "Preempted"), "", "07:00:00"),
    "an eviction that is over": (condition("Evicted", "09:00:00", "AdmissionCheck", "False"), "", "07:00:00"),
    "reclaimed while borrowing": (condition("Preempted", "09:00:00", "InCohortReclaimWhileBorrowing"), "", "07:00:00"),
    "reclaimed while borrowing, with sorting off": (
        condition("Preempted", "09:00:00", "InCohortReclaimWhileBorrowing"),
        "featureGates: {PrioritySortingWithinCohort: false}",
        "09:00:00.001000",
    ),
}


@pytest.mark.parametrize(("status", "config", "time"), QUEUE_TIMES.values(), ids=QUEUE_TIMES.keys())
def test_it_queues_by_its_creation_or_by_an_eviction_that_sent_it_back(status: str, config: str, time: str) -> None:
    configuration = f"apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n{config}\n---\n"
    found = one(workload(status=f"conditions: [{status}]", meta=CREATED), configuration)

    assert found["submitted"] == f"2026-01-31T{time}Z"


CLASSES = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: WorkloadPriorityClass
metadata: {name: high}
value: 100
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: high}
value: 7
---
"""
PRIORITIES = {
    "its own": ("v1beta2", "priority: 3, priorityClassRef: {kind: WorkloadPriorityClass, name: high}", 3),
    "its class's": (
        "v1beta2",
        "priorityClassRef: {group: kueue.x-k8s.io, kind: WorkloadPriorityClass, name: high}",
        100,
    ),
    "its pods' class's": (
        "v1beta2",
        "priorityClassRef: {group: scheduling.k8s.io, kind: PriorityClass, name: high}",
        7,
    ),
    "in v1beta1": (
        "v1beta1",
        "priorityClassName: high, priorityClassSource: kueue.x-k8s.io/workloadpriorityclass",
        100,
    ),
    "in v1beta1, its pods'": (
        "v1beta1",
        "priorityClassName: high, priorityClassSource: scheduling.k8s.io/priorityclass",
        7,
    ),
    "that every cluster has": (
        "v1beta2",
        "priorityClassRef: {kind: PriorityClass, name: system-node-critical}",
        2000001000,
    ),
    "none": ("v1beta2", "active: true", None),
}


@pytest.mark.parametrize(("version", "spec", "priority"), PRIORITIES.values(), ids=PRIORITIES.keys())
def test_the_priority_is(version: str, spec: str, priority: int | None) -> None:
    assert one(workload(spec, version=version), CLASSES).get("priority") == priority


def test_a_class_that_is_not_given_is_noted() -> None:
    found = with_queues(workload("priorityClassRef: {kind: WorkloadPriorityClass, name: gone}"))

    assert notes(found) == [
        "Workload team/w: spec: the WorkloadPriorityClass gone was not given; its priority counts as 0"
    ]


def test_a_boost_counts_if_its_gate_is_on_and_is_noted_if_not() -> None:
    boosted = workload("priority: 5", meta='annotations: {kueue.x-k8s.io/priority-boost: "-2"}')
    gate = "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\nfeatureGates: {PriorityBoost: true}\n---\n"

    assert one(boosted)["priority"] == 5
    assert "the gate PriorityBoost only, which is off" in notes(with_queues(boosted))[0]
    assert one(boosted, gate)["priority"] == 3


LEFT_OUT = {
    "it has finished": workload(status=f"conditions: [{condition('Finished')}]"),
    "it is not active": workload("active: false"),
    "the LocalQueue team/gone was not given": workload().replace("lq", "gone"),
    "it names no LocalQueue": workload().replace("queueName: lq, ", ""),
    "its ClusterQueue gone was not given": workload(status=admitted().replace("clusterQueue: q", "clusterQueue: gone")),
    "it is being deleted": workload(meta='deletionTimestamp: "2026-01-31T07:00:00Z"'),
    "Kueue holds it back until 2026-01-31T10:00:00Z": workload(
        status='requeueState: {count: 1, requeueAt: "2026-01-31T10:00:00Z"}', meta=CREATED
    ),
    "Kueue holds it back: PodsReadyTimeout": workload(
        status=f"conditions: [{condition('Requeued', reason='PodsReadyTimeout', status='False')}]"
    ),
    "it has no pods that need anything": workload(pods="[{name: main, count: 0, template: {spec: {}}}]"),
    "the LocalQueue team/held is stopped": workload().replace("lq", "held")
    + "---\napiVersion: kueue.x-k8s.io/v1beta2\nkind: LocalQueue\nmetadata: {namespace: team, name: held}\n"
    "spec: {clusterQueue: q, stopPolicy: Hold}\n",
}


@pytest.mark.parametrize(("why", "text"), LEFT_OUT.items())
def test_it_is_left_out_with_a_note_if(why: str, text: str) -> None:
    found = with_queues(text)

    assert found.document["workloads"] == []
    assert [note for note in notes(found) if note.startswith("Workload team/w: ") and why in note] != []
    assert "left out" in notes(found)[0]


def test_one_that_may_be_requeued_by_now_is_kept() -> None:
    text = workload(status='requeueState: {count: 1, requeueAt: "2026-01-31T10:00:00Z"}', meta=CREATED)

    assert "team/w" in workloads(text, now="2026-01-31T10:00:00Z")


KINDS = {
    "a job": ("ownerReferences: [{kind: Job, name: j, uid: u}]", None),
    "a notebook": ("ownerReferences: [{kind: Notebook, name: n, uid: u}]", "interactive"),
    "a notebook by its labels": ("labels: {notebook-name: ann}", "interactive"),
    "a notebook that is a set": (
        "labels: {app: notebook}, ownerReferences: [{kind: StatefulSet, uid: u}]",
        "interactive",
    ),
    "a stateful set": ("ownerReferences: [{kind: StatefulSet, name: s, uid: u}]", "service"),
    "a ray service": ("ownerReferences: [{kind: RayService, name: s, uid: u}]", "service"),
    "a pod of a deployment": ("labels: {pod-template-hash: abc}", "service"),
}


@pytest.mark.parametrize(("meta", "kind"), KINDS.values(), ids=KINDS.keys())
def test_owners_and_labels_say_the_kind(meta: str, kind: str | None) -> None:
    assert one(workload(meta=meta)).get("kind") == kind


def test_owners_are_followed_through_the_objects_that_are_given() -> None:
    meta = "{name: r, uid: u-r, ownerReferences: [{kind: Deployment, uid: d}]}"
    between = f"---\napiVersion: apps/v1\nkind: ReplicaSet\nmetadata: {meta}\n"

    assert one(workload(meta="ownerReferences: [{kind: ReplicaSet, uid: u-r}]") + between)["kind"] == "service"


def test_the_rest_of_what_a_workload_says() -> None:
    status = "accumulatedPastExecutionTimeSeconds: 600, schedulingStats: {evictions: [{reason: Preempted, count: 2}, "
    found = one(workload("maximumExecutionTimeSeconds: 4200", status + "{reason: Deactivated, count: 9}]}"))

    assert (found["walltime"], found["preempted"]) == ("1h", 2)


NOTED = {
    "spec.preemptionGates": workload("preemptionGates: [{name: g}]"),
    "status.clusterName": workload(status="clusterName: worker-1"),
    "status.unhealthyNodes": workload(status="unhealthyNodes: [{name: n}]"),
    "status.admission": workload(status="admission: {clusterQueue: q}"),
    'metadata.annotations["kueue.x-k8s.io/workload-slice-replacement-for"]': workload(
        meta="annotations: {kueue.x-k8s.io/workload-slice-replacement-for: team/old}"
    ),
    "spec.podSets[0].topologyRequest": workload(
        pods="[{name: main, topologyRequest: {required: rack}, template: {spec: {containers: []}}}]"
    ),
    "spec.podSets[0].template.spec.runtimeClassName": workload(
        pods="[{name: main, template: {spec: {runtimeClassName: gvisor, containers: []}}}]"
    ),
}


@pytest.mark.parametrize(("path", "text"), NOTED.items())
def test_what_has_no_place_is_named_with_its_path(path: str, text: str) -> None:
    [note] = with_queues(text).notes

    assert (note.place.label, note.path) == ("Workload team/w", path)


NAMESPACE = "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: team, labels: {tier: gold}}\n"
SELECTORS = {
    "every namespace": ("{}", "", True),
    "this one by name": ("{matchLabels: {kubernetes.io/metadata.name: team}}", "", True),
    "another by name": ("{matchLabels: {kubernetes.io/metadata.name: other}}", "", False),
    "its label": ("{matchLabels: {tier: gold}}", NAMESPACE, True),
    "another label": ("{matchLabels: {tier: tin}}", NAMESPACE, False),
    "an expression": ("{matchExpressions: [{key: tier, operator: NotIn, values: [tin]}]}", NAMESPACE, True),
    "no namespace at all": ("null", "", False),
}


@pytest.mark.parametrize(("selector", "namespace", "is_kept"), SELECTORS.values(), ids=SELECTORS.keys())
def test_a_workload_waits_only_where_its_namespace_is_let_in(selector: str, namespace: str, is_kept: bool) -> None:
    queues = QUEUES.replace("namespaceSelector: {}", f"namespaceSelector: {selector}")
    found = imported(queues + workload() + namespace)

    assert len(found.document["workloads"]) == is_kept
    assert bool(found.notes) != is_kept


def test_a_selector_that_cannot_be_checked_is_noted() -> None:
    queues = QUEUES.replace("namespaceSelector: {}", "namespaceSelector: {matchLabels: {tier: gold}}")

    assert notes(imported(queues + workload())) == [
        "ClusterQueue q: spec.namespaceSelector: the Namespace team was not given, "
        "so the selector is taken to accept it"
    ]


WRONG = {
    "f.yaml: Workload team/w: status.admission: it holds quota, so this key is required, and it is missing": workload(
        status=f"conditions: [{condition('QuotaReserved')}]"
    ),
    "f.yaml: Workload team/w: spec.priority: 'high' is no whole number": workload("priority: high"),
    "f.yaml: Workload team/w: metadata.creationTimestamp: 'yesterday' is no time": workload(
        meta="creationTimestamp: yesterday"
    ),
    "f.yaml: Workload team/w: spec.podSets[0].template.spec.containers[0].resources.requests.cpu: 'lots' is no": (
        workload(pods="[{name: main, template: {spec: {containers: [{resources: {requests: {cpu: lots}}}]}}}]")
    ),
    "f.yaml: Workload team/w: spec.priority: 3000000000 is out of range": workload("priority: 3000000000"),
}


@pytest.mark.parametrize(("words", "text"), WRONG.items())
def test_what_is_wrong_is_said_with_file_object_and_path(words: str, text: str) -> None:
    [problem] = problems(QUEUES + text)

    assert problem.startswith(words)
