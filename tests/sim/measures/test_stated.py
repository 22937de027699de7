from cede.sim.measures.measure import measure
from tests.sim.results import Job, Ran, result_of


def stated(*jobs: Job, **rest: object) -> str:
    return "\n".join(measure(result_of(*jobs, **rest)).stated)  # type: ignore[arg-type]


def test_every_choice_that_numbers_depend_on_is_said() -> None:
    said = stated(Job("a", [Ran(0, 3600)]))

    assert "Measured from 0.00 h to 1.00 h of the replay, over 1 of its 1 jobs." in said
    assert "No warm-up is left out" in said
    assert "Hours, shares and sizes are of gpu: 8 in all." in said
    assert "nearest rank" in said
    assert "tau of bounded slowdown is 10 s." in said
    assert "x of Jain's index is" in said


def test_jobs_that_failed_in_reality_are_counted_and_it_is_said() -> None:
    said = stated(Job("a", [Ran(0, 1)], outcome="failed"), Job("b", [Ran(0, 1)], outcome="completed"))

    assert "count like others, with the run time they had: 1 of 2." in said
    assert "does not say which jobs failed" in stated(Job("a", [Ran(0, 1)]))


def test_what_was_made_up_stands_beside_the_numbers() -> None:
    note = "Priorities are drawn with seed 7: the trace has none."

    assert measure(result_of(Job("a", [Ran(0, 1)]), notes=(note,))).stated[-1] == note


def test_a_replay_that_was_stopped_says_so() -> None:
    assert "was stopped before its end" in stated(Job("a", [Ran(0, 5, "open")]), end=5)


def test_loops_are_counted() -> None:
    found = measure(result_of(Job("a", [Ran(0, 1)]), loops=("a and b preempt each other",)))

    assert found.value("loops") == 1
