"""The doctrine `kubernetes` beside a real kube-scheduler, on random clusters of simulated nodes; run by hand.

    python -m tests.peers.kube_scheduler --kube BIN --plane FOLDER --clusters 300 --out answers.jsonl

`BIN` is one binary with etcd, kube-apiserver, kube-scheduler and kwok, `FOLDER` has the `control_plane.py` that starts
them. Pods come one by one. Victims never stop (a finalizer keeps them), so that whoever comes later finds them leaving,
and room nominated. Before each one comes, the state is written down as a cluster file: what the doctrine decides on it
is compared with what the scheduler did. An answer is a line: the file, who came, and what became of it.
"""

from __future__ import annotations

import argparse
import http.client
import json
import ssl
import sys
import time
from collections import Counter
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import urlsplit

from tests.peers.kube_comparison import verdict_of

Object = dict[str, Any]

PRIORITIES = (-10, 0, 1, 5, 5, 10, 100)
HOLD = "cede.test/hold"
GPU = "nvidia.com/gpu"
BASE = 1_700_000_000
"""When a file's clock says 0; pods that the scheduler starts are younger than all that the file has."""
PODS = "/api/v1/namespaces/default/pods"
EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
PATIENCE_S = 60.0
QUIET_S = 0.25
"""How long nothing may happen after the scheduler has answered."""
LATE_S = 5.0
"""How long victims, and the events that say whose they are, are waited for after a nomination."""


class Api:
    """One connection that stays."""

    def __init__(self, server: str, token: str) -> None:
        place = urlsplit(server)
        context = ssl._create_unverified_context()
        self.line = http.client.HTTPSConnection(str(place.hostname), place.port, context=context, timeout=30)
        self.token = token

    def __call__(self, method: str, path: str, body: Object | None = None, kind: str = "application/json") -> Object:
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": kind}
        self.line.request(method, path, None if body is None else json.dumps(body), headers)
        answer = self.line.getresponse()
        text = answer.read()
        if answer.status >= 400:
            raise RuntimeError(f"{method} {path}: {answer.status} {text[:300]!r}")
        found: Object = json.loads(text)
        return found

    def patch(self, path: str, body: Object) -> Object:
        return self("PATCH", path, body, "application/merge-patch+json")


def instant(seconds: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(BASE + seconds))


def stages(original: str) -> str:
    """The simulated kubelets, with the start time that a pod's annotation says."""
    told = (
        '{{ with index (or .metadata.annotations (dict)) "start" }}{{ . | Quote }}{{ else }}{{ $now | Quote }}{{ end }}'
    )
    return original.replace("startTime: {{ $now | Quote }}", f"startTime: {told}")


# -- random clusters ---------------------------------------------------------------------------------------------------


def drawn(seed: int) -> Object:
    """A cluster file whose pending workloads are to come in this order."""
    random = Random(seed)
    with_gpus = random.random() < 0.3
    nodes: list[Object] = []
    alike = random.random() < 0.4
    shape = _shape(random, with_gpus)
    for number in range(random.randint(1, 5)):
        capacity: Object = shape if alike else _shape(random, with_gpus and random.random() < 0.7)
        nodes.append({"name": f"n{number}", "capacity": dict(capacity)})
    workloads: list[Object] = []
    for node in nodes:
        left = {"cpu": _milli(node["capacity"]["cpu"]), "memory": _mebi(node["capacity"]["memory"])}
        left[GPU] = node["capacity"].get(GPU, 0)
        starts = random.sample(range(-600, 0), 12)
        for _ in range(random.choice((2, 8, 12))):
            asked = _asked(random, left[GPU] > 0)
            cpu, memory, gpus = _milli(asked["cpu"]), _mebi(asked["memory"]), asked.get(GPU, 0)
            if cpu > left["cpu"] or memory > left["memory"] or gpus > left[GPU]:
                continue
            left["cpu"] -= cpu
            left["memory"] -= memory
            left[GPU] -= gpus
            name = f"r{len(workloads)}"
            workloads.append(
                {
                    "name": name,
                    "app": random.choice("abc"),
                    "priority": random.choice(PRIORITIES),
                    "requests": asked,
                    "state": "running",
                    "nodes": [node["name"]],
                    "started": starts.pop(),
                }
            )
    comers: list[Object] = []
    for number in range(random.randint(2, 4)):
        asked = _asked(random, with_gpus, factor=random.choice((1, 1, 2)))
        comer: Object = {
            "name": f"p{number}",
            "priority": random.choice((1, 5, 10, 100, 1000, 1000)),
            "requests": asked,
        }
        if random.random() < 0.1:
            comer["preempts"] = False
        comers.append(comer)
    if random.random() < 0.6:
        comers.sort(key=lambda one: -one["priority"])
    budgets = [
        {"name": f"of-{app}", "apps": [app], "allowed": random.randint(0, 2)} for app in "abc" if random.random() < 0.4
    ]
    return {
        "cede": 1,
        "now": 0,
        "doctrine": {"name": "kubernetes", "disruption_budgets": budgets},
        "nodes": nodes,
        "workloads": workloads + comers,
    }


def _shape(random: Random, with_gpus: bool) -> Object:
    found: Object = {"cpu": random.choice((2, 4, 8)), "memory": f"{random.choice((4, 8, 16))}Gi"}
    return found | ({GPU: random.choice((2, 4))} if with_gpus else {})


def _asked(random: Random, with_gpus: bool, factor: int = 1) -> Object:
    found: Object = {
        "cpu": f"{random.choice((100, 250, 500, 1000, 1500, 2000)) * factor}m",
        "memory": f"{random.choice((128, 512, 1024, 2048, 4096)) * factor}Mi",
    }
    return found | ({GPU: random.randint(1, 2)} if with_gpus and random.random() < 0.5 else {})


def _milli(cpu: int | str) -> int:
    return int(str(cpu).removesuffix("m")) * (1 if str(cpu).endswith("m") else 1000)


def _mebi(memory: str) -> int:
    return int(memory[:-2]) * (1024 if memory.endswith("Gi") else 1)


# -- one cluster -------------------------------------------------------------------------------------------------------


class World:
    """A cluster of the real thing, and the same as a cluster file."""

    def __init__(self, api: Api, document: Object) -> None:
        self.api = api
        self.file = {**document, "workloads": [one for one in document["workloads"] if "state" in one]}
        self.comers = [one for one in document["workloads"] if "state" not in one]

    def build(self) -> None:
        for node in self.file["nodes"]:
            amounts = {**{key: str(value) for key, value in node["capacity"].items()}, "pods": "110"}
            ready = {
                "type": "Ready",
                "status": "True",
                "reason": "Ready",
                "message": "",
                "lastHeartbeatTime": instant(0),
            }
            status = {"capacity": amounts, "allocatable": amounts, "conditions": [ready]}
            meta = {"name": node["name"], "annotations": {"kwok.x-k8s.io/node": "fake"}}
            self.api("POST", "/api/v1/nodes", {"kind": "Node", "apiVersion": "v1", "metadata": meta, "status": status})
        for budget in self.file["doctrine"]["disruption_budgets"]:
            selector = {"matchLabels": {"app": budget["apps"][0]}}
            made = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": budget["name"]}}
            self.api("POST", BUDGETS, {**made, "spec": {"minAvailable": 1, "selector": selector}})
            allowed = {"disruptionsAllowed": budget["allowed"], "currentHealthy": 0, "desiredHealthy": 0}
            self.api.patch(f"{BUDGETS}/{budget['name']}/status", {"status": {**allowed, "expectedPods": 0}})
        for pod in self.file["workloads"]:
            self.api("POST", PODS, pod_of(pod))
        self._until(
            lambda pods: all(pods[one["name"]]["status"]["phase"] == "Running" for one in self.file["workloads"])
        )
        time.sleep(QUIET_S)

    def comes(self, comer: Object) -> Object:
        """What the scheduler makes of one more pod: its node or its nominated node, and who was told to go."""
        before = self._pods()
        self.api("POST", PODS, pod_of(comer))
        self._until(lambda pods: _answered(pods[comer["name"]]))
        last: Object = {}
        late = time.monotonic() + LATE_S  # victims are told to go after the nomination, by nobody who waits for it
        while True:
            time.sleep(QUIET_S)
            pods = self._pods()
            mine = pods[comer["name"]]
            uid = mine["metadata"]["uid"]
            gone = {name for name, one in pods.items() if _leaving(one) and not _leaving(before.get(name, one))}
            by = self._preempted() if gone else {}
            found = {
                "workload": comer["name"],
                "node": mine["spec"].get("nodeName"),
                "nominated": mine["status"].get("nominatedNodeName"),
                "victims": sorted(name for name in gone if uid in by.get(name, uid)),
                "others": len(gone),
            }
            complete = gone <= by.keys() and (found["nominated"] is None or found["victims"])
            if found == last and (complete or time.monotonic() > late):
                del found["others"]
                return found
            last = found

    def _preempted(self) -> dict[str, str]:
        """By whom each was taken: who loses a nominated node may take others while nobody else comes. Now and then an
        event never arrives; that victim is taken for one of whoever came."""
        events = self.api("GET", EVENTS)["items"]
        return {one["regarding"]["name"]: one["note"] for one in events if one["reason"] == "Preempted"}

    def follow(self, comer: Object) -> None:
        """The file of the state as it is now; whoever has no room and no nomination is left out."""
        known = {one["name"]: one for one in (*self.file["workloads"], comer)}
        found = []
        for name, pod in sorted(self._pods().items()):
            node, nominated = pod["spec"].get("nodeName"), pod["status"].get("nominatedNodeName")
            if node is None and nominated is None:
                continue
            state = "reserved" if node is None else "preempting" if _leaving(pod) else "running"
            entry = {**known[name], "state": state, "nodes": [node or nominated]}
            if state == "running":
                entry.setdefault("started", 1 + len(known))  # it starts later than all that are there
            found.append(entry)
        self.file["workloads"] = found

    def clear(self) -> None:
        for name, pod in self._pods().items():
            if pod["metadata"].get("finalizers"):
                self.api.patch(f"{PODS}/{name}", {"metadata": {"finalizers": None}})
        grace = {"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0}
        self.api("DELETE", "/api/v1/nodes", grace)
        self.api("DELETE", PODS, grace)
        self.api("DELETE", BUDGETS, grace)
        self.api("DELETE", EVENTS, grace)
        self._until(lambda pods: not pods)

    def _pods(self) -> dict[str, Object]:
        return {pod["metadata"]["name"]: pod for pod in self.api("GET", PODS)["items"]}

    def _until(self, holds: Any) -> None:
        end = time.monotonic() + PATIENCE_S
        while not holds(self._pods()):
            if time.monotonic() > end:
                raise UnsteadyError("the control plane did not answer in time")
            time.sleep(0.03)


class UnsteadyError(Exception):
    """The cluster is not what the file says any more; nothing can be compared."""


def pod_of(entry: Object) -> Object:
    never = entry.get("preempts") is False
    container: Object = {"name": "c", "image": "none", "resources": {"requests": _plain(entry["requests"])}}
    if GPU in entry["requests"]:
        container["resources"]["limits"] = {GPU: str(entry["requests"][GPU])}
    spec: Object = {"priorityClassName": class_of(entry["priority"], never=never), "containers": [container]}
    meta: Object = {"name": entry["name"], "finalizers": [HOLD], "labels": {"app": entry.get("app", "none")}}
    if "nodes" in entry:
        spec["nodeName"] = entry["nodes"][0]
        meta["annotations"] = {"start": instant(entry["started"])}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}


def _plain(requests: Object) -> Object:
    return {key: str(value) for key, value in requests.items()}


def class_of(priority: int, *, never: bool) -> str:
    return f"p{'minus' if priority < 0 else ''}{abs(priority)}{'-never' if never else ''}"


def _leaving(pod: Object) -> bool:
    return "deletionTimestamp" in pod["metadata"]


def _answered(pod: Object) -> bool:
    conditions = pod["status"].get("conditions") or ()
    return "nodeName" in pod["spec"] or any(
        one["type"] == "PodScheduled" and one["status"] == "False" for one in conditions
    )


# -- all of them -------------------------------------------------------------------------------------------------------


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kube", required=True)
    parser.add_argument("--plane", required=True)
    parser.add_argument("--clusters", type=int, default=300)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--out", default="kube-scheduler.jsonl")
    asked = parser.parse_args()
    sys.path.insert(0, asked.plane)
    control_plane = import_module("control_plane")

    plane = control_plane.ControlPlane(asked.kube, ("kwok", "kube-scheduler"))
    own = Path(plane.dir) / "stages.yaml"
    own.write_text(stages(plane.stages.read_text(encoding="utf-8")), encoding="utf-8")
    plane.stages = own
    counts: Counter[str] = Counter()
    end = time.monotonic() + 60 * asked.minutes
    with plane, Path(asked.out).open("a", encoding="utf-8") as out:
        api = Api(plane.server, plane.token)
        for priority in {*PRIORITIES, 1, 5, 10, 100, 1000}:
            for never in (False, True):
                made: Object = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "value": priority}
                made |= {"metadata": {"name": class_of(priority, never=never)}}
                made |= {"preemptionPolicy": "Never"} if never else {}
                api("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", made)
        _default_account(api)
        for seed in range(asked.first, asked.first + asked.clusters):
            if time.monotonic() > end:
                break
            one_cluster(api, seed, counts, out)
            print(seed, dict(counts), flush=True)
    return 0


def _default_account(api: Api) -> None:
    try:
        api("POST", "/api/v1/namespaces", {"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": "default"}})
    except RuntimeError:
        return  # it is there already


def one_cluster(api: Api, seed: int, counts: Counter[str], out: Any) -> None:
    world = World(api, drawn(seed))
    try:
        world.build()
        for comer in world.comers:
            file = {**world.file, "workloads": [dict(one) for one in world.file["workloads"]] + [comer]}
            answer = world.comes(comer)
            verdict, said = verdict_of(file, answer)
            counts[verdict] += 1
            counts[f"of them {answer_kind(answer)}"] += 1
            if verdict == "differs":
                print(f"seed {seed}: kube-scheduler {answer}; doctrine {said}", flush=True)
            out.write(json.dumps({"seed": seed, "file": file, "answer": answer, "verdict": verdict}) + "\n")
            out.flush()
            world.follow(comer)
        counts["clusters"] += 1
    except UnsteadyError as error:
        counts["unsteady"] += 1
        print(f"seed {seed}: {error}", flush=True)
    finally:
        world.clear()


def answer_kind(answer: Object) -> str:
    if answer["node"] is not None:
        return "start"
    return "wait" if answer["nominated"] is None else "preempt" if answer["victims"] else "await"


if __name__ == "__main__":
    raise SystemExit(main())
