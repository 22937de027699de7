import pytest

from cede.sim.measures.measure import measure
from tests.sim.results import HOUR, Held, Job, Ran, result_of

DAY = result_of(
    Job("a", [Ran(0, 2 * HOUR, "preempted", lost=HOUR, overhead=HOUR / 2), Ran(3 * HOUR, 4 * HOUR)], size=4, queue="x"),
    Job("b", [Ran(0, 4 * HOUR)], size=2, queue="y"),
)
"""8 GPUs for 4 hours. a held 4 for 3 hours: 6 useful GPU-hours, 4 lost, 2 overhead; b held 2 for 4 hours."""


def test_allocation_is_what_was_held_over_all_there_was() -> None:
    found = measure(DAY)

    assert found.value("allocation") == (12 + 8) / 32
    assert found.value("allocation", "queue", "y") == 8 / 32


def test_goodput_is_allocation_less_what_was_lost_and_overhead() -> None:
    found = measure(DAY)

    assert found.value("goodput") == (6 + 8) / 32
    assert (found.value("lost_hours"), found.value("overhead_hours")) == (4, 2)
    assert found.value("wasted") == (4 + 2) / 20
    assert found.value("wasted", "queue", "y") == 0


def test_lost_gpu_hours_are_what_preemption_threw_away_in_gpus_of_every_kind() -> None:
    """Of v half an hour of work and a quarter of overhead; what a lost node or a failure cost is no preemption's."""
    made = result_of(
        Job("v", [Ran(0, HOUR, "preempted", lost=HOUR / 2, overhead=HOUR / 4), Ran(HOUR, 2 * HOUR)], queue="x",
            asks={"amd.com/gpu": 2, "nvidia.com/gpu": 6}),
        Job("lost", [Ran(0, HOUR, "node", lost=HOUR)], queue="y", asks={"amd.com/gpu": 2}),
        Job("broken", [Ran(0, HOUR, "failed", lost=HOUR)], queue="y", asks={"cpu": 2}),
        capacity={"amd.com/gpu": 8, "nvidia.com/gpu": 8, "cpu": 8},
    )  # fmt: skip
    found = measure(made)

    assert found.value("lost_gpu_hours") == 6
    assert found.value("lost_gpu_hours", "queue", "x") == 6
    assert found.value("lost_gpu_hours", "queue", "y") == 0


def test_without_gpus_there_are_no_lost_gpu_hours() -> None:
    made = result_of(Job("v", [Ran(0, HOUR, "preempted", lost=HOUR)], asks={"cpu": 4}), capacity={"cpu": 8})

    assert measure(made).value("lost_gpu_hours") is None
    assert measure(made).value("lost_hours") == 4


def test_of_an_attempt_that_began_before_the_window_counts_the_part_within() -> None:
    half = result_of(
        Job("early", [Ran(0, 2 * HOUR, "failed", lost=HOUR)], size=8, submitted=0),
        Job("late", [Ran(2 * HOUR, 3 * HOUR)], size=8, submitted=HOUR),
    )

    found = measure(half, warm_up=0.5)

    assert found.window == (HOUR * 10**6, 3 * HOUR * 10**6)
    assert found.value("allocation") == 1
    assert found.value("lost_hours") == 4
    assert found.value("goodput") == (4 + 8) / 16


def test_idle_is_what_nobody_held_and_was_not_down() -> None:
    """16 GPUs for 4 hours: one holds 8 for 3 hours; one of two nodes is down for the last hour."""
    found = measure(
        result_of(
            Job("a", [Ran(0, 3 * HOUR)], size=8),
            Job("b", [Ran(3 * HOUR, 4 * HOUR)], size=1),
            holds=[Held("b", 2 * HOUR, 3 * HOUR)],
            outages=[("n2", 3 * HOUR, 4 * HOUR, "down"), ("n1", 0, HOUR, "cordoned")],
            capacity={"gpu": 16},
            nodes={"n1": {"gpu": 8}, "n2": {"gpu": 8}},
        )
    )

    assert found.value("idle_hours") == 8 * 3 + 7


def test_hours_are_of_the_gpu_where_there_is_one() -> None:
    both = result_of(Job("a", [Ran(0, HOUR)], asks={"cpu": 16, "gpu": 2}), capacity={"cpu": 64, "gpu": 4})
    neither = result_of(Job("a", [Ran(0, HOUR)], asks={"cpu": 16}), capacity={"cpu": 64})

    assert (measure(both).resource, measure(both).value("allocation")) == ("gpu", 0.5)
    assert (measure(neither).resource, measure(neither).value("allocation")) == ("cpu", 0.25)


def test_a_cluster_without_the_resource_has_no_rates() -> None:
    nothing = result_of(Job("a", [Ran(0, HOUR)], asks={"cpu": 1}), capacity={})

    assert measure(nothing).value("allocation") is None


def test_memory_in_bytes_is_counted_exactly() -> None:
    """Nano-bytes of a terabyte alone are beyond 64 bits."""
    tebibyte = 2**40
    found = measure(
        result_of(
            Job("a", [Ran(0, HOUR)], asks={"memory": 3 * tebibyte}),
            Job("b", [Ran(0, HOUR)], asks={"memory": tebibyte + 1}),
            capacity={"memory": 8 * tebibyte},
        )
    )

    assert found.value("allocation") == pytest.approx((4 * tebibyte + 1) / (8 * tebibyte), rel=1e-15)
