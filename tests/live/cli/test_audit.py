"""`cede audit`: who asked for what, and whether that is still what was written."""

from __future__ import annotations

import json
import sqlite3
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from cede.live.client import Client, ClientError
from tests.live.cli.serving import CLUSTER, DEADLINE_S, served


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

        with sqlite3.connect(server.data / "cede.db", timeout=DEADLINE_S) as connection:
            connection.execute("DROP TRIGGER audit_no_delete")
            connection.execute("DELETE FROM audit WHERE sequence = 2")
        connection.close()
        broken = server.run("audit", "--verify")
        assert (broken.code, broken.out.split(": ")[0]) == (1, "broken at record 2")
        assert "record 2 is missing" in " ".join(broken.out.split())
        shown = server.run("audit", "--verify", "--json")
        assert (shown.code, json.loads(shown.out)["intact"], json.loads(shown.out)["broken"]) == (1, False, 2)


def test_a_record_that_somebody_put_in_is_told_and_stops_nobody(tmp_path: Path) -> None:
    with served(tmp_path / "data", CLUSTER) as server:
        server.run("nodes", "drain", "east")
        with sqlite3.connect(server.data / "cede.db", timeout=DEADLINE_S) as connection:
            (last,) = connection.execute("SELECT MAX(sequence) FROM audit").fetchone()
            copied = "version, at, by, role, 'forged', about, detail, allowed, rule, previous, hash"
            connection.execute(f"INSERT INTO audit SELECT {last + 1}, {copied} FROM audit WHERE sequence = {last}")
        connection.close()

        assert server.run("nodes", "undrain", "east").code == 0
        assert server.run("submit", "--name", "after", "--wait", "--", "true").code == 0
        chain = server.client.audit_chain()
        assert (chain["intact"], chain["broken"]) == (False, last + 1)
        assert server.run("audit", "--verify").code == 1
        assert [one["what"] for one in server.client.audit(after=last)][:3] == ["forged", "undrain", "submit"]


@pytest.mark.parametrize("value", ["x'ff00'", "CAST(x'ff00' AS TEXT)"], ids=["bytes", "no text"])
def test_a_record_that_cannot_be_read_is_the_one_that_is_broken(tmp_path: Path, value: str) -> None:
    with served(tmp_path / "data", CLUSTER) as server:
        for what in ("drain", "undrain"):
            server.run("nodes", what, "east")
        with sqlite3.connect(server.data / "cede.db", timeout=DEADLINE_S) as connection:
            connection.execute("DROP TRIGGER audit_no_update")
            connection.execute(f"UPDATE audit SET detail = {value} WHERE sequence = 2")
        connection.close()

        broken = server.run("audit", "--verify")
        assert (broken.code, broken.out.split(": ")[0], broken.err) == (1, "broken at record 2", "")


def test_whoever_verifies_a_long_trail_waits_for_the_answer() -> None:
    answer = b'{"intact": true, "records": 1, "head": "", "broken": null, "why": ""}'
    waited = threading.Event()

    class Slow(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            waited.wait(1.0 if self.path.endswith("/audit/chain") else DEADLINE_S)
            self.send_response(200)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: object) -> None:
            """Nobody reads it."""

    server = HTTPServer(("127.0.0.1", 0), Slow)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        with Client(f"http://127.0.0.1:{server.server_port}", "token", timeout_s=0.1) as client:
            assert client.audit_chain()["intact"] is True
            with pytest.raises(ClientError, match="no answer"):
                client.health()
    finally:
        waited.set()
        server.shutdown()
        server.server_close()
        thread.join()


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
