"""YuniKorn's queue configuration as the queues of a cluster file."""

from typing import Any

import pytest

import cede
from tests.unit.imports.yunikorn_files import (
    PLAIN,
    document,
    imported,
    notes,
    problems,
    queue,
    queues,
    settings,
)

GI = 2**30


def test_a_queue_is_known_by_its_path_in_lower_case() -> None:
    found = document(queues("{name: Team, queues: [{name: A_1}]}"))["queues"]

    assert found == [
        {"name": "root"},
        {"name": "root.team", "parent": "root"},
        {"name": "root.team.a_1", "parent": "root.team"},
    ]


def test_what_was_made_is_a_cluster_file() -> None:
    made = cede.load(document(PLAIN)).to_dict()

    assert made["doctrine"] == {"name": "yunikorn", "edition": "1.9"}


WITHOUT_ROOT = {
    "no queue called root": "{name: a}, {name: b}",
    "one that is not root": "{name: a, queues: [{name: b}]}",
}


@pytest.mark.parametrize("text", WITHOUT_ROOT.values(), ids=WITHOUT_ROOT.keys())
def test_a_root_is_put_above_queues_that_have_none(text: str) -> None:
    found = document(f"partitions: [{{queues: [{text}]}}]")["queues"]

    assert found[0] == {"name": "root"}
    assert found[1] == {"name": "root.a", "parent": "root"}


AMOUNTS: dict[str, tuple[str, dict[str, Any]]] = {
    "cores are cores": ("vcore: 10", {"vcore": 10}),
    "thousandths": ("vcore: 500m", {"vcore": "500m"}),
    "thousandths that make whole cores": ("vcore: 2000m", {"vcore": 2}),
    "thousands of cores": ("vcore: 2k", {"vcore": 2000}),
    "bytes": ("memory: 1024", {"memory": 1024}),
    "binary": ("memory: 2Gi", {"memory": 2 * GI}),
    "decimal": ("memory: 2G", {"memory": 2 * 10**9}),
    "blanks do not matter": ("memory: ' 2 Gi '", {"memory": 2 * GI}),
    "any other resource": ("nvidia.com/gpu: 4, pods: 110", {"nvidia.com/gpu": 4, "pods": 110}),
    "a zero beside others is a limit": ("vcore: 1, nvidia.com/gpu: 0", {"vcore": 1, "nvidia.com/gpu": 0}),
}


@pytest.mark.parametrize(("text", "amounts"), AMOUNTS.values(), ids=AMOUNTS.keys())
def test_amounts_are_read_as_yunikorn_reads_them(text: str, amounts: dict[str, Any]) -> None:
    found = queue(queues(f"{{name: a, resources: {{max: {{{text}}}, guaranteed: {{{text}}}}}}}"), "root.a")

    assert found["max"] == amounts
    assert found["guaranteed"] == amounts


@pytest.mark.parametrize("text", ["{}", "{vcore: 0, memory: 0}"])
def test_nothing_but_zeros_is_no_limit(text: str) -> None:
    found = queue(queues(f"{{name: a, resources: {{max: {text}, guaranteed: {text}}}}}"), "root.a")

    assert found == {"name": "root.a", "parent": "root"}


WRONG_AMOUNTS = {
    "a fraction": ("vcore: 1.5", "1.5 is no quantity; write a whole number, and a suffix like k, M, Ki or Mi"),
    "thousandths of memory": ("memory: 5m", "'5m' has a suffix that YuniKorn does not know; m is for vcore only"),
    "a suffix": ("memory: 5GB", "'5GB' has a suffix that YuniKorn does not know"),
    "a capital K": ("memory: 5K", "'5K' has a suffix that YuniKorn does not know (did you mean 'k'?)"),
    "less than nothing": ("memory: -5", "-5 is negative"),
    "null": ("memory: null", "null is no quantity"),
    "a truth": ("memory: true", "true is no quantity; write a whole number, and a suffix like k, M, Ki or Mi"),
}


@pytest.mark.parametrize(("text", "message"), WRONG_AMOUNTS.values(), ids=WRONG_AMOUNTS.keys())
def test_what_yunikorn_cannot_read_is_refused_with_its_place(text: str, message: str) -> None:
    [found] = problems(queues(f"{{name: a, resources: {{max: {{{text}}}}}}}"))

    name = text.partition(":")[0]
    assert found.startswith(f"queues.yaml: queue root.a: resources.max.{name}: {message}")


@pytest.mark.parametrize("text", ["memory: 8Ei", "memory: 10E", "vcore: 10E", "vcore: 9223372036854775807m"])
def test_a_quota_of_more_than_yunikorn_counts_is_unlimited(text: str) -> None:
    limits = f"resources: {{max: {{{text}}}, guaranteed: {{{text}}}}}"
    found = document(queues(f"{{name: a, {limits}}}"))

    [entry] = [one for one in found["queues"] if one["name"] == "root.a"]
    assert entry["max"] == entry["guaranteed"] == {text.partition(":")[0]: 2**63 - 1}
    assert cede.plan(cede.load(found)).decisions == ()


SETTINGS: dict[str, tuple[str, dict[str, Any]]] = {
    "a fence": ("preemption.policy: fence", {"preemption.policy": "fence"}),
    "capitals do not count": ("preemption.policy: DisAbled", {"preemption.policy": "disabled"}),
    "nothing is the default": ("preemption.policy: ''", {"preemption.policy": "default"}),
    "a duration": ("preemption.delay: 1h15m30.5s", {"preemption.delay": "1h15m30.5s"}),
    "one of Go": ("preemption.delay: 1500ms", {"preemption.delay": "1.5s"}),
    "a priority fence": ("priority.policy: Fence", {"priority.policy": "fence"}),
    "an offset": ("priority.offset: -10", {"priority.offset": -10}),
    "an offset as text": ("priority.offset: '+10'", {"priority.offset": 10}),
    "quota preemption": ("quota.preemption.delay: 10m", {"quota.preemption.delay": "10m"}),
    "none": ("quota.preemption.delay: 0s", {"quota.preemption.delay": "0s"}),
}


@pytest.mark.parametrize(("text", "expected"), SETTINGS.values(), ids=SETTINGS.keys())
def test_properties_become_settings(text: str, expected: dict[str, Any]) -> None:
    assert settings(text) == expected


WRONG: dict[str, tuple[str, str, object, str]] = {
    "an unknown policy": ("preemption.policy", "fenced", "default", "'fenced' is none of default, fence, disabled"),
    "a word for a delay": (
        *("preemption.delay", "xxxx", "30s"),
        "'xxxx' is no duration; write it like 30s, 1h15m or 500ms",
    ),
    "a negative delay": ("preemption.delay", "-1s", "30s", "'-1s' is not above 0"),
    "no delay at all": ("preemption.delay", "0s", "30s", "'0s' is not above 0"),
    "seconds without a unit": (
        *("preemption.delay", "30", "30s"),
        "'30' has a number without a unit; write it like 30s, 1h15m or 500ms",
    ),
    "a quota delay": (
        *("quota.preemption.delay", "soon", "0s"),
        "'soon' is no duration; write it like 30s, 1h15m or 500ms",
    ),
    "a negative quota delay": ("quota.preemption.delay", "-1s", "0s", "'-1s' is not above 0"),
    "a policy that priorities do not have": (
        *("priority.policy", "disabled", "default"),
        "'disabled' is none of default, fence",
    ),
    "a fraction": ("priority.offset", "1.5", 0, "'1.5' is no whole number of 32 bits"),
    "an offset out of range": ("priority.offset", "2147483648", 0, "'2147483648' is no whole number of 32 bits"),
}


@pytest.mark.parametrize(("name", "text", "value", "why"), WRONG.values(), ids=WRONG.keys())
def test_a_wrong_property_is_named_and_what_yunikorn_goes_by_is_written(
    name: str, text: str, value: object, why: str
) -> None:
    found = imported(queues(f"{{name: a, properties: {{{name}: {text}}}}}"))

    assert found.document["queues"][1]["settings"] == {name: value}
    assert notes(found) == [f'queue root.a: properties["{name}"]: {why}; YuniKorn then takes {value}']


def test_a_configured_queue_has_its_own_settings_only() -> None:
    text = queues("{name: a, properties: {preemption.delay: 1m, preemption.policy: disabled}, queues: [{name: b}]}")

    assert queue(text, "root.a.b") == {"name": "root.a.b", "parent": "root.a"}


def test_the_switches_of_the_partition_are_those_of_the_doctrine() -> None:
    text = queues("{name: a}", "preemption: {enabled: false, quotapreemptionenabled: true}")

    assert document(text, edition="laws")["doctrine"] == {
        "name": "yunikorn",
        "edition": "laws",
        "preemption.enabled": False,
        "preemption.quotapreemptionenabled": True,
    }


NOT_CARRIED = {
    "limits": (
        "{name: a, limits: [{limit: l, users: [u], maxapplications: 1, maxresources: {vcore: 1}}]}",
        "queue root.a: limits: limits of users and groups are not carried over",
    ),
    "who may submit": (
        "{name: a, submitacl: ann}",
        "queue root.a: submitacl: who may submit and administer is not checked here",
    ),
    "how many applications": (
        "{name: a, maxapplications: 3}",
        "queue root.a: maxapplications: how many applications may run is not counted here",
    ),
    "the order of applications": (
        "{name: a, properties: {application.sort.policy: fifo}}",
        'queue root.a: properties["application.sort.policy"]: the order of applications within a queue is not '
        "carried over",
    ),
    "a property of somebody else": (
        "{name: a, properties: {colour: red}}",
        "queue root.a: properties.colour: Cede does not know this property",
    ),
    "a template without queues made of it": (
        "{name: a, parent: true, childtemplate: {resources: {max: {vcore: 1}}}}",
        "queue root.a: childtemplate: it is for queues made on the fly, and none below it is known",
    ),
}


@pytest.mark.parametrize(("text", "note"), NOT_CARRIED.values(), ids=NOT_CARRIED.keys())
def test_what_is_not_carried_over_is_named_once_with_its_place(text: str, note: str) -> None:
    assert notes(imported(queues(text))) == [note]


def test_what_limits_nobody_is_not_worth_a_note() -> None:
    assert notes(imported(queues("{name: a, submitacl: '*', limits: [], childtemplate: {}}"))) == []


def test_rules_and_policies_of_a_partition_are_named() -> None:
    text = queues("{name: a}", "placementrules: [{name: user, create: true}], nodesortpolicy: {type: fair}")

    assert notes(imported(text)) == [
        "partition default: placementrules: which queue an application goes to is not carried over; "
        "a workload names its queue",
        "partition default: nodesortpolicy: which of several nodes is filled first is not carried over",
    ]
