"""Facts about settings and guarantees: what is inherited, what remains, what may go, and who is under or over."""

import pytest

from cede.doctrines.yunikorn.settings import SHIPPED, properties_of
from cede.doctrines.yunikorn.snapshot import Snapshot
from cede.doctrines.yunikorn.sparse_amounts import over, under
from cede.engine.cluster import Cluster
from cede.model.times import SECOND
from tests.unit.yunikorn.fact_files import (
    FACTS,
    NOT_APPLICABLE,
    Fact,
    facts,
    load,
    named,
    queue_entries,
    rest_entries,
    tree_of,
    used_entries,
)

HERE = {"properties", "remaining", "preemptable", "under-guaranteed-fn", "over-guaranteed-fn"}
OF_QUOTA = {
    "quota-amount",
    "quota-filter",
    "quota-leaf",
    "quota-distribute",
    "quota-parent",
    "quota-timer",
    "sort-by-ask",
}
OF_ATTEMPTS = {
    "preconditions",
    "victims",
    "required-node-filter",
    "required-node-victims",
    "required-node-flow",
    "flow",
}
"""Kinds that `test_facts_of_quota` and `test_facts_of_attempts` show."""


def test_every_fact_is_shown_or_does_not_apply_for_a_reason() -> None:
    shown = {fact["id"] for fact in FACTS if fact["kind"] in HERE | OF_QUOTA | OF_ATTEMPTS}

    assert shown | set(NOT_APPLICABLE) == {fact["id"] for fact in FACTS}
    assert all(NOT_APPLICABLE.values())


# -- settings --------------------------------------------------------------------------------------------------------


@facts("properties")
def test_the_settings_of_a_leaf(fact: Fact) -> None:
    found = properties_of([fact["leaf_props"], fact["parent_props"]], SHIPPED)
    policy = "disabled" if found.disabled else "fence" if found.fence else "default"
    as_stated = {
        "preemption.policy": policy,
        "preemption.delay_s": found.delay / SECOND,
        "priority.policy": "fence" if found.priority_fence else "default",
        "priority.offset": found.offset,
        "quota.preemption.delay_s": found.quota_delay / SECOND,
    }

    assert {key: as_stated[key] for key in fact["expect"]} == fact["expect"]


# -- guarantees ------------------------------------------------------------------------------------------------------


def cluster_of(fact: Fact) -> Cluster:
    workloads, queues = used_entries(fact), queue_entries(fact)
    queues += [
        {"name": path, **({"parent": path.rpartition(".")[0]} if "." in path else {})}
        for path in fact.get("extra_queues", ())
    ]
    return load(queues + rest_entries(workloads, queues), workloads)


@facts("remaining")
def test_what_remains_of_the_guarantee_of_each_queue(fact: Fact) -> None:
    state, queues = tree_of(cluster_of(fact))
    snapshot = Snapshot(state, queues, queues.names.index(fact["ask_queue"]))

    for path, rest in fact["expect"].items():
        assert named(state, snapshot.remaining(queues.names.index(path))) == rest


@facts("preemptable")
def test_what_may_go_of_each_queue(fact: Fact) -> None:
    state, queues = tree_of(cluster_of(fact))
    snapshot = Snapshot(state, queues, queues.names.index("root.parent.child1"))

    for path, most in fact["expect"].items():
        assert (named(state, snapshot.preemptable(queues.names.index(path))) or None) == most


@facts("under-guaranteed-fn")
def test_who_is_under_its_guarantee(fact: Fact) -> None:
    assert under(fact["ask_resource"], fact["remaining"]) is fact["expect"]["under"]


@facts("over-guaranteed-fn")
def test_who_is_over_its_guarantee(fact: Fact) -> None:
    assert over(fact["ask_resource"], fact["remaining"]) is fact["expect"]["over"]


@pytest.mark.parametrize("rest", [None, {}])
def test_without_a_guarantee_nobody_is_over_it(rest: dict[str, int] | None) -> None:
    assert under({"cpu": 1}, rest)
    assert not over({"cpu": 1}, rest)
