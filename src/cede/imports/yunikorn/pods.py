"""What pods and priority classes say of preemption, which a state dump does not repeat."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cede.imports.fields import Fields
from cede.imports.report import Place, Report
from cede.model.errors import shown
from cede.model.reading import is_kubernetes_object

ANNOTATION = "yunikorn.apache.org/allow-preemption"
TRUTHS = {"true": True, "false": False}


@dataclass(slots=True)
class Pods:
    """By uid: whether a pod lets itself be preempted, and whether it may preempt others."""

    given: bool = False
    preemptible: dict[str, bool] = field(default_factory=dict)
    preempts: dict[str, bool] = field(default_factory=dict)


def pods_of(sources: Sequence[tuple[str, object]], report: Report) -> Pods:
    """What the Pods and PriorityClasses among the objects say; of other kinds it is noted.

    A pod's annotation comes before its class's, and counts if it is `true` or `false`, literally.
    """
    pods: list[Fields] = []
    classes: dict[str, bool | None] = {}
    for source, data in sources:
        for one in _objects(data, Fields({}, Place(source, ""), report)):
            fields, name = _named(source, one, report)
            if one["kind"] == "Pod":
                pods.append(fields)
            elif one["kind"] == "PriorityClass":
                classes[name] = _allowed(fields.part("metadata"))
            else:
                fields.remark("objects of this kind are not read here")
    permissions = Pods(given=bool(sources))
    for pod in pods:
        meta, spec = pod.part("metadata"), pod.part("spec")
        uid = meta.need("uid")
        own = _allowed(meta)
        of = spec.text("priorityClassName")
        if own is None and of is not None and of not in classes and not of.startswith("system-"):
            pod.remark(f"the PriorityClass {of} was not given, and is taken not to forbid preemption", "spec")
        of_class = None if of is None else classes.get(of)
        permissions.preemptible[uid] = next((one for one in (own, of_class) if one is not None), True)
        permissions.preempts[uid] = spec.text("preemptionPolicy") != "Never"
    return permissions


def _allowed(meta: Fields) -> bool | None:
    annotations: Mapping[str, str] = meta.labels("annotations")
    return TRUTHS.get(annotations.get(ANNOTATION, ""))


def _named(source: str, one: dict[str, Any], report: Report) -> tuple[Fields, str]:
    meta = one.get("metadata")
    meta = meta if isinstance(meta, dict) else {}
    name, namespace = str(meta.get("name", "")), meta.get("namespace")
    full = f"{namespace}/{name}" if namespace else name
    return Fields(one, Place(source, str(one["kind"]), full), report), name


def _objects(data: object, at: Fields) -> Iterator[dict[str, Any]]:
    """Every object, those of lists one by one."""
    if isinstance(data, list):
        for item in data:
            yield from _objects(item, at)
    elif not is_kubernetes_object(data):
        at.wrong((), f"{shown(data)} is no Kubernetes object, which has apiVersion and kind")
    elif str(data["kind"]).endswith("List") and isinstance(data.get("items"), list):
        implied = {"apiVersion": data["apiVersion"], "kind": str(data["kind"]).removesuffix("List")}
        for item in data["items"]:
            yield from _objects((implied if implied["kind"] else {}) | item if isinstance(item, dict) else item, at)
    else:
        yield data
