from typing import Any

import pytest

import cede
from cede.doctrines.document import parse_document
from cede.model.quantities import LARGEST
from tests.unit.imports.kueue_objects import document, imported, notes, only_queue, problems

HEAD = "apiVersion: kueue.x-k8s.io/{version}\nkind: ClusterQueue\nmetadata: {{name: q}}\n"
GROUPS = """
  resourceGroups:
  - coveredResources: [cpu, memory]
    flavors:
    - name: spot
      resources:
      - {name: cpu, nominalQuota: 1500m, borrowingLimit: 2}
      - {name: memory, nominalQuota: 64Gi, lendingLimit: 0}
    - name: on-demand
      resources:
      - {name: cpu, nominalQuota: "4"}
      - {name: memory, nominalQuota: 1G}
  - coveredResources: [nvidia.com/gpu]
    flavors: [{name: a100, resources: [{name: nvidia.com/gpu, nominalQuota: 8}]}]
"""


def queue(spec: str, version: str = "v1beta2") -> str:
    return f"{HEAD.format(version=version)}spec: {spec}\n"


def cohort(name: str, spec: str = "{}", version: str = "v1beta2") -> str:
    return f"---\napiVersion: kueue.x-k8s.io/{version}\nkind: Cohort\nmetadata: {{name: {name}}}\nspec: {spec}\n"


def test_quotas_are_keyed_by_resource_and_flavor() -> None:
    found = only_queue(queue(f"\n  cohortName: all{GROUPS}"))

    assert found == {
        "name": "q",
        "parent": "all",
        "guaranteed": {
            "cpu@spot": "1500m",
            "memory@spot": 64 * 2**30,
            "cpu@on-demand": 4,
            "memory@on-demand": 10**9,
            "nvidia.com/gpu@a100": 8,
        },
        "borrowing_limit": {"cpu@spot": 2},
        "lending_limit": {"memory@spot": 0},
        "resource_groups": [
            {"resources": ["cpu", "memory"], "flavors": ["spot", "on-demand"]},
            {"resources": ["nvidia.com/gpu"], "flavors": ["a100"]},
        ],
    }


SETTINGS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "nothing stated is nothing written": ("v1beta2", "{}", {}),
    "policies keep their names": (
        "v1beta2",
        "{preemption: {withinClusterQueue: LowerOrNewerEqualPriority, reclaimWithinCohort: Any}}",
        {"withinClusterQueue": "LowerOrNewerEqualPriority", "reclaimWithinCohort": "Any"},
    ),
    "a threshold stands beside its policy": (
        "v1beta2",
        "{preemption: {reclaimWithinCohort: Any, borrowWithinCohort: "
        "{policy: LowerPriority, maxPriorityThreshold: -1}}}",
        {"reclaimWithinCohort": "Any", "borrowWithinCohort": {"policy": "LowerPriority", "maxPriorityThreshold": -1}},
    ),
    "the words for flavors of v1beta1": (
        "v1beta1",
        "{flavorFungibility: {whenCanBorrow: Borrow, whenCanPreempt: Preempt}}",
        {"flavorFungibility": {"whenCanBorrow": "MayStopSearch", "whenCanPreempt": "MayStopSearch"}},
    ),
    "those of v1beta2, and a preference": (
        "v1beta2",
        "{flavorFungibility: {whenCanBorrow: TryNextFlavor, whenCanPreempt: TryNextFlavor, "
        "preference: PreemptionOverBorrowing}}",
        {
            "flavorFungibility": {
                "whenCanBorrow": "TryNextFlavor",
                "whenCanPreempt": "TryNextFlavor",
                "preference": "PreemptionOverBorrowing",
            }
        },
    ),
    "the order of the queue": ("v1beta1", "{queueingStrategy: StrictFIFO}", {"queueingStrategy": "StrictFIFO"}),
}


@pytest.mark.parametrize(("version", "spec", "settings"), SETTINGS.values(), ids=SETTINGS.keys())
def test_what_is_stated_of_preemption_is_carried(version: str, spec: str, settings: dict[str, Any]) -> None:
    assert only_queue(queue(spec, version)).get("settings", {}) == settings


@pytest.mark.parametrize(("weight", "number"), [("2", 2), ("500m", 0.5), ('"0"', 0), ("1.25", 1.25)])
def test_a_weight_is_a_quantity_there_and_a_number_here(weight: str, number: float) -> None:
    assert only_queue(queue(f"{{fairSharing: {{weight: {weight}}}}}"))["weight"] == number


def test_a_weight_without_fair_sharing_is_noted() -> None:
    text = queue("{fairSharing: {weight: 2}}")

    assert notes(imported(text)) == [
        "ClusterQueue q: spec.fairSharing.weight: it counts under fair sharing only; "
        "give Kueue's Configuration, or --fair-sharing"
    ]
    assert notes(imported(text, fair_sharing=True)) == []


@pytest.mark.parametrize(
    ("version", "key", "parent"),
    [("v1alpha1", "parent", "top"), ("v1beta1", "parent", "top"), ("v1beta2", "parentName", "top")],
)
def test_cohorts_have_parents_and_quotas_of_their_own(version: str, key: str, parent: str) -> None:
    groups = "[{coveredResources: [cpu], flavors: [{name: f, resources: [{name: cpu, nominalQuota: 4}]}]}]"
    found = document(cohort("labs", f"{{{key}: top, resourceGroups: {groups}, fairSharing: {{weight: 3}}}}", version))

    assert found["queues"] == [{"name": "labs", "parent": parent, "guaranteed": {"cpu@f": 4}, "weight": 3}]


def test_a_field_of_the_other_version_is_noted() -> None:
    found = imported(queue("{cohort: labs}", "v1beta2"))

    assert found.document["queues"] == [{"name": "q"}]
    assert notes(found) == ["ClusterQueue q: spec.cohort: v1beta2 calls it cohortName, and knows no such field"]


def test_a_cohort_called_as_a_cluster_queue_gets_another_name() -> None:
    found = imported(queue("{cohortName: q}") + cohort("q", "{parentName: top}"))

    assert found.document["queues"] == [
        {"name": "q", "parent": "cohort/q"},
        {"name": "cohort/q", "parent": "top"},
    ]
    assert notes(found) == ["Cohort q: a ClusterQueue has the same name; here it is cohort/q"]
    assert parse_document(found.document).queues[0].parent == "cohort/q"


def test_cohorts_in_a_circle_take_no_part_nor_does_what_is_below() -> None:
    circle = cohort("a", "{parentName: b}") + cohort("b", "{parentName: a}") + cohort("c", "{parentName: b}")
    found = imported(queue("{cohortName: c}") + circle + cohort("sound"))

    assert found.document["queues"] == [{"name": "sound"}]
    assert len(found.notes) == 4
    assert all("the parents of its cohort go in a circle" in note for note in notes(found))


INACTIVE = {
    "held": "spec: {stopPolicy: Hold}",
    "drained": "spec: {stopPolicy: HoldAndDrain}",
    "without what it needs": 'status: {conditions: [{type: Active, status: "False", reason: FlavorNotFound}]}',
}


@pytest.mark.parametrize("text", INACTIVE.values(), ids=INACTIVE.keys())
def test_a_queue_that_is_not_active_is_left_out(text: str) -> None:
    found = imported(HEAD.format(version="v1beta2") + text)

    assert found.document["queues"] == []
    assert "Kueue leaves it out of scheduling, and so does the file" in notes(found)[0]


def test_an_active_queue_that_says_so_is_kept() -> None:
    text = 'spec: {stopPolicy: None}\nstatus: {conditions: [{type: Active, status: "True", reason: Ready}]}'

    assert only_queue(HEAD.format(version="v1beta1") + text) == {"name": "q"}


NOTED = {
    "{admissionChecks: [a]}": "spec.admissionChecks",
    "{admissionChecksStrategy: {admissionChecks: [{name: a}]}}": "spec.admissionChecksStrategy",
    "{admissionScope: {admissionMode: UsageBasedAdmissionFairSharing}}": "spec.admissionScope",
    "{concurrentAdmissionPolicy: {migration: {mode: RetainFirstAdmission}}}": "spec.concurrentAdmissionPolicy",
    "{preemption: {novelty: 3}}": "spec.preemption.novelty",
    "{quota: 3}": "spec.quota",
}


@pytest.mark.parametrize(("spec", "path"), NOTED.items())
def test_what_has_no_place_is_named_with_its_path(spec: str, path: str) -> None:
    [note] = imported(queue(spec)).notes

    assert (note.place.label, note.path) == ("ClusterQueue q", path)


def test_a_flavor_that_is_not_given_is_noted() -> None:
    found = imported(queue(f"\n  cohortName: all{GROUPS}"))

    assert notes(found) == [
        "ClusterQueue q: spec.resourceGroups: the ResourceFlavor spot, on-demand, a100 was not given, "
        "so any pod and node is taken to fit it"
    ]


WRONG = {
    "{preemption: {withinClusterQueue: Always}}": (
        "spec.preemption.withinClusterQueue: 'Always' is none of Never, LowerPriority, LowerOrNewerEqualPriority"
    ),
    "{preemption: [Never]}": "spec.preemption: a list is no object",
    "{flavorFungibility: {whenCanBorrow: Borrow}}": (
        "spec.flavorFungibility.whenCanBorrow: 'Borrow' is none of MayStopSearch, TryNextFlavor"
    ),
    "{cohortName: 5}": "spec.cohortName: 5 is no text",
    "{resourceGroups: [{coveredResources: [cpu], flavors: [{name: f, resources: []}]}]}": (
        "spec.resourceGroups[0].flavors[0].resources: must have quotas for cpu, and for nothing else"
    ),
    "{resourceGroups: [{coveredResources: [cpu], flavors: [{resources: [{name: cpu, nominalQuota: 1}]}]}]}": (
        "spec.resourceGroups[0].flavors[0].name: this key is required and missing"
    ),
    "{resourceGroups: [{coveredResources: [cpu], flavors: [{name: f, resources: [{name: cpu, nominalQuota: -1}]}]}]}": (
        "spec.resourceGroups[0].flavors[0].resources[0].nominalQuota: -1 is negative; a quantity is 0 or more"
    ),
    "{preemption: {borrowWithinCohort: {policy: LowerPriority}}}": (
        "spec.preemption.borrowWithinCohort.policy: is LowerPriority, but reclaimWithinCohort is Never"
    ),
}


@pytest.mark.parametrize(("spec", "words"), WRONG.items())
def test_what_is_wrong_is_said_with_file_object_and_path(spec: str, words: str) -> None:
    [problem] = problems(queue(spec))

    assert problem.startswith(f"f.yaml: ClusterQueue q: {words}")


def quotas(resource: str, limits: str, flavor: str = "f") -> str:
    named = f"{{name: {resource}, {limits}}}"
    return f"[{{coveredResources: [{resource}], flavors: [{{name: {flavor}, resources: [{named}]}}]}}]"


ELSEWHERE = {
    f"resourceGroups: {quotas('cpu', 'nominalQuota: 1, borrowingLimit: 2')}": (
        "spec.resourceGroups: there is no parent to share with (add a cohort, or leave out 'borrowingLimit')"
    ),
    f"resourceGroups: [{quotas('cpu', 'nominalQuota: 1')[1:-1]}, {quotas('cpu', 'nominalQuota: 1', 'g')[1:-1]}]": (
        "spec.resourceGroups[1].coveredResources[0]: 'cpu' is in resourceGroups[0] already; a resource is in one group"
    ),
    "fairSharing: {weight: 1n}": "spec.fairSharing.weight: 1e-09 is too small; a weight is 0, or above 1e-09",
}


@pytest.mark.parametrize(("spec", "problem"), ELSEWHERE.items())
def test_what_only_the_file_shows_to_be_wrong_is_said_with_the_path_in_the_object(spec: str, problem: str) -> None:
    assert f"f.yaml: ClusterQueue q: {problem}" in problems(queue(f"{{{spec}}}"))


@pytest.mark.parametrize("resource", ["cpu", "nvidia.com/gpu", "memory"])
def test_quotas_of_more_than_can_be_counted_are_unlimited(resource: str) -> None:
    groups = quotas(resource, "nominalQuota: 10E, borrowingLimit: 1e30, lendingLimit: 8Ei")
    text = "\n---\n".join(
        queue(f"{{cohortName: all, resourceGroups: {groups}}}").replace("name: q}", f"name: q{number}}}", 1)
        for number in range(20)
    )
    found = imported(text)

    amount = {f"{resource}@f": 2**63 - 1}
    for one in found.document["queues"]:
        assert (one["guaranteed"], one["borrowing_limit"], one["lending_limit"]) == (amount, amount, amount)
    assert not [note for note in found.notes if "nominalQuota" in note.path]
    assert cede.plan(cede.load(found.document)).decisions == ()


def test_quotas_are_rounded_up() -> None:
    quota = "[{{coveredResources: [cpu], flavors: [{{name: f, resources: [{{name: cpu, nominalQuota: {}}}]}}]}}]"
    huge, fine, plus = (
        imported(queue(f"{{resourceGroups: {quota.format(amount)}}}")) for amount in ("1e30", "0.0000000015", '"+5"')
    )

    amounts = [parse_document(found.document).queues[0].guaranteed for found in (huge, fine, plus)]
    assert amounts == [{"cpu@f": LARGEST}, {"cpu@f": 2}, {"cpu@f": 5 * 10**9}]
