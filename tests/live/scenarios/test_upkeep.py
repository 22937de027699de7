"""What is kept and for how long, and what a server costs while nothing happens."""

import json
import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from cede.live.client import Client
from cede.live.client.errors import ClientError
from tests.live.scenarios.scripts import SLEEPS
from tests.live.serving import ACCOUNT, DEADLINE_S, Live, cluster_of, serving, until

pytestmark = pytest.mark.slow

CALM_S = 5.0
MOST_SHARE = 0.03
LOOKS = 6
TICK_S = 1 / os.sysconf("SC_CLK_TCK")


def finished(live: Live, name: str) -> Path:
    """A workload that has completed, and the folder of its files."""
    live.shell(name, "echo hello")
    live.completed(name)
    folder = live.data / "jobs" / name
    assert folder.is_dir()
    return folder


def test_nothing_is_deleted_by_default(tmp_path: Path) -> None:
    with serving(tmp_path, cluster_of("n1")) as live:
        folder = finished(live, "kept")
    with serving(tmp_path) as live:
        assert live.client.job("kept")["state"] == "completed"
        assert live.log("kept") == "hello\n"
        assert [entry for entry in live.client.audit() if entry["what"] == "delete"] == []
    assert folder.is_dir()


def test_what_is_older_than_the_configuration_wants_is_deleted_and_the_audit_trail_says_so(tmp_path: Path) -> None:
    with serving(tmp_path, cluster_of("n1")) as live:
        old = finished(live, "old")
        live.runs("running", SLEEPS)
    time.sleep(0.1)
    with serving(tmp_path, retention={"ended": 0.1}) as live:
        until(lambda: any(entry["what"] == "delete" for entry in live.client.audit(about="old")))
        with pytest.raises(ClientError) as gone:
            live.client.job("old")
        assert gone.value.status == 404
        until(lambda: not old.exists())
        (entry,) = live.client.audit(about="old", by="cede")
        assert (entry["role"], entry["allowed"]) == ("retention", True)
        assert "completed" in entry["detail"]
        assert ACCOUNT in entry["detail"]
        assert any(one["workload"] == "old" for one in live.client.decisions())


def test_a_workload_under_way_is_never_deleted(tmp_path: Path) -> None:
    with serving(tmp_path, cluster_of("n1"), retention={"ended": 0, "events": 0}) as live:
        live.runs("lives", SLEEPS)
        live.stop()
        live.start()
        assert live.client.job("lives")["state"] == "running"
        assert live.signals("lives") == ["submit", "start", "began"]


def test_an_idle_server_uses_hardly_any_of_a_core(tmp_path: Path) -> None:
    """With three jobs that sleep: under 3 % of a core, and in truth far less.

    A busy machine may make it look worse for a while, but nothing makes it look better than it is.
    """
    config = {
        "port": 0,
        "data": str(tmp_path / "data"),
        "users": [{"name": ACCOUNT, "role": "admin", "account": ACCOUNT}],
    }
    (tmp_path / "config.json").write_text(json.dumps(config))
    program = Path(__file__).with_name("child.py")
    server = subprocess.Popen([sys.executable, str(program), str(tmp_path / "config.json")], stdout=subprocess.PIPE)
    assert server.stdout is not None
    try:
        url, token = server.stdout.readline().decode().split()
        with Client(url, token) as client:
            for number in range(3):
                client.submit(["sleep", "300"], name=f"sleeps-{number}", cwd="/", cpu="100m")
                client.wait(f"sleeps-{number}", DEADLINE_S, states=["running"])
            shares: list[float] = []
            while len(shares) < LOOKS and min(shares, default=1) >= MOST_SHARE:
                shares.append(_share(server.pid))
            for number in range(3):
                client.cancel(f"sleeps-{number}")
                client.wait(f"sleeps-{number}", DEADLINE_S)
    finally:
        server.terminate()
        server.wait(DEADLINE_S)
        server.stdout.close()

    print("idle:", *(f"{share:.2%}" for share in shares), "of a core")
    assert min(shares) < MOST_SHARE


def _share(pid: int) -> float:
    """How much of a core was used over a few seconds."""
    before, began = _cpu_s(pid), time.monotonic()
    time.sleep(CALM_S)
    return (_cpu_s(pid) - before) / (time.monotonic() - began)


def _cpu_s(pid: int) -> float:
    """Processor time of this process and of all below it, but for commands of jobs, which sleep."""
    total, todo = 0.0, [pid]
    while todo:
        one = todo.pop()
        with suppress(OSError):  # it has just ended
            words = Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()
            total += int(words[11]) + int(words[12])
            for task in Path(f"/proc/{one}/task").iterdir():
                todo += [int(child) for child in (task / "children").read_text().split()]
    return total * TICK_S
