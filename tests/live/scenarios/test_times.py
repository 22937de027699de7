"""The times of the sequence come from the nearest level that gives them: workload, queue, server, cluster file."""

from typing import Any

import pytest

from cede.doctrines.document import parse_document
from cede.live.config import ServerConfig, Times
from cede.live.terms import terms_of
from cede.model.times import SECOND
from tests.live.scenarios.scripts import DEAF, SAVES, SILENT
from tests.live.serving import Live, cluster_of

TIMES = {"checkpoint_timeout": 0.6, "grace_period": 0.3}
QUEUES = {"short": {"grace_period": 0.1}}


@pytest.fixture(scope="module")
def cluster() -> dict[str, Any]:
    made = cluster_of("n1")
    made["queues"].append(made["queues"][0] | {"name": "short"})
    return made


@pytest.fixture(scope="module")
def config() -> dict[str, Any]:
    return {"times": TIMES, "queues": QUEUES}


def limits(live: Live, name: str) -> tuple[str, str]:
    """How long it was given to save, and to go."""
    told = {event["rule"]: event["why"] for event in live.events(name)}
    hinted, went = told["live.hint"], told["live.told"]
    return hinted.split("with ")[1].split()[0], went.split("with ")[1].split()[0]


def run(live: Live, name: str, script: str = SILENT, **more: Any) -> str:
    """It was preempted, said nothing, and had to be ended."""
    live.runs(name, script, checkpoint=SAVES, requeue="never", **more)
    live.preempt(name, queue=more.get("queue"))
    ended = live.end(name)
    assert (ended["state"], ended["rule"]) == ("failed", "live.unresponsive")
    return name


@pytest.mark.slow
def test_times_of_the_server_are_for_all(live: Live) -> None:
    assert limits(live, run(live, "plain")) == ("600ms", "300ms")


@pytest.mark.slow
def test_a_time_of_its_queue_comes_before_that_of_the_server(live: Live) -> None:
    assert limits(live, run(live, "queued", queue="short")) == ("600ms", "100ms")


@pytest.mark.slow
def test_a_time_of_the_workload_comes_first(live: Live) -> None:
    times = {"checkpoint_timeout": 0.4, "grace_period": 0.25}
    assert limits(live, run(live, "own", DEAF, queue="short", times=times)) == ("400ms", "250ms")


def test_times_of_the_cluster_file_come_last() -> None:
    settings = {"checkpoint_timeout": "1h", "max_deferral": "7m", "grace_period": "1m"}
    document = parse_document({"cede": 1, "doctrine": {"name": "lattice", **settings}})
    terms = terms_of(ServerConfig(times=Times.model_validate(TIMES)), document, "default", Times())

    assert terms.checkpoint_timeout == 600_000
    assert terms.max_deferral == 420 * SECOND
    assert terms.grace_period == 300_000
