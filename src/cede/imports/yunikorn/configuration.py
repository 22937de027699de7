"""The queue configuration: its partitions, and of the one that is taken the switches and what is not carried over."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from cede.imports.fields import Fields
from cede.imports.report import Place, Report
from cede.imports.yunikorn.quantities import configured
from cede.model.errors import InputError, Problem, did_you_mean, shown
from cede.model.reading import is_kubernetes_object, read_text

KEY = "queues.yaml"
"""Under which name a ConfigMap holds the configuration."""
DEFAULT = "default"
TOP = ("partitions", "checksum")
PARTITION = (
    *("name", "queues", "placementrules", "limits", "preemption", "nodesortpolicy", "usergroupresolver"),
    "statedumpfilepath",
)
SWITCHES = {"enabled": "preemption.enabled", "quotapreemptionenabled": "preemption.quotapreemptionenabled"}
RULE = ("name", "create", "filter", "parent", "value")
FILTER = ("type", "users", "groups")
LIMIT = ("limit", "users", "groups", "maxresources", "maxapplications")
LIMITS = "limits of users and groups are not carried over"
NOT_CARRIED = {
    "placementrules": "which queue an application goes to is not carried over; a workload names its queue",
    "limits": LIMITS,
    "nodesortpolicy": "which of several nodes is filled first is not carried over",
}


@dataclass(frozen=True, slots=True)
class Partition:
    """The partition that is taken."""

    name: str
    fields: Fields
    switches: dict[str, bool]


def partition_of(source: str, data: object, wanted: str | None, report: Report) -> Partition:
    """The partition that is wanted, else `default` or the only one; the others are noted.

    An InputError says what is no configuration, and which partition there is not.
    """
    opened = _opened(source, data)
    top = Fields(opened, Place(source, ""), report)
    known_only(top, TOP)
    partitions: dict[str, Fields] = {}
    for part in top.parts("partitions"):
        name = _name(part)
        if name.lower() in partitions:
            part.wrong(("name",), f"{shown(name)} is already the name of a partition")
        else:
            partitions[name.lower()] = Fields(part.data, Place(source, "partition", name), report)
    if report.problems:
        raise InputError(report.problems)
    if not partitions:
        raise InputError([Problem(source, "there is no partition in it", "a configuration begins with `partitions:`")])
    name = _chosen(partitions, wanted)
    for other, fields in partitions.items():
        if other != name:
            fields.remark("a cluster file holds one partition; --partition takes another")
    return _read(partitions[name])


def known_only(fields: Fields, keys: Collection[str]) -> None:
    """Complain of every key that YuniKorn would refuse."""
    for key in fields.data:
        if key not in keys:
            fields.wrong(
                (key,), "YuniKorn knows no such key here, and refuses the configuration", did_you_mean(key, keys)
            )


def note_limits(fields: Fields) -> None:
    """Say that limits are not carried over, if there are any; they must be readable all the same."""
    for limit in fields.parts("limits"):
        known_only(limit, LIMIT)
        configured(limit, "maxresources")
    fields.note(LIMITS, "limits")


def _opened(source: str, data: object) -> dict[str, Any]:
    """The configuration itself, be it in the ConfigMap in which Kubernetes keeps it."""
    if is_kubernetes_object(data):
        kind, texts = data["kind"], data.get("data")
        if kind != "ConfigMap" or not isinstance(texts, dict) or not isinstance(texts.get(KEY), str):
            hint = f"a ConfigMap holds it under `{KEY}`"
            raise InputError([Problem(source, f"this {shown(kind)} holds no queue configuration", hint)])
        data = read_text(texts[KEY], name=f"{source}: {KEY}")
    if not isinstance(data, dict) or "partitions" not in data:
        hint = "a configuration begins with `partitions:`"
        raise InputError([Problem(source, f"{shown(data)} is no queue configuration", hint)])
    return data


def _name(part: Fields) -> str:
    name = part.text("name") or DEFAULT
    return DEFAULT if name.lower() == DEFAULT else name


def _chosen(partitions: dict[str, Fields], wanted: str | None) -> str:
    if wanted is not None:
        if wanted.lower() in partitions:
            return wanted.lower()
        names = [fields.place.name for fields in partitions.values()]
        message = f"no partition is called {shown(wanted)}; there are {', '.join(names)}"
        raise InputError([Problem("--partition", message, did_you_mean(wanted, names))])
    if DEFAULT in partitions or len(partitions) == 1:
        return DEFAULT if DEFAULT in partitions else next(iter(partitions))
    names = [fields.place.name for fields in partitions.values()]
    raise InputError([Problem("--partition", f"one of {', '.join(names)} must be named; none is called {DEFAULT}")])


def _read(fields: Fields) -> Partition:
    known_only(fields, PARTITION)
    preemption = fields.part("preemption")
    known_only(preemption, SWITCHES)
    given = {name: preemption.truth(key) for key, name in SWITCHES.items()}
    for rule in fields.parts("placementrules"):
        _check_rule(rule)
    known_only(fields.part("nodesortpolicy"), ("type", "resourceweights"))
    known_only(fields.part("usergroupresolver"), ("type",))
    note_limits(fields)
    for key, why in NOT_CARRIED.items():
        fields.note(why, key)
    switches = {name: value for name, value in given.items() if value is not None}
    return Partition(fields.place.name, fields, switches)


def _check_rule(rule: Fields) -> None:
    known_only(rule, RULE)
    known_only(rule.part("filter"), FILTER)
    if rule.has("parent"):
        _check_rule(rule.part("parent"))
