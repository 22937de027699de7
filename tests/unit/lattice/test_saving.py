"""When a checkpoint is worth writing though nobody must leave: who is asked, by which numbers, and what is shown."""

from __future__ import annotations

import json
from typing import Any

import pytest

import cede
from cede.doctrines.lattice.periodic_checkpoints import saves
from cede.state.build import build
from tests.builders import Entry
from tests.unit.lattice.small import core, node, nodes, policy, vcluster, wants, whole

A = vcluster("a", "hpc_batch")
AUTO: dict[str, Any] = {"mode": "auto"}
HOUR = 3600


def asked(cluster: cede.Cluster, edition: str = "policy") -> dict[str, str]:
    return dict(saves(build(cluster.document), edition))


def told(cluster: cede.Cluster, name: str) -> dict[str, Any]:
    """What `--shares` says of one that runs."""
    shares = cede.plan(cluster, shares=True).to_dict()["workloads"]
    return dict(json.loads(json.dumps(shares))[name])


def runs(name: str, on: str, since: int, **checkpoint: Any) -> Entry:
    return whole(name, on, started=-since, checkpoint={**AUTO, **checkpoint})


def test_what_it_costs_and_is_worth_is_told_of_everybody_who_saves_when_asked() -> None:
    """Two nodes of four GPUs, two hours since the last checkpoint; one of a higher class waits for one more node.

    80 GiB a node take 16 s to write, 8 GPUs stand still, and a GiB costs 0.02: 16 + 128 + 3.2. A failure, one in a
    thousand, would lose 7,200 s of 8 GPUs; class 2 leaves 80 of 100 for who waits, and its backlog is 24 h of one node
    against 24 h of three.
    """
    there = (*nodes("n1 n2 n3"), A, runs("big", "n1 n2", 3 * HOUR, last=-2 * HOUR), runs("small", "n3", HOUR))
    made = told(policy(*there, wants("in", priority=5)), "big")

    assert made["unsaved_s"] == 7200
    assert made["cost"] == pytest.approx(147.2)
    assert made["worth"] == pytest.approx(7.2 * 8 + 100 + 1 / 3 * 2 * 60)
    assert (made["due"], made["save_now"]) == (False, True)


CASES: dict[str, tuple[Entry, bool]] = {
    "due, though it costs more than it is worth": (
        runs("it", "n1", 90_000, last=-86_400, time="1h"),
        True,
    ),
    "not due, and not worth an hour of writing": (
        runs("it", "n1", 90_000, last=-HOUR, time="1h"),
        False,
    ),
    "worth it": (runs("it", "n1", 90_000, last=-6 * HOUR + 1, time="1s"), True),
    "worth it, but the last one is not five minutes old": (runs("it", "n1", 90_000, last=-299, time="0s"), False),
    "five minutes old is old enough": (runs("it", "n1", 90_000, last=-300, time="0s"), True),
    "it began less than five minutes ago": (runs("it", "n1", 299, time="0s"), False),
    "it never saved and began six hours ago": (runs("it", "n1", 6 * HOUR, time="3h"), True),
    "on its own terms": (whole("it", "n1", started=-90_000, checkpoint={"mode": "manual"}), False),
    "it writes none": (whole("it", "n1", started=-90_000, checkpoint={"mode": "none"}), False),
    "it does not run": (wants("it", checkpoint=AUTO), False),
    "it is sensitive, and ten minutes are not over": (
        whole("it", "n1", started=-90_000, sensitive=True, checkpoint={**AUTO, "last": -599, "time": "0s"}),
        False,
    ),
    "it is sensitive, and saved an hour ago": (
        whole("it", "n1", started=-90_000, sensitive=True, checkpoint={**AUTO, "last": -HOUR, "time": "9h"}),
        True,
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_who_is_asked(case: str) -> None:
    entry, expected = CASES[case]

    assert ("it" in asked(policy(*nodes("n1 n2"), A, entry, wants("head", 2, priority=9)))) == expected


def test_the_library_asks_at_once_who_never_saved_and_counts_from_the_start() -> None:
    young = (node("n1"), A, runs("it", "n1", 1, time="9h"))
    assert set(asked(core(*young), "core")) == {"it"}
    assert asked(policy(*young)) == {}

    saved = (node("n1"), A, runs("it", "n1", 7200, last=-400))
    assert told(core(*saved), "it")["unsaved_s"] == 7200
    assert told(policy(*saved), "it")["unsaved_s"] == 400


def test_the_reason_has_the_numbers() -> None:
    [why] = asked(policy(node("n1"), A, runs("it", "n1", 7 * HOUR, time="1s"))).values()

    assert why == "its last 7h are saved nowhere; a checkpoint is worth 101 and costs 7"
