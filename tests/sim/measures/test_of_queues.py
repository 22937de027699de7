from fractions import Fraction

import pytest

from cede.sim.measures.measure import measure
from cede.sim.measures.queue_measures import entitlements
from cede.sim.tables import Queue
from tests.sim.results import HOUR, Job, Ran, queue, result_of

GPU = 10**9


def entitled(*queues: Queue, jobs_in: str) -> dict[str, float]:
    """What 8 GPUs give each queue, where these have jobs."""
    result = result_of(*(Job(name, queue=name) for name in jobs_in.split()), queues=queues, end=1)
    found = entitlements(result, "gpu", jobs_in.split())
    return {name: float(one.entitled / GPU) for name, one in found.items()}


@pytest.mark.parametrize(
    ("queues", "jobs_in", "expected"),
    [
        pytest.param([queue("a"), queue("b")], "a b", {"a": 4, "b": 4}, id="equal weights share evenly"),
        pytest.param([queue("a", weight=3), queue("b")], "a b", {"a": 6, "b": 2}, id="weights share in proportion"),
        pytest.param([queue("a", 6), queue("b")], "a b", {"a": 6, "b": 2}, id="a guarantee comes before weights"),
        pytest.param([queue("a", 5), queue("b", 1)], "a b", {"a": 5, "b": 1}, id="what nobody is promised is nobody's"),
        pytest.param([queue("a"), queue("b"), queue("c")], "a b", {"a": 4, "b": 4}, id="one without jobs has no share"),
        pytest.param([queue("a", 6), queue("b")], "b", {"b": 2}, id="but a guarantee is kept for it"),
        pytest.param([queue("a", 10), queue("b")], "a b", {"a": 10, "b": 0}, id="guarantees may leave nothing"),
        pytest.param([queue("a")], "a new", {"a": 4, "new": 4}, id="a queue the cluster does not know has weight 1"),
        pytest.param(
            [queue("top", weight=3), queue("x", parent="top"), queue("y", parent="top"), queue("other")],
            "x y other",
            {"other": 2, "x": 3, "y": 3},
            id="below a parent its share is divided",
        ),
    ],
)
def test_an_entitlement_is_the_guarantee_or_a_share_of_what_guarantees_leave(
    queues: list[Queue], jobs_in: str, expected: dict[str, float]
) -> None:
    assert entitled(*queues, jobs_in=jobs_in) == expected


def test_a_share_is_an_exact_fraction() -> None:
    thirds = result_of(*(Job(name, queue=name) for name in "abc"), end=1)

    assert entitlements(thirds, "gpu", "abc")["a"].entitled == Fraction(8 * GPU, 3)


def test_jain_is_one_if_all_hold_what_they_are_entitled_to() -> None:
    """a is guaranteed 6 of 8 and holds 6; b has the rest and holds 2."""
    even = result_of(
        Job("a", [Ran(0, 10)], size=6, queue="a"),
        Job("b", [Ran(0, 10)], size=2, queue="b"),
        queues=[queue("a", 6), queue("b")],
    )

    assert measure(even).value("jain") == pytest.approx(1)


def test_jain_falls_to_one_over_m_if_one_takes_all() -> None:
    grab = result_of(Job("a", [Ran(0, 10)], size=8, queue="a"), Job("b", queue="b"), Job("c", queue="c"), end=10)

    assert measure(grab).value("jain") == pytest.approx(1 / 3)


def test_jain_between_is_as_its_formula_says() -> None:
    """Entitled to 4 each; a holds 4, b holds 2: x is 1 and 1/2."""
    found = measure(result_of(Job("a", [Ran(0, 10)], size=4, queue="a"), Job("b", [Ran(0, 10)], size=2, queue="b")))

    assert found.value("jain") == pytest.approx((1 + 0.5) ** 2 / (2 * (1 + 0.25)))


def test_one_queue_alone_has_no_fairness() -> None:
    assert measure(result_of(Job("a", [Ran(0, 10)]))).value("jain") is None


def test_a_queue_that_is_entitled_to_nothing_is_left_out_and_named() -> None:
    found = measure(
        result_of(
            Job("a", [Ran(0, 10)], size=8, queue="a"),
            Job("b", [Ran(0, 10)], size=0, queue="b"),
            queues=[queue("a", 8), queue("b")],
        )
    )

    assert found.value("jain") is None
    assert found.value("share_deviation", "queue", "b") is None
    assert any(sentence.endswith("entitled to nothing: b.") for sentence in found.stated)


def test_share_deviation_is_the_mean_distance_from_the_entitlement_over_it() -> None:
    """Entitled to 4 each over 10 s: a holds 8, then 2 (4 and 2 away); b holds 0, then 4 (4 and 0 away)."""
    found = measure(
        result_of(
            Job("a1", [Ran(0, 5)], size=8, queue="a"),
            Job("a2", [Ran(5, 10)], size=2, queue="a"),
            Job("b", [Ran(5, 10)], size=4, queue="b"),
        )
    )

    assert found.value("share_deviation", "queue", "a") == 0.75
    assert found.value("share_deviation", "queue", "b") == 0.5
    assert found.value("share_deviation") == 0.625


STARVED = result_of(
    Job("grab", [Ran(0, 4 * HOUR)], size=6, queue="other"),
    Job("in1", [Ran(HOUR, 2 * HOUR)], size=2, queue="own", submitted=0),
    Job("in2", [Ran(4 * HOUR, 5 * HOUR)], size=4, queue="own", submitted=1.5 * HOUR),
    Job("in3", [Ran(5 * HOUR, 6 * HOUR)], size=4, queue="own", submitted=4 * HOUR),
    queues=[queue("own", 4), queue("other")],
)
"""own is guaranteed 4. It waits below that from 0 to 1 (holds 0), 1.5 to 2 (holds 2) and 2 to 4 (holds 0); from 4 to 5
it holds 4 while in3 waits, which is no less than it is guaranteed."""


def test_time_under_guarantee_is_the_time_with_jobs_waiting_and_less_than_promised() -> None:
    found = measure(STARVED)

    assert found.value("under_guarantee_hours", "queue", "own") == 1 + 0.5 + 2
    assert found.value("under_guarantee_hours", "queue", "other") is None
    assert found.value("under_guarantee_hours") == 3.5


def test_starvation_is_the_longest_such_time_without_a_break() -> None:
    found = measure(STARVED)

    assert found.value("starvation_hours", "queue", "own") == 2.5
    assert found.value("starvation_hours", "queue", "other") == 0
    assert found.value("starvation_hours") == 2.5


def test_a_queue_whose_only_job_is_refused_does_not_starve() -> None:
    refused = result_of(Job("huge", size=99, state="refused", queue="own"), queues=[queue("own", 4)], end=HOUR)

    assert measure(refused).value("starvation_hours", "queue", "own") == 0
