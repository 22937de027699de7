"""Traces that tell how many GPUs a job had: Philly, Chronus, ITP, Kalos."""

import tarfile
from pathlib import Path

import pytest

from cede.sim.traces.reading import read
from tests.sim.traces.given import DATA, changed, column, in_seconds, problem, requests, written


def test_philly_counts_from_its_first_submission_and_is_sorted() -> None:
    trace = read(DATA / "philly.csv")

    assert trace.format == "philly"
    assert column(trace, "name") == ["2", "1", "3"]
    assert in_seconds(trace, "submitted") == [0, 2932, 2932]
    assert in_seconds(trace, "duration") == [2951, 66, 10.5]
    assert requests(trace) == [{"gpu": 8}, {"gpu": 1}, {"gpu": 1}]
    assert all(shape.divisible for shape in trace.shapes)
    assert column(trace, "queue") == ["6214e9", "11cb48", "6214e9"]
    assert trace.origin == 1507529583 * 10**6


def test_chronus_counts_in_minutes_and_its_classes_are_priorities() -> None:
    trace = read(DATA / "chronus.csv")

    assert trace.format == "chronus"
    assert column(trace, "name") == ["3", "0", "1"]
    assert in_seconds(trace, "submitted") == [31 * 60, 5601 * 60, 7505 * 60]
    assert in_seconds(trace, "duration") == [180, 96 * 60, 106 * 60]
    assert column(trace, "priority") == [1, 5, 9]
    assert column(trace, "queue") == ["vc_b", "vc_a", "vc_b"]
    assert "1 of 4 jobs are left out: they had no GPU." in trace.notes


def test_a_cluster_of_itp_is_a_queue() -> None:
    trace = read(DATA / "cluster03.csv")

    assert trace.format == "itp"
    assert column(trace, "name") == ["fb10987f", "965d744f"]
    assert column(trace, "queue") == ["cluster03", "cluster03"]
    assert requests(trace) == [{"gpu": 1}, {"gpu": 64}]


@pytest.fixture
def clusters(tmp_path: Path) -> Path:
    """A tar of two clusters, whose second has its jobs before those of the first."""
    header = "job_id,submission_time,duration,num_gpu\n"
    one = written(tmp_path, "cluster01.csv", header + "a,500,60,1\nb,700,60,2\n")
    two = written(tmp_path, "cluster02.csv", header + "c,600,60,4\n")
    path = tmp_path / "clusters.tar.gz"
    with tarfile.open(path, "w:gz") as tar:
        tar.add(two, two.name)
        tar.add(one, one.name)
        tar.add(written(tmp_path, "LICENSE", "free"), "LICENSE")
    return path


def test_all_clusters_of_a_tar_are_read_together(clusters: Path) -> None:
    trace = read(clusters)

    assert column(trace, "name") == ["a", "c", "b"]
    assert column(trace, "queue") == ["cluster01", "cluster02", "cluster01"]


def test_one_cluster_of_a_tar_can_be_asked_for(clusters: Path) -> None:
    assert column(read(clusters, member="cluster02"), "name") == ["c"]
    assert column(read(clusters, member="cluster01.csv"), "name") == ["a", "b"]
    assert "holds no cluster3; there are cluster01, cluster02" in problem(clusters, member="cluster3")


def test_a_name_in_two_clusters_is_told_with_both_places(clusters: Path, tmp_path: Path) -> None:
    with tarfile.open(clusters, "w:gz") as tar:
        for name in ("cluster01.csv", "cluster02.csv"):
            tar.add(tmp_path / "cluster01.csv", name)

    assert problem(clusters).splitlines()[0] == (
        "clusters.tar.gz/cluster02.csv:2: name: 'a' is the name of the job at clusters.tar.gz/cluster01.csv:2 too"
    )


def test_a_tar_that_is_cut_off_is_told(clusters: Path, tmp_path: Path) -> None:
    data = clusters.read_bytes()

    assert "cut off" in problem(written(tmp_path, "half.tar.gz", data[: len(data) // 2]))


def test_a_job_of_kalos_is_a_gang_of_workers() -> None:
    trace = read(DATA / "kalos.csv")

    assert trace.format == "kalos"
    assert [(shape.members, shape.requests["gpu"] // 10**9) for shape in trace.shapes] == [(8, 8), (2, 8)]
    assert in_seconds(trace, "submitted") == [0, 313.5]
    assert in_seconds(trace, "duration") == [104, 78.5]
    assert column(trace, "queue") == ["other", "pretrain"]
    assert column(trace, "outcome") == ["completed", "completed"]


@pytest.mark.parametrize(
    ("name", "old", "new", "place"),
    [
        ("philly.csv", "66.0,1", "3155760001,1", "philly.csv:2: duration: "),
        ("chronus.csv", "alexnet,106", "alexnet,52596001", "chronus.csv:3: duration: "),
        ("cluster03.csv", "2429,64", "3155760001,64", "cluster03.csv:2: duration: "),
        ("kalos.csv", "208,0.5", "2000000000,2", "kalos.csv:2: num_iteration: "),
        ("kalos.csv", "208,0.5", "2147483647,99999999999", "kalos.csv:2: num_iteration: "),
        ("tiny.swf", " 30    8", " 9999999999 8", "tiny.swf:"),
    ],
)
def test_a_job_that_ran_for_more_than_a_hundred_years_is_refused_with_its_place(
    tmp_path: Path, name: str, old: str, new: str, place: str
) -> None:
    told = problem(changed(tmp_path, name, old, new))

    assert place in told
    assert "100 years" in told
