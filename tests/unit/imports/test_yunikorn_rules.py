"""What YuniKorn refuses at load is refused here, with its place."""

import pytest

from tests.unit.imports.yunikorn_files import PLAIN, document, imported, notes, problems, queues


def sized(name: str, below: str = "", **amounts: str) -> str:
    """A queue with `guaranteed` and `max` of vcore."""
    resources = ", ".join(f"{key.rstrip('_')}: {{{value}}}" for key, value in amounts.items())
    return f"{{name: {name}, resources: {{{resources}}}{below and f', queues: [{below}]'}}}"


REFUSED = {
    "more guaranteed than allowed": (
        sized("a", guaranteed="vcore: 3", max="vcore: 2"),
        "queue root.a: resources.guaranteed.vcore: 3 is more than its max, 2",
    ),
    "a child that may have more than its parent": (
        sized("a", sized("b", max="memory: 3Gi"), max="memory: 2Gi"),
        "queue root.a.b: resources.max.memory: 3Gi is more than the max above it, 2Gi",
    ),
    "or than the parent of that": (
        sized("a", sized("b", sized("c", max="vcore: 3")), max="vcore: 2"),
        "queue root.a.b.c: resources.max.vcore: 3 is more than the max above it, 2",
    ),
    "children promised more than their parent": (
        sized(
            "a", f"{sized('b', guaranteed='vcore: 2')}, {sized('c', guaranteed='vcore: 1500m')}", guaranteed="vcore: 3"
        ),
        "queue root.a: resources.guaranteed.vcore: the queues below are guaranteed 3500m, more than this 3",
    ),
    "or than it may have": (
        sized("a", f"{sized('b', guaranteed='vcore: 2')}, {sized('c', guaranteed='vcore: 2')}", max="vcore: 3"),
        "queue root.a: resources.max.vcore: the queues below are guaranteed 4, more than this 3",
    ),
    "grandchildren promised more": (
        sized("a", sized("b", sized("c", guaranteed="vcore: 4")), guaranteed="vcore: 3"),
        "queue root.a: resources.guaranteed.vcore: the queues below are guaranteed 4, more than this 3",
    ),
    "a dot in a name": (
        "{name: a.b}",
        "queue root: queues[0].name: 'a.b' is no name; it has 1 to 64 letters, digits or any of _ : # / @ -",
    ),
    "a name of 65 letters": (
        f"{{name: {'a' * 65}}}",
        f"queue root: queues[0].name: '{'a' * 57}...' is no name; it has 1 to 64 letters, digits or any of _ : # / @ -",
    ),
    "no name": ("{parent: true}", "queue root: queues[0].name: this key is required and missing"),
    "a name twice": (
        "{name: a}, {name: A}",
        "queue root: queues[1].name: 'A' is already the name of a queue here, for capitals do not count",
    ),
    "an unknown key": (
        "{name: a, resource: {max: {vcore: 1}}}",
        "queue root.a: resource: YuniKorn knows no such key here, and refuses the configuration "
        "(did you mean 'resources'?)",
    ),
    "one further down": (
        "{name: a, childtemplate: {resources: {maximum: {vcore: 1}}}}",
        "queue root.a: childtemplate.resources.maximum: YuniKorn knows no such key here, and refuses the configuration "
        "(did you mean 'max'?)",
    ),
    "one in a limit": (
        "{name: a, limits: [{limit: l, user: [u]}]}",
        "queue root.a: limits[0].user: YuniKorn knows no such key here, and refuses the configuration "
        "(did you mean 'users'?)",
    ),
    "properties that are no texts": (
        "{name: a, properties: {preemption: {policy: fence}}}",
        "queue root.a: properties.preemption: an object is no text",
    ),
}


@pytest.mark.parametrize(("text", "problem"), REFUSED.values(), ids=REFUSED.keys())
def test_a_queue_that_yunikorn_refuses(text: str, problem: str) -> None:
    assert problems(queues(text)) == [f"queues.yaml: {problem}"]


@pytest.mark.parametrize("key", ["max", "guaranteed"])
def test_the_root_has_no_resources(key: str) -> None:
    text = f"partitions: [{{name: default, queues: [{{name: root, resources: {{{key}: {{vcore: 1}}}}}}]}}]"

    assert problems(text) == [
        "queues.yaml: queue root: resources: the root has what its nodes have, and no resources of its own"
    ]


ACCEPTED = {
    "what the parent does not name is not limited": sized("a", sized("b", max="memory: 1Gi"), max="vcore: 1"),
    "just as much as the parent": sized("a", sized("b", guaranteed="vcore: 2", max="vcore: 2"), guaranteed="vcore: 2"),
    "the longest name": f"{{name: {'a' * 64}}}",
    "every character": "{name: 'a_:#/@-Z9'}",
    "one name in two places": "{name: a, queues: [{name: x}]}, {name: b, queues: [{name: x}]}",
}


@pytest.mark.parametrize("text", ACCEPTED.values(), ids=ACCEPTED.keys())
def test_a_queue_that_yunikorn_accepts(text: str) -> None:
    assert len(document(queues(text))["queues"]) > 1


OTHER = {
    "a word for a switch": (
        queues("{name: a}", "preemption: {enabled: often}"),
        "queues.yaml: partition default: preemption.enabled: 'often' is neither true nor false",
    ),
    "an unknown key of a partition": (
        queues("{name: a}", "placementrule: []"),
        "queues.yaml: partition default: placementrule: YuniKorn knows no such key here, and refuses the configuration "
        "(did you mean 'placementrules'?)",
    ),
    "an unknown key of a rule above": (
        queues("{name: a}", "placementrules: [{name: user, parent: {name: fixed, val: x}}]"),
        "queues.yaml: partition default: placementrules[0].parent.val: YuniKorn knows no such key here, and refuses "
        "the configuration (did you mean 'value'?)",
    ),
    "no queues": (
        "partitions: [{name: default}]",
        "queues.yaml: partition default: queues: this key is required and missing",
    ),
    "no partitions": (
        "partitions: []",
        "queues.yaml: there is no partition in it (a configuration begins with `partitions:`)",
    ),
    "a partition twice": (
        "partitions: [{name: gpu, queues: []}, {name: GPU, queues: []}]",
        "queues.yaml: partitions[1].name: 'GPU' is already the name of a partition",
    ),
    "something else": (
        "cede: 1",
        "queues.yaml: an object is no queue configuration (a configuration begins with `partitions:`)",
    ),
    "another object of Kubernetes": (
        "{apiVersion: v1, kind: Secret}",
        "queues.yaml: this 'Secret' holds no queue configuration (a ConfigMap holds it under `queues.yaml`)",
    ),
}


@pytest.mark.parametrize(("text", "problem"), OTHER.values(), ids=OTHER.keys())
def test_a_configuration_that_yunikorn_refuses(text: str, problem: str) -> None:
    assert problems(text) == [problem]


def test_every_problem_is_told_at_once() -> None:
    assert len(problems(queues("{name: a, x: 1}, {name: b, resources: {max: {vcore: 1.5, memory: 2m}}}"))) == 3


TWO = "partitions: [{name: gpu, queues: [{name: g}]}, {name: Default, queues: [{name: d}]}]"


def test_one_partition_is_taken_and_the_others_are_named() -> None:
    of_default, of_gpu = imported(TWO), imported(TWO, partition="GPU")

    assert [one["name"] for one in of_default.document["queues"]] == ["root", "root.d"]
    assert [one["name"] for one in of_gpu.document["queues"]] == ["root", "root.g"]
    assert notes(of_default) == ["partition gpu: a cluster file holds one partition; --partition takes another"]


def test_a_partition_must_be_named_where_none_is_the_default() -> None:
    text = TWO.replace("Default", "cpu")

    assert problems(text) == ["--partition: one of gpu, cpu must be named; none is called default"]
    assert problems(text, partition="gpus") == [
        "--partition: no partition is called 'gpus'; there are gpu, cpu (did you mean 'gpu'?)"
    ]


def test_the_only_partition_is_taken_whatever_its_name() -> None:
    assert document("partitions: [{name: gpu, queues: [{name: g}]}]")["queues"][1]["name"] == "root.g"


def test_an_edition_must_be_one_of_yunikorn() -> None:
    assert problems(PLAIN, edition="law") == [
        "--edition: yunikorn has no edition 'law'; there are laws, 1.9 (did you mean 'laws'?)"
    ]


def test_a_config_map_holds_the_configuration() -> None:
    inner = "".join(f"    {line}\n" for line in PLAIN.splitlines())
    text = f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: yunikorn-configs}}\ndata:\n  queues.yaml: |\n{inner}"

    assert document(text) == document(PLAIN)


@pytest.mark.parametrize(
    ("option", "value"), [("now", "2026-03-02T09:00:00Z"), ("objects", "{apiVersion: v1, kind: Pod}")]
)
def test_what_is_about_the_state_needs_one(option: str, value: str) -> None:
    assert problems(PLAIN, **{option: value}) == [f"--{option}: means the state of a cluster (add --state)"]
