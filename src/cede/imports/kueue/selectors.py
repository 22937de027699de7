"""Which labels, nodes and taints a selector or a toleration accepts."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass

from cede.imports.fields import Fields

OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
STAYS_AWAY = ("NoSchedule", "NoExecute")
"""Effects of a taint that keep pods away."""


@dataclass(frozen=True, slots=True)
class Requirement:
    """What a label must be."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def accepts(self, labels: Mapping[str, str]) -> bool:
        value = labels.get(self.key)
        if self.operator == "Exists":
            return value is not None
        if self.operator == "DoesNotExist":
            return value is None
        if self.operator == "NotIn":
            return value not in self.values
        if self.operator == "In":
            return value in self.values
        if value is None or not self.values or not (_is_number(value) and _is_number(self.values[0])):
            return False
        return int(value) > int(self.values[0]) if self.operator == "Gt" else int(value) < int(self.values[0])


def _is_number(text: str) -> bool:
    return text.lstrip("-").isdecimal()


def exactly(labels: Mapping[str, str]) -> list[Requirement]:
    """Every one of the labels, as it stands."""
    return [Requirement(key, "In", (value,)) for key, value in labels.items()]


def label_selector(selector: Fields) -> list[Requirement]:
    """What a selector of labels demands, all of it."""
    return [*exactly(selector.labels("matchLabels")), *requirements(selector, "matchExpressions")]


def requirements(fields: Fields, key: str) -> list[Requirement]:
    """The expressions below the key."""
    requirements = []
    for one in fields.parts(key):
        operator = one.choice("operator", OPERATORS)
        if operator is None:
            continue
        requirements.append(Requirement(one.need("key"), operator, tuple(one.texts("values"))))
    return requirements


@dataclass(frozen=True, slots=True)
class Taint:
    key: str
    value: str
    effect: str

    def __str__(self) -> str:
        return f"{self.key}={self.value}:{self.effect}" if self.value else f"{self.key}:{self.effect}"


@dataclass(frozen=True, slots=True)
class Toleration:
    """Which taints do not keep a pod away; without a key all of them."""

    key: str
    operator: str
    value: str
    effect: str

    def accepts(self, taint: Taint) -> bool:
        if (self.effect and self.effect != taint.effect) or (self.key and self.key != taint.key):
            return False
        return self.operator == "Exists" or (bool(self.key) and self.value == taint.value)


def taints(fields: Fields, key: str) -> list[Taint]:
    """The taints below the key that keep pods away."""
    taints = []
    for one in fields.parts(key):
        taint = Taint(one.need("key"), one.text("value") or "", one.text("effect") or "")
        one.skip_rest()
        if taint.effect in STAYS_AWAY:
            taints.append(taint)
    return taints


def tolerations(fields: Fields, key: str) -> list[Toleration]:
    tolerations = []
    for one in fields.parts(key):
        words = (one.text("key"), one.text("operator") or "Equal", one.text("value"), one.text("effect"))
        tolerations.append(Toleration(*(word or "" for word in words)))
        one.skip_rest()
    return tolerations


@dataclass(frozen=True, slots=True)
class NodeSelection:
    """Which nodes a pod may go on: all of `every`, and one of `any_of` if there are any."""

    every: tuple[Requirement, ...]
    any_of: tuple[tuple[Requirement, ...], ...]
    tolerations: tuple[Toleration, ...]

    def accepts(self, labels: Mapping[str, str], keys: Container[str]) -> bool:
        """Whether labels would do, if only those with these keys count."""
        if not all(one.accepts(labels) for one in self.every if one.key in keys):
            return False
        terms = [[one for one in term if one.key in keys] for term in self.any_of]
        if not all(terms):
            return True  # a term that says nothing of these keys lets everything pass
        return not terms or any(all(one.accepts(labels) for one in term) for term in terms)


def node_selection(spec: Fields) -> NodeSelection:
    """What a pod's specification says of nodes and must be kept."""
    affinity = spec.part("affinity")
    of_nodes = affinity.part("nodeAffinity")
    demanded = of_nodes.part("requiredDuringSchedulingIgnoredDuringExecution")
    terms = []
    for term in demanded.parts("nodeSelectorTerms"):
        terms.append(tuple(requirements(term, "matchExpressions")))
        term.skip_rest()
    for part in (affinity, of_nodes):
        part.skip_rest()
    every = tuple(exactly(spec.labels("nodeSelector")))
    return NodeSelection(every, tuple(terms), tuple(tolerations(spec, "tolerations")))
