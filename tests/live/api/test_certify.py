"""Certificates of plans and of decisions that were carried out, over a real socket."""

import pytest

from cede.live.client import ClientError
from tests.live.api.serving import Running, until

TIME_S = 20
"""All that a server gives: to load the solver takes a part of it, and long on a busy machine."""


@pytest.fixture(scope="module")
def preempted(running: Running) -> int:
    """The number of a decision by which one gave way to another."""
    running.submit("bob", name="low", priority=5, command=["sleep", "600"], requests={"cpu": 4}).raise_for_status()
    until(lambda: running.client("bob").job("low")["state"] == "running")
    running.submit(
        "alice", name="urgent", priority=90, command=["sleep", "600"], requests={"cpu": 4}
    ).raise_for_status()
    until(lambda: running.client("alice").job("urgent")["state"] == "running")
    return next(one["number"] for one in running.client().decisions() if one["victims"] == ["low"])


def test_a_plan_is_certified(running: Running, preempted: int) -> None:
    more = {"name": "more", "queue": "default", "priority": 95, "requests": {"cpu": 4}}
    client = running.client("alice")
    running.ask("GET", f"/decisions/{preempted}").raise_for_status()

    made = client.plan(add=[more], set=["workloads[urgent].priority=20"], certify=TIME_S)
    differs = client.diff(add=[more], set=["workloads[urgent].priority=20"], certify=TIME_S)

    (decision,) = (one for one in made["decisions"] if one["workload"] == "more")
    (change,) = (one for one in differs["changes"] if one["workload"] == "more")
    assert decision["certificate"]["optimal"] is True
    assert change["after"]["certificate"]["objective"] == "order"


def test_a_decision_that_was_made_is_certified(running: Running, preempted: int) -> None:
    client = running.client()

    plain, proven = client.decision(preempted), client.decision(preempted, certify=TIME_S)

    assert "certificate" not in plain["decision"]
    assert proven["decision"]["certificate"]["optimal"] is True
    assert proven["decision"]["certificate"]["cost"]["objective"] == "cost"
    assert proven["decision"]["victims"] == plain["decision"]["victims"]


@pytest.mark.parametrize("given", ["0", "-1", "abc", "nan", "inf", "21"])
def test_what_is_no_time_is_refused_with_its_place(running: Running, preempted: int, given: str) -> None:
    for method, path in (("GET", f"/decisions/{preempted}"), ("POST", "/plan"), ("POST", "/diff")):
        answer = running.ask(method, f"{path}?certify={given}", json=None if method == "GET" else {})

        assert answer.status_code == 422
        assert answer.json()["errors"][0]["place"] == "certify"


def test_a_decision_without_victims_has_nothing_to_certify(running: Running, preempted: int) -> None:
    started = next(one["number"] for one in running.client().decisions() if not one["victims"])
    answer = running.ask("GET", f"/decisions/{started}?certify=1")

    assert preempted != started
    assert (answer.status_code, answer.json()["rule"]) == (422, "live.nothing-to-certify")
    assert answer.json()["detail"] == f"decision {started} has no victims: there is nothing to certify"


def test_who_may_not_plan_gets_no_certificate(running: Running, preempted: int) -> None:
    assert running.ask("GET", f"/decisions/{preempted}", "ml-guest").status_code == 200
    assert running.ask("GET", f"/decisions/{preempted}?certify=1", "ml-guest").json()["rule"] == "live.role"


def test_a_decision_that_is_not_there_is_not_found(running: Running) -> None:
    with pytest.raises(ClientError, match="decision"):
        running.client().decision(10_000, certify=1)
