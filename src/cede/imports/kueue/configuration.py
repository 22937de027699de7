"""Kueue's own configuration, as far as it changes what is decided."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from cede.imports.fields import Amounts, Fields
from cede.imports.kueue.objects import Object
from cede.imports.kueue.quantities import quantities
from cede.model.quantities import NANO

STRATEGIES = ("LessThanOrEqualToFinalShare", "LessThanInitialShare")
BOOST = "PriorityBoost"
SORTING = "PrioritySortingWithinCohort"
DEFAULT_GATES = {BOOST: False, SORTING: True}
"""The gates that matter to an import, and how they are shipped."""

_RUNNING_IT = (
    *("namespace", "webhook", "leaderElection", "metrics", "health", "pprofBindAddress", "controller", "tls"),
    *("internalCertManagement", "clientConnection", "integrations", "objectRetentionPolicies", "queueVisibility"),
    *("manageJobsWithoutQueueName", "managedJobsNamespaceSelector", "multiKueue", "visibilityServer"),
)


@dataclass(frozen=True, slots=True)
class Transformation:
    """How one resource of a pod becomes others in a workload."""

    source: str
    is_kept: bool
    multiply_by: str | None
    outputs: Amounts


@dataclass(frozen=True, slots=True)
class Configuration:
    """The settings of the manager; without any, those it is shipped with."""

    is_given: bool = False
    fair_sharing: bool = False
    strategies: tuple[str, ...] = ()
    timeout_requeues_at_creation: bool = False
    excluded: tuple[str, ...] = ()
    transformations: tuple[Transformation, ...] = ()
    gates: Mapping[str, bool] = field(default_factory=dict)

    def is_on(self, gate: str) -> bool:
        return self.gates.get(gate, DEFAULT_GATES[gate])

    def doctrine(self, fair_sharing: bool) -> dict[str, object]:
        """The doctrine of a cluster file; `fair_sharing` asks for it whatever is configured."""
        if not (self.fair_sharing or fair_sharing):
            return {"name": "kueue"}
        strategies = {"strategies": list(self.strategies)} if self.strategies else {}
        return {"name": "kueue", "preemption": "FairSharing", **strategies}

    def transformed(self, requests: Amounts) -> Amounts:
        """What a workload asks for where a pod asks for this."""
        left = {name: nano for name, nano in requests.items() if not name.startswith(self.excluded)}
        rules = {rule.source: rule for rule in self.transformations}
        amounts: Amounts = {}
        for name, nano in left.items():
            rule = rules.get(name)
            if rule is None or rule.is_kept:
                amounts[name] = amounts.get(name, 0) + nano
            if rule is not None:
                factor = NANO if rule.multiply_by is None else left.get(rule.multiply_by, 0)
                for output, each in rule.outputs.items():
                    amounts[output] = amounts.get(output, 0) + each * nano * factor // NANO**2
        return amounts


def configuration_of(objects: Sequence[Object]) -> Configuration:
    """What the Configuration says; of several the first, the others are noted."""
    for more in objects[1:]:
        more.fields.remark("another Configuration was given before, and counts")
    return _read(objects[0]) if objects else Configuration()


def _read(one: Object) -> Configuration:
    fields = one.fields
    fields.skip("apiVersion", "kind", "metadata", *_RUNNING_IT)
    fair = fields.part("fairSharing")
    # Before v1beta2 the block had a switch; since then it is on if it is there.
    enabled = fair.truth("enable") is True if one.is_old else fields.has("fairSharing")
    strategies = tuple(s for s in fair.texts("preemptionStrategies") if _is_strategy(fair, s))
    fields.note("the history of LocalQueues is not carried over", "admissionFairSharing")
    resources = fields.part("resources")
    resources.note("devices of dynamic resource allocation are not counted", "deviceClassMappings")
    rules = tuple(map(_transformation, resources.parts("transformations")))
    made = Configuration(
        is_given=True,
        fair_sharing=enabled,
        strategies=strategies if enabled else (),
        timeout_requeues_at_creation=_waits(fields, one.is_old),
        excluded=tuple(resources.texts("excludeResourcePrefixes")),
        transformations=rules,
        gates=_gates(fields),
    )
    fields.close()
    return made


def _is_strategy(fair: Fields, word: str) -> bool:
    if word not in STRATEGIES:
        fair.wrong(("preemptionStrategies",), f"{word!r} is none of {', '.join(STRATEGIES)}")
    return word in STRATEGIES


def _waits(fields: Fields, is_old: bool) -> bool:
    """Whether a workload whose pods were not ready in time keeps the time of its creation."""
    waits = fields.part("waitForPodsReady")
    if is_old and waits.truth("enable") is not True:
        waits.skip_rest()
        return False
    waits.skip("enable")
    waits.note("evictions of workloads whose pods are not ready are not foreseen", "timeout", "recoveryTimeout")
    waits.note("a plan does not wait until pods are ready", "blockAdmission")
    requeuing = waits.part("requeuingStrategy")
    at = requeuing.choice("timestamp", ("Creation", "Eviction"))
    requeuing.skip("backoffLimitCount", "backoffBaseSeconds", "backoffMaxSeconds")
    return at == "Creation"


def _gates(fields: Fields) -> dict[str, bool]:
    gates = fields.part("featureGates")
    stated = {name: value for name in gates.data if (value := gates.truth(name)) is not None}
    for name in stated:
        if name not in DEFAULT_GATES:
            gates.remark("Cede decides as Kueue does with its gates as shipped", name)
    return {name: value for name, value in stated.items() if name in DEFAULT_GATES}


def _transformation(fields: Fields) -> Transformation:
    return Transformation(
        source=fields.need("input"),
        is_kept=fields.choice("strategy", ("Retain", "Replace")) != "Replace",
        multiply_by=fields.text("multiplyBy"),
        outputs=quantities(fields, "outputs"),
    )
