"""What would let a workload run: the conditions that an explanation lists for everybody who waits."""

from pathlib import Path

import pytest

import cede
from cede.doctrines.catalog import BUILT, find
from cede.model.plan import CONDITIONS, Decision, Until

EXAMPLES = sorted(
    path
    for path in (*Path("examples").glob("*.yaml"), *Path("examples").glob("*/*.yaml"))
    if "cede:" in path.read_text()
)


@pytest.mark.parametrize("name", BUILT)
def test_every_rule_by_which_somebody_waits_says_what_could_end_that(name: str) -> None:
    for rule in find(name).rules:
        if rule.kind == "waits":
            assert rule.until, rule.id
            assert set(rule.until) <= set(CONDITIONS), rule.id
        else:
            assert not rule.until, rule.id


@pytest.mark.parametrize("path", EXAMPLES, ids=str)
def test_whoever_waits_is_told_its_conditions_with_an_explanation_only(path: Path) -> None:
    cluster = cede.load(path)
    plain, explained = cede.plan(cluster), cede.plan(cluster, explain=True)
    assert all("until" not in made.to_dict() for made in plain.decisions)
    for made in explained.decisions:
        assert bool(made.until) == (made.action == "wait"), made.workload
        assert all(condition.kind in CONDITIONS and condition.why for condition in made.until)


def test_the_nearest_miss_comes_first_then_the_room_that_is_short() -> None:
    plan = cede.plan(cede.load("examples/nearest-miss.yaml"), explain=True)
    made = plan.of("retrain")
    assert made is not None
    assert made.until == (
        Until(
            "candidate",
            "batch-1 leaves, or may be preempted (batch-1: its priority 6 is above the group's threshold 5)",
        ),
        Until("room", "closest is gpu-0: gpu 4 asked, 0 free"),
    )


def waits_for_a_time() -> Decision:
    """A session whose only candidate is protected for another 30 seconds, by a rule that names the time last."""
    cluster = cede.load(
        {
            "cede": 1,
            "now": "2026-01-01T00:00:00Z",
            "doctrine": {"name": "backendai", "edition": "26.8"},
            "nodes": [{"name": "n", "capacity": {"gpu": 1}}],
            "queues": [
                {"name": "q", "settings": {"enabled": True, "preemption_min_runtime": 60, "victim_scope": "user"}}
            ],
            "workloads": [
                {
                    "name": "young",
                    "queue": "q",
                    "state": "running",
                    "nodes": ["n"],
                    "started": "2025-12-31T23:59:30Z",
                    "requests": {"gpu": 1},
                },
                {"name": "urgent", "queue": "q", "job_priority": 9, "requests": {"gpu": 1}},
            ],
        }
    )
    made = cede.plan(cluster, only="urgent", explain=True).of("urgent")
    assert made is not None
    return made


def test_a_time_says_when_it_is() -> None:
    assert Until("time", "in 30s", "2026-01-01T00:00:30Z") in waits_for_a_time().until


def test_a_known_time_is_nearest_then_a_candidate_then_room() -> None:
    assert [one.kind for one in waits_for_a_time().until] == ["time", "candidate", "room"]


@pytest.mark.parametrize("path", EXAMPLES, ids=str)
def test_conditions_are_in_the_order_of_nearness(path: Path) -> None:
    for made in cede.plan(cede.load(path), explain=True).decisions:
        kinds = [condition.kind for condition in made.until]
        assert kinds == sorted(kinds, key=CONDITIONS.index), made.workload
