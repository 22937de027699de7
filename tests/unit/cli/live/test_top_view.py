"""The tables of nodes and of `top`: what has room at a width, what keys do, and in which order workloads come."""

from __future__ import annotations

from typing import Any

import pytest
from rich.console import Console

from cede.cli.live.nodes_view import layout_of, nodes_table
from cede.cli.live.screen import keys_of
from cede.cli.live.top_view import PARTS, Look, Scrolled, allotted, drawn, in_order


def node(name: str, **capacity: Any) -> dict[str, Any]:
    none: dict[str, Any] = {"occupied": {}, "used": {}, "held": {}, "leaving": {}, "workloads": [], "others": 0}
    return {"name": name, "state": "cordoned", "partition": "default", "capacity": capacity, **none}


def job(name: str, **more: Any) -> dict[str, Any]:
    usual: dict[str, Any] = {
        "name": name,
        "state": "running",
        "priority": 1,
        "began": "2026-01-01T00:00:00Z",
        "since": "2026-01-01T00:00:00Z",
        "members": 1,
        "requests": {},
        "pod_sets": None,
        "nodes": ["n"],
        "claimant": None,
        "attempt": 1,
        "progress": None,
        "waits_for": [],
        "why": "",
    }
    return usual | more


LARGE = [node("a-node-with-a-long-name", cpu=128, memory="1024Gi", **{"nvidia.com/gpu": 8}, fpga=2, license=100)]


def printed(what: Any, width: int, height: int = 24) -> list[str]:
    out = Console(width=width, height=height, highlight=False, markup=False, force_terminal=False)
    with out.capture() as captured:
        out.print(what)
    return captured.get().splitlines()


@pytest.mark.parametrize("bare", [False, True])
@pytest.mark.parametrize("width", [80, 100, 140])
def test_cores_memory_and_gpus_are_there_at_every_width(width: int, bare: bool) -> None:
    head, *rows = printed(nodes_table(LARGE, width, bare=bare), width)  # type: ignore[arg-type]

    assert head.split()[:5] == ["node", "state", "cpu", "memory", "nvidia.com/gpu"]
    assert head.split()[-1] == "workloads"
    assert all(level in rows[-1] for level in ("0/128", "0/1Ti", "0/8", "cordoned"))
    assert "…" not in rows[-1].replace("a-node-wi…-long-name", "")
    assert max(map(len, rows)) <= width


@pytest.mark.parametrize("width", [80, 100])
def test_nodes_whose_long_names_begin_alike_are_told_apart(width: int) -> None:
    rest = {"memory": "512Gi", "gpu": 8, "gpu@nvidia-a100-80gb": 8}
    nodes = [node(f"some-long-node-name-{number}", cpu=64, **rest) for number in range(3)]
    rows = printed(nodes_table(nodes, width), width)[-3:]  # type: ignore[arg-type]

    assert [row.split()[0][-5:] for row in rows] == ["ame-0", "ame-1", "ame-2"]


def test_other_resources_are_there_if_they_fit() -> None:
    assert [len(layout_of(LARGE, width).resources) for width in (80, 160)] == [3, 5]  # type: ignore[arg-type]


KEYS = {
    b"\x1b[A\x1b[B": ["up", "down"],
    b"\x1bOAj": ["up", "down"],
    b"\x1b[5~\x1b[6~ ": ["page up", "page down", "page down"],
    b"\x1b[1~\x1b[F": ["home", "end"],
    b"\t\x1b[Z": ["tab", "back tab"],
    b"Sr": ["s", "r"],
    b"\x1b[15~x": ["\x1b[15~", "x"],
    "é".encode(): ["\ufffd", "\ufffd"],
}


@pytest.mark.parametrize(("typed", "keys"), KEYS.items())
def test_keys_have_names(typed: bytes, keys: list[str]) -> None:
    assert keys_of(typed) == keys


ORDERS = {
    "age": ["first", "second", "wide"],
    "priority": ["wide", "first", "second"],
    "name": ["first", "second", "wide"],
    "gpu": ["wide", "second", "first"],
    "cpu": ["first", "second", "wide"],
}


@pytest.mark.parametrize(("order", "names"), ORDERS.items())
@pytest.mark.parametrize("turned", [False, True])
def test_workloads_are_sorted(order: str, names: list[str], turned: bool) -> None:
    jobs: list[Any] = [
        job("first", priority=2, requests={"cpu": "5"}),
        job("second", priority=1, requests={"cpu": "500m", "gpu": 1}),
        job("wide", priority=3, members=4, requests={"nvidia.com/gpu@a100": 1}),
    ]
    found = [one["name"] for one in in_order(jobs, Scrolled(order=order, turned=turned))]

    assert found == (names[::-1] if turned else names)


def test_the_part_that_is_chosen_has_what_the_others_can_spare() -> None:
    assert allotted([9, 1, 9, 0, 9], 13) == [4, 1, 4, 0, 4]
    assert allotted([9, 1, 9, 0, 9], 13, favoured=2) == [2, 1, 8, 0, 2]
    assert allotted([9, 1, 3, 0, 9], 13, favoured=2) == [5, 1, 3, 0, 4]
    assert allotted([9, 9], 3, favoured=1) == [2, 1]


def shown(jobs: int, at: Scrolled) -> list[str]:
    look: Any = Look(
        {"problem": "", "doctrine": "backendai", "edition": "x"},  # type: ignore[typeddict-item]
        LARGE * 3,  # type: ignore[arg-type]
        [],
        [job(f"w{number:02}") for number in range(jobs)],  # type: ignore[misc]
        [],
    )
    lines = printed(drawn(look, "http://x", 80, 24, "", at), 80)
    assert len(lines) <= 24
    return lines


def names(lines: list[str]) -> list[str]:
    return [line.split()[0] for line in lines if line.startswith("w")]


def test_top_scrolls_to_the_end_and_back() -> None:
    at = Scrolled()
    before = names(shown(40, at))
    at.press("down")
    after = names(shown(40, at))
    at.press("end")
    last = names(shown(40, at))
    at.press("page up")
    page = names(shown(40, at))
    at.press("home")

    assert before[0] == "w00"
    assert after[0] == "w01"
    assert last[-1] == "w39"
    assert page[-1] == f"w{39 - len(page):02}"
    assert names(shown(40, at))[0] == "w00"
    assert any(line.startswith(f">running 1-{len(page)}/40") for line in shown(40, at))


def test_what_was_scrolled_is_not_lost_when_there_is_less() -> None:
    at = Scrolled()
    shown(40, at)
    at.press("end")
    shown(40, at)

    assert names(shown(3, at)) == ["w00", "w01", "w02"]


def test_tab_goes_round_the_parts_that_are_there() -> None:
    at = Scrolled()
    shown(5, at)
    chosen = []
    for _ in range(4):
        at.press("tab")
        chosen.append(at.part)
    at.press("back tab")
    at.press("unknown key")

    assert chosen == ["nodes", "running", None, "nodes"]
    assert at.part is None
    assert set(at.offsets) == set(PARTS)
