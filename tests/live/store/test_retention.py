import pytest

from cede.live.store import retention
from cede.live.store.store import Pruned, Store
from cede.model.lifecycle import Phase
from tests.live.store.entries import START, job, made, stepped, submitted

NOW = START + 1000


@pytest.fixture
def aged(store: Store) -> Store:
    """Two that ended, early and late, one that failed without saying when, and one that runs since the beginning."""
    submitted(store, job("early"), job("late"), job("lost"), job("runs"))
    ends = [job("early", phase=Phase.COMPLETED, ended=START + 10), job("late", phase=Phase.CANCELLED, ended=START + 90)]
    decided = [made(1, "early", "late")]
    stepped(store, at=START + 20, changed=ends, decisions=decided, cluster_hash="c" * 64, cluster=b"packed")
    stepped(store, at=START + 95, changed=[job("lost", phase=Phase.FAILED)])
    return store


def test_nothing_goes_unless_a_time_is_given(aged: Store) -> None:
    assert aged.prune(ended_before=None, events_before=None, now=NOW) == Pruned()
    assert len(aged.workloads()) == 4
    assert aged.audit() == ()


def test_a_workload_goes_with_its_events_and_leaves_a_line(aged: Store) -> None:
    pruned = aged.prune(ended_before=START + 50, events_before=None, now=NOW)

    assert pruned == Pruned(workloads=("early", "lost"), events=2)
    assert [record.job.name for record in aged.workloads()] == ["runs", "late"]
    assert {event.transition.name for event in aged.events()} == {"runs", "late"}
    assert [(line.about, line.at, line.what) for line in aged.audit()] == [
        ("early", NOW, "delete"),
        ("lost", NOW, "delete"),
    ]
    assert aged.audit()[0].detail == (
        "deleted: the record of a workload of ann that was completed at 2026-09-21T14:13:20.000010Z, and 1 events"
    )


def test_more_go_than_fit_into_one_transaction(aged: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "AT_ONCE", 1)

    assert aged.prune(ended_before=NOW, events_before=None, now=NOW).workloads == ("early", "late", "lost")


def test_decisions_stay_and_their_cluster_file_too(aged: Store) -> None:
    aged.prune(ended_before=NOW, events_before=NOW, now=NOW)

    assert [one.number for one in aged.decisions(workload="early")] == [1]
    assert aged.cluster("c" * 64) == b"packed"
    assert aged.story("late").decisions == aged.decisions()


def test_events_of_a_workload_that_goes_on_stay(aged: Store) -> None:
    pruned = aged.prune(ended_before=None, events_before=NOW, now=NOW)

    assert pruned == Pruned(events=3)
    assert [event.transition.name for event in aged.events()] == ["runs"]
    [line] = aged.audit()
    assert line.detail.startswith("deleted: 3 events before ")


def test_recorded_steps_and_cluster_files_go_only_when_asked_for(aged: Store) -> None:
    pruned = aged.prune(ended_before=None, events_before=None, inputs_before=START + 30, now=NOW)

    assert pruned == Pruned(steps=2, clusters=1)
    assert [at for at, _ in aged.steps()] == [START + 95]
    assert aged.cluster("c" * 64) is None
    assert aged.decision(1) is not None


def test_pruning_makes_no_step_stale(aged: Store) -> None:
    version = aged.load().version
    aged.prune(ended_before=NOW, events_before=NOW, inputs_before=NOW, now=NOW)

    assert aged.load().version == version


def test_numbers_of_events_are_never_given_again(aged: Store) -> None:
    stepped(aged, changed=[job("runs", phase=Phase.COMPLETED, ended=START)])
    last = aged.last_event()
    aged.prune(ended_before=NOW, events_before=None, now=NOW)
    submitted(aged, job("next"))

    assert aged.last_event() == last + 1


def test_a_namesake_has_a_story_of_its_own(aged: Store) -> None:
    aged.prune(ended_before=NOW, events_before=None, now=NOW)
    submitted(aged, job("early"))
    stepped(aged, decisions=[made(2, "early")])

    assert [one.number for one in aged.story("early").decisions] == [2]
