"""A trace is made to fit a cluster: names, queues and members."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cede.doctrines.catalog import DIALECTS
from cede.doctrines.document import parse_document
from cede.model.cluster import Node, Queue
from cede.model.errors import InputError
from cede.model.quantities import NANO
from cede.sim.traces.fitting import divided, fit, rooms
from cede.sim.traces.starting_cluster import starting_cluster
from cede.sim.traces.trace import Shape
from tests.sim.shaping.traces import check, column, gpus, trace_of


def node(name: str = "n", **given: Any) -> Node:
    return Node.model_validate({"name": name, **given})


def queue(name: str, **given: Any) -> Queue:
    return Queue.model_validate({"name": name, **given})


EIGHT = [node(capacity={"gpu": 8, "cpu": 64})]


@pytest.mark.parametrize(
    ("total", "members", "each"),
    [(1, 1, 1), (8, 1, 8), (9, 3, 3), (12, 2, 6), (16, 2, 8), (17, 3, 6), (37, 5, 8), (64, 8, 8), (0.5, 1, 0.5)],
)
def test_a_total_is_divided_into_the_fewest_equal_members(total: float, members: int, each: float) -> None:
    found, added = divided(gpus(total, divisible=True), rooms(EIGHT))

    assert (found.members, found.requests) == (members, {"gpu": int(each * NANO)})
    assert added == members * int(each * NANO) - int(total * NANO)
    assert not found.divisible


@given(st.integers(1, 5000), st.integers(1, 64))
def test_members_fit_the_largest_node_and_hold_the_total(total: int, largest: int) -> None:
    among = rooms([node("a", capacity={"gpu": largest}), node("b", capacity={"gpu": 1})])

    found, added = divided(gpus(total, divisible=True), among)

    assert found.requests["gpu"] <= largest * NANO
    assert found.requests["gpu"] * found.members == total * NANO + added
    assert found.members < 2 * -(-total // largest)
    assert added < found.members * NANO


def test_every_resource_of_a_total_must_fit() -> None:
    shape = Shape({"gpu": 16 * NANO, "cpu": 7 * NANO, "memory": 10 * NANO}, divisible=True)

    found, added = divided(shape, rooms([node(capacity={"gpu": 8, "cpu": 64, "memory": 3})]))

    assert found.members == 4, "memory decides"
    assert found.requests == {"gpu": 4 * NANO, "cpu": 1750 * 10**6, "memory": 3 * NANO}
    assert added == 0


def test_what_fits_no_node_stays_as_it_is() -> None:
    shape = gpus(16, divisible=True, model="h100")

    found, _ = divided(shape, rooms(EIGHT))

    assert (found.members, found.divisible) == (1, False)
    assert divided(shape, rooms([node(capacity={"gpu": 8}, labels={"model": "h100"})]))[0].members == 2


def test_what_others_occupy_is_not_there() -> None:
    assert divided(gpus(8, divisible=True), rooms([node(capacity={"gpu": 8}, occupied={"gpu": 4})]))[0].members == 2


def test_a_gang_of_the_trace_stays_as_the_trace_has_it() -> None:
    gang = gpus(2, members=3)

    assert fit(trace_of({}, shapes=[gang]), EIGHT, []).shapes == (gang,)


def test_rounding_is_told() -> None:
    trace = trace_of({}, {}, {"shape": 1}, shapes=[gpus(37, divisible=True), gpus(12, divisible=True)])

    fitted = fit(trace, EIGHT, [])

    check(fitted)
    assert fitted.notes == (
        "The trace knows only totals: 3 of 3 jobs do not fit a node and are divided into equal members, the fewest "
        "that fit and divide evenly.",
        "2 of them cannot be divided evenly and ask for more, 6 gpu in all.",
    )


def test_each_partition_divides_by_its_own_nodes() -> None:
    nodes = [node("a", partition="a", capacity={"gpu": 8}), node("b", partition="b", capacity={"gpu": 4})]
    queues = [queue("qa", partition="a"), queue("qb", partition="b")]
    trace = trace_of({"queue": "qa"}, {"queue": "qb"}, shapes=[gpus(8, divisible=True)])

    fitted = fit(trace, nodes, queues)

    assert [fitted.shapes[shape].members for shape in column(fitted, "shape")] == [1, 2]


def test_the_only_gpu_of_the_cluster_is_the_one_meant() -> None:
    fitted = fit(trace_of({}), [node(capacity={"nvidia.com/gpu": 8})], [])

    assert fitted.shapes[0].requests == {"nvidia.com/gpu": NANO}
    assert fitted.notes == ("gpu of the trace is nvidia.com/gpu of the cluster.",)


def test_one_of_two_gpus_cannot_be_guessed() -> None:
    with pytest.raises(InputError, match=r"asks for gpu, and the cluster has amd.com/gpu and nvidia.com/gpu"):
        fit(trace_of({}), [node(capacity={"nvidia.com/gpu": 8, "amd.com/gpu": 8})], [])


def test_a_flavor_that_the_cluster_does_not_know_is_forgotten() -> None:
    flavored = Shape({"gpu@a100": NANO})

    assert fit(trace_of({}, shapes=[flavored]), EIGHT, []).shapes[0].requests == {"gpu": NANO}
    a100 = [node(capacity={"gpu": 8}, flavor="a100")]
    assert fit(trace_of({}, shapes=[flavored]), a100, []).shapes[0].requests == {"gpu@a100": NANO}


def test_what_no_node_has_is_not_asked_for() -> None:
    shapes = [Shape({"gpu": NANO, "memory": 5 * NANO}), gpus(1)]

    fitted = fit(trace_of({}, {}, {"shape": 1}, shapes=shapes), EIGHT, [])

    assert fitted.shapes[0].requests == {"gpu": NANO}
    assert fitted.notes == ("memory is not asked for: the cluster has none (2 jobs of the trace ask for it).",)


def test_jobs_of_which_nothing_would_be_left_are_an_error() -> None:
    with pytest.raises(InputError, match="1 jobs of the trace ask for gpu alone, and the cluster has only cpu"):
        fit(trace_of({}), [node(capacity={"cpu": 8})], [])


def test_without_nodes_the_queues_say_what_there_is() -> None:
    trace = trace_of({"queue": "a"}, shapes=[gpus(37, divisible=True)])

    fitted = fit(trace, [], [queue("a", guaranteed={"nvidia.com/gpu": 8})])

    assert fitted.shapes == (Shape({"nvidia.com/gpu": 37 * NANO}),)


def test_a_trace_without_queues_goes_into_the_only_one() -> None:
    fitted = fit(trace_of({}, {}), EIGHT, [queue("batch")])

    assert column(fitted, "queue") == ["batch", "batch"]
    assert fitted.notes == ("All jobs are in batch, the only queue there is.",)


def test_queues_that_the_cluster_does_not_know_are_listed_with_their_jobs() -> None:
    trace = trace_of({"queue": "x"}, {"queue": "y"}, {"queue": "x"}, {"queue": "a"}, {})

    with pytest.raises(InputError) as caught:
        fit(trace, EIGHT, [queue("a"), queue("b")])

    first, second = map(str, caught.value.problems)
    assert first == (
        "queue: the cluster has no queue 'x' (2 jobs), 'y' (1 jobs); it has a, b "
        "(set it with --mapping, or give --queue NAME for all jobs)"
    )
    assert second.startswith("queue: 1 jobs of the trace name no queue, and the cluster has 2")


def test_a_queue_for_all_is_taken_at_its_word() -> None:
    trace = trace_of({"queue": "x"}, {})

    assert column(fit(trace, EIGHT, [queue("a"), queue("b")], queue="b"), "queue") == ["b", "b"]
    with pytest.raises(InputError, match=r"--queue: the cluster has no queue 'batsh' \(did you mean 'batch'\?\)"):
        fit(trace, EIGHT, [queue("batch")], queue="batsh")


def test_a_cluster_without_queues_takes_none() -> None:
    assert column(fit(trace_of({"queue": "x"}), EIGHT, []), "queue") == [None]


def test_priorities_outside_the_doctrines_range_are_spread_over_it_in_their_order() -> None:
    trace = trace_of({"priority": 101}, {"priority": -2}, {"priority": 5}, {})

    found = fit(trace, EIGHT, [], dialect=DIALECTS["lattice"])

    assert column(found, "priority") == [9, 1, 5, None]
    assert "Under lattice priorities go from 0 to 10: -2 is 1, 5 is 5, 101 is 9." in found.notes
    assert column(fit(trace, EIGHT, [], dialect=DIALECTS["kueue"]), "priority") == [
        101,
        -2,
        5,
        None,
    ]


def test_priorities_within_the_range_stay() -> None:
    trace = trace_of({"priority": 0}, {"priority": 100})

    found = fit(trace, EIGHT, [], dialect=DIALECTS["backendai"])

    assert column(found, "priority") == [0, 100]
    assert found.notes == trace.notes


def test_more_priorities_than_the_doctrine_has_are_refused() -> None:
    trace = trace_of(*({"priority": 10 * number} for number in range(12)))

    message = "priority: the jobs have 12 of them, from 0 to 110, and under lattice priorities go from 0 to 10"
    with pytest.raises(InputError, match=message):
        fit(trace, EIGHT, [], dialect=DIALECTS["lattice"])


def test_one_priority_is_that_of_the_job_too_where_that_decides() -> None:
    trace = trace_of({"priority": 9}, {"priority": 5}, {})

    found = fit(trace, EIGHT, [], by_job_priority=True)

    assert column(found, "job_priority") == [9, 5, None]
    assert any(note.startswith("Job priorities say who may preempt whom") for note in found.notes)
    assert column(fit(trace, EIGHT, []), "job_priority") == [None, None, None]


def test_a_trace_that_says_job_priorities_keeps_them() -> None:
    trace = trace_of({"priority": 9, "job_priority": 0}, {"priority": 5})

    found = fit(trace, EIGHT, [], by_job_priority=True)

    assert column(found, "job_priority") == [0, None]


def test_jobs_that_name_no_queue_are_in_the_default_one_if_there_is_such() -> None:
    trace = trace_of({"queue": "red"}, {"queue": None})

    found = fit(trace, EIGHT, [queue("red"), queue("default")])

    assert column(found, "queue") == ["red", "default"]
    assert "1 of 2 jobs name no queue and are in default." in found.notes
    with pytest.raises(InputError, match="1 jobs of the trace name no queue"):
        fit(trace, EIGHT, [queue("red"), queue("blue")])


def test_a_trace_can_be_replayed_on_the_cluster_file_it_gives_to_start_from() -> None:
    trace = trace_of({"queue": "red"}, {"queue": None})

    document = parse_document(starting_cluster(trace, {"name": "backendai"}, nodes=1, capacity={"gpu": 8}))

    assert column(fit(trace, document.nodes, document.queues), "queue") == ["root.red", "root.default"]
