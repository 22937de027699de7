"""Faults of nodes, from a file and drawn."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cede.model.errors import InputError
from cede.model.times import SECOND
from cede.sim.faults import Fault, draw_faults, parse_faults, read_faults

HOUR = 3600 * SECOND
NODES = ["cpu-0", "gpu-0", "gpu-1", "gpu-2"]


def test_a_fault_lasts_until_the_next_or_for_as_long_as_it_says() -> None:
    found = parse_faults([{"at": "2h", "node": "gpu-1", "state": "down", "for": "30m"}], NODES)

    assert found == (Fault(2 * HOUR, "gpu-1", "down"), Fault(2 * HOUR + HOUR // 2, "gpu-1", "ready"))


def test_a_drain_is_a_cordon_that_evicts() -> None:
    found = parse_faults([{"at": 0, "node": "cpu-0", "state": "cordoned", "evict": True}], NODES)

    assert found == (Fault(0, "cpu-0", "cordoned", evict=True),)


def test_a_pattern_names_many_nodes_and_each_once() -> None:
    found = parse_faults([{"at": 1, "nodes": ["gpu-[01]", "gpu-*"], "state": "down"}], NODES)

    assert [fault.node for fault in found] == ["gpu-0", "gpu-1", "gpu-2"]


def test_faults_are_sorted_and_what_comes_back_comes_first() -> None:
    entries = [
        {"at": "1h", "node": "gpu-0", "state": "down"},
        {"at": 0, "node": "gpu-1", "state": "down", "for": "1h"},
    ]

    assert [(fault.at // HOUR, fault.node, fault.state) for fault in parse_faults(entries, NODES)] == [
        (0, "gpu-1", "down"),
        (1, "gpu-1", "ready"),
        (1, "gpu-0", "down"),
    ]


def test_times_count_from_the_first_submission_or_are_of_the_calendar() -> None:
    origin = int(datetime(2026, 1, 1, tzinfo=UTC).timestamp()) * SECOND
    entries = [
        {"at": "1h", "node": "gpu-0", "state": "down"},
        {"at": "2026-01-01T03:00:00Z", "node": "gpu-1", "state": "down"},
    ]

    found = parse_faults(entries, NODES, begin=HOUR, origin=origin)

    assert [fault.at for fault in found] == [2 * HOUR, 3 * HOUR]
    with pytest.raises(InputError, match=r"\[1\].at: .* the trace does not say when it began"):
        parse_faults(entries, NODES)


def test_yaml_and_json_lines_say_the_same(tmp_path: Path) -> None:
    (tmp_path / "f.yaml").write_text("faults:\n  - {at: 1d12h, nodes: [gpu-*], state: down, for: 2h}\n")
    (tmp_path / "f.jsonl").write_text('\n{"at": "36h", "nodes": ["gpu-*"], "state": "down", "for": 7200}\n')

    found = read_faults(tmp_path / "f.yaml", NODES)

    assert len(found) == 6
    assert read_faults(tmp_path / "f.jsonl", NODES) == found


WRONG: dict[str, tuple[Any, str]] = {
    "no list": ({"at": 0}, "an object is no list of faults"),
    "no object": (["gpu-0"], r"\[0\]: 'gpu-0' is no object"),
    "an unknown key": ([{"at": 0, "node": "gpu-0", "stat": "down"}], r"\[0\].stat: there is no key 'stat' .*'state'"),
    "an unknown state": ([{"at": 0, "node": "gpu-0", "state": "donw"}], r"\[0\].state: 'donw' is none of .*'down'"),
    "an unknown node": (
        [{"at": 0, "node": "gpu-9", "state": "down"}],
        r"\[0\]: the cluster has no node 'gpu-9' \(did you mean",
    ),
    "a pattern that fits nobody": ([{"at": 0, "node": "tpu-*", "state": "down"}], r"no node's name is like 'tpu-\*'"),
    "no node": ([{"at": 0, "state": "down"}], r"\[0\]: names its nodes by 'node' or by 'nodes'"),
    "no time": ([{"at": "soon", "node": "gpu-0", "state": "down"}], r"\[0\].at: 'soon' is no length of time"),
    "a ready node for a while": (
        [{"at": 0, "node": "gpu-0", "state": "ready", "for": 3}],
        r"\[0\].for: a node that is ready comes back from nowhere",
    ),
    "a node that is down and drained": (
        [{"at": 0, "node": "gpu-0", "state": "down", "evict": True}],
        r"\[0\].evict: goes with cordoned, not with down",
    ),
}


@pytest.mark.parametrize(("data", "message"), WRONG.values(), ids=WRONG.keys())
def test_what_is_wrong_is_named_with_its_place(data: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_faults(data, NODES)


def test_a_line_that_is_no_json_is_named(tmp_path: Path) -> None:
    (tmp_path / "f.jsonl").write_text('{"at": 0, "node": "gpu-0", "state": "down"}\n{oops\n')

    with pytest.raises(InputError, match=r"f.jsonl:2: is no JSON"):
        read_faults(tmp_path / "f.jsonl", NODES)
    with pytest.raises(InputError, match=r"nowhere.yaml: cannot be read: no such file"):
        read_faults(tmp_path / "nowhere.yaml", NODES)


@given(st.integers(0, 2**32))
def test_drawn_faults_come_and_go_in_turn(seed: int) -> None:
    found = draw_faults(NODES, 0, 1000 * HOUR, mtbf=100 * HOUR, mttr=2 * HOUR, seed=seed)

    assert found == draw_faults(NODES[::-1], 0, 1000 * HOUR, mtbf=100 * HOUR, mttr=2 * HOUR, seed=seed)
    assert list(found) == sorted(found, key=lambda fault: fault.at)
    for node in NODES:
        states = [fault.state for fault in found if fault.node == node]
        assert states == ["down", "ready"] * (len(states) // 2)


def test_drawn_faults_are_as_frequent_as_asked() -> None:
    found = draw_faults([f"n{n}" for n in range(100)], 0, 2000 * HOUR, mtbf=100 * HOUR, mttr=10 * HOUR)

    downs = [fault for fault in found if fault.state == "down"]
    away = sum(fault.at * (1 if fault.state == "ready" else -1) for fault in found)
    assert len(downs) == pytest.approx(100 * 2000 / 110, rel=0.1)
    assert away / len(downs) == pytest.approx(10 * HOUR, rel=0.1)
