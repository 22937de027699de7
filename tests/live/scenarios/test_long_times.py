"""Months of walltime, grace and timeouts work, and no length of time is too long for a wait."""

import sys
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine, text

from cede.live.client.errors import ClientError
from cede.live.config import ServerConfig
from cede.model.times import SECOND
from tests.live.scenarios.scripts import SAVES, SAVING
from tests.live.serving import Live, cluster_of, serving, until

CENTURY = "876600h"


@pytest.fixture(scope="module")
def config() -> dict[str, Any]:
    """Owners may ask for as long as any time can be."""
    return {"limits": {"grace_period": CENTURY, "checkpoint_time": CENTURY, "max_deferral": CENTURY}}


@pytest.mark.parametrize("walltime", ["600h", "720h", "8760h", CENTURY])
def test_months_of_walltime_are_no_obstacle(live: Live, walltime: str) -> None:
    name = f"for-{walltime}"
    live.shell(name, "sleep 0.1", walltime=walltime)

    assert live.completed(name)["attempt"] == 1


def test_a_grace_of_months_is_waited_for_and_ends_with_the_job(live: Live) -> None:
    script = "trap 'echo going; sleep 0.2; exit 0' TERM; echo ready; while :; do sleep 0.05; done"
    live.runs("gracious", script, times={"grace_period": CENTURY})
    live.client.cancel("gracious")
    live.said("gracious", "going")

    assert live.end("gracious")["state"] == "cancelled"


def test_timeouts_of_a_century_are_waited_for(live: Live) -> None:
    long = ("checkpoint_timeout", "max_deferral", "grace_period", "start_timeout", "hold_timeout")
    times = dict.fromkeys(long, CENTURY) | {"timeout_extension": 0}
    live.runs("patient", SAVING, checkpoint=SAVES, times=times, walltime=CENTURY)
    claimant = live.preempt("patient", "true", times=times, walltime=CENTURY)

    live.completed(claimant)
    live.happened("patient", "began", times=2)


@pytest.mark.parametrize("key", ["walltime", "grace_period", "hold_timeout", "checkpoint"])
def test_what_is_longer_than_a_century_is_refused_where_it_comes_in(live: Live, key: str) -> None:
    body: dict[str, Any] = {"walltime": {"walltime": "10000000h"}, "checkpoint": {"checkpoint": {"time": "10000000h"}}}
    with pytest.raises(ClientError, match="the longest duration is 100 years, which is 876600h") as refused:
        live.shell(f"too-long-{key}", "true", **body.get(key, {"times": {key: 10**10}}))

    assert refused.value.status == 422


def test_a_configuration_is_held_to_the_same_limit() -> None:
    with pytest.raises(ValueError, match="the longest duration is 100 years"):
        ServerConfig.model_validate({"times": {"grace_period": "10000000h"}})


def test_a_client_waits_as_long_as_it_is_told_to(live: Live) -> None:
    live.shell("brief", "sleep 0.3")

    assert live.client.wait("brief", timeout=1e15)["state"] == "completed"


@pytest.mark.slow
def test_what_was_stored_before_there_was_a_limit_is_taken_for_the_longest(tmp_path: Path) -> None:
    with serving(tmp_path, cluster_of("n1")) as live:
        live.runs("runs", "echo ready; while ! [ -e $CEDE_CHECKPOINT_DIR/go ]; do sleep 0.05; done", walltime="77h")
        live.shell("waits", "true", walltime="77h", times={"hold_timeout": "77h"})
        live.stop()
        _lengthen(tmp_path)
        live.start()

        notices = live.client.server()["notices"]
        assert [one for one in notices if "100 years" in one and one.startswith("waits has")]
        live.let_go("runs")
        live.completed("runs")
        assert live.completed("waits")["walltime"] == CENTURY
        until(lambda: live.client.health()["status"] == "ok")


def _lengthen(data: Path) -> None:
    """What was 77 hours in the store is more than any wait can count."""
    engine = create_engine(f"sqlite:///{data / 'cede.db'}")
    with engine.begin() as connection:
        rows = connection.execute(text("SELECT name, job, task FROM workloads")).all()
        for row in rows:
            long = str(10**10 * SECOND)
            job = row.job.replace('"77h"', '"10000000h"').replace(str(77 * 3600 * SECOND), long)
            task = row.task.replace(str(77 * 3600 * SECOND), long)
            assert "10000000h" in job
            assert long in task
            values = {"name": row.name, "job": job, "task": task}
            connection.execute(text("UPDATE workloads SET job = :job, task = :task WHERE name = :name"), values)
    engine.dispose()


WAITS = """
from cede.checkpoint import listening
with listening() as ck:
    print("ready", flush=True)
    assert ck.wait(1e300)
    ck.done()
"""


@pytest.mark.parametrize("protocol", ["signal", "shm", "grpc"])
def test_an_application_may_wait_for_a_hint_for_ever(live: Live, protocol: str) -> None:
    name = f"waits-by-{protocol}"
    live.submit(name, sys.executable, "-c", WAITS, checkpoint={"mode": "manual", "protocol": protocol})
    live.said(name, "ready")
    live.client.checkpoint(name)

    assert live.end(name)["state"] == "completed"
