"""Certificates of whole plans: what is proven of each decision's victims."""

from __future__ import annotations

from typing import Any

import pytest

import cede
from cede.doctrines.catalog import doctrine_of
from cede.engine.certify import certified, seconds_of
from cede.engine.cycle import plan, plan_state
from cede.engine.diff import diff
from cede.model.certificate import Certificate
from cede.model.errors import InputError
from tests.builders import cluster_of, fair, group, kueue, node, pending, queue, running, shipped, tenant


def certificate(cluster: cede.Cluster, workload: str, **options: Any) -> Certificate:
    made = plan(cluster, certify=30.0, **options).of(workload)
    assert made is not None
    assert made.certificate is not None
    return made.certificate


def costly(name: str, on: str, /, minutes: int, **values: Any) -> Any:
    """One that writes no checkpoint: its cost is what it has run for."""
    return running(name, on, started=-60 * minutes, **values)


def test_the_shortest_prefix_is_proven_and_a_cheaper_set_is_named() -> None:
    cluster = cluster_of(
        node("n1", cpu=4),
        node("n2", cpu=4),
        group(),
        costly("old", "n1", 100, cpu=4, priority=1),
        costly("new", "n2", 10, cpu=4, priority=2),
        pending("in", cpu=4, priority=9),
    )

    found = certificate(cluster, "in")

    assert (found.objective, found.value, found.bound, found.optimal) == ("order", 1, 1, True)
    assert found.gap == 0
    assert found.cost is not None
    assert (found.cost.objective, found.cost.value, found.cost.bound) == ("cost", 100, 10)
    assert (found.cost.better, found.cost.best, found.cost.optimal) == (("new",), 10, False)
    assert found.cost.gap == 0.9


def test_decisions_after_the_first_are_judged_by_what_it_left() -> None:
    cluster = shipped(
        node("n1", cpu=4),
        node("n2", cpu=4),
        group(enabled=True, victim_scope="resource-group"),
        costly("a", "n1", 100, cpu=4, job_priority=0),
        costly("b", "n2", 10, cpu=4, job_priority=0),
        pending("first", cpu=4, job_priority=5, priority=9),
        pending("second", cpu=4, job_priority=5, priority=8),
    )

    found = {name: certificate(cluster, name) for name in ("first", "second")}

    assert {one.cost.value for one in found.values() if one.cost} == {100, 10}
    assert found["second"].optimal
    assert found["second"].cost is not None
    assert found["second"].cost.optimal
    assert certificate(cluster, "second", only="second") == found["second"]


def test_a_plan_without_victims_or_without_the_wish_has_no_certificate() -> None:
    cluster = cluster_of(node("n1", cpu=4), group(), pending("in", cpu=4))

    assert all(made.certificate is None for made in plan(cluster, certify=1.0).decisions)
    assert "certificate" not in plan(cluster).decisions[0].to_dict()


def test_the_plan_is_the_same_with_and_without() -> None:
    cluster = cluster_of(
        node("n1", cpu=4), group(), running("a", cpu=4, priority=1, started=-5), pending("in", cpu=4, priority=9)
    )
    version = cluster.state.version
    plain, proven = plan(cluster).to_dict(), plan(cluster, certify=5.0).to_dict()
    for decision in proven["decisions"]:
        decision.pop("certificate", None)

    assert proven == plain
    assert cluster.state.version == version


@pytest.mark.parametrize(("order", "objective"), [("fewest-sessions", "sessions"), ("smallest-resources", "resources")])
def test_orders_that_weigh_are_weighed(order: str, objective: str) -> None:
    cluster = shipped(
        node("n1", cpu=4),
        node("n2", cpu=4),
        group(enabled=True, preemption_order=order, victim_scope="resource-group"),
        running("a", "n1", cpu=2, started=-9),
        running("b", "n1", cpu=2, started=-8),
        running("c", "n2", cpu=4, started=-7),
        pending("in", cpu=4, job_priority=5, priority=9),
    )

    found = certificate(cluster, "in")

    assert (found.objective, found.optimal) == (objective, True)
    assert found.value == {"sessions": 1, "resources": 4}[objective]


def test_a_limit_above_the_nodes_is_a_condition() -> None:
    cluster = cluster_of(
        node("n1", cpu=8),
        group(max={"cpu": 6}),
        costly("dear", "n1", 50, cpu=4, priority=1),
        costly("cheap", "n1", 1, cpu=2, priority=2),
        pending("in", cpu=2, priority=9),
    )

    found = certificate(cluster, "in")

    assert (found.value, found.bound) == (1, 1)
    assert found.cost is not None
    assert found.cost.better == ("cheap",)


def test_what_a_question_leaves_out_is_said() -> None:
    cluster = cluster_of(
        node("n1", cpu=4),
        group(),
        tenant("t", max_nodes=3),
        running("a", cpu=4, priority=1, started=-5),
        pending("in", cpu=4, priority=9, tenant="t"),
    )

    found = certificate(cluster, "in")

    assert found.optimal
    assert "fewest nodes" in found.relaxed[0]


def test_quota_of_a_cohort_is_a_condition() -> None:
    pool = queue("pool")
    own = queue("a", "pool", cpu=4, reclaim="Any")
    other = queue("b", "pool", cpu=2)
    dear = running("dear", queue="b", cpu=4, started=-6000)
    cheap = running("cheap", queue="b", cpu=2, started=-60)
    cluster = kueue(pool, own, other, dear, cheap, pending("in", queue="a", cpu=2))
    again = fair(pool, own, other, dear, cheap, pending("in", queue="a", cpu=2))

    classical, shares = certificate(cluster, "in"), certificate(again, "in")

    assert (classical.objective, classical.value, classical.optimal) == ("order", 1, True)
    assert (shares.objective, shares.value, shares.bound) == ("cost", 1, 1)
    assert shares.cost is None
    assert shares.relaxed


def test_time_that_is_used_up_proves_nothing() -> None:
    cluster = cluster_of(
        *(node(f"n{at}", cpu=4) for at in range(4)),
        group(),
        *(costly(f"w{at}", f"n{at}", 100 - at, cpu=4, priority=1) for at in range(4)),
        pending("in", cpu=4, members=2, priority=9),
    )

    class Racing:
        """A clock on which every look takes an hour."""

        def __init__(self) -> None:
            self.at = 0

        def now(self) -> int:
            self.at += 3_600_000_000
            return self.at

    doctrine = doctrine_of(cluster.document.doctrine)
    made = certified(cluster.state, doctrine, plan_state(cluster.state, doctrine), 1.0, clock=Racing())
    found = made.decisions[0].certificate

    assert found is not None
    assert found.cost is not None
    assert not found.cost.optimal
    assert found.cost.bound == 0
    assert found.cost.gap == 1


def test_victims_that_do_not_make_room_are_not_called_optimal() -> None:
    cluster = cluster_of(
        node("n1", cpu=4), group(), running("a", cpu=4, priority=1, started=-5), pending("in", cpu=4, priority=9)
    )
    doctrine = doctrine_of(cluster.document.doctrine)
    made = plan_state(cluster.state, doctrine)
    blocked = cluster_of(
        node("n1", cpu=4),
        node("n2", cpu=8),
        group(),
        running("a", "n1", cpu=4, priority=1, started=-5),
        running("b", "n2", cpu=8, priority=2, started=-5),
        pending("in", cpu=8, priority=9),
    )

    found = certified(blocked.state, doctrine, made, 5.0).decisions[0].certificate

    assert found is not None
    assert not found.lawful
    assert not found.optimal
    assert found.gap is None
    assert found.to_dict()["lawful"] is False


def test_a_difference_has_certificates_of_what_would_be() -> None:
    entries = (node("n1", cpu=4), group(), running("a", cpu=4, priority=1, started=-5))
    before, after = cluster_of(*entries), cluster_of(*entries, pending("in", cpu=4, priority=9))

    found = diff(before, after, certify=5.0).to_dict()

    assert found["changes"][0]["after"]["certificate"]["optimal"] is True


def test_what_is_written_is_read_again() -> None:
    cost = Certificate("cost", "min", 2.5, 1.25, False, ("a",), 2.0, ("something",))
    made = Certificate("order", "place", 3, None, False, lawful=False, cost=cost)

    assert Certificate.from_dict(made.to_dict()) == made


@pytest.mark.parametrize("text", ["", "abc", "0", "-1", "nan", "inf", "1e9"])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="no time to certify in"):
        seconds_of(text)


def test_no_set_is_called_better_in_which_a_release_would_not_find_room() -> None:
    """Release 26.8 puts the driver on n2, since least remains there, and never tries it on n1."""
    cluster = shipped(
        node("n1", cpu=2),
        node("n2", cpu=3),
        group(enabled=True, victim_scope="resource-group", agent_selection_strategy="concentrated"),
        running("kept", "n1", cpu="500m", preemptible=False),
        costly("one", "n2", 10, cpu=1, job_priority=0),
        costly("two", "n2", 20, cpu=1, job_priority=0),
        pending(
            "in",
            job_priority=5,
            pod_sets=[
                {"name": "driver", "count": 1, "requests": {"cpu": 1}},
                {"name": "worker", "count": 1, "requests": {"cpu": 2}},
            ],
        ),
    )

    found = certificate(cluster, "in").cost

    assert found is not None
    assert (found.value, found.bound, found.better) == (30, 10, ())
    assert len(found.relaxed) == 1
