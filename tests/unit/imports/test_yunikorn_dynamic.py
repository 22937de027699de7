"""Queues made on the fly, and what pods say of preemption."""

from typing import Any

import pytest

from tests.unit.imports.yunikorn_files import (
    GI,
    allocation,
    application,
    ask,
    dump,
    imported,
    notes,
    queue,
    queues,
    workloads,
)

TEMPLATE = queues(
    "{name: users, parent: true, properties: {preemption.delay: 1m, preemption.policy: disabled}, childtemplate: "
    "{resources: {guaranteed: {vcore: 1}, max: {vcore: 4, memory: 16Gi}}, properties: {preemption.delay: 5m, "
    "priority.offset: 3, quota.preemption.delay: 1h}}, queues: [{name: fixed, parent: true}]}, "
    "{name: others, parent: true, properties: {preemption.delay: 1m, preemption.policy: disabled}}"
)
OF_TEMPLATE = {
    "preemption.policy": "default",
    "preemption.delay": "5m",
    "priority.offset": 3,
    "quota.preemption.delay": "0s",
}
OWN_DEFAULTS = {"preemption.policy": "default", "preemption.delay": "30s", "quota.preemption.delay": "0s"}


def used(path: str) -> dict[str, Any]:
    """A dump without queue trees that has work in the queue."""
    return dump(application(queue_name=path, requests=[ask("k")]))


def in_tree(*children: dict[str, Any]) -> dict[str, Any]:
    """A dump whose queue trees have these below the root."""
    return dump(trees=[{"queuename": "root", "partition": "default", "isManaged": True, "children": list(children)}])


def tree(path: str, *children: dict[str, Any], leaf: bool = True, managed: bool = False, **more: Any) -> dict[str, Any]:
    return {"queuename": path, "isLeaf": leaf, "isManaged": managed, "children": list(children), **more}


def test_a_leaf_made_on_the_fly_is_as_the_template_says_and_takes_nothing_else_over() -> None:
    assert queue(TEMPLATE, "root.users.ann", used("root.users.Ann")) == {
        "name": "root.users.ann",
        "parent": "root.users",
        "guaranteed": {"vcore": 1},
        "max": {"vcore": 4, "memory": 16 * GI},
        "settings": OF_TEMPLATE,
    }


def test_the_nearest_template_above_counts() -> None:
    assert queue(TEMPLATE, "root.users.fixed.ann", used("root.users.fixed.ann"))["settings"] == OF_TEMPLATE


def test_a_parent_made_on_the_fly_has_nothing_and_hands_the_template_on() -> None:
    state = used("root.users.lab.ann")

    assert queue(TEMPLATE, "root.users.lab", state) == {
        "name": "root.users.lab",
        "parent": "root.users",
        "settings": OWN_DEFAULTS,
    }
    assert queue(TEMPLATE, "root.users.lab.ann", state)["settings"] == OF_TEMPLATE


def test_without_a_template_the_defaults_are_written_so_that_nothing_is_taken_over() -> None:
    assert queue(TEMPLATE, "root.others.ann", used("root.others.ann")) == {
        "name": "root.others.ann",
        "parent": "root.others",
        "settings": OWN_DEFAULTS,
    }


def test_what_the_dump_has_of_a_queue_made_on_the_fly_comes_first() -> None:
    one = tree(
        "root.users.ann",
        maxResource={"vcore": 2500},
        properties={"preemption.policy": "fence", "preemption.delay": "1"},
    )
    state = in_tree(tree("root.users", one, leaf=False, managed=True))
    found = imported(TEMPLATE, state)

    assert queue(TEMPLATE, "root.users.ann", state) == {
        "name": "root.users.ann",
        "parent": "root.users",
        "guaranteed": {"vcore": 1},
        "max": {"vcore": "2500m"},
        "settings": {"preemption.policy": "fence", "preemption.delay": "30s", "quota.preemption.delay": "0s"},
    }
    assert notes(found) == [
        "queue root.users.ann: properties[\"preemption.delay\"]: '1' has a number without a unit; "
        "write it like 30s, 1h15m or 500ms; YuniKorn then takes 30s"
    ]


def test_of_a_configured_queue_the_configuration_counts() -> None:
    state = in_tree(tree("root.others", leaf=False, managed=True, maxResource={"vcore": 1}))

    assert "max" not in queue(TEMPLATE, "root.others", state)


def test_children_may_be_named_without_their_path() -> None:
    state = in_tree(tree("users", tree("ann"), leaf=False, managed=True))

    assert queue(TEMPLATE, "root.users.ann", state)["settings"] == OF_TEMPLATE


def test_a_configured_queue_that_the_configuration_does_not_have_is_named() -> None:
    state = in_tree(tree("root.gone", managed=True, guaranteedResource={"vcore": 2000}))

    assert queue(TEMPLATE, "root.gone", state)["guaranteed"] == {"vcore": 2}
    assert notes(imported(TEMPLATE, state))[-1].startswith("queue root.users: childtemplate: ")
    assert "queue root.gone: the configuration does not have it; it is taken as the dump has it" in notes(
        imported(TEMPLATE, state)
    )


POD = "{{apiVersion: v1, kind: Pod, metadata: {{name: p, uid: k{meta}}}, spec: {{{spec}}}}}"
CLASS = "{{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {{name: {name}{meta}}}, value: 1}}"


def allow(value: str) -> str:
    return f", annotations: {{yunikorn.apache.org/allow-preemption: '{value}'}}"


def pod(meta: str = "", spec: str = "", *classes: str) -> str:
    """A Pod of the uid k, and classes."""
    return "\n---\n".join([POD.format(meta=meta, spec=spec), *classes])


OF_CALM = "priorityClassName: calm"
CALM = CLASS.format(name="calm", meta=allow("false"))
BOLD = CLASS.format(name="calm", meta=allow("true"))
PODS: dict[str, tuple[str, bool, bool]] = {
    "nothing said": (pod(), True, True),
    "the pod asks not to be preempted": (pod(allow("false")), False, True),
    "its class does": (pod("", OF_CALM, CALM), False, True),
    "the pod comes before its class": (pod(allow("true"), OF_CALM, CALM), True, True),
    "and the other way round": (pod(allow("false"), OF_CALM, BOLD), False, True),
    "another word is as good as none": (pod(allow("False"), OF_CALM, CALM), False, True),
    "and means yes without a class": (pod(allow("no")), True, True),
    "it never preempts": (pod("", "preemptionPolicy: Never"), True, False),
    "it may": (pod("", "preemptionPolicy: PreemptLowerPriority"), True, True),
}


@pytest.mark.parametrize(("objects", "preemptible", "preempts"), PODS.values(), ids=PODS.keys())
def test_a_pod_and_its_class_say_whether_it_may_be_preempted_and_preempt(
    objects: str, preemptible: bool, preempts: bool
) -> None:
    for app in (application(allocations=[allocation("k")]), application(requests=[ask("k")])):
        found = workloads(dump(app), objects=objects)["k"]

        assert (found.get("preemptible", True), found.get("preempts", True)) == (preemptible, preempts)


@pytest.mark.parametrize("self_key", ["allowPreemptionSelf", "allowPreemptSelf"])
def test_a_dump_that_says_it_itself_comes_before_the_pods(self_key: str) -> None:
    said = {self_key: False, "allowPreemptOther": False}
    flat, nested = ask("k", **said), ask("l", preemptionPolicy=said)
    found = workloads(dump(application(requests=[flat, nested])), objects=pod())

    assert [(one["preemptible"], one["preempts"]) for one in found.values()] == [(False, False), (False, False)]


def test_pods_come_in_lists_and_what_is_missing_is_named() -> None:
    items = f"[{pod('', OF_CALM)}, {{apiVersion: v1, kind: Node, metadata: {{name: n}}}}]"
    state = dump(application(requests=[ask("k"), ask("l")]))
    found = imported(TEMPLATE.replace("others", "a"), state, f"{{apiVersion: v1, kind: List, items: {items}}}")

    assert notes(found)[:3] == [
        "Node n: objects of this kind are not read here",
        "Pod p: spec: the PriorityClass calm was not given, and is taken not to forbid preemption",
        "application app: requests[1]: its Pod was not given, and is taken to allow preemption",
    ]
