import pytest

from cede.sim.measures import job_measures
from cede.sim.measures.measure import measure
from tests.sim.results import HOUR, Job, Ran, result_of


def test_a_job_waits_in_inversion_while_enough_is_held_below_it() -> None:
    """high asks for 4. Lower jobs hold 6 until 1 h, then 2: only the first of its three hours was inverted."""
    found = measure(
        result_of(
            Job("low1", [Ran(0, HOUR)], size=4),
            Job("low2", [Ran(0, 3 * HOUR)], size=2),
            Job("same", [Ran(0, 3 * HOUR)], size=2, priority=5),
            Job("high", [Ran(3 * HOUR, 4 * HOUR)], size=4, priority=5),
        )
    )

    assert found.value("inversion_hours") == 1
    assert found.value("inversion_hours", "priority", "5") == 1
    assert found.value("inversion_hours", "priority", "0") == 0


def test_later_waits_count_too() -> None:
    found = measure(
        result_of(
            Job("low", [Ran(HOUR, 3 * HOUR)], size=8),
            Job("high", [Ran(0, HOUR, "node", lost=HOUR), Ran(3 * HOUR, 4 * HOUR)], size=8, priority=1),
        )
    )

    assert found.value("inversion_hours") == 2


def test_equals_invert_nothing() -> None:
    found = measure(result_of(Job("a", [Ran(0, HOUR)], size=8), Job("b", [Ran(HOUR, 2 * HOUR)], size=8)))

    assert found.value("inversion_hours") == 0


def test_so_many_kinds_that_it_would_take_long_are_not_told_and_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    two_kinds = result_of(Job("a", [Ran(2, 3)], size=1), Job("b", [Ran(2, 3)], size=2))
    monkeypatch.setattr(job_measures, "MOST_KINDS", 1)

    found = measure(two_kinds)

    assert found.value("inversion_hours") is None
    assert any(sentence.startswith("Priority inversion is not told") for sentence in found.stated)
