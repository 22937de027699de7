"""Applications as apps, their allocations and asks as workloads."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from cede.imports.fields import Amounts, Fields
from cede.imports.report import Place
from cede.imports.yunikorn.dump import time_of
from cede.imports.yunikorn.pods import Pods
from cede.imports.yunikorn.quantities import counted, written
from cede.model.times import format_time

OVER = frozenset({"Completed", "Failed", "Rejected", "Expired", "Killed"})
FINISHED = "it has finished, and is left out"
META = "kubernetes.io/meta/"
REQUIRED = "yunikorn.apache.org/requirednode"
ORDER = (
    *(
        "name",
        "queue",
        "app",
        "user",
        "priority",
        "state",
        "requests",
        "nodes",
        "required_node",
        "submitted",
        "started",
    ),
    *("preemptible", "preempts", "originator", "uid"),
)
"""The keys of an entry, as they are written."""
POLICY = "preemptionPolicy"
SELF = ("allowPreemptionSelf", "allowPreemptSelf")
OTHER = ("allowPreemptionOther", "allowPreemptOther", "allowPreemptOthers", "allowPreemptionOthers")

_NUMBER = re.compile(r"[+-]?[0-9]{1,12}")


@dataclass(frozen=True, slots=True)
class Work:
    """A workload of the file to be."""

    fields: Fields
    key: str
    entry: dict[str, Any]
    amounts: Amounts
    holds: bool

    @property
    def name(self) -> str:
        return str(self.entry["name"])


@dataclass(slots=True)
class Works:
    """The workloads of a dump, the applications they belong to by name, and the asks that were left out."""

    works: list[Work] = field(default_factory=list)
    owners: dict[str, Fields] = field(default_factory=dict)
    left_out: set[Place] = field(default_factory=set)


def works_of(applications: Sequence[Fields], nodes: frozenset[str], pods: Pods) -> Works:
    """All workloads, each once by its allocation key; `nodes` are the names of those there are."""
    works = Works()
    names: dict[str, str] = {}
    seen: set[str] = set()
    for fields in applications:
        before = len(seen)
        for one, holds in _items(fields):
            key = one.need("allocationKey")
            if not key or key in seen:
                continue
            seen.add(key)
            made = _work(one, key, holds, fields, nodes, pods, names)
            if made is None:
                works.left_out.add(_ask(one, key).place)
            else:
                works.works.append(made)
                works.owners.setdefault(fields.place.name, fields)
        fields.note("gangs are not carried over; their placeholders count as any other work", "placeholderData")
        if len(seen) == before and fields.text("applicationState") in OVER:
            fields.remark(FINISHED)
    return works


def app_of(fields: Fields) -> dict[str, Any]:
    """The app of a cluster file."""
    app = {"name": fields.place.name, "queue": queue_of(fields), "user": fields.text("user")}
    return {key: value for key, value in app.items() if value}


def queue_of(fields: Fields) -> str:
    """The path of an application's queue."""
    return fields.need("queueName").lower()


def _items(fields: Fields) -> Iterator[tuple[Fields, bool]]:
    """Allocations, then asks: an ask that was allocated may be listed as both."""
    for one in fields.parts("allocations"):
        yield one, True
    for one in fields.parts("requests"):
        yield one, False


def _work(
    one: Fields, key: str, holds: bool, application: Fields, nodes: frozenset[str], pods: Pods, names: dict[str, str]
) -> Work | None:
    """The workload; None if it waits for a node that is gone, which is noted."""
    tags = one.labels("allocationTags")
    required = _required(one, tags)
    if required is not None and required not in nodes:
        if not holds:
            _ask(one, key).remark(f"it is for the node {required}, which the dump does not have; it is left out")
            return None
        required = None
    amounts = counted(one, "resource", "resourcePerAlloc")
    entry: dict[str, Any] = {
        "name": _name(key, tags, names),
        "queue": queue_of(application),
        "app": application.place.name,
        "requests": written(amounts),
        "uid": key,
    }
    if (user := application.text("user")) is not None:
        entry["user"] = user
    if (priority := _priority(one)) is not None:
        entry["priority"] = priority
    for name, time in (("submitted", "requestTime"), ("started", "allocationTime")):
        moment = time_of(one, time) if holds or name == "submitted" else None
        if moment is not None:
            entry[name] = format_time(moment, instant=True)
    if holds:
        entry["state"] = "preempting" if one.truth("preempted") else "running"
        at_node = _text(one, "nodeId", "nodeID")
        if at_node in nodes:
            entry["nodes"] = [at_node]
        else:
            one.remark("the dump does not have its node, so it takes room on no node", "nodeId")
    if required is not None:
        entry["required_node"] = required
    _of_preemption(one, key, entry, pods)
    _note_rest(one)
    return Work(one, key, {name: entry[name] for name in ORDER if name in entry}, amounts, holds)


def _ask(one: Fields, key: str) -> Fields:
    """The same fields under a name of their own."""
    return Fields(one.data, Place(one.place.source, "ask", key), one.report)


def _name(key: str, tags: dict[str, str], names: dict[str, str]) -> str:
    """NAMESPACE/POD where that is known and no other has it, else the allocation key."""
    pod, namespace = tags.get(f"{META}podName"), tags.get(f"{META}namespace")
    name = f"{namespace}/{pod}" if pod and namespace else key
    return name if names.setdefault(name, key) == key else key


def _priority(one: Fields) -> int | None:
    """The priority, which is a text; a release before 1.2 writes <nil> for none."""
    raw = one.raw("priority")
    if raw in (None, "", "<nil>"):
        return None
    if type(raw) is int or (isinstance(raw, str) and _NUMBER.fullmatch(raw)):
        return int(raw)
    one.wrong(("priority",), f"{raw!r} is no whole number")
    return None


def _text(one: Fields, *keys: str) -> str | None:
    return one.text(next((key for key in keys if one.has(key)), keys[0]))


def _required(one: Fields, tags: dict[str, str]) -> str | None:
    """The node that a DaemonSet's pod is for; of an allocation only a tag says it."""
    stated = _text(one, "requiredNodeId", "requiredNodeID")
    return stated or next((value for name, value in tags.items() if name.lower() == REQUIRED), None)


def _of_preemption(one: Fields, key: str, entry: dict[str, Any], pods: Pods) -> None:
    preemptible, preempts = _first(one, SELF), _first(one, OTHER)
    if one.has(POLICY):
        policy = one.part(POLICY)
        preemptible, preempts = _first(policy, SELF), _first(policy, OTHER)
    preemptible = pods.preemptible.get(key) if preemptible is None else preemptible
    preempts = pods.preempts.get(key) if preempts is None else preempts
    if preemptible is False:
        entry["preemptible"] = False
    if preempts is False:
        entry["preempts"] = False
    if one.truth("originator"):
        entry["originator"] = True
    if pods.given and key not in pods.preemptible:
        one.remark("its Pod was not given, and is taken to allow preemption")


def _first(fields: Fields, keys: Sequence[str]) -> bool | None:
    return next((fields.truth(key) for key in keys if fields.has(key)), None)


def _note_rest(one: Fields) -> None:
    one.note("it is a placeholder of a gang, and counts as any other work", "placeholder")
    one.note(
        "it made others go already, and YuniKorn lets an ask do that once; here it may again", "triggeredPreemption"
    )
