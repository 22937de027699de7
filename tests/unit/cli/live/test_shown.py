"""Times, amounts and bars as people read them."""

from __future__ import annotations

from typing import Any, cast

import pytest

from cede.cli.live.formatting import ago, amount, amounts, instant, maybe, since, span
from cede.cli.live.nodes_view import bar
from cede.cli.live.option_values import duration, pairs, seconds
from cede.cli.live.top_view import allotted
from cede.cli.live.workloads_view import asked
from cede.model.errors import InputError

SECOND = 10**6


@pytest.mark.parametrize(
    ("seconds_", "shown"),
    [
        (0, "0.0s"),
        (0.04, "0.0s"),
        (3.21, "3.2s"),
        (42, "42s"),
        (185, "3m05s"),
        (8040, "2h14m"),
        (90061, "1d01h"),
    ],
)
def test_a_length_of_time_is_shown_in_its_two_largest_units(seconds_: float, shown: str) -> None:
    assert span(int(seconds_ * SECOND)) == shown


def test_a_moment_is_shown_by_how_long_ago_it_was() -> None:
    now = instant("2026-01-01T00:03:00Z")

    assert ago("2026-01-01T00:00:00Z", now) == "3m00s ago"
    assert ago("2026-01-01T00:03:30Z", now) == "in 30s"
    for unknown in (None, ""):
        assert (ago(unknown, now), since(unknown, now)) == ("-", "-")


@pytest.mark.parametrize(
    ("resource", "raw", "shown"),
    [
        ("memory", 17179869184, "16Gi"),
        ("memory", 25209929728, "23.5Gi"),
        ("memory", 1234567891, "1.15Gi"),
        ("memory", 123, "123"),
        ("cpu", "500m", "0.5"),
        ("cpu", 12, "12"),
        ("nvidia.com/gpu", 8, "8"),
    ],
)
def test_an_amount_is_short_enough_for_a_table(resource: str, raw: int | str, shown: str) -> None:
    assert amount(resource, raw) == shown


def test_amounts_of_nothing_are_a_dash() -> None:
    assert amounts({"cpu": 2, "memory": 2**30, "gpu": 0}) == "cpu 2, memory 1Gi"
    assert (amounts({}), maybe(None), maybe(0)) == ("-", "-", "0")


@pytest.mark.parametrize(
    ("parts", "drawn"),
    [
        ({}, ".........."),
        ({"used": 10}, "##########"),
        ({"used": 4, "leaving": 2}, "####--...."),
        ({"used": 4, "leaving": 2, "held": 2}, "####==...."),
        ({"used": 4, "leaving": 2, "held": 4}, "####==++.."),
        ({"leaving": 4, "held": 1}, "---=......"),
        ({"used": 1000, "held": 1}, "##########"),
    ],
)
def test_a_bar_tells_used_leaving_and_held_apart(parts: dict[str, int], drawn: str) -> None:
    found = {"used": 0, "leaving": 0, "held": 0} | parts

    assert bar(10, found["used"], found["leaving"], found["held"], 10).plain == drawn


def test_a_node_that_has_nothing_of_a_resource_has_an_empty_bar() -> None:
    assert bar(0, 0, 0, 0, 4).plain == "...."


def test_the_lines_of_a_screen_are_dealt_in_turn() -> None:
    assert allotted([2, 1, 50, 0, 50], 10) == [2, 1, 4, 0, 3]
    assert allotted([1, 1], 10) == [1, 1]
    assert allotted([5, 5], -1) == [0, 0]


def test_a_bare_number_is_one_of_seconds() -> None:
    assert (duration("90"), duration("1.5"), duration("2m")) == (90.0, 1.5, "2m")
    assert seconds("--timeout", "2m") == 120.0
    with pytest.raises(InputError, match="--timeout: 'soon' is no duration"):
        seconds("--timeout", "soon")


def test_a_pair_is_parted_at_its_first_sign() -> None:
    assert pairs("--env", ["A=1", "B=x=y", "C="], "NAME=VALUE") == {"A": "1", "B": "x=y", "C": ""}
    with pytest.raises(InputError, match=r"--env A: gives no value \(write --env NAME=VALUE\)"):
        pairs("--env", ["A"], "NAME=VALUE")


def test_parts_that_ask_for_the_same_are_told_together_and_many_kinds_not_to_the_last() -> None:
    def told(*cpus: int) -> str:
        parts: list[dict[str, Any]] = [{"name": "p", "count": 2, "requests": {"cpu": cpu}} for cpu in cpus]
        return asked(cast(Any, {"pod_sets": parts}))

    assert told(1, 4) == "2× cpu 1; 2× cpu 4"
    assert told(*[1] * 1000) == "2000× cpu 1"
    assert told(*range(1, 10)).endswith("2× cpu 6; and 3 more")
