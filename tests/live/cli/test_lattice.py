"""Commands against a server under Lattice: classes there are not, and a quota that is used up."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.live.cli.serving import served, until
from tests.unit.cli.calls import cede

CLUSTER = {
    "cede": 1,
    "doctrine": "lattice",
    "nodes": [{"name": name, "capacity": {"cpu": 4}} for name in ("n1", "n2")],
    "queues": [{"name": "default"}],
    "tenants": [{"name": "acme", "max_workloads": 1}],
}


def test_a_class_that_there_is_not_and_a_quota_that_is_used_up(tmp_path: Path) -> None:
    file = tmp_path / "cluster.json"
    file.write_text(json.dumps(CLUSTER))
    with served(tmp_path / "data", file) as server:
        for outside in ("11", "-1"):
            wrong = server.run("submit", "--priority", outside, "--", "true")
            assert wrong.code == 2
            assert wrong.err == (
                f"error: --priority: {outside} is out of range; "
                "under lattice priorities (preemption classes) go from 0 to 10 [live.no-such-priority]\n"
            )
        first, second = (
            server.run("submit", "--name", name, "--tenant", "acme", "--cpu", "1", "--", "sleep", "600")
            for name in ("one", "two")
        )
        assert (first.code, second.code) == (0, 0)
        assert "two  pending  tenant acme holds 1 of at most 1 workloads" in second.out
        told = " ".join(server.run("why", "two").out.split())
        assert "lattice.tenant-quota" in told
        assert "holds 1 of at most 1 workloads, and it asks for 1" in told
        events = [json.loads(line) for line in server.run("events", "two", "--json").out.splitlines()]
        assert [one["signal"] for one in events] == ["submit", "refuse"]
        server.run("cancel", "one")
        until(lambda: server.client.job("two")["state"] == "running")


@pytest.mark.parametrize("outside", [11, -1])
def test_a_file_with_such_a_class_is_refused(tmp_path: Path, outside: int) -> None:
    file = tmp_path / "cluster.json"
    file.write_text(json.dumps(CLUSTER | {"workloads": [{"name": "w", "queue": "default", "priority": outside}]}))

    ran = cede("plan", file)
    assert ran.code == 2
    assert f"workloads[0].priority: {outside} is out of range" in ran.err


@pytest.mark.parametrize("command", ["plan", "serve"])
def test_a_file_in_which_somebody_has_such_a_class_by_default_is_refused(tmp_path: Path, command: str) -> None:
    file = tmp_path / "cluster.json"
    file.write_text(json.dumps(CLUSTER | {"policies": [{"user": "bob", "default_priority": 50}]}))

    ran = cede(command, file, *(("--data", tmp_path / "data", "--port", "0") if command == "serve" else ()))
    assert ran.code == 2
    assert "policies[0].default_priority: 50 is out of range; priorities go from 0 to 10" in ran.err
