"""Lattice live: classes, triggers, vCluster types, several victims, and what is never preempted."""

import re
from datetime import datetime
from typing import Any

import httpx
import pytest

from tests.live.scenarios.lattices import RETURN_S, TYPES, lattice_of
from tests.live.scenarios.scripts import DEAF, ENDING, LET_GO, POLITE, SAVES, SAVING, SILENT, SLEEPS
from tests.live.serving import DEADLINE_S, HASTY, Live

pytestmark = pytest.mark.slow

HOMES = {"svc": "service", "lent": "hpc_batch", "sens": "sensitive"}


@pytest.fixture(scope="module")
def cluster() -> dict[str, Any]:
    """Two nodes for everybody, and one of the services, of hpc_batch and of sensitive work each."""
    return lattice_of("n1", "n2", *HOMES, homes=HOMES, queues=TYPES)


@pytest.fixture(scope="module")
def config() -> dict[str, Any]:
    return {"times": {"reclaim_grace": RETURN_S}}


def on(*nodes: str) -> dict[str, Any]:
    """A submission that may run on these nodes only."""
    return {"constraints": {"nodes": list(nodes)}}


def victims(live: Live, claimant: str) -> list[tuple[str, str]]:
    """Who gave way to it, and why, by the records."""
    made = [one["decision"] for one in live.client.decisions(workload=claimant) if one["workload"] == claimant]
    return [(one["workload"], one["reason"]) for decision in made for one in decision.get("victims", [])]


def at(live: Live, name: str, signal: str) -> datetime:
    return next(datetime.fromisoformat(one["at"]) for one in live.events(name) if one["signal"] == signal)


# -- classes and triggers ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("low", "high", "gives_way"), [(4, 5, True), (5, 5, False), (6, 5, False), (0, 1, True)])
def test_preemption_only_moves_down_the_classes(live: Live, low: int, high: int, gives_way: bool) -> None:
    victim, claimant = f"low-{low}-{high}", f"high-{low}-{high}"
    live.runs(victim, SLEEPS, queue="hpc_batch", priority=low, **on("n1"))
    live.shell(claimant, SLEEPS, queue="ml_training", priority=high, **on("n1"))

    if gives_way:
        live.wait(claimant, "running")
        assert victims(live, claimant) == [(victim, "priority")]
        assert live.client.job(victim)["preempted"] == 1
    else:
        assert live.client.job(claimant)["state"] == "pending"
        assert live.client.job(victim)["state"] == "running"


def test_a_checkpoint_is_asked_for_before_anything_is_told_to_go(live: Live) -> None:
    live.runs("asked", ENDING, queue="ml_training", priority=2, checkpoint=SAVES, **on("n1"))
    live.shell("asks", LET_GO, queue="hpc_batch", priority=8, **on("n1"))

    left = live.wait("asked", "suspended")
    assert (left["preempted"], left["attempt"]) == (1, 1)
    live.let_go("asks")
    live.completed("asks")
    ended = live.completed("asked")
    assert (ended["submitted"], ended["attempt"]) == (left["submitted"], 2)
    assert live.log("asked") == "resumed 2\n1\n"
    signals = live.signals("asked")
    assert signals.index("hint") < signals.index("saved") < signals.index("evict") < signals.index("suspend")


def test_a_home_queue_takes_its_node_back_whatever_the_class_and_the_borrower_has_its_grace(live: Live) -> None:
    live.runs("borrower", DEAF, queue="ml_training", priority=9, times=HASTY, **on("lent"))
    live.shell("home", SLEEPS, queue="hpc_batch", priority=0, **on("lent"))

    live.wait("home", "running")
    assert victims(live, "home") == [("borrower", "reclaim")]
    assert live.seconds_between("borrower", "evict", "requeue") >= RETURN_S
    told = next(one for one in live.events("borrower") if one["signal"] == "evict")
    assert "1.5s before it is killed" in told["why"]


def test_nodes_are_borrowed_last_and_who_must_give_one_back_resumes_elsewhere(live: Live) -> None:
    live.runs("first", SLEEPS, queue="ml_training", priority=9, **on("lent", "n2"))
    assert live.client.job("first")["nodes"] == ["n2"]
    live.runs("guest", SAVING, queue="interactive", priority=1, checkpoint=SAVES, **on("lent", "n2"))
    assert live.client.job("guest")["nodes"] == ["lent"]
    live.shell("back", SLEEPS, queue="hpc_batch", priority=5, **on("lent"))

    live.wait("back", "running")
    live.wait("guest", "suspended")
    assert victims(live, "back") == [("guest", "reclaim")]
    live.client.cancel("first")
    live.said("guest", "ready 2 1", attempt=2)
    assert live.wait("guest", "running")["nodes"] == ["n2"]


def test_a_sensitive_claim_has_the_nodes_it_names_at_once(live: Live) -> None:
    live.runs("high", SAVING, queue="hpc_batch", priority=9, checkpoint=SAVES, **on("n1"))
    live.runs("also", SLEEPS, queue="service", priority=9, **on("svc"))
    nodes = on("n1", "svc")
    live.shell("claim", SLEEPS, queue="hpc_batch", priority=0, sensitive=True, members=2, **nodes)

    live.wait("claim", "running")
    assert sorted(victims(live, "claim")) == [("also", "sensitive"), ("high", "sensitive")]
    live.wait("high", "suspended")
    assert live.client.job("also")["state"] in ("pending", "preempting")


# -- per vCluster --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["hpc_batch", "ml_training", "interactive"])
def test_work_of_this_type_is_preempted_by_class(live: Live, kind: str) -> None:
    live.runs(f"{kind}-low", SLEEPS, queue=kind, priority=3, **on("n1"))
    live.shell(f"{kind}-high", SLEEPS, queue="hpc_batch", priority=4, **on("n1"))

    live.wait(f"{kind}-high", "running")
    assert victims(live, f"{kind}-high") == [(f"{kind}-low", "priority")]


@pytest.mark.parametrize(("where", "gives_way"), [("svc", False), ("n1", False), ("lent", True)])
def test_a_service_is_preempted_on_borrowed_nodes_only(live: Live, where: str, gives_way: bool) -> None:
    live.runs(f"web-{where}", SLEEPS, queue="service", priority=1, **on(where))
    live.shell(f"job-{where}", SLEEPS, queue="hpc_batch", priority=9, **on(where))

    if gives_way:
        live.wait(f"job-{where}", "running")
        assert victims(live, f"job-{where}") == [(f"web-{where}", "reclaim")]
    else:
        waiting = live.client.job(f"job-{where}")
        assert (waiting["state"], live.client.job(f"web-{where}")["state"]) == ("pending", "running")


@pytest.mark.parametrize("how", ["flag", "class", "queue"])
def test_sensitive_work_is_never_preempted(live: Live, how: str) -> None:
    given: dict[str, dict[str, Any]] = {
        "flag": {"queue": "hpc_batch", "priority": 0, "sensitive": True},
        "class": {"queue": "hpc_batch", "priority": 10},
        "queue": {"queue": "sensitive", "priority": 0},
    }
    live.runs(f"safe-{how}", SLEEPS, **given[how], **on("n1"))
    live.shell(f"wants-{how}", SLEEPS, queue="ml_training", priority=10, **on("n1"))
    live.shell(f"claims-{how}", SLEEPS, queue="sensitive", priority=10, sensitive=True, **on("n1"))

    assert live.client.job(f"wants-{how}")["state"] == "pending"
    assert live.client.job(f"claims-{how}")["state"] == "pending"
    assert live.client.job(f"safe-{how}")["state"] == "running"


def test_nobody_borrows_from_sensitive_work_and_it_borrows_from_nobody(live: Live) -> None:
    live.shell("curious", SLEEPS, queue="hpc_batch", priority=9, **on("sens"))
    assert live.client.job("curious")["state"] == "pending"
    live.runs("at-home", SLEEPS, queue="sensitive", priority=1, **on("sens"))


# -- what is effectively not preemptible ---------------------------------------------------------------------------


@pytest.mark.parametrize(("level", "gives_way"), [(6, True), (7, False)])
def test_who_saves_nothing_is_safe_from_class_seven_on(live: Live, level: int, gives_way: bool) -> None:
    live.runs(f"unsaved-{level}", POLITE, queue="hpc_batch", priority=level, **on("n1"))
    live.shell(f"over-{level}", SLEEPS, queue="hpc_batch", priority=9, **on("n1"))

    if gives_way:
        live.wait(f"over-{level}", "running")
    else:
        assert live.client.job(f"over-{level}")["state"] == "pending"


def test_who_saves_is_not_safe_there(live: Live) -> None:
    live.runs("saved-7", SAVING, queue="hpc_batch", priority=7, checkpoint=SAVES, **on("n1"))
    live.shell("over-saved", SLEEPS, queue="hpc_batch", priority=9, **on("n1"))

    live.wait("over-saved", "running")
    live.wait("saved-7", "suspended")


# -- several victims -----------------------------------------------------------------------------------------------


def test_all_victims_are_hinted_in_parallel_and_the_claimant_starts_when_the_last_has_left(live: Live) -> None:
    for node in ("n1", "n2"):
        live.runs(f"part-{node}", SAVING, queue="hpc_batch", priority=1, checkpoint=SAVES, **on(node))
    live.shell("gang", SLEEPS, queue="ml_training", priority=5, members=2, **on("n1", "n2"))

    live.wait("gang", "running")
    assert sorted(name for name, _ in victims(live, "gang")) == ["part-n1", "part-n2"]
    hints = [at(live, f"part-{node}", "hint") for node in ("n1", "n2")]
    left = [at(live, f"part-{node}", "suspend") for node in ("n1", "n2")]
    assert hints[0] == hints[1] < min(left)
    assert max(left) <= at(live, "gang", "freed")


def test_no_more_than_three_give_way_to_one(live: Live) -> None:
    for number in range(4):
        live.runs(f"small-{number}", SLEEPS, queue="hpc_batch", priority=1, cpu=1, **on("n1"))
    live.shell("large", SLEEPS, queue="hpc_batch", priority=9, cpu=4, **on("n1"))

    waiting = live.client.job("large")
    assert (waiting["state"], waiting["rule"]) == ("pending", "lattice.max-victims")
    live.client.cancel("small-0")
    live.wait("large", "running")
    assert sorted(victims(live, "large")) == [(f"small-{number}", "priority") for number in (1, 2, 3)]


def test_victims_worth_more_than_the_claimant_stay(live: Live) -> None:
    # With a walltime it costs a minute at least, however fast others of its user saved their work.
    live.runs("dear", SLEEPS, queue="hpc_batch", priority=1, checkpoint={"mode": "manual"}, walltime=3600, **on("n1"))
    live.shell("cheap", SLEEPS, queue="hpc_batch", priority=2, walltime=60, **on("n1"))

    waiting = live.client.job("cheap")
    assert (waiting["state"], waiting["rule"]) == ("pending", "lattice.value")


# -- races ---------------------------------------------------------------------------------------------------------


def test_a_victim_that_ends_by_itself_meanwhile_has_completed(live: Live) -> None:
    live.runs("nearly", f"trap '' USR1; echo ready; {LET_GO}", queue="hpc_batch", checkpoint=SAVES, **on("n1"))
    live.shell("next", SLEEPS, queue="hpc_batch", priority=9, **on("n1"))
    live.wait("nearly", "checkpointing")
    live.let_go("nearly")

    ended = live.completed("nearly")
    assert (ended["preempted"], ended["attempt"]) == (0, 1)
    live.wait("next", "running")


def test_of_two_claimants_for_one_node_the_first_in_line_has_it_and_the_other_waits(live: Live) -> None:
    live.runs("room", SAVING, queue="hpc_batch", priority=1, checkpoint=SAVES, **on("n1"))
    for name, level in (("winner", 6), ("loser", 5)):
        live.shell(name, SLEEPS, queue="hpc_batch", priority=level, **on("n1"))

    live.wait("winner", "running")
    assert live.client.job("loser")["state"] == "pending"
    assert victims(live, "loser") == []


# -- metrics -------------------------------------------------------------------------------------------------------


def test_every_metric_of_the_policy_has_its_counterpart(live: Live) -> None:
    before = series(live)
    live.runs("counted", SAVING, queue="interactive", priority=1, checkpoint=SAVES, **on("n1"))
    live.shell("counter", SLEEPS, queue="hpc_batch", priority=9, **on("n1"))
    live.wait("counter", "running")
    live.client.cancel("counter")
    live.said("counted", "ready 2 1", attempt=2)
    live.runs("mute", SILENT, queue="ml_training", checkpoint=SAVES, times={"checkpoint_timeout": 1}, **on("n2"))
    live.shell("louder", SLEEPS, queue="hpc_batch", priority=9, **on("n2"))
    live.wait("louder", "running")

    after = series(live)
    grown = {key for key in after if after[key] > before.get(key, 0)}
    assert {
        'cede_preemptions_total{queue="interactive",reason="lattice.priority"}',
        'cede_preemptions_total{queue="ml_training",reason="lattice.priority"}',
        "cede_preemption_checkpoint_duration_seconds_count",
        "cede_preemption_victim_requeue_total",
        "cede_preemption_failed_checkpoint_total",
    } <= grown
    reasons = {reason for key in after for reason in re.findall(r'preemptions_total{.*reason="([^"]+)"', key)}
    assert reasons <= {"lattice.priority", "lattice.reclaim", "lattice.sensitive-claim"}


def series(live: Live) -> dict[str, float]:
    """Every series with its value."""
    ready = live.server.ready
    assert ready is not None
    headers = {"Authorization": f"Bearer {ready.local_token}"}
    text = httpx.get(f"{ready.url}/metrics", headers=headers, timeout=DEADLINE_S, trust_env=False).text
    rows = (line.rpartition(" ") for line in text.splitlines() if not line.startswith("#"))
    return {key: float(value) for key, _, value in rows}


def test_the_whole_trail_is_still_a_chain(live: Live) -> None:
    live.shell("on-record", "true", queue="hpc_batch")
    live.completed("on-record")
    chain = live.client.audit_chain()
    assert (chain["intact"], chain["records"] > 0) == (True, True)
