"""`cede audit`: who asked for what, and whether that is still what was written."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

from tests.live.cli.serving import CLUSTER, served


def test_a_trail_that_somebody_touched_is_broken_at_a_record(tmp_path: Path) -> None:
    with served(tmp_path / "data", CLUSTER) as server:
        for name in ("east", "west"):
            server.run("nodes", "drain", name)
            server.run("nodes", "undrain", name)
        records = server.client.audit_chain()
        whole = server.run("audit", "--verify")
        assert (whole.code, whole.out) == (
            0,
            f"{records['records']} records, each as it was written. The last has the hash\n{records['head']}\n",
        )

        with sqlite3.connect(server.data / "cede.db") as connection:
            connection.execute("DROP TRIGGER audit_no_delete")
            connection.execute("DELETE FROM audit WHERE sequence = 2")
        connection.close()
        broken = server.run("audit", "--verify")
        assert (broken.code, broken.out.split(": ")[0]) == (1, "broken at record 2")
        assert "record 2 is missing" in " ".join(broken.out.split())
        shown = server.run("audit", "--verify", "--json")
        assert (shown.code, json.loads(shown.out)["intact"], json.loads(shown.out)["broken"]) == (1, False, 2)


def test_sensitive_work_is_submitted_to_its_nodes_and_is_on_record(tmp_path: Path) -> None:
    with served(tmp_path / "data", CLUSTER) as server:
        options = ("--name", "secret", "--sensitive", "--node", "west", "--tenant", "acme", "--exclusive")
        made = server.run("submit", *options, "--wait", "--json", "--", "true")
        assert made.code == 0
        assert (made.data["sensitive"], made.data["tenant"], made.data["nodes"]) == (True, "acme", ["west"])
        told = server.run("audit", "--about", "secret")
        assert [line.split("   ")[2].strip() for line in told.out.splitlines()[2:]] == [
            *("submit", "start", "release nodes")
        ]
        wrong = server.run("submit", "--node", "wets", "--", "true")
        assert wrong.code == 2
        assert "--node" in wrong.err
        assert "did you mean 'west'?" in wrong.err
