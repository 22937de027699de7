"""What lint says of Lattice's settings and work, each with a case and counter-cases."""

from __future__ import annotations

import pytest

import cede
from cede.engine.lint import lint
from tests.unit.lattice.small import NONE, core, node, nodes, policy, vcluster, wants, whole

A, B = vcluster("a", "hpc_batch"), vcluster("b", "ml_training")
N = node()
HOMES = (node("n1", "a"), node("n2", "b"))
GUEST, HOST = wants("guest", queue="b", priority=5), wants("host", queue="a", priority=4)


def found(cluster: cede.Cluster) -> dict[str, str]:
    """Lattice's findings by name, with their places."""
    return {one.rule: one.path for one in lint(cluster) if one.rule.startswith("lattice.lint.")}


def lending(**values: bool) -> cede.Cluster:
    return policy(*HOMES, vcluster("a", "hpc_batch", **values), B, GUEST, HOST)


CASES: dict[str, tuple[cede.Cluster, str, list[cede.Cluster]]] = {
    "policy-only": (
        core(N, A, patience="5m", max_victims=2),
        "doctrine.patience",
        [core(N, A, max_victims=2, grace_period="1m"), policy(N, A, patience="5m")],
    ),
    "no-victims": (
        policy(N, A, max_victims=0),
        "doctrine.max_victims",
        [policy(N, A, max_victims=1), policy(N, A), core(N, A, max_victims=0)],
    ),
    "patience": (
        policy(N, A, patience="25h"),
        "doctrine.patience",
        [policy(N, A, patience="24h"), policy(N, A)],
    ),
    "no-type": (
        policy(N, vcluster("a"), vcluster("b", "service")),
        "queues[a]",
        [policy(N, A), core(N, A), policy(N, vcluster("a", "service")), policy(N, vcluster("a"), vcluster("b"))],
    ),
    "sensitive-lending": (
        policy(node("n1", "a"), vcluster("a", "sensitive", allow_lending=True)),
        "queues[a].settings.allow_lending",
        [
            policy(node("n1", "a"), vcluster("a", "sensitive", allow_lending=False)),
            policy(node("n1", "a"), vcluster("a", "sensitive")),
            policy(node("n1", "a"), vcluster("a", "hpc_batch", allow_lending=True)),
            core(node("n1", "a"), vcluster("a", "sensitive", allow_lending=True)),
        ],
    ),
    "nothing-known": (
        core(N, vcluster("a", "sensitive")),
        "queues[a].settings.type",
        [
            core(node(fingerprint="x"), vcluster("a", "sensitive")),
            core(N, A),
            core(vcluster("a", "sensitive")),
            policy(N, vcluster("a", "sensitive")),
        ],
    ),
    "nothing-to-lend": (
        policy(node("n1", "b"), vcluster("a", "hpc_batch", allow_lending=False), B),
        "queues[a].settings.allow_lending",
        [
            policy(node("n1", "a"), vcluster("a", "hpc_batch", allow_lending=False), B),
            policy(node("n1", "b"), vcluster("a", "hpc_batch", allow_borrowing=False), B),
        ],
    ),
    "class-10": (
        policy(N, A, wants("in", priority=10)),
        "workloads[in].priority",
        [policy(N, A, wants("in", priority=10, sensitive=True)), policy(N, A, wants("in", priority=9))],
    ),
    "unpreemptible": (
        policy(N, A, wants("in", priority=7, checkpoint=NONE)),
        "workloads[in].checkpoint",
        [
            policy(N, A, wants("in", priority=7, checkpoint={"mode": "auto"})),
            policy(N, A, wants("in", priority=6, checkpoint=NONE)),
            policy(N, A, wants("in", priority=8, checkpoint=NONE, sensitive=True)),
            core(N, A, wants("in", priority=7, checkpoint=NONE)),
        ],
    ),
    "short-walltime": (
        policy(N, A, wants("in", walltime="5m")),
        "workloads[in].walltime",
        [
            policy(N, A, wants("in", walltime="301s")),
            policy(N, A, wants("in", walltime="5m"), near_completion_threshold="1m"),
            policy(N, A, wants("in")),
            core(N, A, wants("in", walltime="5m")),
            policy(N, A, whole("in", "n1", walltime="5m", started=-60)),
        ],
    ),
    "no-fingerprint": (
        policy(*nodes("n1 n2", fingerprint="x"), node("n3"), A),
        "nodes[n3].labels",
        [policy(*nodes("n1 n2 n3", fingerprint="x"), A), policy(*nodes("n1 n2 n3"), A)],
    ),
    "reclaim-loop": (
        lending(),
        "queues[a].settings.allow_lending",
        [
            lending(allow_lending=False),
            policy(*HOMES, A, vcluster("b", "ml_training", allow_borrowing=False), GUEST, HOST),
            policy(*HOMES, A, B, wants("guest", queue="b", priority=4), HOST),
            policy(*HOMES, A, B, GUEST, wants("host", queue="a", priority=4, sensitive=True)),
            policy(*HOMES, A, B, GUEST, wants("host", queue="a", priority=4, preempts=False)),
            policy(*HOMES, A, B, wants("guest", queue="b", priority=5, preempts=False), HOST),
            core(*HOMES, A, B, GUEST, HOST),
            policy(N, A, B, GUEST, HOST),
        ],
    ),
    "no-homes": (
        policy(N, vcluster("a", "hpc_batch", allow_borrowing=False)),
        "nodes",
        [
            policy(node("n1", "a"), vcluster("a", "hpc_batch", allow_borrowing=False)),
            policy(N, A),
            core(N, vcluster("a", "hpc_batch", allow_borrowing=False)),
            policy(vcluster("a", "hpc_batch", allow_borrowing=False)),
        ],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_lint_finds_the_case_and_not_the_counter_cases(name: str) -> None:
    case, path, others = CASES[name]

    assert found(case).get(f"lattice.lint.{name}") == path
    for number, other in enumerate(others):
        assert f"lattice.lint.{name}" not in found(other), number


def test_a_plain_file_has_no_findings() -> None:
    assert found(policy(*HOMES, A, B, wants("in", queue="a", priority=5, walltime="1h"))) == {}


@pytest.mark.parametrize("name", CASES)
def test_every_finding_says_what_to_do(name: str) -> None:
    [one] = [one for one in lint(CASES[name][0]) if one.rule == f"lattice.lint.{name}"]

    assert one.message
    assert one.hint


def test_workloads_alike_make_one_finding() -> None:
    [one] = [
        one
        for one in lint(policy(N, A, *(wants(name, priority=10) for name in ("x", "y", "z"))))
        if one.rule == "lattice.lint.class-10"
    ]

    assert (one.path, one.message.startswith("x "), one.message.endswith("so have 2 others")) == (
        "workloads[x].priority",
        True,
        True,
    )
