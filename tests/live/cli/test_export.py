"""`cede export`: what a real server did, as a trace that can be read again."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from cede.model.times import SECOND, parse_time
from cede.sim.traces.reading import read
from tests.live.cli.serving import DEADLINE_S, Call, Served, until

pytestmark = pytest.mark.slow

UNTIL_THERE = 'until [ -e "$0" ]; do sleep 0.02; done'
"""A job that ends when its argument is there. How long it is seen to run then depends on nobody's haste."""


def test_a_preemption_is_in_the_history(server: Served, call: Call, tmp_path: Path) -> None:
    out = tmp_path / "history.jsonl"
    server.counting("ex-low", priority=1)
    server.counting("ex-mid", priority=2)
    gate = tmp_path / "gate"
    urgent = ["sh", "-c", UNTIL_THERE, str(gate)]
    server.client.submit(urgent, name="ex-urgent", priority=9, cpu=2, cwd="/", walltime="1h", preemptible=False)
    server.client.wait("ex-urgent", DEADLINE_S, states=["running"])
    time.sleep(0.6)
    gate.touch()
    server.client.wait("ex-urgent", DEADLINE_S)
    until(lambda: server.client.job("ex-low")["attempt"] == 2 and server.client.job("ex-low")["state"] == "running")
    for name in ("ex-low", "ex-mid"):
        server.client.cancel(name)
        server.client.wait(name, DEADLINE_S)

    told = call("export", "--out", out, "--json").data
    trace = read(out)
    jobs = {row["name"]: row for row in trace.jobs.iter_rows(named=True)}

    assert told["jobs"] == trace.jobs.height
    assert told["evictions"] >= 1
    assert set(jobs) >= {"ex-low", "ex-mid", "ex-urgent"}
    low, urgent_job = jobs["ex-low"], jobs["ex-urgent"]
    assert (low["evictions"], low["outcome"], low["checkpoint"]) == (1, "cancelled", "manual")
    assert (urgent_job["outcome"], urgent_job["priority"], urgent_job["preemptible"]) == ("completed", 9, False)
    assert urgent_job["walltime"] == 3600 * SECOND
    assert urgent_job["duration"] > SECOND // 2
    assert urgent_job["started"] > urgent_job["submitted"], "it waited until its victim had gone"
    assert trace.jobs["submitted"][0] == 0
    assert trace.shapes[low["shape"]].requests["cpu"] == 2 * 10**9
    assert [node.name for node in trace.nodes] == ["east", "west"]


def test_what_a_preemption_lost_is_not_in_the_run_time(server: Served, call: Call, tmp_path: Path) -> None:
    """One that writes no checkpoint begins anew, so that only its last attempt counts."""
    out = tmp_path / "history.parquet"
    gate = tmp_path / "gate"
    begins_anew = ["sh", "-c", f"if [ $CEDE_ATTEMPT = 1 ]; then exec sleep 300; fi; {UNTIL_THERE}", str(gate)]
    server.client.submit(begins_anew, name="ex-lost", priority=1, cpu=2, cwd="/")
    server.client.submit(["sleep", "300"], name="ex-beside", priority=2, cpu=2, cwd="/")
    until(lambda: {server.client.job(name)["state"] for name in ("ex-lost", "ex-beside")} == {"running"})
    server.client.submit(["sleep", "0.2"], name="ex-first", priority=9, cpu=2, cwd="/")
    server.client.wait("ex-first", DEADLINE_S)
    server.client.wait("ex-lost", DEADLINE_S, states=["running"])
    time.sleep(1.1)
    gate.touch()
    server.client.wait("ex-lost", DEADLINE_S)

    call("export", "--out", out)
    lost = {row["name"]: row for row in read(out).jobs.iter_rows(named=True)}["ex-lost"]

    assert (lost["outcome"], lost["evictions"]) == ("completed", 1)
    ran = {event["signal"]: parse_time(event["at"]) for event in server.client.events(workload="ex-lost")}
    assert lost["duration"] == ran["complete"] - ran["began"], "of the last attempt alone"
    assert lost["duration"] > SECOND


def test_one_who_sees_nothing_has_nothing_to_export(server: Served, tmp_path: Path) -> None:
    server.client.submit(["true"], name="ex-mine", cpu=1, cwd="/")
    server.client.wait("ex-mine", DEADLINE_S)
    token = server.client.make_token("outsider")["token"]
    as_outsider = {"CEDE_URL": server.said["url"], "CEDE_TOKEN": token, "CEDE_DATA": ""}

    ran = server.run("export", "--out", str(tmp_path / "t.csv"), **as_outsider)

    assert ran.code == 2
    assert "holds no job" in ran.err


def test_what_a_replay_needs_is_in_a_workloads_document(server: Served) -> None:
    checkpoint = {"mode": "auto", "protocol": "signal", "interval": "10m"}
    made = server.client.submit(["true"], name="ex-doc", cpu=1, cwd="/", checkpoint=checkpoint, preempts=False)

    assert made["checkpoint"]["interval"] == "10m"
    assert (made["preemptible"], made["preempts"], made["labels"]) == (True, False, {})
    server.client.wait("ex-doc", DEADLINE_S)
