"""What lint says of YuniKorn's settings, each with a case and counter-cases."""

from __future__ import annotations

import pytest

import cede
from cede.engine.lint import lint
from tests.builders import laws, node, path, release

N, A, B = node("n1", cpu=4), path("root.a", cpu=2), path("root.b")
QUOTA = {"preemption.quotapreemptionenabled": True}
LATE = path("root.a", max={"cpu": 2}, quota_delay="60s")


def found(cluster: cede.Cluster) -> dict[str, str]:
    """YuniKorn's findings by name, with their places."""
    return {one.rule: one.path for one in lint(cluster) if one.rule.startswith("yunikorn.lint.")}


CASES: dict[str, tuple[cede.Cluster, str, list[cede.Cluster]]] = {
    "not-in-the-design": (
        laws(N, A, path("root.b", offset=3)),
        "queues[root.b].settings.priority.offset",
        [release(N, A, path("root.b", offset=3)), laws(N, A, path("root.b", policy="fence"))],
    ),
    "fence-on-root": (
        laws(N, path("root", policy="fence"), A, B),
        "queues[root].settings.preemption.policy",
        [laws(N, path("root.t", policy="fence"), path("root.t.a", cpu=2))],
    ),
    "fence-on-leaf": (
        release(N, A, path("root.b", policy="fence")),
        "queues[root.b].settings.preemption.policy",
        [release(N, A, path("root.b", policy="fence"), path("root.b.c"))],
    ),
    "disabled-everywhere": (
        laws(N, path("root", policy="disabled"), A, B),
        "queues[root].settings.preemption.policy",
        [laws(N, A, path("root.b", policy="disabled"))],
    ),
    "no-delay": (
        laws(N, path("root.a", cpu=2, delay="0s"), B),
        "queues[root.a].settings.preemption.delay",
        [laws(N, path("root.a", cpu=2, delay="1s"), B), laws(N, A, B)],
    ),
    "delay-on-parent": (
        laws(N, path("root.p", delay="5s"), path("root.p.a", cpu=2)),
        "queues[root.p].settings.preemption.delay",
        [
            release(N, path("root.p", delay="5s"), path("root.p.a", cpu=2)),
            laws(N, path("root.p"), path("root.p.a", cpu=2, delay="5s")),
        ],
    ),
    "quota-preemption-off": (
        release(N, LATE),
        "queues[root.a].settings.quota.preemption.delay",
        [release(N, LATE, **QUOTA), release(N, path("root.a", max={"cpu": 2}, quota_delay="0s"))],
    ),
    "nothing-guaranteed": (
        laws(N, A, path("root.b", delay="5s")),
        "queues[root.b].settings.preemption.delay",
        [
            laws(N, path("root.a", cpu=2, delay="5s"), B),
            laws(N, path("root.p", cpu=2), path("root.p.b", delay="5s")),
            laws(N, A, path("root.b", delay="5s"), **{"preemption.enabled": False}),
        ],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_it_is_found_where_it_is(name: str) -> None:
    cluster, place, _ = CASES[name]

    assert found(cluster).get(f"yunikorn.lint.{name}") == place


@pytest.mark.parametrize("name", CASES)
def test_it_is_found_nowhere_else(name: str) -> None:
    for cluster in CASES[name][2]:
        assert f"yunikorn.lint.{name}" not in found(cluster)


def test_a_cluster_wide_setting_that_the_design_does_not_know_is_found_too() -> None:
    assert found(laws(N, A, **QUOTA)) == {
        "yunikorn.lint.not-in-the-design": "doctrine.preemption.quotapreemptionenabled"
    }


def test_a_plain_tree_has_no_findings() -> None:
    assert found(laws(N, A, B)) == {}
    assert found(release(N, A, B)) == {}


def test_every_finding_says_what_to_do() -> None:
    for cluster, _, _ in CASES.values():
        for one in lint(cluster):
            assert one.message
            assert one.hint
