"""What a preemption costs: time to save, work that cannot be saved, time to start again, and how near the end it is."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

import cede
from cede.doctrines.parts.cost import (
    ASSUMED,
    MINUTE,
    MOST,
    PARTS,
    Assumed,
    Costs,
    assumed_by,
    costs_of,
    gpu_nodes,
    gpus_held,
    nodes_of,
    unsaved,
    wasted,
)
from cede.state.columns import NEVER
from tests.builders import Entry, cluster_of, kueue, node, pending, queue, running

N1 = node("n1", cpu=64, gpu=8)
HOUR = 3600


def row_of(cluster: cede.Cluster, name: str = "w") -> Any:
    return np.array([cluster.state.work_index[name]], np.intp)


def costs(*entries: Entry, now: float = HOUR, assumed: Assumed = ASSUMED, **keys: Any) -> Costs:
    """Of the workload w, an hour after its clock's zero."""
    cluster = cluster_of(*entries, now=now, **keys)
    return costs_of(cluster.state, row_of(cluster), assumed)


def minutes(*entries: Entry, **keys: Any) -> float:
    return int(costs(*entries, **keys).total[0]) / PARTS


def saving(mode: str, **more: Any) -> dict[str, Any]:
    return {"mode": mode, **more}


MODES: dict[str, tuple[dict[str, Any], float]] = {
    "nothing said of saving: an hour of work is lost": ({}, 60),
    "none: the same": ({"checkpoint": saving("none")}, 60),
    "none, but it saved half an hour ago": ({"checkpoint": saving("none", last=HOUR / 2)}, 30),
    "none, and what it saved was before it began": ({"checkpoint": saving("none", last=-HOUR)}, 60),
    "none, and it will save in the future": ({"checkpoint": saving("none", last=2 * HOUR)}, 0),
    "auto takes five minutes": ({"checkpoint": saving("auto")}, 5),
    "auto takes what it says": ({"checkpoint": saving("auto", time="90s")}, 1.5),
    "auto loses nothing, whenever it saved": ({"checkpoint": saving("auto", last=0)}, 5),
    "auto in no time": ({"checkpoint": saving("auto", time=0)}, 0),
    "manual takes ten minutes": ({"checkpoint": saving("manual")}, 10),
    "manual takes what it says": ({"checkpoint": saving("manual", time="30s")}, 0.5),
}


@pytest.mark.parametrize(("keys", "wanted"), MODES.values(), ids=MODES)
def test_saving_takes_time_and_what_is_not_saved_is_lost(keys: dict[str, Any], wanted: float) -> None:
    assert minutes(N1, running("w", cpu=1, started=0, **keys)) == wanted


PROGRESS: dict[str, tuple[Any, float]] = {
    "no walltime": (None, 0),
    "less than a tenth of it": ("10h1s", 1),
    "exactly a tenth of it": ("10h", 10),
    "half of it": ("2h", 50),
    "just below nine tenths": ("66m41s", 100 * 3600 / 4001),
    "exactly nine tenths": (4000, 1000),
    "all of it": ("1h", 1000),
    "longer than it": ("1m", 1000),
    "a walltime of nothing": (0, 1000),
}


@pytest.mark.parametrize(("walltime", "wanted"), PROGRESS.values(), ids=PROGRESS)
def test_the_share_of_the_walltime_that_is_used_counts(walltime: Any, wanted: float) -> None:
    keys = {} if walltime is None else {"walltime": walltime}

    found = minutes(N1, running("w", cpu=1, started=0, checkpoint=saving("auto", time=0), **keys))

    assert found == pytest.approx(wanted, abs=1e-6)


def test_one_that_has_not_begun_loses_nothing_but_has_its_walltime_before_it() -> None:
    assert minutes(N1, running("w", cpu=1, walltime="1h")) == 1
    assert minutes(N1, running("w", cpu=1)) == 0
    assert minutes(N1, running("w", cpu=1, walltime=0)) == 1000


def test_one_that_begins_in_the_future_has_not_begun() -> None:
    assert minutes(N1, running("w", cpu=1, started=2 * HOUR, walltime="1h")) == 1


def test_the_parts_add_up_to_six_decimals() -> None:
    one = running("w", cpu=1, gpu=2, started=0, walltime="2h", checkpoint=saving("auto", time="1s"))
    found = costs(N1, one, assumed=Assumed(restart=MINUTE))

    assert [part.tolist() for part in (found.lost, found.progress, found.restart)] == [[0], [50], [1]]
    assert found.total.tolist() == [51_016_667]


def test_restart_and_what_is_assumed_of_saving_are_taken_as_given() -> None:
    assumed = Assumed(auto=MINUTE, manual=2 * MINUTE, restart=3 * MINUTE)

    assert minutes(N1, running("w", cpu=1, started=0, checkpoint=saving("auto")), assumed=assumed) == 4
    assert minutes(N1, running("w", cpu=1, started=0, checkpoint=saving("manual")), assumed=assumed) == 5
    assert minutes(N1, running("w", cpu=1, started=0), assumed=assumed) == 63


def test_the_silent_are_charged_as_if_they_had_saved_when_others_did() -> None:
    assumed = Assumed(age=20 * MINUTE)

    assert minutes(N1, running("w", cpu=1, started=0), assumed=assumed) == 20
    assert minutes(N1, running("w", cpu=1, started=HOUR - 60), assumed=assumed) == 1
    told = saving("none", last=HOUR - 60)
    assert minutes(N1, running("w", cpu=1, started=0, checkpoint=told), assumed=assumed) == 20


TIMES = st.integers(0, 10**9)


@given(began=TIMES, last=TIMES, now=TIMES, age=TIMES)
def test_telling_of_a_checkpoint_never_makes_a_workload_cheaper_than_silence(
    began: int, last: int, now: int, age: int
) -> None:
    silent, told = unsaved(np.array([began, began]), np.array([NEVER, last]), now, age).tolist()

    assert 0 <= silent <= told <= max(0, now - began)


# -- nodes and GPUs --------------------------------------------------------------------------------------------------

SIZES: dict[str, tuple[list[Entry], float, float, float]] = {
    "without GPUs its node counts once": ([N1, running("w", cpu=1)], 1, 1, 0),
    "GPUs of its one member": ([N1, running("w", gpu=4)], 1, 4, 4),
    "two members on one node are on one node": ([N1, running("w", members=2, gpu=2)], 1, 2, 4),
    "members on two nodes": ([N1, node("n2", gpu=8), running("w", ["n1", "n2", "n2"], members=3, gpu=2)], 2, 4, 6),
    "a node to itself is held whole": ([N1, running("w", gpu=1, exclusive=True)], 1, 8, 8),
    "nodes to itself of different size, one without GPUs": (
        [N1, node("n2", gpu=2), node("n3", cpu=8), running("w", ["n1", "n2", "n3"], members=3, exclusive=True, cpu=1)],
        3,
        8 + 2 + 1,
        10,
    ),
    "pod sets in the mean, held in all": (
        [
            N1,
            running(
                "w",
                pod_sets=[
                    {"name": "head", "count": 1, "requests": {"cpu": 1}},
                    {"name": "work", "count": 3, "requests": {"gpu": 2}},
                ],
            ),
        ],
        1,
        1.5,
        6,
    ),
    "GPUs of several kinds": (
        [node("n1", **{"nvidia.com/gpu": 4, "gpu": 4}), running("w", **{"nvidia.com/gpu": 2, "gpu": 1})],
        1,
        3,
        3,
    ),
    "what only looks like GPU": (
        [node("n1", **{"gpu-memory": 4, "cpu": 4}), running("w", **{"gpu-memory": 2})],
        1,
        1,
        0,
    ),
    "tenths of a GPU": ([N1, running("w", members=3, gpu="100m")], 1, 0.1, 0.3),
    "one that waits counts its members": ([N1, pending("w", members=3, gpu=2)], 3, 6, 6),
}


@pytest.mark.parametrize(("entries", "nodes", "size", "held"), SIZES.values(), ids=SIZES)
def test_nodes_and_gpus(entries: list[Entry], nodes: float, size: float, held: float) -> None:
    cluster = cluster_of(*entries)
    state, rows = cluster.state, row_of(cluster)

    assert nodes_of(state, rows).tolist() == [nodes]
    assert gpu_nodes(state, rows).tolist() == [size]
    assert gpus_held(state, rows).tolist() == [held]


def test_flavored_gpus_count_once_of_members_and_of_nodes() -> None:
    cluster = kueue(
        queue("a", **{"gpu@a100": 8}), node("n1", gpu=8, flavor="a100"), running("w", **{"gpu@a100": 2}, queue="a"),
        running("x", exclusive=True, queue="a", **{"gpu@a100": 1}, nodes=["n1"], state="preempting"),
    )  # fmt: skip

    assert gpu_nodes(cluster.state, row_of(cluster)).tolist() == [2]
    assert gpus_held(cluster.state, row_of(cluster)).tolist() == [2]
    assert gpus_held(cluster.state, row_of(cluster, "x")).tolist() == [8]


def test_without_nodes_in_the_file_members_stand_for_them() -> None:
    held = {"gpu@spot": 6}
    cluster = kueue(
        queue("a", **held),
        running("w", members=3, queue="a", usage=held, gpu=2),
        running("u", members=2, queue="a", usage={"gpu@spot": 4}),
        running("x", members=2, queue="a", exclusive=True, cpu=1),
    )
    state = cluster.state

    assert nodes_of(state, row_of(cluster)).tolist() == [3]
    assert gpu_nodes(state, row_of(cluster)).tolist() == [6]
    assert gpus_held(state, row_of(cluster)).tolist() == [6]
    assert gpus_held(state, row_of(cluster, "u")).tolist() == [4]
    assert (nodes_of(state, row_of(cluster, "x")).tolist(), gpu_nodes(state, row_of(cluster, "x")).tolist()) == (
        [2],
        [2],
    )


def test_lost_work_counts_every_gpu_and_lost_gpu_hours_only_real_ones() -> None:
    found = costs(N1, running("w", members=2, gpu=2, started=HOUR / 2))
    plain = costs(N1, running("w", cpu=2, started=HOUR / 2))

    assert (found.lost.tolist(), found.gpu_hours.tolist()) == ([60], [2])
    assert (plain.lost.tolist(), plain.gpu_hours.tolist()) == ([30], [0])


def test_lost_gpu_hours_are_those_of_saving_or_not_saving_and_of_starting_again() -> None:
    auto = running("w", gpu=6, started=0, checkpoint=saving("auto"))

    assert costs(N1, auto).gpu_hours.tolist() == [0.5]
    assert costs(N1, auto, assumed=Assumed(restart=10 * MINUTE)).gpu_hours.tolist() == [1.5]


@given(saves=st.booleans(), takes=TIMES, lost=TIMES, restart=TIMES)
def test_one_and_many_are_reckoned_alike(saves: bool, takes: int, lost: int, restart: int) -> None:
    one = np.array([saves]), np.array([float(takes)]), np.array([float(lost)]), np.array([float(restart)])

    assert wasted(*one).tolist() == [wasted(saves, takes, lost, restart)]
    assert wasted(saves, takes, lost, restart) == (takes if saves else lost) + restart


def test_costs_beyond_all_measure_are_alike_and_still_whole_numbers() -> None:
    ages = node("n1", gpu=1000), running("w", gpu=1000, started=-(10**10))

    assert costs(*ages).total.tolist() == [int(MOST)]


def test_the_order_of_entries_changes_nothing() -> None:
    entries = [
        node("n1", gpu="300m"),
        node("n2", gpu="1"),
        node("n3", gpu="700m"),
        running("w", ["n1", "n2", "n3"], members=3, exclusive=True, cpu=0, started=0),
    ]
    there = [*entries[:-1], running("w", ["n3", "n1", "n2"], members=3, exclusive=True, cpu=0, started=0)]

    assert costs(*entries).total.tolist() == costs(*reversed(entries)).total.tolist() == costs(*there).total.tolist()


def test_a_doctrine_may_say_how_long_a_checkpoint_by_hand_takes() -> None:
    lattice: dict[str, Any] = {"doctrine": {"name": "lattice", "manual_checkpoint_time": "3m"}}
    by_hand = running("w", cpu=1, started=0, checkpoint=saving("manual"))

    assert assumed_by(cluster_of(N1, by_hand, **lattice).state.static.doctrine).manual == 3 * MINUTE
    assert assumed_by(cluster_of(N1, by_hand).state.static.doctrine) == assumed_by(None) == ASSUMED
