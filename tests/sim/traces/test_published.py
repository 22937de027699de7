"""The traces as they were published, where they are at hand: every row is read or accounted for."""

import gzip
import time
from collections.abc import Callable

import pytest

from cede.model.quantities import NANO
from cede.sim.traces.formats.borg import borg_evictions, evictions_by_priority
from cede.sim.traces.reading import read
from tests.sim.traces.given import PUBLISHED, needs_published

pytestmark = needs_published

OPENB = "alibaba-openb-2023/openb_pod_list_{}.csv.gz"


@pytest.mark.parametrize(
    ("name", "format_", "rows", "left_out"),
    [
        ("swf-hpc/KTH-SP2-1996-2.1-cln.swf.gz", "swf", 28_476, 9),
        ("swf-hpc/LANL-CM5-1994-4.1-cln.swf.gz", "swf", 122_060, 5),
        ("swf-hpc/metacentrum-wagap-2013.swf.gz", "swf", 17_900, 2),
        (OPENB.format("default"), "openb", 8_152, 897),
        (OPENB.format("gpuspec33"), "openb", 8_152, 897),
        (OPENB.format("gpushare100"), "openb", 8_152, 1_209),
        ("philly-2017/philly.csv.gz", "philly", 82_247, 0),
        ("philly-2017/chronus_trace_job_Philly_MIX2.csv.gz", "chronus", 30_940, 194),
        ("microsoft-itp-2021/raw-traces.tar.gz", "itp", 69_351, 0),
        ("acme-kalos-2023/converted_kalos_trace.csv", "kalos", 319, 0),
    ],
)
def test_every_row_is_read_or_accounted_for(name: str, format_: str, rows: int, left_out: int) -> None:
    trace = read(PUBLISHED / name)

    assert trace.format == format_
    assert trace.jobs.height == rows - left_out
    assert not left_out or any(f"{left_out:,} of {rows:,}" in note for note in trace.notes)


def test_kth_is_read_in_a_moment() -> None:
    """In less than twice what a few lines of Python need to get at its numbers."""
    path = PUBLISHED / "swf-hpc/KTH-SP2-1996-2.1-cln.swf.gz"

    def plainly() -> list[list[float]]:
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            return [[float(word) for word in line.split()] for line in lines if not line.startswith(";")]

    trace = read(path)
    spent, spent_plainly = _least(lambda: read(path)), _least(plainly)

    assert trace.jobs.height == 28_467
    assert [node.capacity for node in trace.nodes] == [{"cpu": 100 * NANO}]
    assert spent < 2 * spent_plainly


def _least(act: Callable[[], object]) -> float:
    """Seconds of processor time, the least of several times."""
    spent = []
    for _ in range(5):
        begun = time.process_time()
        act()
        spent.append(time.process_time() - begun)
    return min(spent)


def test_openb_has_its_nodes_beside_it() -> None:
    nodes = read(PUBLISHED / OPENB.format("default")).nodes

    assert len(nodes) == 1_523
    assert sum(node.capacity.get("gpu", 0) for node in nodes) == 6_212 * NANO


def test_openb_without_times_can_be_given_some() -> None:
    assert read(PUBLISHED / OPENB.format("multigpu50"), every="1m", duration="1h").jobs.height == 9_061


def test_one_cluster_of_itp_can_be_asked_for() -> None:
    trace = read(PUBLISHED / "microsoft-itp-2021/raw-traces.tar.gz", member="cluster04")

    assert trace.jobs.height == 15_802
    assert set(trace.jobs["queue"]) == {"cluster04"}


@pytest.mark.slow
def test_borg_has_its_tasks_and_its_evictions() -> None:
    folder = PUBLISHED / "google-borg-2011"
    machines = folder / "machine-dist-cpu-memory-capacity.csv"
    trace = read(folder / "tasks_first19h65.csv.gz", machines=machines)
    evictions = borg_evictions(folder / "evictions_first19h65.csv.gz")
    by_priority = evictions_by_priority(evictions)

    assert trace.jobs.height == 614_019 - 40_417
    assert len(trace.nodes) == 12_583
    assert evictions.height == 219_839
    assert dict(by_priority.select("priority", "evictions").iter_rows())[0] == 199_239
    assert int(by_priority["evictions"].sum()) == 219_839
