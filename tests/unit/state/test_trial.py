"""What a trial does to room that is held or being left."""

from cede.state.build import build
from cede.state.trial import Trial
from tests.builders import cluster_of, node, pending, preempting, reserved, running
from tests.state_views import bits


def test_what_is_held_and_what_is_leaving_overlap_until_they_are_kept_apart() -> None:
    state = build(cluster_of(node("n1", cpu=8), node("n2", cpu=8), preempting("out", "n1", cpu=3), reserved("in", "n1",
                             cpu=2), running("x", "n2", cpu=1)).document)  # fmt: skip
    cpu, before = state.units.index["cpu"], bits(state)

    with Trial(state) as trial:
        assert state.nodes.free[cpu, :2].tolist() == [5, 7]
        overlap = trial.keep_apart()
        assert overlap is not None
        assert overlap[cpu].tolist() == [2, 0]
        assert state.nodes.free[cpu, :2].tolist() == [3, 7]

    assert bits(state) == before


def test_where_nothing_overlaps_nothing_is_kept_apart() -> None:
    state = build(cluster_of(node("n1", cpu=8), preempting("out", cpu=3), pending("in", cpu=2)).document)

    with Trial(state) as trial:
        assert trial.keep_apart() is None
        assert trial.mark() == 0


def test_one_that_is_told_to_leave_beside_one_for_whom_room_is_held_frees_nothing() -> None:
    state = build(cluster_of(node("n1", cpu=8), running("x", cpu=3), reserved("in", cpu=2)).document)
    cpu, before = state.units.index["cpu"], bits(state)

    with Trial(state) as trial:
        trial.tell_to_leave(state.work_index["x"])
        assert state.nodes.free[cpu, :1].tolist() == [3]

    assert bits(state) == before
