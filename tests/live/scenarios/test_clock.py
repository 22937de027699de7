"""The wall clock is set, and nothing that is due comes earlier or later for it."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from cede.live.store.store import Store
from cede.model.times import SECOND
from tests.live.scenarios.scripts import SAVES, SILENT
from tests.live.scenarios.twin import assert_replays
from tests.live.serving import HASTY, Live, SteppedClock, cluster_of, serving

pytestmark = pytest.mark.slow


@pytest.fixture
def machine() -> SteppedClock:
    return SteppedClock()


@pytest.fixture
def live(tmp_path: Path, machine: SteppedClock) -> Iterator[Live]:
    with serving(tmp_path, cluster_of("n1"), times=HASTY, machine=machine) as server:
        yield server
    assert_replays(tmp_path)


def seconds_from(moment: str, other: datetime) -> float:
    return abs((datetime.fromisoformat(moment) - other).total_seconds())


def test_an_hour_of_walltime_is_not_over_because_the_clock_was_set_on_by_two(live: Live, machine: SteppedClock) -> None:
    live.runs("young", "echo ready; exec sleep 300", walltime="1h")
    machine.step(hours=2)
    live.shell("other", "true", cpu=0.1, priority=0)  # so that the scheduler looks at everything

    live.wait("other", "pending")
    assert live.client.job("young")["state"] == "running"


def test_a_checkpoint_is_given_up_in_time_though_the_clock_was_set_back_by_two_hours(
    live: Live, machine: SteppedClock
) -> None:
    live.runs("silent", SILENT, checkpoint=SAVES, requeue="never")
    machine.step(hours=-2)
    live.preempt("silent")
    live.happened("silent", "hint")
    machine.step(hours=-2)

    assert live.end("silent")["state"] == "failed"


def test_people_are_shown_the_time_of_the_wall_clock(live: Live, machine: SteppedClock) -> None:
    live.shell("before", "true")
    live.completed("before")
    machine.step(hours=2)
    live.shell("after", "true")
    live.completed("after")

    now = datetime.now(UTC)
    assert seconds_from(live.client.job("before")["submitted"] or "", now) < 120
    ahead = now + timedelta(hours=2)
    assert seconds_from(live.client.job("after")["submitted"] or "", ahead) < 120
    assert all(seconds_from(event["at"], ahead) < 120 for event in live.events("after"))
    assert seconds_from(live.client.server()["now"], ahead) < 120


@pytest.mark.parametrize("hours", [2, -2])
def test_a_deadline_survives_a_restart_and_a_stepped_clock(live: Live, machine: SteppedClock, hours: int) -> None:
    live.runs("long", "echo ready; exec sleep 300", walltime="1h")
    live.stop()
    machine.step(hours)
    live.start()
    live.shell("other", "true", cpu=0.1, priority=0)

    live.wait("other", "pending")
    assert live.client.job("long")["state"] == "running"


@pytest.mark.parametrize(("hours", "state"), [(2, "failed"), (-2, "running")])
def test_from_boot_to_boot_the_wall_clock_tells_and_never_back(
    live: Live, machine: SteppedClock, hours: int, state: str
) -> None:
    live.runs("long", "echo ready; exec sleep 300", walltime="1h")
    live.stop()
    machine.step(hours)
    machine.reboot()
    live.start()
    live.shell("other", "true", cpu=0.1, priority=0)

    live.wait("other", "pending", "completed")
    assert live.wait("long", state)["state"] == state


def test_recorded_times_never_go_back(live: Live, machine: SteppedClock) -> None:
    for number, hours in enumerate((2, -5, 1)):
        machine.step(hours)
        live.shell(f"job-{number}", "true")
        live.completed(f"job-{number}")
    live.stop()
    machine.step(-3)
    machine.reboot()
    live.start()
    live.shell("last", "true")
    live.completed("last")

    store = Store.open(f"sqlite:///{live.data / 'cede.db'}")
    times = [at for at, _ in store.steps()]
    store.close()
    assert times == sorted(times)
    assert times[-1] - times[0] < 600 * SECOND
