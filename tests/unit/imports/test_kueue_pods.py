from typing import Any

import pytest

from tests.unit.imports.kueue_objects import QUEUES, admitted, imported, notes, with_queues, workload, workloads

CONFIG = "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\nresources: {}\n---\n"


def requests(pod: str, config: str = "") -> dict[str, Any]:
    text = workload(pods=f"[{{name: main, template: {{spec: {pod}}}}}]")
    return dict(workloads((config and CONFIG.replace("{}", config)) + text)["team/w"]["requests"])


def asks(**amounts: str) -> str:
    return "{resources: {requests: {" + ", ".join(f"{name}: {amount}" for name, amount in amounts.items()) + "}}}"


PODS = {
    "containers add up": (
        f"{{containers: [{asks(cpu='1', memory='1Ki')}, {asks(cpu='500m')}]}}",
        {"cpu": "1500m", "memory": 1024},
    ),
    "a limit stands for a request": (
        "{containers: [{resources: {limits: {cpu: 2, gpu: 1}, requests: {cpu: 1}}}]}",
        {"cpu": 1, "gpu": 1},
    ),
    "an init container that needs more": (
        f"{{initContainers: [{asks(cpu='1', memory='9')}, {asks(cpu='4')}], "
        f"containers: [{asks(cpu='3', memory='2')}]}}",
        {"cpu": 4, "memory": 9},
    ),
    "a sidecar that stays": (
        "{initContainers: [{restartPolicy: Always, resources: {requests: {cpu: 1}}}, "
        f"{asks(cpu='3')}], containers: [{asks(cpu='2')}]}}",
        {"cpu": 4},
    ),
    "overhead": (f"{{overhead: {{cpu: 250m}}, containers: [{asks(cpu='1')}]}}", {"cpu": "1250m"}),
    "what the pod says for itself": (
        f"{{resources: {{requests: {{cpu: 1}}}}, containers: [{asks(cpu='3', gpu='1')}]}}",
        {"cpu": 1, "gpu": 1},
    ),
    "nothing": ("{containers: [{}]}", {}),
}


@pytest.mark.parametrize(("pod", "amounts"), PODS.values(), ids=PODS.keys())
def test_a_pod_asks_for(pod: str, amounts: dict[str, Any]) -> None:
    assert requests(pod) == amounts


TRANSFORMED = {
    "an input is retained": ("[{input: gpu, outputs: {credits: 10}}]", {"cpu": 1, "gpu": 2, "credits": 20}),
    "or replaced": ("[{input: gpu, strategy: Replace, outputs: {credits: 10, cpu: 500m}}]", {"cpu": 2, "credits": 20}),
    "and multiplied": (
        "[{input: gpu, strategy: Replace, multiplyBy: cpu, outputs: {credits: 3}}]",
        {"cpu": 1, "credits": 6},
    ),
}


@pytest.mark.parametrize(("rules", "amounts"), TRANSFORMED.values(), ids=TRANSFORMED.keys())
def test_resources_are_transformed_as_configured(rules: str, amounts: dict[str, Any]) -> None:
    assert requests(f"{{containers: [{asks(cpu='1', gpu='2')}]}}", f"{{transformations: {rules}}}") == amounts


def test_excluded_resources_do_not_count() -> None:
    config = "{excludeResourcePrefixes: [example.com/]}"

    assert requests("{containers: [{resources: {requests: {cpu: 1, example.com/nic: 1}}}]}", config) == {"cpu": 1}


def test_pods_are_counted_where_the_queue_counts_them() -> None:
    text = workload().replace("cpu: 2", "cpu: 2, memory: 1")
    [found] = imported(QUEUES.replace("cpu", "pods") + text).document["workloads"]

    assert found["requests"] == {"cpu": 2, "memory": 1, "pods": 1}


SETS = {
    "one set of the default name is members": (
        "[{name: main, count: 3, template: {spec: {}}}]",
        {"members": 3, "requests": {}},
    ),
    "a name that was left out is the default": ("[{count: 1, template: {spec: {}}}]", {"requests": {}}),
    "another name is kept": (
        "[{name: workers, count: 2, template: {spec: {}}}]",
        {"pod_sets": [{"name": "workers", "count": 2, "requests": {}}]},
    ),
    "so is a least count": (
        "[{name: main, count: 4, minCount: 2, template: {spec: {}}}]",
        {"pod_sets": [{"name": "main", "count": 4, "requests": {}, "min_count": 2}]},
    ),
    "sets without pods go": (
        "[{name: head, count: 1, template: {spec: {}}}, {name: workers, count: 0, template: {spec: {}}}]",
        {"pod_sets": [{"name": "head", "count": 1, "requests": {}}]},
    ),
}


@pytest.mark.parametrize(("pods", "entry"), SETS.values(), ids=SETS.keys())
def test_of_pod_sets(pods: str, entry: dict[str, Any]) -> None:
    assert workloads(workload(pods=pods))["team/w"] == {"name": "team/w", "queue": "q"} | entry


def pods_of(count: int, more: str = "") -> str:
    spec = "{containers: [{resources: {requests: {cpu: 2}}}]}"
    return f"[{{name: main, count: {count}, template: {{spec: {spec}}}{more}}}]"


def test_pods_that_ended_ask_for_nothing_and_hold_nothing() -> None:
    ended = ", reclaimablePods: [{name: main, count: 1}]"
    found = workloads(workload(status=admitted(usage="cpu: 6", count=3) + ended, pods=pods_of(3)))["team/w"]

    assert (found["members"], found["requests"], found["usage"]) == (2, {"cpu": 2}, {"cpu@main": 4})


def test_fewer_pods_may_be_admitted_than_are_asked_for() -> None:
    found = workloads(workload(status=admitted(usage="cpu: 4", count=2), pods=pods_of(4, ", minCount: 1")))["team/w"]

    assert found["pod_sets"] == [{"name": "main", "count": 4, "requests": {"cpu": 2}, "min_count": 1}]
    assert found["usage"] == {"cpu@main": 4}


def test_what_kueue_counted_comes_before_what_the_pods_say() -> None:
    waiting = workload(status="resourceRequests: [{name: main, resources: {cpu: 9}}]", pods=pods_of(3))
    holding = workload(status=admitted(usage="cpu: 7500m", count=3), pods=pods_of(3))

    assert workloads(waiting)["team/w"]["requests"] == {"cpu": 3}
    assert workloads(holding)["team/w"]["requests"] == {"cpu": "2500m"}


def test_a_flavor_held_with_an_amount_of_nothing_is_kept() -> None:
    assert workloads(workload(status=admitted(usage="cpu: 0")))["team/w"]["usage"] == {"cpu@main": 0}


def test_usage_without_a_flavor_is_noted() -> None:
    found = with_queues(workload(status=admitted(usage="cpu: 2, memory: 5")))

    assert [note.path for note in found.notes] == ["status.admission.podSetAssignments[0].resourceUsage.memory"]


FLAVORS = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: on-demand}
spec: {nodeLabels: {price: fixed}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: spot}
spec: {nodeLabels: {price: low}, nodeTaints: [{key: spot, effect: NoSchedule}]}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: old}
spec:
  nodeLabels: {price: low}
  nodeTaints: [{key: old, effect: NoSchedule}]
  tolerations: [{key: old, operator: Exists}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: q}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [cpu]
    flavors:
    - {name: on-demand, resources: [{name: cpu, nominalQuota: 8}]}
    - {name: spot, resources: [{name: cpu, nominalQuota: 8}]}
    - {name: old, resources: [{name: cpu, nominalQuota: 8}]}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {namespace: team, name: lq}
spec: {clusterQueue: q}
---
"""
TOLERANT = "tolerations: [{key: spot, operator: Exists}]"
AFFINITY = (
    "affinity: {{nodeAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: {{nodeSelectorTerms: "
    "[{{matchExpressions: [{{key: {}, operator: In, values: [{}]}}]}}]}}}}}}"
)
PINS = {
    "all flavors will do": (TOLERANT, "cpu", 0),
    "a selector leaves one": ("nodeSelector: {price: fixed}", "cpu@on-demand", 0),
    "an affinity leaves one": (f"{TOLERANT}, {AFFINITY.format('price', 'fixed')}", "cpu@on-demand", 0),
    "a taint leaves one": ("nodeSelector: {price: low}", "cpu@old", 0),
    "several are left, and that is noted": (f"nodeSelector: {{price: low}}, {TOLERANT}", "cpu", 1),
    "a label that no flavor has says nothing of flavors": (f"nodeSelector: {{zone: a}}, {TOLERANT}", "cpu", 0),
    "nor does such an affinity": (f"{TOLERANT}, {AFFINITY.format('zone', 'a')}", "cpu", 0),
}


@pytest.mark.parametrize(("pod", "key", "noted"), PINS.values(), ids=PINS.keys())
def test_a_flavor_is_pinned_where_only_one_will_do(pod: str, key: str, noted: int) -> None:
    spec = f"{{{pod}, containers: [{asks(cpu='2')}]}}"
    found = imported(FLAVORS + workload(pods=f"[{{name: main, template: {{spec: {spec}}}}}]"))
    [entry] = found.document["workloads"]

    assert entry["requests"] == {key: 2}
    assert len(found.notes) == noted


def test_a_pod_that_no_flavor_takes_is_left_out() -> None:
    spec = f"{{nodeSelector: {{price: free}}, containers: [{asks(cpu='2')}]}}"
    found = imported(FLAVORS + workload(pods=f"[{{name: main, template: {{spec: {spec}}}}}]"))

    assert found.document["workloads"] == []
    assert "no flavor of q for cpu takes its pods, so Kueue never admits it; it is left out" in notes(found)[0]


MISSPELLED = {
    "of a pod": ("{containers: [], nodeSelectors: {zone: a}}", "spec.nodeSelectors", "nodeSelector"),
    "of its containers": ("{container: []}", "spec.container", "containers"),
    "of a container": (
        "{containers: [{name: c, resource: {requests: {cpu: 1}}}]}",
        "spec.containers[0].resource",
        "resources",
    ),
    "of what it asks for": (
        "{containers: [{resources: {request: {cpu: 1}}}]}",
        "spec.containers[0].resources.request",
        "requests",
    ),
}


@pytest.mark.parametrize(("pod", "path", "meant"), MISSPELLED.values(), ids=MISSPELLED.keys())
def test_a_misspelled_key_is_noted_with_the_one_that_was_meant(pod: str, path: str, meant: str) -> None:
    found = with_queues(workload(pods=f"[{{name: main, template: {{spec: {pod}}}}}]"))

    assert notes(found) == [
        f"Workload team/w: spec.podSets[0].template.{path}: Cede does not know this field (did you mean '{meant}'?)"
    ]


def test_keys_that_kubernetes_has_are_no_misspelled_ones() -> None:
    pod = "{containers: [{image: i, ports: [], stdin: true}], ephemeralContainers: [], hostNetwork: true, volumes: []}"

    assert notes(with_queues(workload(pods=f"[{{name: main, template: {{spec: {pod}}}}}]"))) == []
