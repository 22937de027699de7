"""Sensitive work live: it claims the nodes it names at once, is never preempted, and every step of it is on record."""

import os
import signal
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from cede.live.documents import AuditEntry
from tests.live.scenarios.dying import PATIENT_S, child
from tests.live.scenarios.lattices import lattice_of
from tests.live.scenarios.scripts import SAVES, SAVING, SLEEPS, SLOW_TO_GO
from tests.live.scenarios.twin import assert_replays
from tests.live.serving import ACCOUNT, Live, until

pytestmark = pytest.mark.slow

BOTH = {"constraints": {"nodes": ["n1", "n2"]}, "members": 2}
LOSES = "echo supervisor $PPID; echo ready; exec sleep 300"


@pytest.fixture(scope="module")
def cluster() -> dict[str, Any]:
    return lattice_of("n1", "n2", "n3", patience="1h")


def records(live: Live, about: str) -> list[AuditEntry]:
    return list(live.client.audit(about=about))


def said(entries: list[AuditEntry]) -> list[tuple[str, str]]:
    return [(one["what"], one["detail"]) for one in entries]


def test_a_claim_is_on_record_before_any_of_it_happens(live: Live) -> None:
    live.runs("saver", SAVING, priority=8, checkpoint=SAVES, constraints={"nodes": ["n1"]})
    live.runs("plain", SLEEPS, priority=6, walltime=600, constraints={"nodes": ["n2"]})
    live.shell("claim", SLEEPS, sensitive=True, priority=2, **BOTH)
    live.wait("claim", "running")
    live.client.cancel("claim")
    live.end("claim")

    entries = records(live, "claim")
    assert said(entries) == [
        ("submit", ""),
        ("claim nodes", "n1, n2, once they are left"),
        ("start", "attempt 1 on n1, n2"),
        ("cancel", ""),
        ("release nodes", f"n1, n2: {ACCOUNT} cancelled it"),
    ]
    assert {one["by"] for one in entries} == {ACCOUNT}
    decision = next(one for one in live.client.decisions(workload="claim") if one["victims"])
    for victim in ("saver", "plain"):
        (taken,) = (one for one in records(live, victim) if one["what"] == "preempt")
        assert taken["detail"] == f"decision {decision['number']} takes its room for claim: sensitive"
        assert (taken["by"], taken["role"]) == (ACCOUNT, "scheduler")
    at = {event["signal"]: event["at"] for event in live.events("claim")}
    by = {one["what"]: one["at"] for one in entries}
    asked = next(event["at"] for event in live.events("saver") if event["signal"] == "hint")
    # Both are the wall time of one step, each rounded for itself.
    assert datetime.fromisoformat(by["claim nodes"]) <= datetime.fromisoformat(asked) + timedelta(milliseconds=1)
    assert datetime.fromisoformat(by["start"]) < datetime.fromisoformat(at["began"])
    assert live.client.audit_chain()["intact"]


def test_the_first_claim_on_a_node_has_it_and_the_second_waits(live: Live) -> None:
    for name in ("early", "late"):
        live.shell(name, SLEEPS, sensitive=True, **BOTH)

    live.wait("early", "running")
    late = live.client.job("late")
    assert late["state"] == "pending"
    assert [what for what, _ in said(records(live, "late"))] == ["submit"]
    live.client.cancel("early")
    live.wait("late", "running")


def test_sensitive_work_that_fails_is_not_queued_again_by_itself(live: Live) -> None:
    live.runs("fragile", LOSES, sensitive=True)
    os.kill(int(live.log("fragile").split()[1]), signal.SIGKILL)

    ended = live.end("fragile")
    assert (ended["state"], ended["rule"], ended["requeues"]) == ("failed", "live.node-failure", 0)
    live.runs("again", LOSES, sensitive=True, requeue="on_node_failure")
    os.kill(int(live.log("again").split()[1]), signal.SIGKILL)
    live.said("again", "ready", attempt=2)
    kinds = [what for what, _ in said(records(live, "again"))]
    assert kinds == ["submit", "start", "release nodes", "start"]


def test_a_claim_does_not_wait_for_natural_ends_but_others_do(live: Live) -> None:
    live.runs("ending", SLEEPS, priority=1, walltime=300, constraints={"nodes": ["n1"]})
    live.shell("patient", SLEEPS, priority=9, constraints={"nodes": ["n1"]})
    waiting = live.client.job("patient")
    assert (waiting["state"], waiting["rule"]) == ("pending", "lattice.patience")
    live.shell("now", SLEEPS, sensitive=True, constraints={"nodes": ["n1"]})
    live.wait("now", "running")


def test_the_records_of_a_claim_are_there_once_after_kill_9(tmp_path: Path) -> None:
    with child(tmp_path, lattice_of("n1", "n2")) as live:
        live.runs("slow", SLOW_TO_GO, priority=9, constraints={"nodes": ["n1"]})
        live.shell("claim", SLEEPS, sensitive=True, **BOTH)
        live.wait("claim", "held")
        before = said(records(live, "claim"))
        live.kill()
        live.start()
        assert said(records(live, "claim"))[: len(before)] == before
        live.let_go("slow")
        live.wait("claim", "running", within=PATIENT_S)
        live.kill()
        live.start()
        until(lambda: live.client.job("claim")["state"] == "running")
        assert [what for what, _ in said(records(live, "claim"))] == ["submit", "claim nodes", "start"]
        assert [what for what, _ in said(records(live, "slow"))] == ["submit", "preempt"]
        chain = live.client.audit_chain()
        assert (chain["intact"], chain["head"]) == (True, list(live.client.audit())[-1]["hash"])
    assert_replays(tmp_path / "data")
