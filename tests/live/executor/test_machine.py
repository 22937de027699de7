import os

import pytest

from cede.live import machine
from cede.live.executors.local.gpus import NodeFacts
from cede.live.machine import node_facts, this_machine
from cede.model.quantities import NANO, parse_quantity


def test_this_machine_is_one_node_with_all_it_has() -> None:
    [node] = this_machine("here")

    assert node["name"] == "here"
    assert node["capacity"]["cpu"] == len(os.sched_getaffinity(0))
    assert (
        0
        < parse_quantity(node["capacity"]["memory"])
        <= os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * NANO
    )


@pytest.mark.parametrize("nodes", [2, 3, 7])
def test_several_logical_nodes_share_it_and_promise_no_more_than_there_is(nodes: int) -> None:
    whole, parts = this_machine("here")[0]["capacity"], this_machine("here", nodes)

    assert [part["name"] for part in parts] == [f"here-{number}" for number in range(nodes)]
    for resource in ("cpu", "memory"):
        given = sum(parse_quantity(part["capacity"][resource]) for part in parts)
        assert 0.9 * parse_quantity(whole[resource]) <= given <= parse_quantity(whole[resource])


def test_real_gpus_are_dealt_out_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "gpu_ids", lambda: ["GPU-a", "GPU-b", "GPU-c"])

    assert node_facts({"a": 2, "b": 0, "c": 2}) == {
        "a": NodeFacts(("GPU-a", "GPU-b")),
        "b": NodeFacts(),
        "c": NodeFacts(("GPU-c",)),
    }
    assert [node["capacity"].get("gpu") for node in this_machine("here", 2)] == [2, 1]


def test_without_any_a_node_may_still_present_some(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "gpu_ids", list)

    assert node_facts({"a": 2, "b": 1}) == {"a": NodeFacts(("0", "1")), "b": NodeFacts(("0",))}
    assert "gpu" not in this_machine("here")[0]["capacity"]
