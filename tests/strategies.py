"""Random cluster documents for Hypothesis, so small that their entries get in each other's way.

Every document parses. A tidy one (the default) is one that a scheduler could have brought about: what holds room
stands on nodes it may use and fits there. An untidy one may also be overcommitted, misplaced or on a node that is down.
"""

from __future__ import annotations

import copy
from functools import cache
from itertools import combinations
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from cede.doctrines.catalog import DIALECTS
from cede.model.quantities import format_quantity
from tests.strategy_places import flavor_of, members_of, node_names, put, rooms_of
from tests.strategy_pools import as_ytsaurus_has_them
from tests.strategy_settings import CLUSTER, OPERATION, QUEUE
from tests.strategy_values import FLAVORS, OWNERS, PROJECTS, RESOURCES, Draw, Strategies, times, words

Document = dict[str, Any]

LEAVES_ONLY = ("kueue", "yunikorn")
"""Doctrines whose work stands in queues without children."""
PRIORITIES = {"backendai": (0, 12), "lattice": (0, 10)}
WAITING = words("pending", "pending", "suspended")
PARTITIONS = words("default", "default", "default", "blue")
COUNTS = st.integers(1, 3)
CPUS = words(1, 2, 3, "500m")
LIMITS = words(
    {},
    {"cpu": 0},
    {"cpu": 4},
    {"cpu": 8, "memory": "8Gi"},
    {"cpu": "2500m", "nvidia.com/gpu": 2},
    {"cpu@spot": 4},
    {"cpu@spot": 2, "cpu@on-demand": 6, "memory@spot": "4Gi"},
)
REQUESTS = words(
    {},
    {"cpu": 0, "memory": "1Gi"},
    {"cpu": "1500m", "memory": "1Gi"},
    {"memory": "2Gi"},
    {"cpu": 1, "nvidia.com/gpu": 1},
    {"nvidia.com/gpu": 2},
)
CAPACITIES = words(
    {"cpu": 4, "memory": "4Gi"},
    {"cpu": 2, "memory": "8Gi"},
    {"cpu": 8, "memory": "8Gi", "nvidia.com/gpu": 4},
    {"cpu": 3, "memory": "4Gi", "nvidia.com/gpu": 0},
    {"cpu": "3500m"},
)
ODD_CAPACITIES = words({"cpu@spot": 4}, {"cpu@spot": 2, "cpu@on-demand": 1, "cpu": "1500m"}, {"cpu": 0}, {})
ODD_REQUESTS = words(
    {"cpu@spot": 1, "memory@on-demand": "1Gi"}, {"cpu@spot": "500m", "cpu": "100m"}, {"cpu@on-demand": 0}
)
LABELS = words({}, {"group": "g1"}, {"group": "g2"}, {"group": "g1", "zone": "a"}, {"zone": "b"})
ODD_FLAGS: Document = {"exclusive": True, "preemptible": False, "preempts": False, "originator": True}
ODD_FLAGS |= {"sensitive": True, "preempted": 2}


def rarely(draw: Draw, chances: int) -> bool:
    """Once in so many times; the simplest example is the one without."""
    return bool(draw(st.integers(1, chances)) == chances)


@cache
def _subsets(size: int, most: int) -> SearchStrategy[tuple[int, ...]]:
    return st.sampled_from([chosen for n in range(most + 1) for chosen in combinations(range(size), n)])


def some(draw: Draw, optional: Strategies, most: int = 3) -> Document:
    """A few of the keys, each with a value; which ones is a single choice, so that examples are drawn fast."""
    keys = tuple(optional)
    return {keys[at]: draw(optional[keys[at]]) for at in draw(_subsets(len(keys), min(most, len(keys))))}


@cache
def _node_keys(instants: bool, tidy: bool) -> Strategies:
    return {
        "occupied": words({"cpu": 1}, {"cpu": "250m"}) if tidy else words({"cpu": 9}, {"memory": "1Gi", "cpu": 0}),
        "partition": PARTITIONS,
        "flavor": words(*FLAVORS),
        "labels": LABELS,
        "state": words("ready", "ready", "cordoned", "down"),
        "reserved_since": times(instants),
        "overcommitted_since": times(instants),
        "last_preemptive_attempt": times(instants),
    }


def draw_node(draw: Draw, name: str, instants: bool = False, *, tidy: bool = True, count: bool = True) -> Document:
    """One entry of `nodes`, without what names a queue or a workload."""
    capacity = draw(CAPACITIES if tidy or not rarely(draw, 5) else ODD_CAPACITIES)
    entry = {"name": name, "capacity": dict(capacity), **some(draw, _node_keys(instants, tidy))}
    if count and rarely(draw, 3):
        entry["count"] = draw(COUNTS)
    return entry


@cache
def _queue_keys(doctrine: str | None, instants: bool) -> Strategies:
    keys: Strategies = {
        "guaranteed": LIMITS,
        "max": LIMITS,
        "borrowing_limit": LIMITS,
        "lending_limit": LIMITS,
        "weight": words(1, 2, 0.5),
        "over_limit_since": times(instants),
    }
    if doctrine == "kueue":
        keys["resource_groups"] = words([{"resources": list(RESOURCES), "flavors": list(FLAVORS)}])
    return keys


def draw_queue(
    draw: Draw, name: str, parent: str | None, doctrine: str | None, edition: str | None, instants: bool = False
) -> Document:
    """One entry of `queues`, without a partition."""
    entry: Document = {"name": name, **({} if parent is None else {"parent": parent})}
    keys = _queue_keys(doctrine, instants)
    if doctrine == "kueue" and parent is None:
        keys = {key: values for key, values in keys.items() if key not in ("borrowing_limit", "lending_limit")}
    entry |= some(draw, keys)
    settings = QUEUE.get((doctrine or "", edition or ""), {})
    if doctrine == "ytsaurus":
        settings = settings | {"below_fair_share_since": times(instants)}
    if len(settings) and draw(st.booleans()):
        entry["settings"] = some(draw, settings)
    return entry


def _draw_queues(draw: Draw, doctrine: str | None, edition: str | None, instants: bool, most: int) -> list[Document]:
    """A forest, some parents without an entry of their own; a child is in its parent's partition."""
    yunikorn = doctrine == "yunikorn"
    found: list[Document] = [{"name": "root"}] if yunikorn else []
    partitions: dict[str | None, str] = {}
    for number in range(draw(st.integers(min(1, most), most))):
        above = [queue["name"] for queue in found] + ([] if yunikorn else ["root", None])
        parent = draw(st.sampled_from(above))
        name = f"{parent}.q{number}" if yunikorn else f"q{number}"
        entry = draw_queue(draw, name, parent, doctrine, edition, instants)
        if parent in partitions or draw(st.booleans()):
            entry["partition"] = partitions[name] = partitions.get(parent) or draw(PARTITIONS)
        found.append(entry)
    return as_ytsaurus_has_them(found) if doctrine == "ytsaurus" else found


@cache
def _workload_keys(instants: bool, priorities: tuple[int, int]) -> Strategies:
    return {
        "app": words("exp-1", "exp-2"),
        "user": words(*OWNERS),
        "project": words(*PROJECTS),
        "domain": words("lab", "prod"),
        "tenant": words("t1", "t2"),
        "kind": words("batch", "interactive", "inference", "service", "system"),
        "job_priority": st.integers(-1, 3),
        "submitted": times(instants),
        "started": times(instants),
        "walltime": words(0, 60, "1h30m", 0.5),
        "checkpoint": words({}, {"mode": "auto", "time": "5m"}, {"mode": "manual"}, {"mode": "none", "time": 30}),
        "priority": st.integers(*priorities),
    }


def draw_workload(
    draw: Draw, name: str, instants: bool = False, priorities: tuple[int, int] = (-2, 12), *, tidy: bool = True
) -> Document:
    """One entry of `workloads` that waits, without what names a queue or a node."""
    entry: Document = {"name": name, **some(draw, _workload_keys(instants, priorities), 4)}
    if "priority" not in entry and draw(st.booleans()):
        entry["priority"] = draw(st.integers(*priorities))
    if rarely(draw, 5):
        sizes = draw(words((1,), (1, 1), (2, 1), (1, 2)))
        entry["pod_sets"] = [
            {"name": f"s{at}", "count": size, "requests": _requests(draw)} for at, size in enumerate(sizes)
        ]
        if draw(st.booleans()):
            entry["pod_sets"][0]["min_count"] = 1
    else:
        entry["requests"] = _requests(draw)
        if draw(st.booleans()):
            entry["members"] = draw(COUNTS)
    if rarely(draw, 8):
        part = entry["pod_sets"][0] if "pod_sets" in entry else entry
        part["requests"] = _pinned(draw, part["requests"], tidy)
    if rarely(draw, 3):
        flag = draw(st.sampled_from([*ODD_FLAGS, "app", "uid"]))
        entry[flag] = {"app": name, "uid": f"u-{name}"}.get(flag, ODD_FLAGS.get(flag))
    if "checkpoint" in entry and draw(st.booleans()):
        entry["checkpoint"] = {**entry["checkpoint"], "last": draw(times(instants))}
    if rarely(draw, 4):
        entry["usage"] = _usage(draw, entry) if tidy else dict(draw(LIMITS))
    return entry


def _requests(draw: Draw) -> Document:
    return dict(draw(REQUESTS)) if rarely(draw, 3) else {"cpu": draw(CPUS)}


def _pinned(draw: Draw, requests: Document, tidy: bool) -> Document:
    """The same in one flavor; an untidy workload may name several."""
    if not tidy:
        return dict(draw(ODD_REQUESTS))
    flavor = draw(words(*FLAVORS))
    return {f"{key}@{flavor}" if key == "cpu" else key: value for key, value in requests.items()}


def _usage(draw: Draw, entry: Document) -> Document:
    """What the workload holds in all, each resource in one flavor."""
    total: dict[str, int] = {}
    for need in members_of(entry):
        for key, nano in need.items():
            total[key] = total.get(key, 0) + nano
    flavor = flavor_of(entry) or draw(words(*FLAVORS))
    return {f"{key}@{flavor}": format_quantity(nano) for key, nano in total.items()}


def _draw_owners(draw: Draw, doctrine: str | None, queues: list[str], instants: bool) -> Document:
    """The sections `apps`, `tenants` and `policies`, as far as there are any."""
    found: Document = {}
    for section in draw(_subsets(3, 3)):
        if section == 0:
            keys: Strategies = {"weight": words(1, 2.5), "user": words(*OWNERS)}
            keys |= {"queue": st.sampled_from(queues)} if queues else {}
            found["apps"] = [{"name": name, **some(draw, keys)} for name in ("exp-1", "exp-2")]
            for app in found["apps"] if doctrine == "ytsaurus" else ():
                app["settings"] = some(draw, OPERATION | {"below_fair_share_since": times(instants)})
        elif section == 1:
            keys = {"max_nodes": COUNTS, "max_workloads": COUNTS, "share": words(0, 0.5), "used": words(0.5, 2)}
            found["tenants"] = [{"name": name, **some(draw, keys | {"burst": words(0.25)})} for name in ("t1", "t2")]
        elif rarely(draw, 2):
            low, high = PRIORITIES.get(doctrine or "", (-2, 12))
            middle = draw(st.integers(low, high))
            keys = {"default_priority": st.just(middle), "may_change": st.booleans()}
            keys |= {"min_priority": st.integers(low, middle), "max_priority": st.integers(middle, high)}
            owners = (("user", OWNERS[0]), ("project", PROJECTS[0]))
            found["policies"] = [{key: name, **some(draw, keys)} for key, name in owners]
    return found


@st.composite
def clusters(
    draw: DrawFn,
    doctrine: str | None = "backendai",
    edition: str | None = None,
    *,
    least_nodes: int = 0,
    most_nodes: int = 3,
    most_queues: int = 4,
    most_workloads: int = 8,
    tidy: bool = True,
    instants: bool | None = None,
) -> Document:
    """Plain documents of small clusters. `most_nodes` counts entries, of which one may make three nodes.

    `edition` None is the doctrine's first, left out of the document. `instants` None: both kinds of clock.
    """
    instants = rarely(draw, 4) if instants is None else instants
    document: Document = {"cede": 1}
    if instants or rarely(draw, 3):
        document["now"] = draw(times(instants))
    if doctrine is not None:
        named = {} if edition is None else {"edition": edition}
        document["doctrine"] = {"name": doctrine, **named, **some(draw, CLUSTER[doctrine])}
        edition = edition or DIALECTS[doctrine].editions[0]
    document |= some(draw, {"topology": words("group", "zone"), "selection": words("doctrine", "optimal")})
    document["queues"] = _draw_queues(draw, doctrine, edition, instants, most_queues)
    number = draw(st.integers(least_nodes, most_nodes))
    document["nodes"] = [draw_node(draw, f"n{at}", instants, tidy=tidy) for at in range(number)]
    priorities = PRIORITIES.get(doctrine or "", (-2, 12))
    names = [f"w{at}" for at in range(draw(st.integers(0, most_workloads)))]
    document["workloads"] = [draw_workload(draw, name, instants, priorities, tidy=tidy) for name in names]
    homes = _homes(document, leaves_only=tidy and doctrine in LEAVES_ONLY)
    document |= _draw_owners(draw, doctrine, homes, instants)
    for entry in document["nodes"]:
        if homes and rarely(draw, 4):
            entry["home"] = draw(st.sampled_from(homes))
        if names and rarely(draw, 6):
            entry["reserved_for"] = draw(st.sampled_from(names))
    _place(draw, document, homes, tidy)
    return copy.deepcopy(document)


def _homes(document: Document, *, leaves_only: bool) -> list[str]:
    """Queues that work may stand in and nodes may belong to."""
    parents = {queue["parent"] for queue in document["queues"] if "parent" in queue}
    names = {queue["name"] for queue in document["queues"]}
    return sorted(names - parents if leaves_only else names | parents)


def _place(draw: Draw, document: Document, homes: list[str], tidy: bool) -> None:
    """Queues, constraints and, for most of the work, room on nodes."""
    partitions = {queue["name"]: queue.get("partition", "default") for queue in document["queues"]}
    rooms = rooms_of(document)
    names = node_names(document)
    for workload in document["workloads"]:
        if homes and (tidy or not rarely(draw, 6)):
            workload["queue"] = draw(st.sampled_from(homes))
        if rarely(draw, 4):
            constrain(draw, workload, names)
        if rooms and not rarely(draw, 4):
            put(draw, workload, partitions.get(workload.get("queue", ""), "default"), rooms, tidy)
        if "state" not in workload and not (rooms and tidy) and draw(st.booleans()):
            workload["state"] = draw(words("running", "reserved", "preempting", "checkpointing"))
        elif "state" not in workload:
            workload["state"] = draw(WAITING)


def constrain(draw: Draw, workload: Document, names: list[str]) -> None:
    """One wish about where the workload stands."""
    wish = draw(words("placement", "labels", "nodes", "required_node"))
    if wish == "placement":
        workload["placement"] = draw(words("any", "tight", "spread"))
    elif wish == "labels" or not names:
        workload["constraints"] = {"labels": draw(words({}, {"zone": "a"}, {"group": "g1"}))}
    elif wish == "nodes":
        workload["constraints"] = {"nodes": draw(st.lists(st.sampled_from(names), max_size=3))}
    else:
        workload["required_node"] = draw(st.sampled_from(names))
