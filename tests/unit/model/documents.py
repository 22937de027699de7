"""Cluster files drawn by Hypothesis: every key of the contract turns up, and the names agree."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

Document = dict[str, Any]

QUANTITIES = st.one_of(
    st.integers(0, 2**40), st.sampled_from(["500m", "16Gi", "2k", "0.5", "1e3", "7n", "250u", 0.25, 1.5, 3.0])
)
RESOURCES = st.dictionaries(
    st.sampled_from(["cpu", "memory", "nvidia.com/gpu", "cpu@spot", "nvidia.com/gpu@a100"]), QUANTITIES, max_size=3
)
DURATIONS = st.one_of(st.integers(0, 10**6), st.sampled_from(["30s", "10m", "1h30m", "1.5h", 0.25, "0.000001s"]))
LABELS = st.dictionaries(st.sampled_from(["group", "arch", "zone"]), st.text(max_size=4), max_size=2)
NUMBERS = st.integers(0, 100) | st.floats(0, 100)
WORDS = st.text("abcxyz-é ", min_size=1, max_size=6)
TIMES = st.integers(-(10**6), 10**6) | st.floats(-1e6, 1e6)
INSTANTS = st.sampled_from(
    ["2026-01-31T12:00:00Z", "2026-01-31T12:00:00.5+02:00", "1969-07-20t20:17:40z", "2026-01-31 12:00:00.123456Z"]
)

SETTINGS: dict[str, st.SearchStrategy[Any]] = {
    "kueue": st.fixed_dictionaries(
        {},
        optional={
            "withinClusterQueue": st.sampled_from(["Never", "LowerPriority"]),
            "borrowWithinCohort": st.just({"policy": "Never", "maxPriorityThreshold": -3}),
            "flavorFungibility": st.just({"whenCanBorrow": "TryNextFlavor"}),
        },
    ),
    "yunikorn": st.fixed_dictionaries(
        {}, optional={"preemption.delay": DURATIONS, "priority.offset": st.sampled_from([5, "-5", "+5"])}
    ),
    "ytsaurus": st.fixed_dictionaries(
        {},
        optional={
            "fair_share_starvation_tolerance": st.sampled_from([0.8, 1.0]),
            "fifo_sort_parameters": st.just(["start_time"]),
            "integral_guarantees": st.just({"relaxed_share_multiplier_limit": 1.5}),
        },
    ),
    "backendai": st.fixed_dictionaries({}, optional={"preemptible_priority": st.integers(0, 100)}),
    "lattice": st.fixed_dictionaries({}, optional={"type": st.just("service"), "allow_lending": st.booleans()}),
}
ANY_SETTINGS = st.dictionaries(
    st.sampled_from(["mode", "fair_share_starvation_tolerance", "nested"]),
    st.sampled_from(["fifo", 0.8, 1.0, None, True, {"a": [1, 0.1]}]),
)
OPERATIONS = st.fixed_dictionaries(
    {},
    optional={"is_gang": st.booleans(), "disk_request": st.just({"medium_name": "ssd", "disk_space": 0.5})},
)

DOCTRINES = st.sampled_from(
    [
        "kueue",
        {"name": "kueue", "edition": "0.20", "strategies": ["LessThanInitialShare"]},
        "yunikorn",
        {"name": "yunikorn", "edition": "1.9", "preemption.enabled": False},
        {"name": "ytsaurus", "preemption_satisfaction_threshold": 0.99, "main_resource": "gpu"},
        {"name": "backendai"},
        {"name": "backendai", "edition": "26.8"},
        {"name": "lattice", "patience": "5m", "max_victims": 2, "timeout_extension": 0.5, "value_rule": False},
    ]
)


def doctrine_name(document: Document) -> str | None:
    doctrine = document.get("doctrine")
    return doctrine["name"] if isinstance(doctrine, dict) else doctrine


def _maybe(**optional: st.SearchStrategy[Any]) -> st.SearchStrategy[Document]:
    return st.fixed_dictionaries({}, optional=optional)


@st.composite
def documents(draw: st.DrawFn) -> Document:
    """A document without a fault."""
    times = draw(st.sampled_from([TIMES, INSTANTS]))
    document: Document = {"cede": 1}
    if times is INSTANTS or draw(st.booleans()):
        document["now"] = draw(times)
    document |= draw(_maybe(doctrine=DOCTRINES, topology=WORDS, selection=st.sampled_from(["doctrine", "optimal"])))
    queues = ["team-a", "team-b", "root.c"][: draw(st.integers(0, 3))]
    nodes = ["n1", "n2", "big"][: draw(st.integers(0, 3))]
    workloads = [f"w{i}" for i in range(draw(st.integers(0, 4)))]
    document["queues"] = [{"name": name} | draw(_queue(document, queues, name, times)) for name in queues]
    document["nodes"] = [{"name": name} | draw(_node(name, queues, workloads, times)) for name in nodes]
    known = [name for name in nodes if name != "big"] + (["big-0", "big-1"] if "big" in nodes else [])
    document["workloads"] = [{"name": name} | draw(_workload(queues, known, times)) for name in workloads]
    return document | draw(_maybe(apps=_apps(document, queues), tenants=_tenants(), policies=_policies()))


def _queue(document: Document, queues: list[str], name: str, times: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    groups = st.just([{"resources": ["cpu", "memory"], "flavors": ["on-demand", "spot"]}])
    drawn = _maybe(
        parent=st.sampled_from(["unlisted", *queues[: queues.index(name)]]),
        partition=WORDS,
        guaranteed=RESOURCES,
        max=RESOURCES,
        borrowing_limit=RESOURCES,
        lending_limit=RESOURCES,
        weight=NUMBERS,
        resource_groups=groups,
        over_limit_since=times,
        settings=SETTINGS.get(doctrine_name(document) or "", ANY_SETTINGS),
    )
    tidied = {"kueue": _as_kueue_has_them, "ytsaurus": _as_ytsaurus_has_them}.get(doctrine_name(document) or "")
    return drawn if tidied is None else drawn.map(tidied)


def _as_kueue_has_them(queue: Document) -> Document:
    """Limits where there is a parent to share with, and a weight that is no dust."""
    without = () if "parent" in queue else ("borrowing_limit", "lending_limit")
    kept = {key: value for key, value in queue.items() if key not in without}
    return kept | ({"weight": round(queue["weight"], 3)} if "weight" in queue else {})


def _as_ytsaurus_has_them(entry: Document) -> Document:
    """A guarantee with the main resource, at the top alone; and a weight that is no dust."""
    kept = {key: value for key, value in entry.items() if key != "guaranteed" or "parent" not in entry}
    guaranteed = {"guaranteed": entry["guaranteed"] | {"gpu": 1}} if "guaranteed" in kept else {}
    return kept | guaranteed | ({"weight": max(entry["weight"], 0.5)} if "weight" in entry else {})


def _node(
    name: str, queues: list[str], workloads: list[str], times: st.SearchStrategy[Any]
) -> st.SearchStrategy[Document]:
    optional = {
        "capacity": RESOURCES,
        "occupied": RESOURCES,
        "partition": WORDS,
        "flavor": WORDS,
        "labels": LABELS,
        "state": st.sampled_from(["ready", "cordoned", "down"]),
        "reserved_since": times,
        "overcommitted_since": times,
        "last_preemptive_attempt": times,
    }
    if queues:
        optional["home"] = st.sampled_from(queues)
    if workloads:
        optional["reserved_for"] = st.sampled_from(workloads)
    return st.fixed_dictionaries({"count": st.just(2)} if name == "big" else {}, optional=optional)


@st.composite
def _workload(draw: st.DrawFn, queues: list[str], nodes: list[str], times: st.SearchStrategy[Any]) -> Document:
    workload: Document = draw(
        _maybe(
            app=WORDS,
            user=WORDS,
            project=WORDS,
            domain=WORDS,
            tenant=WORDS,
            kind=st.sampled_from(["batch", "interactive", "inference", "service", "system"]),
            priority=st.integers(0, 10),
            job_priority=st.integers(-5, 5),
            state=st.sampled_from(["pending", "reserved", "running", "checkpointing", "preempting", "suspended"]),
            usage=RESOURCES,
            exclusive=st.booleans(),
            placement=st.sampled_from(["any", "tight", "spread"]),
            submitted=times,
            started=times,
            walltime=DURATIONS,
            checkpoint=_maybe(mode=st.sampled_from(["auto", "manual", "none"]), last=times, time=DURATIONS),
            preemptible=st.booleans(),
            preempts=st.booleans(),
            originator=st.booleans(),
            sensitive=st.booleans(),
            preempted=st.integers(0, 9),
            uid=WORDS,
        )
    )
    size = draw(st.integers(1, 3))
    if draw(st.booleans()):
        workload["pod_sets"] = [{"name": "p", "count": size, "requests": draw(RESOURCES), "min_count": 1}]
    else:
        workload |= {"members": size, "requests": draw(RESOURCES)}
    if queues:
        workload["queue"] = draw(st.sampled_from([*queues]))
    placed: bool = draw(st.booleans())
    if nodes and placed:
        one = st.sampled_from(nodes)
        workload["nodes"] = draw(st.lists(one, min_size=size, max_size=size))
        workload |= draw(_maybe(required_node=one, constraints=_maybe(labels=LABELS, nodes=st.lists(one, max_size=2))))
    return workload


def _apps(document: Document, queues: list[str]) -> st.SearchStrategy[list[Document]]:
    ytsaurus = doctrine_name(document) == "ytsaurus"
    settings = OPERATIONS if ytsaurus else ANY_SETTINGS
    optional: dict[str, st.SearchStrategy[Any]] = {"weight": NUMBERS, "user": WORDS, "settings": settings}
    if queues:
        optional["queue"] = st.sampled_from(queues)
    drawn = st.fixed_dictionaries({"name": WORDS}, optional=optional)
    return st.lists(drawn.map(_as_ytsaurus_has_them) if ytsaurus else drawn, max_size=2, unique_by=_name)


def _tenants() -> st.SearchStrategy[list[Document]]:
    optional = {"max_nodes": st.integers(0, 9), "max_workloads": st.integers(0, 9), "used": NUMBERS, "burst": NUMBERS}
    share = st.floats(0, 1)
    one = st.fixed_dictionaries({"name": WORDS}, optional={**optional, "share": share})
    return st.lists(one, max_size=2, unique_by=_name)


def _policies() -> st.SearchStrategy[list[Document]]:
    limits = {"min_priority": st.integers(0, 3), "default_priority": st.integers(3, 5), "max_priority": st.just(7)}
    optional = {**limits, "may_change": st.booleans()}
    user = st.fixed_dictionaries({"user": WORDS}, optional=optional)
    project = st.fixed_dictionaries({"project": WORDS}, optional=optional)
    return st.tuples(user, project).map(list)


def _name(entry: Document) -> str:
    return str(entry["name"])
