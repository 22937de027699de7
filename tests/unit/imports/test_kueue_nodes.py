from typing import Any

import pytest

from cede.doctrines.document import parse_document
from cede.imports.report import Imported
from tests.unit.imports.kueue_objects import admitted, notes, with_queues, workload

NODE = (
    "---\napiVersion: v1\nkind: Node\nmetadata: {{name: {name}, labels: {{{labels}}}}}\n"
    "spec: {{{spec}}}\nstatus: {status}\n"
)
POD = (
    "---\napiVersion: v1\nkind: Pod\nmetadata: {{namespace: team, name: {name}{meta}}}\n"
    "spec: {{nodeName: {node}, containers: [{{resources: {{requests: {{cpu: {cpu}}}}}}}]}}\n"
    "status: {{phase: {phase}}}\n"
)
TWO = "[{name: main, count: 2, template: {spec: {containers: [{resources: {requests: {cpu: 1}}}]}}}]"
RUNNING = workload(status=admitted(usage="cpu: 2", count=2), pods=TWO, meta="ownerReferences: [{kind: Job, uid: j-1}]")
OF_THE_JOB = ", ownerReferences: [{kind: Job, uid: j-1}]"


def node(name: str = "n1", labels: str = "", spec: str = "", status: str = "{allocatable: {cpu: 8, pods: 110}}") -> str:
    return NODE.format(name=name, labels=labels, spec=spec, status=status)


def pod(name: str, on: str = "n1", meta: str = OF_THE_JOB, cpu: str = "1", phase: str = "Running") -> str:
    return POD.format(name=name, node=on, meta=meta, cpu=cpu, phase=phase)


def nodes(found: Imported) -> list[dict[str, Any]]:
    parse_document(found.document)
    return list(found.document.get("nodes", []))


def places(found: Imported) -> list[str]:
    return list(found.document["workloads"][0].get("nodes", ()))


def test_without_pods_it_is_not_known_where_work_runs_so_nodes_are_left_out() -> None:
    found = with_queues(RUNNING + node("n1") + node("n2"))

    assert nodes(found) == []
    assert notes(found) == [
        f"Node {name}: left out: without its Pods it is not known where team/w runs; give them too, or --nodes"
        for name in ("n1", "n2")
    ]


def test_nodes_can_be_kept_all_the_same() -> None:
    found = with_queues(RUNNING + node(), nodes=True)

    assert nodes(found) == [{"name": "n1", "capacity": {"cpu": 8}, "flavor": "main"}]
    assert notes(found) == ["Workload team/w: it is not known where it runs, so it takes room on no node"]


def test_nodes_are_kept_if_nothing_runs() -> None:
    assert [one["name"] for one in nodes(with_queues(workload() + node()))] == ["n1"]


BELONGS = {
    "a common owner": (OF_THE_JOB, ""),
    "an owner's owner": (
        ", ownerReferences: [{kind: ReplicaSet, uid: r-1}]",
        "uid: r-1, ownerReferences: [{uid: j-1}]",
    ),
    "the workload's name": (", annotations: {kueue.x-k8s.io/workload: w}", ""),
    "the group's name": (", labels: {kueue.x-k8s.io/pod-group-name: w}", ""),
}


@pytest.mark.parametrize(("meta", "owner"), BELONGS.values(), ids=BELONGS.keys())
def test_a_pod_belongs_to_a_workload_by(meta: str, owner: str) -> None:
    between = f"---\napiVersion: apps/v1\nkind: ReplicaSet\nmetadata: {{name: r, {owner}}}\n" if owner else ""
    pods = pod("a", "n2", meta) + pod("b", "n1", meta)
    found = with_queues(RUNNING + between + pods + node("n1") + node("n2"))

    assert places(found) == ["n1", "n2"]


def test_pods_of_others_occupy_their_nodes_and_those_that_are_over_do_not() -> None:
    others = pod("x", meta="", cpu="500m") + pod("y", meta="", cpu="1") + pod("z", meta="", phase="Succeeded")
    found = with_queues(RUNNING + pod("a") + pod("b") + others + node())

    assert nodes(found) == [{"name": "n1", "capacity": {"cpu": 8}, "occupied": {"cpu": "1500m"}, "flavor": "main"}]
    assert places(found) == ["n1", "n1"]


def test_a_pod_that_is_missing_or_elsewhere_leaves_the_place_unknown() -> None:
    assert nodes(with_queues(RUNNING + pod("a") + node())) == []
    assert nodes(with_queues(RUNNING + pod("a") + pod("b", "gone") + node())) == []


def test_sets_of_pods_are_told_apart_by_their_label() -> None:
    one = "template: {spec: {containers: [{resources: {requests: {cpu: 1}}}]}}"
    sets = f"[{{name: head, count: 1, {one}}}, {{name: work, count: 2, {one}}}]"
    status = admitted().replace(
        "podSetAssignments: [{name: main, count: 1,", "podSetAssignments: [{name: head}, {name: work, count: 2,"
    )
    label = ", annotations: {{kueue.x-k8s.io/workload: w}}, labels: {{kueue.x-k8s.io/podset: {}}}"
    pods = (
        pod("a", "n1", label.format("work"))
        + pod("b", "n2", label.format("head"))
        + pod("c", "n2", label.format("work"))
    )
    found = with_queues(workload(status=status, pods=sets) + pods + node("n1") + node("n2"))

    assert places(found) == ["n2", "n1", "n2"]


ASSIGNED = {
    "v1beta1": "{levels: [kubernetes.io/hostname], domains: [{values: [h2], count: 1}, {values: [h1], count: 1}]}",
    "v1beta2": "{levels: [kubernetes.io/hostname], slices: [{domainCount: 2, valuesPerLevel: [{prefix: h, roots: "
    '["1", "2"]}], universalPodCount: 1}]}',
}


@pytest.mark.parametrize(("version", "topology"), ASSIGNED.items())
def test_a_topology_assignment_down_to_hosts_tells_the_nodes(version: str, topology: str) -> None:
    status = admitted(usage="cpu: 2", count=2).replace("name: main,", f"name: main, topologyAssignment: {topology},")
    hosts = node("n1", "kubernetes.io/hostname: h1") + node("n2", "kubernetes.io/hostname: h2")
    found = with_queues(workload(status=status, pods=TWO, version=version) + hosts)

    assert places(found) == ["n1", "n2"]


def test_fewer_pods_admitted_than_asked_for_are_the_members_of_a_placed_workload() -> None:
    pods = TWO.replace("count: 2", "count: 3, minCount: 1")
    text = workload(
        status=admitted(usage="cpu: 2", count=2), pods=pods, meta="ownerReferences: [{kind: Job, uid: j-1}]"
    )
    found = with_queues(text + pod("a") + pod("b") + node())
    [entry] = found.document["workloads"]

    assert entry["pod_sets"] == [{"name": "main", "count": 2, "requests": {"cpu": 1}, "min_count": 1}]
    assert places(found) == ["n1", "n1"]
    assert "2 of 3 pods were admitted" in notes(found)[0]


NOT_READY = '{allocatable: {cpu: 8}, conditions: [{type: Ready, status: "Unknown"}]}'
STATES = {
    "ready": (node(status='{allocatable: {cpu: 8}, conditions: [{type: Ready, status: "True"}]}'), None),
    "not ready": (node(status=NOT_READY), "down"),
    "cordoned": (node(spec="unschedulable: true"), "cordoned"),
    "tainted": (node(spec="taints: [{key: maintenance, effect: NoSchedule}]"), "cordoned"),
    "tainted, but not so that it matters": (node(spec="taints: [{key: x, effect: PreferNoSchedule}]"), None),
}


@pytest.mark.parametrize(("text", "state"), STATES.values(), ids=STATES.keys())
def test_the_state_of_a_node(text: str, state: str | None) -> None:
    assert nodes(with_queues(text))[0].get("state") == state


FLAVORS = """
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: fast}
spec: {nodeLabels: {speed: high}, tolerations: [{key: fast, operator: Exists}]}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: r}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [cpu]
    flavors: [{name: fast, resources: [{name: cpu, nominalQuota: 8}]}]
  - coveredResources: [memory]
    flavors: [{name: any, resources: [{name: memory, nominalQuota: 8}]}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: any}
"""


def test_what_a_node_has_counts_for_the_flavor_that_says_most_about_it() -> None:
    both = "{allocatable: {cpu: 8, memory: 4Ki, ephemeral-storage: 1Gi}}"
    taint = "taints: [{key: fast, effect: NoSchedule}]"
    plain = node("slow", status="{allocatable: {cpu: 2}}")
    found = with_queues(FLAVORS + node("n1", "speed: high", taint, both) + plain)

    assert nodes(found) == [
        {"name": "n1", "capacity": {"cpu@fast": 8, "memory@any": 4096}, "labels": {"speed": "high"}},
        {"name": "slow", "capacity": {"cpu": 2}, "flavor": "main"},
    ]
    assert notes(found) == []


def test_labels_that_pods_ask_of_nodes_are_constraints_where_there_are_nodes() -> None:
    spec = "{nodeSelector: {zone: a}, containers: [{resources: {requests: {cpu: 1}}}]}"
    text = workload(pods=f"[{{name: main, template: {{spec: {spec}}}}}]")

    assert with_queues(text + node()).document["workloads"][0]["constraints"] == {"labels": {"zone": "a"}}
    assert "constraints" not in with_queues(text).document["workloads"][0]
