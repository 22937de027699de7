"""Alibaba's openb pods and nodes."""

from pathlib import Path

import pytest

from cede.sim.traces.reading import read
from tests.sim.traces.given import DATA, changed, column, in_seconds, problem, requests

PODS = "openb_pod_list_tiny.csv"


def test_pods_become_jobs_in_order_of_creation() -> None:
    trace = read(DATA / PODS)

    assert trace.format == "openb"
    assert column(trace, "name") == ["pod-a", "pod-c", "pod-b", "pod-e"]
    assert in_seconds(trace, "submitted") == [0, 90, 100, 130]
    assert in_seconds(trace, "started") == [0, 120, 150, 140]
    assert in_seconds(trace, "duration") == [1000, 180, 250, 760]
    assert column(trace, "outcome") == ["running", "failed", "completed", "running"]


def test_a_part_of_a_gpu_is_asked_for_in_thousandths() -> None:
    assert requests(read(DATA / PODS)) == [
        {"cpu": 12, "memory": 16 * 2**30, "gpu": 1},
        {"cpu": 0.5, "memory": 2**30},
        {"cpu": 6, "memory": 12 * 2**30, "gpu": 0.46},
        {"cpu": 4, "memory": 8 * 2**30, "gpu": 2},
    ]


def test_the_class_of_service_is_the_priority() -> None:
    trace = read(DATA / PODS)

    assert column(trace, "priority") == [9, 5, 1, 9]
    assert "Priorities stand for the class of service: Guaranteed and LS 9, Burstable 5, BE 1." in trace.notes
    assert not any("no priorities" in note for note in trace.notes)


def test_a_model_of_gpu_is_a_label_and_the_first_of_several_counts() -> None:
    trace = read(DATA / PODS)
    labels = [trace.shapes[number].labels for number in trace.jobs["shape"]]

    assert labels == [{}, {}, {"gpu_model": "T4"}, {"gpu_model": "V100M16"}]
    assert "2 pods take one of several models of GPU; here they take the first only." in trace.notes


def test_pods_that_were_never_placed_are_left_out_and_counted() -> None:
    assert "1 of 5 pods are left out: they were never placed, and never ran." in read(DATA / PODS).notes


def test_pods_that_were_never_placed_can_be_kept() -> None:
    trace = read(DATA / PODS, never_placed="keep")

    assert in_seconds(trace, "duration")[3] == 780
    assert column(trace, "started")[3] is None


def test_nodes_are_read_from_the_list_beside_the_pods() -> None:
    assert [(node.name, dict(node.labels), sorted(node.capacity)) for node in read(DATA / PODS).nodes] == [
        ("node-0", {}, ["cpu", "memory"]),
        ("node-1", {"gpu_model": "T4"}, ["cpu", "gpu", "memory"]),
    ]


def test_nodes_can_be_given(tmp_path: Path) -> None:
    pods = changed(tmp_path, PODS, "LS", "LS")

    assert read(pods).nodes == ()
    assert len(read(pods, nodes=str(DATA / "openb_node_list_all_tiny.csv")).nodes) == 2


def test_a_list_without_times_says_what_it_lacks() -> None:
    assert "this list of pods has no times" in problem(DATA / "pods_without_times.csv")


def test_a_list_without_times_can_be_given_some() -> None:
    trace = read(DATA / "pods_without_times.csv", every="10s", duration="1h")

    assert in_seconds(trace, "submitted") == [0, 10]
    assert in_seconds(trace, "duration") == [3600, 3600]
    assert "This trace has no times: one pod comes every 10s and runs for 1h, as it was asked for." in trace.notes


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"every": "10s"}, "duration: is missing (give both every and duration, or neither)"),
        ({"every": "often", "duration": "1h"}, "every: 'often' is no duration"),
        ({"never_placed": "perhaps"}, "never_placed: 'perhaps' is none of drop, keep"),
    ],
)
def test_a_wrong_option_is_told(options: dict[str, str], said: str) -> None:
    assert said in problem(DATA / PODS, **options)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("6000,", "6k,", f"{PODS}:3: cpu_milli: '6k' is no whole number"),
        (",BE,", ",Best,", f"{PODS}:3: qos: 'Best' is none of Guaranteed, LS, Burstable, BE"),
        ("100,400,150", "100,400,90", f"{PODS}:3: scheduled_time: is before creation_time"),
        ("100,400,150", "100,140,150", f"{PODS}:3: deletion_time: is before scheduled_time"),
        ("pod-c", "pod-a", f"{PODS}:4: name: 'pod-a' is the name of the job at {PODS}:2 too"),
        ("creation_time", "created", f"{PODS}: there is no column creation_time"),
        ("90,300,120", "90,300,120,7", f"{PODS}:4: has 12 fields, and the header has 11"),
        ("90,300,120", "90,300", f"{PODS}:4: has 10 fields, and the header has 11"),
        ("12000,", "-1,", f"{PODS}:2: cpu_milli: '-1' is too small; the least is 0"),
        ("1000,0\npod-b", ",0\npod-b", f"{PODS}:2: deletion_time: is empty"),
    ],
)
def test_a_wrong_value_is_told_with_its_line(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert said in problem(changed(tmp_path, PODS, old, new))
