"""Gangs over several nodes under a doctrine whose workloads stand on one: one allocation a member, counted by job."""

from __future__ import annotations

import json
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cede
from cede.engine.cluster import Cluster
from cede.model.times import SECOND
from cede.sim.compare import Run, table
from cede.sim.faults import Fault
from cede.sim.machine import Habits
from cede.sim.measures.conservation import balance, check
from cede.sim.measures.costliest import costliest
from cede.sim.options import ReplayOptions
from cede.sim.report.costly_table import opening_command
from cede.sim.report.gathering import gather
from cede.sim.result import Result
from cede.sim.simulate import replay
from cede.sim.tables import ATTEMPTS, DECISIONS, HOLDS, JOBS, VICTIMS
from tests.sampling import examples
from tests.sim.clusters import cluster_of, trace_of

TWO = ({"cpu": 4}, {"cpu": 4})


def gang(name: str = "gang", at: float = 0, lasts: float = 100, **keys: Any) -> dict[str, Any]:
    """Two members that fill a node each."""
    return {"name": name, "submitted": at, "duration": lasts, "cpu": 4, "members": 2, "queue": "q", **keys}


def one(name: str, at: float, lasts: float, cpu: int = 4, **keys: Any) -> dict[str, Any]:
    return {"name": name, "submitted": at, "duration": lasts, "cpu": cpu, "queue": "q", **keys}


def replayed(*jobs: dict[str, Any], on: Cluster | None = None, **wishes: Any) -> Result:
    result = replay(trace_of(*jobs), on or cluster_of(TWO, "ytsaurus"), ReplayOptions(**wishes))
    assert check(result) == []
    return result


def row(result: Result, name: str) -> dict[str, Any]:
    return result.jobs.row(by_predicate=pl.col("name") == name, named=True)


def fair(**settings: Any) -> Cluster:
    """Two pools, each guaranteed one of two nodes."""
    options = {"main_resource": "cpu", "fair_share_starvation_timeout": 1, **settings}
    return cede.load(
        {
            "cede": 1,
            "doctrine": {"name": "ytsaurus", **options},
            "nodes": [{"name": f"n{at}", "capacity": {"cpu": 4}} for at in range(2)],
            "queues": [{"name": name, "guaranteed": {"cpu": 4}} for name in ("q", "owed")],
        }
    )


def test_a_gang_that_fits_no_node_runs_as_one_allocation_a_member() -> None:
    result = replayed(gang())

    found = row(result, "gang")
    assert (found["state"], found["members"], found["allocations"]) == ("completed", 2, 2)
    assert (found["first_start"], found["ended"], found["attempts"]) == (0, 100 * SECOND, 2)
    assert result.attempts["allocation"].to_list() == [1, 2]
    (cpu,) = balance(result)
    assert cpu.useful == cpu.whole == 8 * 10**9 * 100 * SECOND


def test_it_waits_until_its_last_allocation_has_started_and_ends_with_the_last() -> None:
    result = replayed(one("first", 0, 60), gang(at=10, lasts=100))

    found = row(result, "gang")
    assert (found["first_start"], found["ended"]) == (60 * SECOND, 160 * SECOND)
    values = result.measure().values["all", "all"]
    assert values["wait_mean"] == 25
    assert values["total_wait_mean"] == 25


def test_what_fits_a_node_stays_one_workload() -> None:
    small = {"name": "small", "submitted": 0, "duration": 10, "cpu": 2, "members": 2, "queue": "q"}
    result = replayed(small)

    assert (row(result, "small")["state"], len(result.attempts)) == ("completed", 1)
    assert result.jobs.columns == [*JOBS]


def test_what_fits_no_node_even_by_the_member_is_refused_as_before() -> None:
    result = replayed(gang(cpu=5))

    assert (row(result, "gang")["state"], row(result, "gang")["rule"]) == ("refused", "ytsaurus.too-big")


def test_its_preemptions_and_lost_work_are_those_of_its_allocations() -> None:
    """Pool `owed` takes one of two nodes at a time; the other allocation goes on."""
    result = replayed(gang(lasts=1000), one("claim", 100, 50, queue="owed"), on=fair())

    found = row(result, "gang")
    assert (found["preemptions"], found["attempts"], found["state"]) == (1, 3, "completed")
    (decision,) = result.decisions.iter_rows(named=True)
    names = result.jobs["name"].to_list()
    assert (names[decision["job"]], [names[job] for job in decision["victims"]]) == ("claim", ["gang"])
    (taken,) = costliest(result).iter_rows(named=True)
    assert (taken["victim"], taken["size"]) == ("gang", 4)
    lost = result.attempts["lost"].sum()
    assert taken["lost_hours"] == pytest.approx(4 * lost / 3600 / SECOND)
    values = result.measure().values["all", "all"]
    assert values["lost_hours"] == pytest.approx(4 * lost / 3600 / SECOND)
    assert values["evicted_to_requested"] == 1


def test_the_moment_of_a_decision_for_a_gang_names_its_allocation() -> None:
    result = replayed(gang(lasts=1000), gang("late", 100, 50, queue="owed"), on=fair())

    decision = result.decisions.row(0, named=True)
    moment: dict[str, Any] = cede.Cluster(result.moments[decision["decision"]]).to_dict()
    made = cede.plan(cede.load(json.loads(json.dumps(moment))))
    first = next(one for one in made.decisions if one.victims)
    assert result.jobs["name"][decision["job"]] == "late"
    assert first.workload == decision["workload"] == "late.1"
    called = {str(entry["name"]): entry.get("app") for entry in moment["workloads"]}
    assert (called["late.1"], called["late.2"]) == ("late", "late")


def test_the_report_opens_a_moment_by_the_name_that_its_claimant_has_there() -> None:
    result = replayed(gang(lasts=1000), gang("late", 100, 50, queue="owed"), on=fair())
    run = Run("ytsaurus", "ytsaurus", {}, [result.measure()])
    files = {number: f"moment-{number}.yaml" for number in result.moments}
    (content,) = gather(table([run]), [result], title="t", moments=[files]).runs

    (costly,) = content.costly
    assert (costly.claimant and costly.claimant.name, costly.victim.name, costly.victim.members) == ("late", "gang", 1)
    assert opening_command(costly)[-1] == "--for late.1"


def test_an_allocation_is_never_called_as_another_job_is() -> None:
    result = replayed(one("gang.1", 0, 10), gang(at=0))

    assert result.jobs["state"].to_list() == ["completed", "completed"]
    assert row(result, "gang.1")["attempts"] == 1


def test_a_gang_of_which_a_part_waits_when_the_replay_stops_has_not_started() -> None:
    result = replayed(one("first", 0, 1000), gang(at=10), until=50 * SECOND)

    found = row(result, "gang")
    assert (found["state"], found["first_start"], found["ended"]) == ("running", None, None)


def test_a_job_is_counted_when_the_last_of_its_allocations_ends() -> None:
    seen: list[tuple[int, int]] = []
    jobs = [gang(f"g{number}", number, 1) for number in range(400)]

    def watch(_now: int, submitted: int, finished: int) -> bool:
        seen.append((submitted, finished))
        return True

    result = replay(trace_of(*jobs), cluster_of(TWO, "ytsaurus"), ReplayOptions(), watch)
    assert len(seen) > 0
    assert all(finished <= submitted <= len(result.jobs) for submitted, finished in seen)


def test_a_note_says_how_many_jobs_ran_so() -> None:
    result = replayed(gang(), one("other", 0, 1))

    assert any("1 of 2 jobs" in note and "(2 in all)" in note for note in result.notes), result.notes


@pytest.mark.parametrize("doctrine", ["backendai", "kueue", "yunikorn", "lattice"])
def test_who_places_gangs_whole_has_the_same_tables_as_ever(doctrine: str) -> None:
    result = replayed(gang(), on=cluster_of(TWO, doctrine))

    for name, columns in {
        "jobs": JOBS,
        "attempts": ATTEMPTS,
        "holds": HOLDS,
        "decisions": DECISIONS,
        "victims": VICTIMS,
    }.items():
        assert getattr(result, name).columns == [*columns]


JOB = st.fixed_dictionaries(
    {
        "submitted": st.integers(0, 200),
        "duration": st.integers(0, 100),
        "cpu": st.integers(1, 5),
        "members": st.integers(1, 3),
        "queue": st.sampled_from(["q", "owed"]),
        "checkpoint": st.sampled_from(["none", "auto"]),
        "checkpoint_interval": st.sampled_from([None, 7]),
        "checkpoint_time": st.sampled_from([None, 3]),
        "restart_time": st.sampled_from([None, 2]),
    }
)
HABITS = st.builds(Habits, st.sampled_from([0, 2 * SECOND]), st.sampled_from([0, 3 * SECOND]))
FAULTS = st.sampled_from([(), (Fault(40 * SECOND, "n0", "down"), Fault(90 * SECOND, "n0", "ready"))])


@given(st.lists(JOB, min_size=1, max_size=8), HABITS, FAULTS, st.sampled_from([None, 60]))
@examples(60)
def test_everything_adds_up_whatever_comes(
    jobs: list[dict[str, Any]], habits: Habits, faults: tuple[Fault, ...], until: int | None
) -> None:
    result = replayed(
        *jobs, on=fair(), habits=habits, faults=faults, until=None if until is None else until * SECOND, moments=3
    )

    result.measure()
    result.timeline()
    assert set(result.jobs["state"]) <= {"completed", "refused", "waiting", "requeued", "running", "preempted"}
