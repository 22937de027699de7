"""What happened live, told to the driver that simulations use: the same plans, the same moves, the same orders."""

from pathlib import Path
from typing import Any

import pytest

import cede.live.server
from cede.engine.drive.orders import Hint, Kill, Launch, Order, Terminate
from cede.live.executors.local.executor import LocalExecutor
from cede.live.task import Task
from tests.live.scenarios.scripts import DEAF, POLITE, SAVES, SAVING, SILENT, SLEEPS, answering
from tests.live.scenarios.twin import assert_replays
from tests.live.serving import HASTY, Live, cluster_of, serving

pytestmark = pytest.mark.slow

ROUND_ROBIN = {
    "enabled": True,
    "preemption_mode": "reschedule",
    "victim_scope": "resource-group",
    "agent_selection_strategy": "roundrobin",
    "preemption_min_runtime": 0.2,
}
QUOTA = {"name": "default", "guaranteed": {"cpu": 8}, "settings": {"withinClusterQueue": "LowerPriority"}}
CLUSTERS: dict[str, dict[str, Any]] = {
    "backendai": cluster_of("n1", "n2"),
    "backendai as shipped": cluster_of("n1", "n2", doctrine={"name": "backendai", "edition": "26.8"})
    | {"queues": [{"name": "default", "settings": ROUND_ROBIN}]},
    "kueue": cluster_of("n1", "n2", doctrine="kueue") | {"queues": [QUOTA]},
}


class Recorded(LocalExecutor):
    """The executor of this machine, which keeps every order that it was given."""

    orders: list[Order]

    def launch(self, order: Launch, task: Task) -> None:
        self.orders.append(order)
        super().launch(order, task)

    def hint(self, order: Hint) -> None:
        self.orders.append(order)
        super().hint(order)

    def terminate(self, order: Terminate) -> None:
        self.orders.append(order)
        super().terminate(order)

    def kill(self, order: Kill) -> None:
        self.orders.append(order)
        super().kill(order)


def session(live: Live) -> None:
    """A bit of everything, and a restart in the midst of it."""
    low: dict[str, Any] = {"job_priority": 1}
    high: dict[str, Any] = {"job_priority": 9}
    live.runs("saver", SAVING, checkpoint=SAVES, **low)
    live.runs("silent", SILENT, checkpoint=SAVES, requeue="always", times={"checkpoint_timeout": 3}, **low)
    live.preempt("saver", members=2, **high)
    live.happened("saver-urgent", "hold")
    live.client.suspend("saver")
    live.stop()
    live.start()

    live.wait("saver-urgent", "running")
    live.client.cancel("silent")
    live.client.cancel("saver-urgent")
    live.client.resume("saver")
    (node,) = live.wait("saver", "running")["nodes"]
    live.client.drain(node, evict=True)
    live.happened("saver", "began", 3)
    live.client.undrain(node)
    live.client.cancel("saver")

    asks = answering('put progress "$hint 0.5"; put defer "$hint 9"; sleep 300')
    live.runs("slow", asks, checkpoint=SAVES, requeue="never", times={"checkpoint_timeout": 1}, **low)
    live.runs("polite", POLITE, checkpoint="none", **low)
    live.preempt("slow", "sleep 0.1", members=2, **high)
    live.end("slow")
    live.end("slow-urgent")
    live.shell("hopeless", "exit 3", cpu=1, requeue="always", max_requeues=1, **low)
    live.shell("late", DEAF, cpu=1, walltime=0.2, times=HASTY, **low)
    live.end("hopeless")
    live.end("late")
    live.runs("asked", SAVING, cpu=1, checkpoint=SAVES, **low)
    live.client.checkpoint("asked")
    live.happened("asked", "checkpointed")
    live.shell("never", SLEEPS, members=2, **low)
    live.client.cancel("never")


@pytest.mark.parametrize("which", CLUSTERS)
def test_a_recorded_session_gives_the_same_once_more(
    which: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[Order] = []
    monkeypatch.setattr(Recorded, "orders", given, raising=False)
    monkeypatch.setattr(cede.live.server, "LocalExecutor", Recorded)
    with serving(tmp_path, CLUSTERS[which]) as live:
        session(live)

    ordered = assert_replays(tmp_path)
    # After a restart the orders in force are given again: each counts once.
    assert list(dict.fromkeys(given)) == list(dict.fromkeys(ordered))
    assert {type(order) for order in ordered} >= {Launch, Hint, Terminate}
