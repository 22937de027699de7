from cede.sim.measures.measure import measure
from tests.sim.results import HOUR, Held, Job, Preempts, Ran, result_of

TWO = result_of(
    Job("v1", [Ran(0, 20, "preempted", lost=10, overhead=10), Ran(200, 300)], size=4),
    Job("v2", [Ran(0, 30, "preempted", lost=10, overhead=20), Ran(200, 300)], size=2),
    Job("c1", [Ran(40, 40 + HOUR)], size=3, submitted=5, priority=5),
    Job("v3", [Ran(0, 110, "preempted", lost=60), Ran(400, 500)], size=1),
    Job("c2", [Ran(110, 110 + HOUR)], size=1, submitted=90, priority=7),
    decisions=[Preempts(10, "c1", ["v1", "v2"]), Preempts(100, "c2", ["v3"])],
)
"""c1 needed 3 GPUs and 6 were taken: decided at 10, free at 30, started at 40. c2 took what it needed: 100, 110, 110.
"""


def test_what_was_evicted_is_told_over_what_was_requested() -> None:
    found = measure(TWO)

    assert found.value("evicted_to_requested") == (6 + 1) / (3 + 1)
    assert found.value("evicted_to_requested", "priority", "5") == 2
    assert found.value("evicted_to_requested", "priority", "0") is None


def test_collateral_is_what_was_taken_and_not_needed_while_the_claimant_runs() -> None:
    assert measure(TWO).value("collateral_hours") == (6 - 3) * 1


def test_less_than_was_needed_is_no_negative_collateral() -> None:
    """2 of the 4 GPUs that the claimant needs were free already."""
    found = measure(
        result_of(
            Job("small", [Ran(0, 10, "preempted", lost=10), Ran(HOUR + 10, HOUR + 20)], size=2),
            Job("in", [Ran(10, HOUR + 10)], size=4, submitted=10, priority=1),
            decisions=[Preempts(10, "in", ["small"])],
            capacity={"gpu": 4},
        )
    )

    assert (found.value("collateral_hours"), found.value("evicted_to_requested")) == (0, 0.5)


def test_times_from_decision_to_freed_to_started() -> None:
    found = measure(TWO)

    assert (found.value("decision_to_freed_mean"), found.value("decision_to_freed_p95")) == (15, 20)
    assert (found.value("freed_to_started_mean"), found.value("freed_to_started_p95")) == (5, 10)
    assert (found.value("decision_to_started_mean"), found.value("decision_to_started_p95")) == (20, 30)


def test_a_claimant_that_starts_before_the_last_victim_left_waited_no_time_after_it() -> None:
    found = measure(
        result_of(
            Job("slow", [Ran(0, 30, "preempted", lost=30)], size=1),
            Job("in", [Ran(20, 40)], submitted=10, priority=1),
            decisions=[Preempts(10, "in", ["slow"])],
        )
    )

    assert (found.value("freed_to_started_mean"), found.value("decision_to_started_mean")) == (0, 10)


def test_precision_is_the_share_of_decisions_that_started_their_claimant() -> None:
    """One started; one left in vain; one is under way when the replay stops, so nobody knows; one serves nobody."""
    victims = [Job(f"v{n}", [Ran(0, 20, "preempted", lost=20)]) for n in range(3)]
    found = measure(
        result_of(
            *victims,
            Job("leaving", [Ran(0, 50, "open")]),
            Job("in", [Ran(20, 50, "open")], priority=1),
            Job("vain", priority=1),
            Job("held", priority=1),
            decisions=[
                Preempts(10, "in", ["v0"]),
                Preempts(10, "vain", ["v1"]),
                Preempts(10, None, ["v2"]),
                Preempts(45, "held", ["leaving"]),
            ],
            end=50,
        )
    )

    assert found.value("precision") == 1 / 2


def test_a_hold_that_is_open_at_the_end_says_neither_yes_nor_no() -> None:
    found = measure(
        result_of(
            Job("v", [Ran(0, 20, "preempted", lost=20)]),
            Job("in", priority=1),
            decisions=[Preempts(10, "in", ["v"])],
            holds=[Held("in", 10, 30, "open", decision=0)],
            end=30,
        )
    )

    assert found.value("precision") is None


def test_a_victim_that_two_decisions_count_on_was_taken_once() -> None:
    found = measure(
        result_of(
            Job("v", [Ran(0, 20, "preempted", lost=20)], size=4),
            Job("one", [Ran(20, 30)], size=2, priority=1),
            Job("two", [Ran(20, 30)], size=2, priority=1),
            decisions=[Preempts(10, "one", ["v"]), Preempts(12, "two", ["v"])],
        )
    )

    assert found.value("evicted_to_requested") == 4 / 4


def test_without_preemption_there_is_nothing_to_tell() -> None:
    found = measure(result_of(Job("a", [Ran(0, 1)])))

    assert found.value("collateral_hours") == 0
    assert {key: found.value(key) for key in ("precision", "evicted_to_requested", "decision_to_freed_mean")} == {
        "precision": None,
        "evicted_to_requested": None,
        "decision_to_freed_mean": None,
    }
