"""What a server counts of preemptions, seen through the API."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.live.api.serving import CLUSTER, DEADLINE_S, Running, serving, until

ROOT = Path(__file__).resolve().parents[3]
SUSPENDING = CLUSTER | {
    "queues": [{"name": "default", "settings": {"preemptible_priority": 50, "preemption_mode": "suspend"}}]
}
SAVES = """
trap 'echo 1 > $CEDE_CONTROL_DIR/new && mv $CEDE_CONTROL_DIR/new $CEDE_CONTROL_DIR/done' USR1
echo ready
while [ "$CEDE_RESUME" = 0 ]; do sleep 0.05; done
"""
IGNORES = """
trap '' USR1
echo ready
while [ "$CEDE_ATTEMPT" = 1 ]; do sleep 0.05; done
"""


@pytest.fixture(scope="module")
def suspending(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with serving(tmp_path_factory.mktemp("suspending"), cluster=SUSPENDING) as made:
        yield made


def series(running: Running) -> dict[str, float]:
    lines = running.client().metrics().splitlines()
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines if not line.startswith("#"))}


def under_way(running: Running) -> float:
    return sum(value for name, value in series(running).items() if name.startswith("cede_workloads{"))


def preempted_by_an_urgent_one(running: Running, name: str, script: str, checkpoint_timeout: str) -> None:
    """A workload that fills the node, and has to make way for one that ends at once."""
    client = running.client()
    whole = {"cpu": 4}
    client.submit(
        ["sh", "-c", script],
        name=name,
        cwd="/tmp",
        priority=5,
        requests=whole,
        checkpoint={"mode": "auto", "protocol": "signal"},
        times={"checkpoint_timeout": checkpoint_timeout, "grace_period": "1s"},
        requeue="always",
    )
    until(lambda: b"ready" in b"".join(client.logs(name)))
    # What it says can be read before it is on record that it runs, and until then nobody asks it for a checkpoint.
    client.wait(name, DEADLINE_S, states=["running"])
    client.submit(["true"], name=f"urgent-for-{name}", cwd="/tmp", priority=90, requests=whole)
    assert client.wait(f"urgent-for-{name}", DEADLINE_S)["state"] == "completed"
    assert client.wait(name, DEADLINE_S)["state"] == "completed"
    # A step is counted a moment after it is stored.
    until(lambda: under_way(running) == 0)


def test_a_preemption_with_a_checkpoint_is_counted_and_timed(suspending: Running) -> None:
    before = series(suspending)

    preempted_by_an_urgent_one(suspending, "saves", SAVES, "30s")

    after = series(suspending)
    [preemptions] = [
        value for name, value in after.items() if name.startswith('cede_preemptions_total{queue="default"')
    ]
    gained = {name: after[name] - before.get(name, 0) for name in after}
    assert preemptions == 1
    assert gained["cede_preemption_checkpoint_duration_seconds_count"] == 1
    assert gained["cede_preemption_victim_requeue_total"] == 1
    assert gained["cede_preemption_failed_checkpoint_total"] == 0
    assert gained['cede_decisions_total{action="preempt"}'] == 1
    assert gained["cede_starts_total"] == 3
    assert gained['cede_wait_seconds_count{queue="default"}'] == 3
    assert after["cede_holds"] == after['cede_queue_depth{queue="default"}'] == 0


def test_a_checkpoint_that_never_came_is_counted_with_what_it_cost(suspending: Running) -> None:
    before = series(suspending)

    preempted_by_an_urgent_one(suspending, "ignores", IGNORES, "1s")

    after = series(suspending)
    gained = {name: after[name] - before.get(name, 0) for name in after}
    assert gained["cede_preemption_failed_checkpoint_total"] == 1
    assert gained["cede_preemption_checkpoint_duration_seconds_count"] == 0
    assert gained['cede_lost_resource_hours_total{resource="cpu"}'] > 4 * 1 / 3600
    assert under_way(suspending) == 0


def test_the_dashboard_shows_only_what_a_server_measures(suspending: Running) -> None:
    dashboard = json.loads((ROOT / "grafana" / "cede.json").read_text(encoding="utf-8"))
    shown = {
        name
        for panel in dashboard["panels"]
        for target in panel["targets"]
        for name in re.findall(r"cede_\w+", target["expr"])
    }

    measured = set(re.findall(r"^# TYPE (cede_\w+) ", suspending.client().metrics(), re.MULTILINE))
    assert {name.removesuffix("_bucket") for name in shown} - measured == set()
    assert "cede_preemptions_total" in shown
