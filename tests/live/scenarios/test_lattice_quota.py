"""Hard quotas under real concurrency: the first to be committed has the last of it, the other is refused and waits."""

import random
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest

from cede.live.client import Client
from cede.live.client.errors import ClientError
from cede.live.documents import Workload
from cede.model.lifecycle import FINAL, PRESENT, Phase
from tests.live.scenarios.dying import PATIENT_S, Child, child
from tests.live.scenarios.lattices import lattice_of
from tests.live.scenarios.scripts import SAVES, SAVING, SILENT, SLEEPS
from tests.live.scenarios.twin import assert_replays
from tests.live.serving import Live, until

pytestmark = pytest.mark.slow

RULE = "lattice.tenant-quota"
TENANTS = ({"name": "one", "max_workloads": 1}, {"name": "two", "max_nodes": 2}, {"name": "three", "max_nodes": 3})
NODES = ("n1", "n2", "n3", "n4", "n5", "n6")


@pytest.fixture(scope="module")
def cluster() -> dict[str, Any]:
    return lattice_of(*NODES, tenants=TENANTS)


def at_once(live: Live, *bodies: dict[str, Any]) -> list[Workload]:
    """All are submitted at the same moment, each by a client of its own, and answered."""
    start = Barrier(len(bodies))

    def submit(body: dict[str, Any]) -> Workload:
        with Client(data=live.data) as client:
            client.health()  # the connection is there
            start.wait()
            script = body.pop("script", SLEEPS)
            return client.submit(["sh", "-c", script], cwd="/", **{"cpu": 4, "priority": 5} | body)

    with ThreadPoolExecutor(len(bodies)) as pool:
        return list(pool.map(submit, bodies))


def one_runs(live: Live, names: Sequence[str]) -> None:
    until(lambda: [live.client.job(name)["state"] for name in names].count("running") == 1, what="one runs")


def most_at_once(live: Live, names: Sequence[str]) -> tuple[int, int]:
    """How many of these ever were on nodes or had room held, and on how many nodes, by every event there is."""
    present: dict[str, int] = {}
    most = (0, 0)
    for event in live.events():
        if event["workload"] in names:
            phase = Phase(event["after"])
            present.pop(event["workload"], None)
            if phase in PRESENT or phase is Phase.HELD:
                present[event["workload"]] = live.client.job(event["workload"])["members"]
            most = (max(most[0], len(present)), max(most[1], sum(present.values())))
    return most


@pytest.mark.parametrize("round_", range(8))
def test_of_two_for_the_last_quota_one_runs_and_the_other_is_refused_and_comes_when_it_ends(
    live: Live, round_: int
) -> None:
    names = [f"{side}-{round_}" for side in ("left", "right")]
    made = at_once(live, *({"name": name, "tenant": "one"} for name in names))

    assert {one["state"] for one in made} <= {"starting", "running", "pending"}
    until(lambda: sorted(live.client.job(name)["state"] for name in names) == ["pending", "running"])
    waits, runs = sorted(names, key=lambda name: live.client.job(name)["state"])
    waiting = live.client.job(waits)
    assert (waiting["rule"], waiting["nodes"]) == (RULE, [])
    assert waiting["why"].startswith("tenant one holds 1 of at most 1 workloads, and it asks for 1")
    told: dict[str, Any] = dict(live.client.why(waits))
    assert (told["story"][-1]["rule"], told["story"][-1]["event"]["signal"]) == (RULE, "refuse")
    assert told["stands_in_its_way"]["rule"] == RULE
    live.client.cancel(runs)
    live.wait(waits, "running")
    assert most_at_once(live, names) == (1, 1)


@pytest.mark.parametrize("round_", range(4))
def test_two_quotas_of_nodes_raced_for_at_the_same_time(live: Live, round_: int) -> None:
    bodies: list[dict[str, Any]] = [
        {"name": f"{tenant}-{number}-{round_}", "tenant": tenant, "members": members}
        for tenant, members in (("two", 2), ("three", 2))
        for number in range(3)
    ]
    at_once(live, *(dict(body) for body in bodies))

    for tenant in ("two", "three"):
        names = [body["name"] for body in bodies if body["tenant"] == tenant]
        states = [live.client.job(name)["state"] for name in names]
        assert min(states) == "pending"
        one_runs(live, names)
        assert {live.client.job(name)["rule"] for name in names} == {RULE, "live.began"}
        for _ in range(2):
            (runs,) = (name for name in names if live.client.job(name)["state"] == "running")
            live.client.cancel(runs)
            live.end(runs)
            one_runs(live, names)
        assert most_at_once(live, names) == (1, 2)


def test_a_crowd_passes_through_a_small_quota_one_after_the_other(live: Live) -> None:
    bodies: list[dict[str, Any]] = [
        {"name": f"crowd-{number}", "tenant": "two", "cpu": 1, "script": "exec sleep 0.1", "priority": number % 11}
        for number in range(16)
    ]
    at_once(live, *(dict(body) for body in bodies))

    names = [body["name"] for body in bodies]
    for name in names:
        live.completed(name, within=PATIENT_S)
    assert most_at_once(live, names) == (2, 2)


def test_nobody_is_preempted_for_quota_and_room_that_is_held_counts(live: Live) -> None:
    live.runs("filler", SAVING, tenant="three", priority=0, checkpoint=SAVES, constraints={"nodes": ["n1"]})
    live.runs("mine", SLEEPS, tenant="one", priority=0, constraints={"nodes": ["n2"]})
    live.shell("urgent", SLEEPS, tenant="one", priority=9, constraints={"nodes": ["n2"]})
    assert (live.client.job("urgent")["rule"], live.client.job("mine")["state"]) == (RULE, "running")
    live.client.cancel("mine")
    live.end("mine")
    live.wait("urgent", "running")
    live.client.cancel("urgent")
    live.end("urgent")
    slow = {"checkpoint_timeout": 600}
    live.runs("slow", SILENT, priority=0, checkpoint=SAVES, times=slow, constraints={"nodes": ["n3"]})
    live.shell("holds", SLEEPS, tenant="one", priority=9, constraints={"nodes": ["n3"]})
    live.wait("holds", "held")
    live.shell("second", "true", tenant="one", priority=1, constraints={"nodes": ["n4"]})
    assert (live.client.job("second")["state"], live.client.job("second")["rule"]) == ("pending", RULE)
    live.client.cancel("holds")
    live.completed("second")


def test_what_can_never_be_within_the_quota_is_refused_for_good(live: Live) -> None:
    with pytest.raises(ClientError) as caught:
        live.shell("never", "true", tenant="two", members=3)
    assert caught.value.status == 409
    assert "tenant two" in str(caught.value)
    assert [one["allowed"] for one in live.client.audit(about="never")] == [False]


@pytest.mark.parametrize("seed", range(2))
def test_a_race_survives_kill_9_at_any_moment(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    with child(tmp_path, lattice_of(*NODES, tenants=TENANTS)) as live:
        names: list[str] = []
        for round_ in range(3):
            fresh = [f"{side}-{round_}" for side in ("a", "b", "c")]
            taken = _submitted_while_it_dies(live, fresh, chance.uniform(0, 0.5))
            live.start()
            known = {job["name"] for job in live.client.jobs()}
            assert taken <= known, "what was answered is there"
            names += sorted(known & set(fresh))
            _one_has_it(live, names)
            for name in _left(live, names)[:-1]:
                live.client.cancel(name)
        last = ["last-a", "last-b"]
        at_once(live, *({"name": name, "tenant": "one"} for name in last))
        _one_has_it(live, [*names, *last])
        assert most_at_once(live, [*names, *last]) == (1, 1)
        assert live.client.audit_chain()["intact"]
    assert_replays(tmp_path / "data")


def _submitted_while_it_dies(live: Child, names: list[str], after_s: float) -> set[str]:
    """Those that were taken in before the server was killed."""
    start = Barrier(len(names) + 1)

    def submit(name: str) -> str | None:
        with Client(data=live.data) as client:
            start.wait()
            try:
                client.submit(["sleep", "300"], cwd="/", name=name, cpu=4, tenant="one", priority=5)
            except ClientError:
                return None
            return name

    with ThreadPoolExecutor(len(names)) as pool:
        answers = [pool.submit(submit, name) for name in names]
        start.wait()
        _pass_time(after_s)
        live.kill()
        return {name for answer in answers if (name := answer.result()) is not None}


def _pass_time(seconds: float) -> None:
    """So long the server is left alone: the moment is what the test is about."""
    time.sleep(seconds)


def _one_has_it(live: Live, names: list[str]) -> None:
    """Whoever is left of them, one is there and the others wait."""
    until(lambda: _present(live, names) == min(1, len(_left(live, names))), PATIENT_S)


def _left(live: Live, names: list[str]) -> list[str]:
    return [name for name in names if live.client.job(name)["state"] not in FINAL]


def _present(live: Live, names: list[str]) -> int:
    return sum(live.client.job(name)["state"] in PRESENT for name in names)
