"""`cede bench crash --faults`: a short run of each fault, and what the audit says of one that went wrong."""

import json
import sqlite3
import time
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from cede.cli.bench.crash import job_logs
from cede.cli.bench.crash.audit import Records, audit
from cede.cli.bench.crash.clock_steps import ClockStep, SteppedMachine
from cede.cli.bench.crash.contention import CONTENTIONS
from cede.cli.bench.crash.faults import FAULTS, Restore, copy_store
from cede.cli.bench.crash.job_logs import JobLog
from cede.cli.bench.crash.job_specs import JobSpec
from cede.cli.bench.crash.run import Plan, measured
from cede.cli.bench.crash.serving import guards
from cede.cli.bench.crash.stream import Ledger, Stream
from cede.cli.main import main
from cede.engine.clock import Machine
from tests.live.crash.scene import Scene, until
from tests.live.crash.test_audit import line


def run(plan: Plan) -> dict[str, Any]:
    return measured(plan, keep=False, tell=lambda _what, _done: None)


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_breaks_no_promise(fault: str) -> None:
    report = run(Plan(kills=1, seed=4, faults=[fault], times=3))
    if report["skipped"]:
        pytest.skip(report["skipped"][fault])

    assert report["violations"] == []
    assert report["wrong"] == {"lost": 0, "doubled": 0, "stuck": 0, "other": 0}
    assert report["faults"] == {fault: 3}
    assert sum(report["runs"]["backendai"]["jobs"].values()) > 3


@pytest.mark.slow
@pytest.mark.parametrize("doctrine", sorted({*CONTENTIONS} - {"backendai"}))
def test_jobs_preempt_each_other_under_every_doctrine(doctrine: str) -> None:
    """Of Backend.AI the test of `cede bench crash` as a command says so."""
    victims = 0
    for kills in (12, 48, 96):  # on a busy machine a server that is killed all the time may not come to preempt anybody
        report = run(Plan(kills=kills, seed=6, doctrines=[doctrine]))
        assert report["violations"] == []
        victims += report["runs"][doctrine]["preemptions"]["victims"]
        if victims:
            break

    assert victims


@pytest.mark.parametrize(("option", "name"), [("--faults", "flood"), ("--doctrine", "slurm")])
def test_a_fault_or_a_doctrine_that_there_is_not_is_refused(
    option: str, name: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", "crash", option, name]) == 2
    assert f"'{name}' is none of" in capfd.readouterr().err


def test_kills_and_faults_are_spread_over_the_doctrines() -> None:
    shares = Plan(kills=7, seed=0, doctrines=["kueue", "lattice"], faults=["clock"], times=3).shares()

    assert [(one.doctrine, one.kills, one.faults) for one in shares] == [
        ("kueue", 4, {"clock": 2}),
        ("lattice", 3, {"clock": 1}),
    ]


def test_a_server_of_the_benchmark_reads_a_wall_clock_that_can_be_set(tmp_path: Path) -> None:
    machine, clock = SteppedMachine(tmp_path / "step"), ClockStep(tmp_path / "step")
    clock.step(7200)
    clock.step(-3600)
    stepped, real = machine.read(), Machine().read()

    assert abs(stepped.wall - real.wall - 3600e6) < 60e6
    assert 0 <= real.elapsed - stepped.elapsed < 60e6
    assert stepped.boot == real.boot


@pytest.mark.slow
@pytest.mark.parametrize("hours", [-240, 240])
def test_a_step_of_the_clock_is_one_for_supervisors_too(scene: Scene, hours: int) -> None:
    scene.submit("job", {"steps": scene.sign()})
    scene.wait("job", "running")
    scene.servers.clock.step(3600 * hours)
    scene.give_sign()
    job = scene.wait("job")

    [end] = scene.data.glob("jobs/job/attempts/1/0/exit.json")
    assert abs(json.loads(end.read_text())["at"] / 1e6 - time.time() - 3600 * hours) < 600
    began, ended = (datetime.fromisoformat(job[key] or "") for key in ("began", "ended"))
    assert 0 <= (ended - began).total_seconds() < 600


@pytest.mark.slow
class TestARestoredStore:
    """A copy was made, then a job was submitted that runs; the copy is put back."""

    @pytest.fixture
    def restored(self, scene: Scene, tmp_path: Path) -> tuple[Restore, Stream]:
        copy = tmp_path / "copy.db"
        copy_store(scene.data, copy)
        stream = Stream(0, lambda _: [], scene.data)
        scene.submit("after")
        stream.ledger.tried["after"] = JobSpec("after", {})
        stream.ledger.taken.add("after")
        until(lambda: list(scene.notes.glob("after.log")))
        scene.server.kill()
        restore = Restore(scene.data, copy, scene.notes)
        scene.restart()
        return restore, stream

    def test_is_told_and_what_it_does_not_know_is_left_to_an_admin(
        self, scene: Scene, restored: tuple[Restore, Stream]
    ) -> None:
        restore, stream = restored

        assert restore.steps > 0
        assert list(restore.seen_to(scene.client, stream)) == []
        assert stream.ledger.missing == {"after"}
        assert list(guards(scene.data)) == []

    def test_that_forgot_to_tell_is_noticed(self, scene: Scene, restored: tuple[Restore, Stream]) -> None:
        restore, stream = restored
        scene.client.acknowledge_loss()

        said = list(restore.seen_to(scene.client, stream))
        assert any("steps of the store are missing, and health tells only of" in one for one in said)

    def test_whose_orphan_was_killed_is_noticed(self, scene: Scene, restored: tuple[Restore, Stream]) -> None:
        restore, stream = restored
        scene.client.end_orphan("after")
        until(lambda: not any(one["running"] for one in scene.client.orphans()["orphans"]))

        said = list(restore.seen_to(scene.client, stream))
        assert said == ["after ran without a record, and was ended before an admin said so"]

    def test_whose_orphan_lost_its_supervisor_is_noticed(self, scene: Scene, restored: tuple[Restore, Stream]) -> None:
        restore, stream = restored
        scene.kill_supervisor("after")
        until(lambda: not list(guards(scene.data)))

        said = list(restore.seen_to(scene.client, stream))
        assert said == ["after ran without a record, and was ended before an admin said so"]

    def test_whose_orphan_is_not_listed_is_noticed(self, scene: Scene, restored: tuple[Restore, Stream]) -> None:
        restore, stream = restored
        scene.client.end_orphan("after")
        until(lambda: not any(one["running"] for one in scene.client.orphans()["orphans"]))
        scene.client.forget_orphan("after")

        said = list(restore.seen_to(scene.client, stream))
        assert any("is not among the orphans" in one for one in said)


def test_an_acknowledged_job_that_is_deleted_from_the_store_is_counted_as_lost(scene: Scene) -> None:
    scene.submit("gone", {"steps": 1})
    scene.wait("gone")
    scene.server.kill()
    with closing(sqlite3.connect(scene.data / "cede.db")) as store, store:
        store.execute("DELETE FROM workloads WHERE name = 'gone'")
    scene.restart()
    jobs = {job["name"]: job for job in scene.client.jobs()}

    ledger = Ledger(tried={"gone": JobSpec("gone", {})}, taken={"gone"})
    result = audit(ledger, Records(jobs, {}, []), job_logs.read(scene.notes), set(), [])
    assert (result.kinds["lost"], result.kinds["stuck"]) == (2, 0)
    assert result.violations == ["gone was acknowledged, and is not there", "gone ran, and there is no record of it"]


def test_a_job_of_a_restored_store_that_ran_to_its_end_twice_is_counted_as_doubled() -> None:
    lines = [line(1, 1, "begin", 0), line(2, 1, "complete", 0), line(3, 2, "begin", 0), line(4, 2, "complete", 0)]
    job: Any = {"name": "job", "state": "completed", "attempt": 2, "members": 1, "preempted": 0, "why": ""}
    ledger = Ledger(tried={"job": JobSpec("job", {})}, taken={"job"}, stale={"job": 0})
    result = audit(ledger, Records({"job": job}, {}, []), {"job": JobLog("job", lines)}, set(), [])

    assert result.violations == ["job got to its end in attempt 1, and ran again"]
    assert result.kinds == {"doubled": 1}


@pytest.mark.parametrize(("members", "harmed", "faulted"), [(2, True, False), (2, False, True), (1, True, True)])
def test_a_gang_that_lost_a_supervisor_by_our_hand_is_told_to_go_and_nobody_else(
    members: int, harmed: bool, faulted: bool
) -> None:
    lines = [*(line(1, 1, "begin", 0, member=one) for one in range(members)), line(5, 1, "told"), line(6, 1, "left")]
    lines += [line(7 + one, 2, what, 0, member=one) for one in range(members) for what in ("begin", "complete")]
    job: Any = {"name": "job", "state": "completed", "attempt": 2, "members": members, "preempted": 0, "why": ""}
    ledger = Ledger(tried={"job": JobSpec("job", {}, {"members": members})}, taken={"job"}, stale={"job": 3})
    lost = {("job", 1)} if harmed else set()
    result = audit(ledger, Records({"job": job}, {}, []), {"job": JobLog("job", lines)}, lost, [])

    said = "job, attempt 1 ran when the store was set back, and was told to go by nobody"
    assert result.violations == ([said] if faulted else [])
