import json
from typing import Any

import pytest

from cede.imports.kueue.convert import from_kueue
from cede.imports.report import grouped
from cede.model.errors import InputError
from cede.model.reading import read_text
from tests.unit.imports.kueue_objects import QUEUES, document, imported, notes, problems, with_queues, workload

QUEUE = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ClusterQueue", "metadata": {"name": "q"}}
WITHOUT_KIND = {"metadata": {"name": "q"}}
SHAPES: dict[str, Any] = {
    "one object": QUEUE,
    "a list of documents": [QUEUE],
    "a List": {"apiVersion": "v1", "kind": "List", "items": [QUEUE]},
    "a list of one kind": {"apiVersion": QUEUE["apiVersion"], "kind": "ClusterQueueList", "items": [WITHOUT_KIND]},
    "a list in a list": [{"apiVersion": "v1", "kind": "List", "items": [QUEUE]}],
    "the same object twice": [QUEUE, QUEUE],
}


@pytest.mark.parametrize("data", SHAPES.values(), ids=SHAPES.keys())
def test_objects_come_as(data: Any) -> None:
    assert from_kueue([("f", json.loads(json.dumps(data)))]).document["queues"] == [{"name": "q"}]


def test_objects_may_come_from_several_files_in_any_order() -> None:
    found = from_kueue([("w.yaml", read_text(workload())), ("q.yaml", read_text(QUEUES))])

    assert [one["queue"] for one in found.document["workloads"]] == ["q"]


WRONG = {
    "neither object nor list": ("5", "f.yaml: 5 is no Kubernetes object, which has apiVersion and kind"),
    "an item of a list": (
        "{apiVersion: v1, kind: List, items: [5]}",
        "f.yaml: List: items[0]: 5 is no Kubernetes object, which has apiVersion and kind",
    ),
    "no name": (
        "{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {}}",
        "f.yaml: ClusterQueue: metadata.name: this key is required and missing",
    ),
    "an API of long ago": (
        "{apiVersion: kueue.x-k8s.io/v1alpha2, kind: ClusterQueue, metadata: {name: q}}",
        "f.yaml: ClusterQueue q: apiVersion: 'v1alpha2' is not read here (export it as v1beta1 or v1beta2)",
    ),
    "one name for two": (
        "[{apiVersion: kueue.x-k8s.io/v1beta2, kind: Cohort, metadata: {name: c}}, "
        "{apiVersion: kueue.x-k8s.io/v1beta2, kind: Cohort, metadata: {name: c}, spec: {parentName: d}}]",
        "f.yaml: Cohort c: it was given before already, and differently",
    ),
}


@pytest.mark.parametrize(("text", "words"), WRONG.values(), ids=WRONG.keys())
def test_what_is_no_object_is_told(text: str, words: str) -> None:
    assert problems(text) == [words]


def test_everything_that_is_wrong_is_told_at_once() -> None:
    text = QUEUES.replace("nominalQuota: 8", "nominalQuota: many") + workload("priority: high")

    assert len(problems(text)) == 2


def test_a_newer_api_is_read_as_the_newest_known() -> None:
    found = imported("{apiVersion: kueue.x-k8s.io/v1, kind: ClusterQueue, metadata: {name: q}, spec: {cohortName: c}}")

    assert found.document["queues"] == [{"name": "q", "parent": "c"}]
    assert notes(found) == ["ClusterQueue q: apiVersion: v1 is newer than what Cede knows, and is read as v1beta2"]


def test_kinds_that_have_no_place_are_named_in_one_line() -> None:
    kinds = "".join(
        f"---\napiVersion: {group}\nkind: {kind}\nmetadata: {{name: {name}}}\n"
        for group, kind in (("kueue.x-k8s.io/v1beta2", "AdmissionCheck"), ("batch/v1", "Job"))
        for name in "abcde"
    )

    assert grouped(imported(kinds).notes) == [
        "AdmissionCheck a, b, c and 2 more: objects of this kind have no place in a cluster file",
        "Job default/a, default/b, default/c and 2 more: objects of this kind have no place in a cluster file",
    ]


CONFIGURATIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "v1beta1, on": (
        "apiVersion: config.kueue.x-k8s.io/v1beta1\nkind: Configuration\nfairSharing: {enable: true}\n",
        {"name": "kueue", "preemption": "FairSharing"},
    ),
    "v1beta1, off": (
        "apiVersion: config.kueue.x-k8s.io/v1beta1\nkind: Configuration\n"
        "fairSharing: {enable: false, preemptionStrategies: [LessThanInitialShare]}\n",
        {"name": "kueue"},
    ),
    "v1beta2, there": (
        "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n"
        "fairSharing: {preemptionStrategies: [LessThanInitialShare]}\n",
        {"name": "kueue", "preemption": "FairSharing", "strategies": ["LessThanInitialShare"]},
    ),
    "v1beta2, not there": ("apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n", {"name": "kueue"}),
    "within a ConfigMap": (
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: kueue-manager-config}\ndata:\n"
        "  controller_manager_config.yaml: |\n"
        "    apiVersion: config.kueue.x-k8s.io/v1beta1\n    kind: Configuration\n    fairSharing: {enable: true}\n",
        {"name": "kueue", "preemption": "FairSharing"},
    ),
}


@pytest.mark.parametrize(("text", "doctrine"), CONFIGURATIONS.values(), ids=CONFIGURATIONS.keys())
def test_the_configuration_says_how_shares_count(text: str, doctrine: dict[str, Any]) -> None:
    assert document(text)["doctrine"] == doctrine


UNLAWFUL = {
    "[LessThanInitialShare, LessThanOrEqualToFinalShare]": (
        "LessThanOrEqualToFinalShare comes first; Kueue takes both in that order only, or one alone"
    ),
    "[LessThanInitialShare, LessThanInitialShare]": "'LessThanInitialShare' stands here twice",
    "[LessThan]": "'LessThan' is none of LessThanOrEqualToFinalShare, LessThanInitialShare",
}


@pytest.mark.parametrize(("strategies", "words"), UNLAWFUL.items())
def test_strategies_that_kueue_does_not_take_are_refused(strategies: str, words: str) -> None:
    text = (
        "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n"
        f"fairSharing: {{preemptionStrategies: {strategies}}}\n"
    )

    assert problems(text) == [f"f.yaml: Configuration: fairSharing.preemptionStrategies: {words}"]


def test_fair_sharing_can_be_asked_for() -> None:
    assert with_queues("", fair_sharing=True).document["doctrine"] == {"name": "kueue", "preemption": "FairSharing"}


def test_what_else_a_configuration_says_is_noted_if_it_changes_decisions() -> None:
    text = (
        "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\nwebhook: {port: 9443}\n"
        "admissionFairSharing: {usageHalfLifeTime: 1h}\nfeatureGates: {TopologyAwareScheduling: true}\n"
        "waitForPodsReady: {timeout: 5m, blockAdmission: true}\nmystery: 1\n"
    )

    assert [note.path for note in imported(text).notes] == [
        "admissionFairSharing",
        "waitForPodsReady.timeout",
        "waitForPodsReady.blockAdmission",
        "featureGates.TopologyAwareScheduling",
        "mystery",
    ]


def test_a_configuration_within_a_map_that_cannot_be_read_is_told_with_its_place() -> None:
    text = (
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\ndata: {c.yaml: 'a: [config.kueue.x-k8s.io'}\n---\n"
        + QUEUES
    )

    assert problems(text)[0].startswith('f.yaml: ConfigMap m: data["c.yaml"]:')


def test_the_clock_is_the_latest_time_in_the_objects_or_what_is_asked_for() -> None:
    text = workload(meta='creationTimestamp: "2026-01-31T07:00:00Z"')
    seen = "{type: Ready, status: 'True', lastHeartbeatTime: '2026-01-31T09:00:00+01:00'}"
    node = f"---\napiVersion: v1\nkind: Node\nmetadata: {{name: n}}\nstatus: {{conditions: [{seen}]}}\n"

    assert with_queues(text).document["now"] == "2026-01-31T07:00:00Z"
    assert with_queues(text + node).document["now"] == "2026-01-31T08:00:00Z"
    assert with_queues(text, now="2026-02-01T00:00:00Z").document["now"] == "2026-02-01T00:00:00Z"
    assert "now" not in with_queues("").document


def test_a_clock_that_is_none_is_told() -> None:
    with pytest.raises(InputError, match="--now: 'noon' is no time"):
        with_queues("", now="noon")


def test_the_order_of_objects_changes_nothing_but_the_order_of_entries() -> None:
    data = read_text(QUEUES + workload())
    assert isinstance(data, list)
    one, other = (from_kueue([("f", objects)]).document for objects in (data, data[::-1]))

    assert one == other
