"""Small crowded YuniKorn clusters: nodes as full as drawn, guarantees at several levels, one to three that want in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

Document = dict[str, Any]

SHAPES: Sequence[tuple[str, ...]] = (
    ("root.a", "root.b"),
    ("root.a", "root.b", "root.c"),
    ("root.a", "root.ab"),
    ("root.a", "root.ab", "root.abc"),
    ("root.p", "root.p.a", "root.p.b"),
    ("root.p", "root.p.a", "root.p.b", "root.c"),
    ("root.p", "root.p.a", "root.p.b", "root.q", "root.q.c"),
    ("root.p", "root.p.q", "root.p.q.a", "root.p.q.b", "root.p.c"),
    ("root.p", "root.p.a", "root.q", "root.q.r", "root.q.r.b"),
    ("root.p", "root.p.a", "root.p.b", "root.p.c"),
)
POLICIES = (None,) * 15 + ("fence", "disabled", "default")
STATES = ("running",) * 24 + ("preempting", "preempting", "reserved", "checkpointing")
OFFSETS = (None,) * 4 + (-2, -1, 1, 2)


@st.composite
def yunikorn_clusters(draw: DrawFn, edition: str) -> Document:
    """Claimants of a leaf that is mostly owed something, among the work of leaves that mostly have too much."""
    dice = Dice(draw)
    shape, gpus, nodes, many, more, crowded = dice.pick(
        SHAPES, (False, False, True), (0, 1, 1, 1, 2, 2, 2, 3), (4, 5, 6, 6, 7, 8, 9), (1, 1, 2, 3), (False, True, True)
    )
    leaves = [name for name in shape if not any(other.startswith(f"{name}.") for other in shape)]
    [claiming] = dice.pick(leaves)
    [above] = dice.pick(({},) * 14 + ({"preemption.policy": "fence"}, {"preemption.policy": "disabled"}))
    root: Document = {"name": "root"} | ({"settings": above} if above else {})
    queues = [root, *(_queue(dice, name, edition, gpus=gpus, owed=name == claiming) for name in shape)]
    if dice.pick((False,) * 6 + (True,)) == (True,):
        _inherit(dice, queues, claiming)
    victims = [leaf for leaf in leaves if leaf != claiming]
    places = victims[:1] * 6 + leaves if crowded else victims * 4 + leaves
    names = [f"n{number}" for number in range(nodes)]
    running = [_running(dice, f"r{number}", places, names, gpus=gpus) for number in range(many)]
    pending = [_pending(dice, f"p{number}", [claiming] * 5 + leaves, names, gpus=gpus) for number in range(more)]
    if dice.pick((False, True)) == (True,):
        _duel(dice, queues, running, pending)
    machines = [_node(dice, name, running, pending, gpus=gpus) for name in names]
    [enabled] = dice.pick((None,) * 19 + (False,))
    doctrine: Document = {"name": "yunikorn", "edition": edition} | _given({"preemption.enabled": enabled})
    document: Document = {"cede": 1, "now": 0, "doctrine": doctrine, "queues": queues, "workloads": running + pending}
    return document | ({"nodes": machines} if machines else {})


def _inherit(dice: Dice, queues: list[Document], claiming: str) -> None:
    """The guarantee of the claiming leaf becomes its parent's, and siblings may have none of their own."""
    parent = claiming.rpartition(".")[0]
    for queue in queues[1:]:
        [cpu, bare] = dice.pick((2, 4, 8, 12), (False, True))
        if queue["name"] == parent:
            queue["guaranteed"] = {"cpu": cpu}
        elif queue["name"] == claiming or (bare and queue["name"].startswith(f"{parent}.")):
            queue.pop("guaranteed", None)


@st.composite
def yunikorn_daemons(draw: DrawFn, edition: str) -> Document:
    """The same with a claimant that must run on one node; no two ages are equal, so that size decides nothing.

    Often there is a node that takes nobody: with it the root has headroom, without which `1.9` frees no node.
    """
    document = draw(yunikorn_clusters(edition).filter(lambda made: "nodes" in made))
    dice = Dice(draw)
    for number, workload in enumerate(document["workloads"]):
        workload["submitted"] = workload["submitted"] * 10 - number
    claimant = next(workload for workload in document["workloads"] if workload["state"] == "pending")
    node, priority, spare = dice.pick(document["nodes"], (1, 2, 3, 4), (False, True, True))
    if spare:
        document["nodes"].append({"name": "spare", "capacity": {"cpu": 8, "gpu": 8}, "state": "cordoned"})
    claimant |= {"required_node": node["name"], "members": 1, "priority": priority}
    claimant.pop("constraints", None)
    if dice.pick((False, False, True)) == (True,):
        node["capacity"]["cpu"] += 1
        claimant["requests"]["cpu"] += 1
        for workload in document["workloads"]:
            if workload["state"] == "pending" and workload is not claimant:
                workload |= {"requests": {"cpu": 1}, "priority": 0}
    for queue in document["queues"]:
        if dice.pick((False, True, True, True)) == (True,):
            queue.pop("max", None)
    return document


@st.composite
def yunikorn_quotas(draw: DrawFn) -> Document:
    """Queues of edition `1.9` above their max, some for long enough; each workload came in an hour of its own."""
    document = draw(yunikorn_clusters("1.9"))
    dice = Dice(draw)
    document["doctrine"]["preemption.quotapreemptionenabled"] = True
    for number, workload in enumerate(document["workloads"]):
        if workload["state"] != "pending":
            [twin] = dice.pick(range(3))
            workload["submitted"] = -3600 * (10 * twin + number)
    for queue in document["queues"][1:]:
        cpu, promised, since, delay = dice.pick(
            (None, 1, 2, 3, 4, 5, 6), (None, 2, 4, 6, 8), (None, -9, -10, -20, -20), (None, 0, 10, "10s", "10s")
        )
        if cpu is not None:
            queue["max"] = queue.get("max", {}) | {"cpu": cpu}
        if promised is not None and queue["name"][-1] in "pqr":
            queue["guaranteed"] = queue.get("guaranteed", {}) | {"cpu": promised}
        if any("gpu" in workload["requests"] for workload in document["workloads"]):
            [gpu] = dice.pick((None, 1, 2))
            queue["max"] = queue.get("max", {}) | _given({"gpu": gpu})
        queue["settings"] = queue.get("settings", {}) | _given({"quota.preemption.delay": delay})
        queue.update(_given({"over_limit_since": since}))
    return document


@st.composite
def yunikorn_rushes(draw: DrawFn) -> Document:
    """A leaf of edition `1.9` with more asks than it has attempts in one pass."""
    document = draw(yunikorn_clusters("1.9"))
    dice = Dice(draw)
    claimant = next(workload for workload in document["workloads"] if workload["state"] == "pending")
    claimant.pop("constraints", None)
    leaves = sorted({workload["queue"] for workload in document["workloads"]})
    for number in range(13):
        priority, cpu, uid, queue = dice.pick(
            (0, 1, 2, 3), (1, 2, 2, 3, 3), range(3), [claimant["queue"]] * 4 * len(leaves) + leaves
        )
        twin = claimant | {"name": f"t{number}", "uid": f"{uid}-t{number}", "priority": priority, "queue": queue}
        document["workloads"].append(twin | {"requests": claimant["requests"] | {"cpu": cpu}})
    return document


@st.composite
def yunikorn_reserved(draw: DrawFn) -> Document:
    """A claimant of edition `1.9` beside a node that is reserved for another, often for long; nobody else waits."""
    document = draw(yunikorn_clusters("1.9").filter(lambda made: "nodes" in made))
    dice = Dice(draw)
    claimant = next(workload for workload in document["workloads"] if workload["state"] == "pending")
    claimant |= {"submitted": -60, "preempts": True, "members": 1}
    claimant.pop("constraints", None)
    works = [workload for workload in document["workloads"] if workload["state"] != "pending"]
    leaves = sorted({workload["queue"] for workload in works})
    queue, cpu, priority, submitted = dice.pick(leaves, (1, 2, 4, 6, 9), (-1, 0, 1, 2, 3, 4), (600, 3602, 3603, 9000))
    holder = {"name": "hold", "queue": queue, "state": "pending", "requests": {"cpu": cpu}, "priority": priority}
    document["workloads"] = [*works, claimant, holder | {"submitted": -submitted, "preempts": False}]
    for node in document["nodes"]:
        node.pop("reserved_for", None)
        node.pop("reserved_since", None)
    node, since, spare = dice.pick(document["nodes"], (None, None, -30, -3600, -3601), (0, 0, 1, 2, 3))
    node |= {"reserved_for": "hold", "state": "ready"} | _given({"reserved_since": since})
    node["capacity"]["cpu"] += spare
    return document


@st.composite
def yunikorn_contests(draw: DrawFn) -> Document:
    """Asks of many queues of edition `1.9`, all of one priority, for the little that is left: the order decides."""
    dice = Dice(draw)
    [shape] = dice.pick(SHAPES)
    leaves = [name for name in shape if not any(other.startswith(f"{name}.") for other in shape)]
    queues: list[Document] = [{"name": "root"}]
    for name in shape:
        cpu, gpu, most, most_gpu = dice.pick(
            (None, None, 0, 4, 6), (None, None, 2), (None,) * 3 + (8, 9), (None,) * 4 + (0, 4)
        )
        entry: Document = {"name": name, "parent": name.rpartition(".")[0]}
        promised, limit = _given({"cpu": cpu, "gpu": gpu}), _given({"cpu": most, "gpu": most_gpu})
        queues.append(entry | ({"guaranteed": promised} if promised else {}) | ({"max": limit} if limit else {}))
    works: list[Document] = []
    for number, (state, many) in enumerate((("running", 3), ("pending", 5))):
        for at in range(many):
            queue, cpu, gpu, submitted = dice.pick(leaves, (1, 1, 2, 3), (0, 0, 1), (40, 60, 60))
            work: Document = {"name": f"w{number}{at}", "queue": queue, "state": state, "submitted": -submitted}
            work["requests"] = {"cpu": cpu} | ({"gpu": gpu} if gpu else {})
            works.append(work | ({"nodes": ["n"]} if state == "running" else {}))
    capacity = {kind: sum(work["requests"].get(kind, 0) for work in works[:3]) for kind in ("cpu", "gpu")}
    more, more_gpu = dice.pick((0, 1, 2, 3, 4), (0, 1, 2))
    node = {"name": "n", "capacity": {"cpu": capacity["cpu"] + more, "gpu": capacity["gpu"] + more_gpu}}
    doctrine = {"name": "yunikorn", "edition": "1.9"}
    return {"cede": 1, "now": 0, "doctrine": doctrine, "queues": queues, "nodes": [node], "workloads": works}


class Dice:
    """Even choices from one draw: what Hypothesis draws piece by piece repeats itself, and rules hide in corners."""

    def __init__(self, draw: DrawFn) -> None:
        self.random = Random(draw(st.integers(0, 2**64 - 1)))

    def pick(self, *choices: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(self.random.choice(options) for options in choices)


def _duel(dice: Dice, queues: Sequence[Document], running: Sequence[Document], pending: Sequence[Document]) -> None:
    """Make it a cluster where little is protected and the claimants may take whom they like."""
    for queue in queues:
        policy, limit = dice.pick(range(4), range(4))
        if policy:
            queue.get("settings", {}).pop("preemption.policy", None)
        if limit:
            queue.pop("max", None)
    for workload in running:
        workload["priority"] = 1 + workload["priority"] // 2
        workload.pop("required_node", None)
    for workload in pending:
        priority, submitted = dice.pick((1, 2, 3), (60, 60, 8000))
        workload |= {"priority": priority, "submitted": -submitted, "preempts": True}
        workload.pop("constraints", None)


def _given(values: Document) -> Document:
    return {key: value for key, value in values.items() if value is not None}


def _queue(dice: Dice, name: str, edition: str, *, gpus: bool, owed: bool) -> Document:
    cpu, gpu, policy, delay, most, most_gpu = dice.pick(
        (None, 4, 6, 6, 8, 8, 10) if owed else (None, None, 0, 1, 1, 2, 3),
        (None, 2, 3, 4) if owed else (None, None, 1, 2),
        POLICIES,
        (None,) * 9 + ("10s", 60),
        (None,) * 9 + (3, 5, 7),
        (None,) * 9 + (3,),
    )
    entry: Document = {"name": name, "parent": name.rpartition(".")[0]}
    guaranteed = _given({"cpu": cpu, "gpu": gpu if gpus else None})
    limit = _given({"cpu": most, "gpu": most_gpu if gpus else None})
    settings = _given({"preemption.policy": policy, "preemption.delay": delay})
    if edition == "1.9":
        offset, fence = dice.pick(OFFSETS, (None,) * 5 + ("fence",))
        settings |= _given({"priority.offset": offset, "priority.policy": fence})
    entry |= {"guaranteed": guaranteed} if guaranteed else {}
    entry |= {"max": limit} if limit else {}
    return entry | ({"settings": settings} if settings else {})


def _running(dice: Dice, name: str, places: Sequence[str], nodes: Sequence[str], *, gpus: bool) -> Document:
    queue, node, cpu, gpu, priority, submitted, app = dice.pick(
        places, nodes or [None], (1, 1, 2, 2, 3, 4, 0), (0, 0, 1, 2), range(4), range(4), (None, None, None, "x", "y")
    )
    uid, preemptible, originator, daemon, members, other, state = dice.pick(
        range(3),
        (True, True, True, False),
        (False,) * 5 + (True,),
        (False,) * 11 + (True,),
        (1,) * 15 + (2,),
        nodes or [None],
        STATES,
    )
    requests = _given({"cpu": cpu or None, "gpu": (gpu or None) if gpus else None}) or {"cpu": 1}
    entry: Document = {"name": name, "uid": f"{uid}-{name}", "queue": queue, "state": state, "requests": requests}
    entry |= {"priority": priority, "submitted": -submitted, "preemptible": preemptible, "originator": originator}
    entry |= _given({"app": app})
    if node is not None:
        entry["nodes"] = [node, other][:members]
        if daemon and members == 1:
            entry["required_node"] = node
    return entry | ({"members": members} if members > 1 else {})


def _pending(dice: Dice, name: str, places: Sequence[str], nodes: Sequence[str], *, gpus: bool) -> Document:
    queue, cpu, gpu, priority, submitted, app, uid = dice.pick(
        places,
        (1, 2, 2, 3, 3, 4, 5),
        (0, 0, 1, 2),
        (1, 2, 3, 3, 4),
        (60, 60, 60, 40, 30, 29),
        (None, None, None, "x"),
        range(3),
    )
    preempts, members, only = dice.pick((True,) * 15 + (False,), (1,) * 15 + (2,), (None,) * 7 + (nodes[:1],))
    requests = {"cpu": cpu} | ({"gpu": gpu} if gpus and gpu else {})
    entry: Document = {"name": name, "uid": f"{uid}-{name}", "queue": queue, "state": "pending", "requests": requests}
    entry |= {"priority": priority, "submitted": -submitted, "preempts": preempts, "members": members}
    entry |= _given({"app": app})
    return entry | ({"constraints": {"nodes": only}} if only else {})


def _node(dice: Dice, name: str, running: Sequence[Document], pending: Sequence[Document], *, gpus: bool) -> Document:
    """A node with room for what stands there and little more."""
    slack, slack_gpu, occupied, state, kept = dice.pick(
        (0, 0, 0, 1, 2), (0, 0, 1), (0, 0, 0, 1), ("ready",) * 15 + ("cordoned",), range(24)
    )
    used = Counter[str]()
    for workload in running:
        for _ in range(workload.get("nodes", []).count(name)):
            used.update(workload["requests"])
    capacity = {"cpu": max(1, used["cpu"] + slack + occupied)}
    if gpus:
        capacity["gpu"] = used["gpu"] + slack_gpu
    entry: Document = {"name": name, "capacity": capacity, "state": state}
    entry |= {"occupied": {"cpu": 1}} if occupied else {}
    if kept >= len(pending):
        return entry
    [since] = dice.pick((None, -30, -3600, -3601, -9000))
    return entry | {"reserved_for": pending[kept]["name"]} | _given({"reserved_since": since})
