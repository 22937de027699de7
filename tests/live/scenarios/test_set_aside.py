"""A workload because of which the scheduler fails is set aside, and the rest goes on."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine, text

from cede.engine.drive.facts import Checkpointed, SetAside, Submit
from cede.live.client.errors import ClientError
from cede.live.config import ServerConfig
from cede.live.controller import MOST_DEATHS, Controller
from cede.live.store.records import AuditRequest
from cede.live.task import Task
from cede.model.cluster import Workload
from tests.live.scenarios.twin import assert_replays
from tests.live.serving import USERS, Live, cluster_of, serving, until

pytestmark = pytest.mark.slow

WAITS = 'echo ready; until [ -e "$CEDE_CHECKPOINT_DIR/go" ]; do sleep 0.02; done'


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Live]:
    with serving(tmp_path, cluster_of("n1")) as server:
        yield server


def poison(live: Live, name: str, **fields: Any) -> None:
    """The server is started anew, and the record of this workload says in the store what no code of ours would."""
    live.stop()
    engine = create_engine(f"sqlite:///{live.data / 'cede.db'}")
    with engine.begin() as connection:
        stored = connection.execute(text("SELECT job FROM workloads WHERE name = :name"), {"name": name}).scalar_one()
        values = {"name": name, "job": json.dumps(json.loads(stored) | fields)}
        connection.execute(text("UPDATE workloads SET job = :job WHERE name = :name"), values)
    engine.dispose()
    live.start()


def controller_of(live: Live) -> Controller:
    controller = live.server.controller
    assert controller is not None
    return controller


def assert_the_rest_goes_on(live: Live, name: str, cpu: float = 0.5) -> None:
    live.shell(name, "true", cpu=cpu)
    live.completed(name)


def test_a_poisoned_record_of_one_that_waits_does_not_keep_the_server_from_coming_up(live: Live) -> None:
    live.runs("first", WAITS)
    live.shell("bad", "true")
    poison(live, "bad", checkpoint=10**30)

    live.let_go("first")
    live.completed("first")
    assert_the_rest_goes_on(live, "other", cpu=4)
    assert live.client.job("bad")["state"] == "pending"
    assert "set aside" in live.client.server()["problem"]
    health = live.client.health()
    assert (health["status"], health["alarms"], health["problems"]) == ("impaired", 1, [])
    assert "cede_set_aside 1.0" in live.client.metrics()
    assert live.client.job("bad")["rule"] == "live.set-aside"


def test_one_that_runs_keeps_its_room_while_it_is_set_aside(live: Live) -> None:
    live.runs("bad", WAITS, cpu=3)
    poison(live, "bad", deadline="soon")

    live.shell("large", "true", cpu=3)
    assert_the_rest_goes_on(live, "small")
    assert live.client.job("bad")["set_aside"]
    assert live.client.job("large")["state"] == "pending"
    live.let_go("bad")
    live.completed("bad")
    live.completed("large")
    until(lambda: live.client.health()["status"] == "ok")


@pytest.mark.parametrize("fields", [{"deadline": "soon"}, {"checkpoint": 10**30}], ids=["runs", "waits"])
def test_one_that_was_set_aside_can_be_cancelled(live: Live, fields: dict[str, Any]) -> None:
    live.runs("runs", WAITS, cpu=1)
    live.shell("waits", "true", cpu=4)
    name = "runs" if "deadline" in fields else "waits"
    poison(live, name, **fields)
    until(lambda: live.client.job(name)["set_aside"])
    live.client.cancel(name)

    assert live.end(name)["state"] == "cancelled"
    assert live.client.health()["status"] == "ok"


def test_one_that_was_set_aside_is_looked_at_again_when_somebody_resumes_it(tmp_path: Path) -> None:
    with serving(tmp_path, cluster_of("n1")) as live:
        live.runs("first", WAITS)
        live.shell("bad", "true")
        controller_of(live).report(SetAside("bad", "a test wanted it")).result(30)
        live.let_go("first")
        live.completed("first")
        assert live.client.job("bad")["set_aside"] == "a test wanted it"
        with pytest.raises(ClientError, match="the scheduler failed because of it"):
            live.client.suspend("bad")
        live.client.resume("bad")

        live.completed("bad")
        assert live.client.health()["status"] == "ok"
    assert_replays(tmp_path)


def test_a_fact_that_cannot_be_taken_in_sets_its_workload_aside_and_nobody_else(tmp_path: Path) -> None:
    with serving(tmp_path, cluster_of("n1")) as live:
        live.runs("bad", WAITS, cpu=1)
        live.runs("good", WAITS, cpu=1)
        wrong = Checkpointed("bad", 1, at="yesterday")  # type: ignore[arg-type]
        right = Checkpointed("good", 1)
        for reported in [controller_of(live).report(fact) for fact in (right, wrong, right)]:
            reported.result(30)

        assert live.client.job("good")["checkpoint"]["last"]
        assert live.client.job("bad")["set_aside"]
        assert not live.client.job("good")["set_aside"]
        for name in ("good", "bad"):
            live.let_go(name)
            live.completed(name)
        assert live.client.health()["status"] == "ok"
    assert_replays(tmp_path)


def test_a_submission_that_cannot_be_taken_in_is_refused_and_the_others_beside_it_are_not(live: Live) -> None:
    def submitted(name: str, change: Callable[[Workload], Workload]) -> Any:
        entry = change(Workload.model_validate({"name": name, "queue": "default", "requests": {"cpu": 1}}))
        task = Task(command=("true",), cwd="/", owner="root")
        return controller_of(live).ask(Submit(entry), AuditRequest(0, "test", "admin", "submit", name), task)

    good = submitted("good", lambda entry: entry)
    bad = submitted("bad", lambda entry: entry.model_copy(update={"priority": 10**40}))
    also = submitted("also-good", lambda entry: entry)

    assert good.result(60).refusal is None
    assert bad.result(60).refusal.rule == "live.fault"
    assert also.result(60).refusal is None
    assert live.client.health()["status"] == "ok"
    for name in ("good", "also-good"):
        live.end(name)


def test_a_record_that_is_none_is_told_of_and_left_out(live: Live) -> None:
    live.runs("first", WAITS, cpu=1)
    live.shell("bad", "true", cpu=4)
    poison(live, "bad", phase="dreaming")

    assert_the_rest_goes_on(live, "other")
    assert "the record of bad cannot be read" in live.client.server()["problem"]
    live.let_go("first")
    live.completed("first")


class Fatal(BaseException):
    """What no loop expects."""


def fail(live: Live) -> None:
    """The scheduler's loop ends in the midst of a question."""

    def look() -> None:
        raise Fatal("a test wanted it")

    controller_of(live)._call(look)


def test_a_loop_that_fails_is_begun_anew(live: Live) -> None:
    fail(live)
    until(lambda: "cede_controller_restarts_total 1.0" in live.client.metrics())

    assert_the_rest_goes_on(live, "after")


def test_a_loop_that_fails_again_and_again_ends_the_server_with_a_message(tmp_path: Path) -> None:
    live = Live(cluster_of("n1"), ServerConfig.model_validate({"port": 0, "data": tmp_path, "users": USERS}))
    live.start()
    for _ in range(MOST_DEATHS):
        fail(live)

    until(lambda: live.server.failure is not None)
    assert "the scheduler failed 5 times in a row: Fatal: a test wanted it" in str(live.server.failure)
    live.client.close()
