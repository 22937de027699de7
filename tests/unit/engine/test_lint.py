"""Each check finds its case, says it in numbers, and is silent about the case beside it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import cede
from cede.engine.lint import RULES, lint

SPEC = Path(__file__).parents[2] / "spec" / "clusters"

NODE = {"name": "n1", "capacity": {"cpu": 8, "memory": "8Gi"}}


def held(name: str, state: str = "running", **more: Any) -> dict[str, Any]:
    return {"name": name, "queue": "q", "state": state, "nodes": ["n1"], "requests": {"cpu": 4}, **more}


def asked(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "queue": "q", "requests": {"cpu": 4}, **more}


def found(**sections: Any) -> list[tuple[str, str, str]]:
    """Rule, place and message of what is found, the generic checks only."""
    document = {"cede": 1, "nodes": [NODE], "queues": [{"name": "q"}], **sections}
    findings = lint(cede.load(document))
    assert all(finding.hint for finding in findings)
    return [(one.rule, one.path, one.message) for one in findings if one.rule.startswith("lint.")]


def queues(*entries: dict[str, Any], **more: Any) -> list[tuple[str, str, str]]:
    return found(queues=[{"name": "q"}, *entries], **more)


FINDINGS = {
    "a node holds more than its capacity": (
        {"workloads": [held("a"), held("b"), held("c", requests={"cpu": 1})]},
        ("lint.node-over-capacity", "nodes[n1].capacity", "what stands on n1 takes 9 cpu of 8, which is 1 too much"),
    ),
    "what others occupy counts too, and memory reads as memory": (
        {"nodes": [{**NODE, "occupied": {"memory": "6Gi"}}], "workloads": [held("a", requests={"memory": "3Gi"})]},
        (
            "lint.node-over-capacity",
            "nodes[n1].capacity",
            "what stands on n1 takes 9Gi memory of 8Gi, which is 1Gi too much",
        ),
    ),
    "a resource the node does not have": (
        {"workloads": [held("a", requests={"gpu": 1})]},
        ("lint.node-over-capacity", "nodes[n1].capacity", "what stands on n1 takes 1 gpu of 0, which is 1 too much"),
    ),
    "an exclusive workload is not alone": (
        {"workloads": [held("a", exclusive=True, requests={}), held("b", requests={})]},
        (
            "lint.node-not-exclusive",
            "workloads[a].exclusive",
            "a asks for the whole of n1, and b stands there too",
        ),
    ),
    "a node is kept for one that runs already": (
        {"nodes": [{**NODE, "reserved_for": "a"}], "workloads": [held("a")]},
        (
            "lint.reserved-for-nobody",
            "nodes[n1].reserved_for",
            "n1 is kept for a, which is running and waits for nothing",
        ),
    ),
    "a queue holds more than its max": (
        {"queues": [{"name": "q", "max": {"cpu": "3500m"}}], "workloads": [held("a")]},
        ("lint.queue-over-max", "queues[q].max", "q holds 4 cpu, and its max is 3500m"),
    ),
    "a guarantee is above the queue's own max": (
        {"queues": [{"name": "q", "guaranteed": {"cpu": 5}, "max": {"cpu": 4}}]},
        ("lint.guarantee-above-max", "queues[q].guaranteed", "q is guaranteed 5 cpu, more than its max of 4"),
    ),
    "the children's guarantees do not fit into the parent's": (
        {
            "queues": [
                {"name": "q", "guaranteed": {"cpu": 5}},
                {"name": "a", "parent": "q", "guaranteed": {"cpu": 3}},
                {"name": "b", "parent": "q", "guaranteed": {"cpu": 3}},
            ]
        },
        (
            "lint.guarantees-above-parent",
            "queues[q].guaranteed",
            "the children of q are guaranteed 6 cpu in all, q itself 5",
        ),
    ),
    "the guarantees do not fit into the cluster": (
        {"queues": [{"name": "q", "guaranteed": {"cpu": 5}}, {"name": "b", "guaranteed": {"cpu": 5}}]},
        (
            "lint.guarantees-above-capacity",
            "queues",
            "the queues of the cluster are guaranteed 10 cpu in all, and its nodes have 8",
        ),
    ),
    "the guarantees do not fit into a partition": (
        {
            "nodes": [NODE, {"name": "n2", "partition": "p", "capacity": {"cpu": 2}}],
            "queues": [{"name": "q"}, {"name": "b", "partition": "p", "guaranteed": {"cpu": 3}}],
        },
        (
            "lint.guarantees-above-capacity",
            "queues",
            "the queues of partition p are guaranteed 3 cpu in all, and its nodes have 2",
        ),
    ),
    "a guarantee of one flavor counts the nodes of that flavor": (
        {
            "nodes": [NODE, {"name": "n2", "flavor": "spot", "capacity": {"cpu": "2500m"}}],
            "queues": [{"name": "q", "guaranteed": {"cpu@spot": 3}}],
        },
        (
            "lint.guarantees-above-capacity",
            "queues",
            "the queues of the cluster are guaranteed 3 cpu@spot in all, and its nodes have 2500m",
        ),
    ),
    "a max above one further up": (
        {
            "queues": [
                {"name": "top", "max": {"cpu": 4}},
                {"name": "q", "parent": "mid", "max": {"cpu": 6}},
                {"name": "mid", "parent": "top"},
            ]
        },
        (
            "lint.max-above-parent",
            "queues[q].max",
            "the max of q, 6 cpu, is above that of top, 4: it is never reached",
        ),
    ),
    "a lending limit without anybody to lend to": (
        {"queues": [{"name": "q", "lending_limit": {"cpu": 1}}]},
        ("lint.limit-without-parent", "queues[q].lending_limit", "q has a lending_limit but no parent to share with"),
    ),
    "a borrowing limit without anybody to borrow from": (
        {"queues": [{"name": "q", "borrowing_limit": {"cpu": 0}}]},
        (
            "lint.limit-without-parent",
            "queues[q].borrowing_limit",
            "q has a borrowing_limit but no parent to share with",
        ),
    ),
    "a queue of a partition without nodes": (
        {"queues": [{"name": "q"}, {"name": "b", "partition": "p"}]},
        ("lint.partition-without-nodes", "queues[b].partition", "no node belongs to p, the partition of b"),
    ),
    "a pending workload larger than any node": (
        {"workloads": [asked("a", requests={"cpu": 9})]},
        (
            "lint.fits-no-node",
            "workloads[a]",
            "a fits no node it may use, even if that were empty: closest is n1: cpu 9 asked, 8 free",
        ),
    ),
    "a pending workload that no node matches": (
        {"workloads": [asked("a", constraints={"labels": {"zone": "x"}})]},
        (
            "lint.fits-no-node",
            "workloads[a]",
            "a fits no node it may use, even if that were empty: no node matches what it asks for",
        ),
    ),
    "a limit on something that no node has, but for its name": (
        {"queues": [{"name": "q", "max": {"cpus": 4}}]},
        ("lint.no-such-resource", "queues[q]", "no node has cpus"),
    ),
    "a request for something that no queue has a quota of, but for its name": (
        {"nodes": [], "queues": [{"name": "q", "max": {"cpu": 4}}], "workloads": [asked("a", requests={"Cpu": 1})]},
        ("lint.no-such-resource", "workloads[a]", "no queue has Cpu"),
    ),
    "a workload on a node of another partition": (
        {"nodes": [{**NODE, "partition": "p"}, {"name": "n2"}], "workloads": [held("a")]},
        (
            "lint.other-partition",
            "workloads[a].nodes",
            "a belongs to default, and stands on n1 of p: no rule sees it there",
        ),
    ),
    "a workload on a node that is down": (
        {"nodes": [{**NODE, "state": "down"}], "workloads": [held("a")]},
        ("lint.on-down-node", "workloads[a].nodes", "a is running on n1, which is down"),
    ),
    "a policy whose range its own default is outside of": (
        {"doctrine": "backendai", "policies": [{"user": "ann", "may_change": False, "min_priority": 20}]},
        (
            "lint.default-outside-range",
            "policies[0]",
            "user ann may use priorities 20..100, and work without one has the doctrine's default, 10, "
            "and the range never counts, as it may not choose",
        ),
    ),
    "settings that nobody reads": (
        {"queues": [{"name": "q", "settings": {"preemptible_priority": 5, "x": 1}}]},
        (
            "lint.settings-without-doctrine",
            "queues[q].settings",
            "preemptible_priority, x: without a doctrine nobody reads these settings",
        ),
    ),
}

SILENT: dict[str, dict[str, Any]] = {
    "a request for what no node has and nothing is called like": {
        "queues": [{"name": "q", "max": {"fpga": 1, "gpu": 0}}],
    },
    "a node that is exactly full": {"workloads": [held("a"), held("b")]},
    "a reserved workload and the one that makes way for it": {
        "workloads": [held("a"), held("leaving", "preempting"), held("coming", "reserved")]
    },
    "a node kept for a workload that waits": {
        "nodes": [{**NODE, "reserved_for": "a"}],
        "workloads": [asked("a")],
    },
    "a queue at its max": {"queues": [{"name": "q", "max": {"cpu": 4}}], "workloads": [held("a")]},
    "guarantees that fill parent and cluster": {
        "queues": [
            {"name": "top", "guaranteed": {"cpu": 8}},
            {"name": "q", "parent": "top", "guaranteed": {"cpu": 8}, "borrowing_limit": {"cpu": 1}},
        ]
    },
    "a cohort's own quota comes on top under kueue": {
        "doctrine": "kueue",
        "queues": [
            {"name": "cohort", "guaranteed": {"cpu": 2}},
            {"name": "q", "parent": "cohort", "guaranteed": {"cpu": 6}},
        ],
    },
    "quota without nodes": {
        "nodes": [],
        "queues": [{"name": "q", "partition": "p", "guaranteed": {"cpu": 9}}],
        "workloads": [asked("a")],
    },
    "a gang that fits over several nodes": {
        "nodes": [{**NODE, "count": 2}],
        "workloads": [asked("a", members=4)],
    },
    "a cordoned node with work on it": {"nodes": [{**NODE, "state": "cordoned"}], "workloads": [held("a")]},
    "a policy whose default is allowed": {
        "doctrine": "backendai",
        "policies": [{"user": "ann", "may_change": False}, {"project": "p", "max_priority": 5, "default_priority": 5}],
    },
}


@pytest.mark.parametrize(("sections", "finding"), FINDINGS.values(), ids=FINDINGS.keys())
def test_it_is_found(sections: dict[str, Any], finding: tuple[str, str, str]) -> None:
    assert found(**sections) == [finding]


@pytest.mark.parametrize("sections", SILENT.values(), ids=SILENT.keys())
def test_it_is_no_finding(sections: dict[str, Any]) -> None:
    assert found(**sections) == []


def test_every_rule_has_a_case_that_finds_it() -> None:
    assert {finding[0] for _, finding in FINDINGS.values()} == {rule.id for rule in RULES}


def test_the_doctrines_own_findings_come_last() -> None:
    document = {
        "cede": 1,
        "doctrine": {"name": "backendai", "edition": "26.8"},
        "nodes": [NODE],
        "queues": [{"name": "q", "max": {"cpu": 1}, "settings": {"preemptible_priority": 5}}],
        "workloads": [held("a")],
    }

    rules = [finding.rule for finding in lint(cede.load(document))]

    assert rules[0] == "lint.queue-over-max"
    assert "backendai.lint.dead-threshold" in rules[1:]


def test_many_workloads_that_ask_for_the_same_are_all_named() -> None:
    names = [f"a{number}" for number in range(5)]
    findings = found(workloads=[asked(name, requests={"cpu": 9}) for name in names])

    assert [path for _, path, _ in findings] == [f"workloads[{name}]" for name in names]


def test_a_deep_queue_tree_is_no_trouble() -> None:
    chain = [{"name": f"q{i}", "parent": f"q{i + 1}", "guaranteed": {"cpu": 1}} for i in range(3000)]

    assert found(queues=[{"name": "q"}, *chain]) == []


@pytest.mark.parametrize("path", sorted(SPEC.glob("*.json")), ids=lambda path: path.stem)
def test_any_cluster_file_can_be_looked_at_whatever_its_doctrine(path: Path) -> None:
    first, again = lint(cede.load(path)), lint(cede.load(path))

    assert first == again
