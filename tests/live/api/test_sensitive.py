"""Sensitive work: who may read what it wrote, what is on record of it, and whose quota somebody uses."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from cede.live.client import ClientError
from cede.live.config import User
from cede.model.times import parse_time
from tests.live.api.serving import ACCOUNT, CLUSTER, USERS, Running, serving, until

TENANTS = (
    *USERS,
    User(name="tina", tenant="acme", account=ACCOUNT),
    User(name="boss", role="admin", tenant="acme", account=ACCOUNT),
)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with serving(tmp_path_factory.mktemp("data"), users=TENANTS) as made:
        yield made


def test_every_step_of_sensitive_work_is_on_record_before_it_is_done(running: Running) -> None:
    running.submit("alice", name="secret", command=["sh", "-c", "echo x"], sensitive=True).raise_for_status()
    client = running.client()
    client.wait("secret", 30)

    records = list(client.audit(about="secret"))
    assert [(one["by"], one["role"], one["what"]) for one in records] == [
        ("alice", "user", "submit"),
        ("alice", "scheduler", "start"),
        ("alice", "scheduler", "release nodes"),
    ]
    assert records[1]["detail"] == "attempt 1 on n1"
    assert records[2]["detail"].startswith("n1: it ended by itself")
    began = next(event for event in client.events(workload="secret") if event["signal"] == "began")
    assert parse_time(records[1]["at"]) < parse_time(began["at"])
    assert running.server.store.audit(about="secret")[1].version is not None


def test_other_work_has_no_such_records(running: Running) -> None:
    running.submit("alice", name="plain", command=["true"]).raise_for_status()
    client = running.client()
    client.wait("plain", 30)

    assert [one["what"] for one in client.audit(about="plain")] == ["submit"]


@pytest.mark.parametrize(
    ("user", "status", "rule"),
    [
        ("bob", 403, "live.sensitive-output"),
        ("ml-guest", 403, "live.sensitive-output"),
        ("guest", 403, "live.sensitive-output"),
        ("eve", 404, "live.not-visible"),
    ],
)
def test_nobody_but_its_owner_and_admins_reads_what_it_wrote_and_who_tried_is_on_record(
    running: Running, user: str, status: int, rule: str
) -> None:
    name = f"hidden-from-{user}"
    running.submit("alice", name=name, command=["sh", "-c", "echo x"], sensitive=True).raise_for_status()
    running.client().wait(name, 30)

    answer = running.ask("GET", f"/workloads/{name}/logs", user)
    assert (answer.status_code, answer.json()["rule"]) == (status, rule)
    tried = [one for one in running.client().audit(about=name) if one["what"] == "read output"]
    assert [(one["by"], one["allowed"], one["rule"]) for one in tried] == [(user, False, rule)]


def test_an_admin_who_reads_it_is_on_record_and_its_owner_is_not(running: Running) -> None:
    running.submit("alice", name="read", command=["sh", "-c", "echo x"], sensitive=True).raise_for_status()
    client = running.client()
    client.wait("read", 30)
    before = [one["what"] for one in client.audit(about="read")]

    assert b"".join(running.client("alice").logs("read")) == b"x\n"
    assert [one["what"] for one in client.audit(about="read")] == before
    assert b"".join(client.logs("read")) == b"x\n"
    (record, *_) = [one for one in client.audit(about="read") if one["what"] == "read output"]
    assert (record["by"], record["allowed"]) == ("root-admin", True)
    assert record["detail"] == "attempt 1, member 0, out, from byte 0"


def test_the_chain_is_whole_until_somebody_touches_it(tmp_path: Path) -> None:
    with serving(tmp_path) as running:
        client = running.client()
        running.submit("alice", name="a", command=["true"]).raise_for_status()
        running.submit("bob", name="b", command=["true"], priority=99)
        client.wait("a", 30)
        chain = client.audit_chain()
        records = list(client.audit())
        assert (chain["intact"], chain["records"], chain["head"]) == (True, len(records), records[-1]["hash"])
        assert [one["previous"] for one in records[1:]] == [one["hash"] for one in records[:-1]]

        with running.server.store._writer.begin() as connection:
            connection.exec_driver_sql("DROP TRIGGER audit_no_update")
            connection.exec_driver_sql("UPDATE audit SET allowed = 1 WHERE allowed = 0")
        broken = client.audit_chain()
        refused = next(one["number"] for one in records if not one["allowed"])
        assert (broken["intact"], broken["broken"]) == (False, refused)
        assert broken["why"] == f"record {refused} is not as it was written"


@pytest.mark.parametrize("user", ["alice", "guest"])
def test_only_admins_check_the_chain(running: Running, user: str) -> None:
    assert running.ask("GET", "/audit/chain", user).status_code == 403


def test_work_counts_to_the_tenant_of_whoever_submits_it(running: Running) -> None:
    assert running.submit("tina", name="t1").json()["tenant"] == "acme"
    assert running.submit("tina", name="t2", tenant="acme").json()["tenant"] == "acme"
    assert running.submit("boss", name="t3", tenant="other").json()["tenant"] == "other"
    assert running.submit("alice", name="t4").json()["tenant"] is None


@pytest.mark.parametrize(("user", "own"), [("tina", "acme"), ("alice", "no tenant")])
def test_nobody_but_an_admin_chooses_whose_quota_it_uses(running: Running, user: str, own: str) -> None:
    answer = running.submit(user, name="elsewhere", tenant="rich")

    assert (answer.status_code, answer.json()["rule"]) == (403, "live.other-tenant")
    assert own in answer.json()["detail"]


def test_a_policy_on_classes_binds_sensitive_work_as_class_ten(tmp_path: Path) -> None:
    cluster = {**CLUSTER, "doctrine": "lattice", "queues": [{"name": "default"}]}
    cluster["policies"] = [{"user": "bob", "max_priority": 6}]
    with serving(tmp_path, cluster=cluster) as running:
        assert running.submit("bob", name="plain", priority=6).status_code == 201
        for name, priority, sensitive in (("a", 5, True), ("b", 10, False)):
            answer = running.submit("bob", name=name, priority=priority, sensitive=sensitive)
            assert (answer.status_code, answer.json()["rule"]) == (403, "live.priority-range")
            assert "from 0 to 6, not 10" in answer.json()["detail"]
        assert running.submit("alice", name="c", sensitive=True, priority=5).status_code == 201
        until(lambda: running.client().job("c")["state"] == "completed")


@pytest.mark.parametrize("outside", [-1, 11, 2**31])
def test_a_class_that_there_is_not_is_a_bad_request(tmp_path: Path, outside: int) -> None:
    cluster = {**CLUSTER, "doctrine": "lattice", "queues": [{"name": "default"}], "policies": []}
    with serving(tmp_path, cluster=cluster) as running:
        answer = running.submit("alice", name="wrong", priority=outside)
        assert (answer.status_code, answer.json()["rule"]) == (400, "live.no-such-priority")
        assert "from 0 to 10" in answer.json()["detail"]
        assert "preemption class" in answer.json()["detail"]
        with pytest.raises(ClientError):
            running.client().job("wrong")
        for fine in (0, 10):
            assert running.submit("alice", name=f"class-{fine}", priority=fine).status_code == 201
