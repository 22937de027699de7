"""The Kubernetes objects of a file: one, several, or lists of them, each with its group, version and name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cede.imports.fields import Fields
from cede.imports.kubernetes import OBJECT_META
from cede.imports.report import Place, Report
from cede.model.errors import InputError, Loc, path_of, shown
from cede.model.reading import is_kubernetes_object, read_text
from cede.model.times import Instant, parse_time

QUEUES = "kueue.x-k8s.io"
CONFIG = "config.kueue.x-k8s.io"
OLDEST = {"Cohort": ("v1alpha1",)}
VERSIONS = ("v1beta1", "v1beta2")
NAMESPACE = "default"
"""Where an object is that does not say so."""
CLUSTER_WIDE = frozenset(
    {
        *("ClusterQueue", "Cohort", "ResourceFlavor", "WorkloadPriorityClass", "PriorityClass", "Node", "Namespace"),
        *("AdmissionCheck", "Topology", "MultiKueueCluster", "MultiKueueConfig", "ProvisioningRequestConfig"),
    }
)


@dataclass(frozen=True, slots=True)
class Object:
    """One object; its name is NAMESPACE/NAME unless its kind is cluster-wide."""

    group: str
    version: str
    kind: str
    namespace: str
    name: str
    fields: Fields
    meta: Fields

    @property
    def place(self) -> Place:
        return self.fields.place

    @property
    def is_old(self) -> bool:
        """Whether it is of the API before v1beta2."""
        return self.version in ("v1alpha1", "v1beta1")


def objects_of(sources: Sequence[tuple[str, object]], report: Report) -> list[Object]:
    """The objects of all sources, in their order; one that is given twice alike counts once."""
    objects: dict[tuple[str, str, str], Object] = {}
    for source, data in sources:
        for loc, one in _unpacked(source, data, report):
            made = _object(source, loc, one, report)
            if made is None:
                continue
            key = (made.group, made.kind, made.place.name)
            other = objects.setdefault(key, made)
            if other is not made and other.fields.data != made.fields.data:
                where = f"in {other.place.source}" if other.place.source != source else "before"
                report.wrong(made.place, (), f"it was given {where} already, and differently")
    return list(objects.values())


def _unpacked(source: str, data: object, report: Report) -> Iterator[tuple[Loc, dict[str, Any]]]:
    """Every object with its place in the file; a list is replaced by what it holds."""
    if isinstance(data, list):
        for index, item in enumerate(data):
            if is_kubernetes_object(item):
                yield from _opened(source, (index,), item, report)
            else:
                report.wrong(Place(source, path_of((index,))), (), _no_object(item))
    elif is_kubernetes_object(data):
        yield from _opened(source, (), data, report)
    else:
        report.wrong(Place(source, ""), (), _no_object(data))


def _opened(source: str, loc: Loc, one: dict[str, Any], report: Report) -> Iterator[tuple[Loc, dict[str, Any]]]:
    kind: str = one["kind"]
    if kind == "ConfigMap":
        yield from _configuration(source, one, report)
        return
    if "items" not in one or not kind.endswith("List"):
        yield loc, one
        return
    items = one["items"] or []
    if not isinstance(items, list):
        report.wrong(Place(source, kind), ("items",), f"{shown(items)} is no list")
        return
    # A list of one kind need not say it again in every item.
    implied = {} if kind == "List" else {"apiVersion": one["apiVersion"], "kind": kind.removesuffix("List")}
    for index, item in enumerate(items):
        if isinstance(item, dict) and is_kubernetes_object(implied | item):
            yield from _opened(source, (*loc, "items", index), implied | item, report)
        else:
            report.wrong(Place(source, kind), ("items", index), _no_object(item))


def _configuration(source: str, one: dict[str, Any], report: Report) -> Iterator[tuple[Loc, dict[str, Any]]]:
    """The Configuration that a ConfigMap holds as text, as Kueue's own does."""
    fields = Fields(one, Place(source, "ConfigMap", str((one.get("metadata") or {}).get("name", ""))), report)
    texts = {key: text for key, text in fields.labels("data").items() if CONFIG in text}
    if not texts:
        fields.remark("it does not hold Kueue's configuration")
    for key, text in texts.items():
        try:
            inner = read_text(text, name=fields.place.problem(("data", key), "").path)
        except InputError as error:
            report.problems |= dict.fromkeys(error.problems)
            continue
        if is_kubernetes_object(inner):
            yield ("data", key), inner


def _no_object(data: object) -> str:
    return f"{shown(data)} is no Kubernetes object, which has apiVersion and kind"


def _object(source: str, loc: Loc, one: dict[str, Any], report: Report) -> Object | None:
    group, _, version = one["apiVersion"].rpartition("/")
    kind: str = one["kind"]
    unnamed = Fields(one, Place(source, kind, path_of(loc)), report)
    if group == CONFIG:
        named = Fields(one, Place(source, kind), report)
        return Object(group, version, kind, "", "", named, Fields({}, named.place, report))
    meta = unnamed.part("metadata")
    before = len(report.problems)
    name, namespace = meta.need("name"), meta.text("namespace") or NAMESPACE
    if len(report.problems) > before:
        return None
    if kind in CLUSTER_WIDE:
        namespace = ""
    full = f"{namespace}/{name}" if namespace else name
    fields = Fields(one, Place(source, kind, full), report)
    fields.skip("apiVersion", "kind")
    meta = fields.part("metadata")
    meta.skip_rest(OBJECT_META)
    if group == QUEUES and not _is_read(kind, version, fields):
        return None
    return Object(group, version, kind, namespace, name, fields, meta)


def _is_read(kind: str, version: str, fields: Fields) -> bool:
    """Whether objects of this version can be read; a newer one is read like the newest known, and that is said."""
    if version in VERSIONS or version in OLDEST.get(kind, ()):
        return True
    if "alpha" in version:
        if kind in READ:
            fields.wrong(("apiVersion",), f"{shown(version)} is not read here", f"export it as {' or '.join(VERSIONS)}")
            return False
        return True
    fields.remark(f"{version} is newer than what Cede knows, and is read as {VERSIONS[-1]}", "apiVersion")
    return True


READ = frozenset({"ClusterQueue", "Cohort", "LocalQueue", "ResourceFlavor", "Workload", "WorkloadPriorityClass"})
"""The kinds of Kueue that are carried over."""


@dataclass(frozen=True, slots=True)
class Condition:
    """What an object's controller last found about it, and since when it is so."""

    is_true: bool
    is_false: bool
    reason: str
    since: int | None
    loc: tuple[str | int, ...]


NOT_THERE = Condition(False, False, "", None, ())


def conditions_of(status: Fields) -> dict[str, Condition]:
    """Conditions by type."""
    conditions = {}
    for one in status.parts("conditions"):
        word = one.choice("status", ("True", "False", "Unknown"))
        conditions[one.need("type")] = Condition(
            word == "True", word == "False", one.text("reason") or "", one.time("lastTransitionTime"), one.loc
        )
        one.skip_rest()
    return conditions


def latest(objects: Iterable[Object]) -> int | None:
    """The latest time in them, when something was made, changed or last seen; not when something is due."""
    times = [time for one in objects for time in _times(one.fields.data)]
    return max(times, default=None)


def _times(data: Mapping[str, Any]) -> Iterable[int]:
    metadata, status = _mapping(data.get("metadata")), _mapping(data.get("status"))
    texts = [metadata.get("creationTimestamp")]
    texts += [_mapping(one).get("time") for one in _list(metadata.get("managedFields"))]
    for one in (*_list(status.get("conditions")), *_list(status.get("admissionChecks"))):
        texts += [_mapping(one).get(key) for key in ("lastTransitionTime", "lastHeartbeatTime", "lastProbeTime")]
    for text in texts:
        if isinstance(text, str):
            try:
                yield Instant(parse_time(text))
            except ValueError:
                continue  # whoever reads the field complains of it


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
