"""What owners may ask for: maxima of times, rights that take a grant, caps, a queue and requests for all work."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from cede.live.config import User
from tests.live.api.serving import ACCOUNT, CLUSTER, Running, serving, until

ADMIN = User(name="root-admin", role="admin", account=ACCOUNT)
ALICE = User(name="alice", projects=("ml",), account=ACCOUNT)


def user(name: str, **limits: Any) -> User:
    return User.model_validate({"name": name, "account": ACCOUNT, "limits": limits})


def refused(answer: Any, status: int, rule: str) -> str:
    body = answer.json()
    assert (answer.status_code, body["rule"]) == (status, rule), body
    return str(body["detail"])


@pytest.mark.parametrize(
    ("times", "says"),
    [
        ({"grace_period": "590h"}, "times.grace_period: 590h is above 10m, the most here (limits.grace_period)"),
        (
            {"checkpoint_timeout": "50m", "timeout_extension": 0.5},
            "times.checkpoint_timeout: 1h15m with its extension is above 1h, the most here (limits.checkpoint_time)",
        ),
        ({"max_deferral": "11m"}, "times.max_deferral: 11m is above 10m, the most here (limits.max_deferral)"),
    ],
)
def test_a_time_above_the_maximum_is_refused_with_the_number_and_the_key(
    running: Running, times: dict[str, Any], says: str
) -> None:
    for user in ("alice", "root-admin"):
        assert refused(running.submit(user, times=times), 403, "live.above-limit") == says


def test_times_at_the_maximum_are_taken(running: Running) -> None:
    times = {"grace_period": "10m", "checkpoint_timeout": "40m", "timeout_extension": 0.5, "max_deferral": "10m"}
    assert running.submit("alice", times=times).status_code == 201


def test_what_a_queue_or_a_role_says_takes_the_place_of_the_server_and_of_both_the_smaller_holds(
    tmp_path: Path,
) -> None:
    cluster = {**CLUSTER, "queues": [{"name": "all"}, {"name": "quick", "parent": "all"}, {"name": "slow"}]}
    limits = {
        "walltime": "24h",
        "queues": {"all": {"walltime": "1h"}, "slow": {"walltime": "100h", "grace_period": "1h"}},
        "roles": {"user": {"walltime": "48h", "grace_period": "20m"}},
    }
    users = (ALICE, user("bob", walltime="200h"), ADMIN)
    with serving(tmp_path, cluster=cluster, users=users, limits=limits) as running:

        def most(user: str, queue: str, walltime: str) -> str:
            return refused(running.submit(user, queue=queue, walltime=walltime), 403, "live.above-limit")

        assert most("alice", "quick", "2h") == "walltime: 2h is above 1h, the most here (limits.queues[all].walltime)"
        assert most("alice", "slow", "49h") == "walltime: 49h is above 48h, the most here (limits.roles[user].walltime)"
        assert most("root-admin", "slow", "101h").endswith("(limits.queues[slow].walltime)")
        assert most("bob", "quick", "201h").endswith("above 200h, the most here (users[bob].limits.walltime)")
        assert running.submit("alice", queue="slow", times={"grace_period": "20m"}).status_code == 201


def test_work_without_a_walltime_has_the_longest_there_is(tmp_path: Path) -> None:
    with serving(tmp_path, limits={"walltime": "24h"}) as running:
        made = running.submit("alice").json()

        assert made["walltime"] == "24h"
        assert "24h" in " ".join(made["warnings"])


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"preemptible": False}, "alice may not submit work that is not preemptible"),
        ({"exclusive": True}, "alice may not submit work that takes whole nodes"),
    ],
)
def test_who_would_opt_out_needs_an_admin_or_a_grant(running: Running, asked: dict[str, Any], says: str) -> None:
    told = refused(running.submit("alice", **asked), 403, "live.no-grant")

    assert told.startswith(says)
    assert "users[alice].limits.may" in told
    assert running.submit("root-admin", **asked).status_code == 201


def test_grants_are_given_to_users_roles_and_queues(tmp_path: Path) -> None:
    cluster = {**CLUSTER, "policies": [], "queues": [{"name": "default"}, {"name": "whole"}]}
    users = (ALICE, user("bob", may=["unpreemptible"]))
    limits = {"may": [], "queues": {"whole": {"may": ["exclusive"]}}}
    with serving(tmp_path, cluster=cluster, users=users, limits=limits) as running:
        assert running.submit("bob", preemptible=False).status_code == 201
        refused(running.submit("bob", exclusive=True), 403, "live.no-grant")
        assert running.submit("bob", exclusive=True, queue="whole").status_code == 201
        assert "may not choose a priority" in refused(running.submit("alice", priority=9), 403, "live.no-grant")
        assert running.submit("alice").status_code == 201


def test_work_without_a_queue_goes_to_the_configured_one(tmp_path: Path) -> None:
    cluster = {**CLUSTER, "queues": [{"name": "a"}, {"name": "b"}]}
    with serving(tmp_path, cluster=cluster, defaults={"queue": "b"}) as running:
        assert running.submit("alice").json()["queue"] == "b"


def test_work_without_a_queue_is_refused_with_the_list_where_none_is_the_default(tmp_path: Path) -> None:
    cluster = {**CLUSTER, "doctrine": "kueue", "queues": [{"name": "a", "parent": "all"}, {"name": "b"}]}
    with serving(tmp_path, cluster=cluster) as running:
        told = refused(running.submit("alice"), 422, "live.no-queue")

        assert "a, b" in told
        assert "defaults.queue" in told


@pytest.mark.parametrize("requests", [None, {"memory": "1Gi"}, {"cpu": 0}])
def test_work_that_asks_for_no_cpu_gets_and_costs_one(running: Running, requests: dict[str, Any] | None) -> None:
    asked = {} if requests is None else {"requests": requests}

    assert running.submit("alice", **asked).json()["requests"]["cpu"] == 1


def test_default_requests_are_configured_and_only_what_nodes_have_is_added(tmp_path: Path) -> None:
    with serving(tmp_path, defaults={"requests": {"cpu": "500m", "memory": "1Gi", "gpu": 1}}) as running:
        parts = [{"name": "one", "count": 1, "requests": {"cpu": 2}}, {"name": "two", "count": 2, "requests": {}}]

        assert running.submit("alice").json()["requests"] == {"cpu": "500m", "memory": 2**30}
        made = running.submit("alice", pod_sets=parts).json()
        assert [part["requests"] for part in made["pod_sets"]] == [
            {"cpu": 2, "memory": 2**30},
            {"cpu": "500m", "memory": 2**30},
        ]


def test_caps_of_a_user_and_of_a_project_are_exact_however_many_submit_at_once(tmp_path: Path) -> None:
    caps = {"user": {"workloads": 7}, "project": {"workloads": 10}}
    with serving(tmp_path, caps=caps) as running:
        sleeps = {"command": ["sleep", "300"], "requests": {"cpu": 1}, "project": "ml"}
        with ThreadPoolExecutor(16) as pool:
            answers = list(pool.map(lambda _: running.submit("alice", **sleeps), range(20)))
            others = list(pool.map(lambda _: running.submit("bob", **sleeps | {"priority": 10}), range(10)))

        assert sum(one.status_code == 201 for one in answers) == 7
        assert sum(one.status_code == 201 for one in others) == 3
        told = refused(next(one for one in answers if one.status_code != 201), 409, "live.cap")
        assert told == "the user alice has 7 workloads pending and running, and 7 is the most (caps.user.workloads)"
        told = refused(next(one for one in others if one.status_code != 201), 409, "live.cap")
        assert (
            told == "the project ml has 10 workloads pending and running, and 10 is the most (caps.project.workloads)"
        )


def test_a_cap_counts_what_has_not_ended_and_waiting_work_alone_if_it_says_so(tmp_path: Path) -> None:
    with serving(tmp_path, caps={"users": {"alice": {"pending": 1}}}) as running:
        sleeps = {"command": ["sleep", "300"], "requests": {"cpu": 4}}
        first, second = (running.submit("alice", **sleeps).json()["name"] for _ in range(2))
        told = refused(running.submit("alice", **sleeps), 409, "live.cap")
        assert told == "the user alice has 1 workload pending, and 1 is the most (caps.users[alice].pending)"

        running.client().cancel(second)
        assert running.submit("alice", **sleeps).status_code == 201
        running.client().cancel(first, now=True)
        until(lambda: running.client().job(first)["state"] == "cancelled")
        until(lambda: running.submit("alice", **sleeps).status_code == 201)


def test_how_many_run_at_once_is_capped_and_the_next_waits_for_one_of_them(tmp_path: Path) -> None:
    with serving(tmp_path, caps={"users": {"alice": {"running": 2}}}) as running:
        sleeps = {"command": ["sleep", "300"], "requests": {"cpu": 1}}
        names = [running.submit("alice", **sleeps).json()["name"] for _ in range(3)]
        until(lambda: [running.client().job(name)["state"] for name in names[:2]] == ["running"] * 2)
        waits = running.client().job(names[2])
        assert (waits["state"], waits["rule"]) == ("pending", "live.running-cap")
        assert "2 workloads of the user alice may run at once (caps.users[alice].running)" in waits["why"]

        running.client().cancel(names[0], now=True)
        until(lambda: running.client().job(names[2])["state"] == "running")


def test_requested_resources_are_capped_over_all_members(tmp_path: Path) -> None:
    with serving(tmp_path, caps={"user": {"requests": {"cpu": 6}}}) as running:
        sleeps = {"command": ["sleep", "300"], "requests": {"cpu": 2}, "members": 2}
        assert running.submit("alice", **sleeps).status_code == 201

        told = refused(running.submit("alice", **sleeps), 409, "live.cap")
        assert told == "the user alice asks for 4 cpu already and 4 more, and 6 is the most (caps.user.requests[cpu])"
        assert running.submit("alice", **sleeps | {"members": 1}).status_code == 201
