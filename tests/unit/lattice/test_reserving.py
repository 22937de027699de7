"""Natural ends, and what is left for others beside who waits for them."""

from __future__ import annotations

from typing import Any

import pytest

from cede.doctrines.lattice.lending import claim_within
from cede.doctrines.lattice.reservation import AHEAD, natural_ends, reservation_of
from cede.doctrines.parts.reservation import Reservation
from cede.model.times import SECOND
from cede.state.state import State
from cede.state.units import FULL, WHOLE
from tests.builders import Entry
from tests.unit.lattice.small import node, nodes, part, policy, shares, vcluster, wants, whole

A = vcluster("a", "hpc_batch")


def state_of(*entries: Entry) -> State:
    return policy(A, *entries).state


def ends(*entries: Entry, **options: Any) -> list[tuple[str, int]]:
    """Who ends, and in how many seconds."""
    state = state_of(*entries)
    times, rows = natural_ends(state, **options)
    return [(state.work_names[row], (end - state.now) // SECOND) for end, row in zip(times, rows, strict=True)]


def reserved(*entries: Entry) -> Reservation | None:
    state = state_of(*entries)
    return reservation_of(state, claim_within(state, state.work_index["in"]))


@pytest.mark.parametrize(
    ("times", "seconds"),
    [
        ({"started": -600, "walltime": "1h"}, [3000]),
        ({"started": -3599, "walltime": "1h"}, [1]),
        ({"started": -3600, "walltime": "1h"}, []),
        ({"started": -9999, "walltime": "1h"}, []),
        ({"started": 0, "walltime": "24h"}, [86400]),
        ({"started": 0, "walltime": 86401}, []),
        ({"started": -600}, []),
        ({"walltime": "1h"}, []),
    ],
)
def test_who_is_expected_to_end(times: dict[str, Any], seconds: list[int]) -> None:
    assert ends(node(), whole("old", "n1", **times)) == [("old", at) for at in seconds]


@pytest.mark.parametrize("state", ["running", "checkpointing", "reserved", "preempting"])
def test_whoever_holds_room_and_knows_its_end_is_expected_to_end(state: str) -> None:
    assert ends(node(), whole("old", "n1", state=state, started=-600, walltime="1h")) == [("old", 3000)]


def test_ends_come_in_order_and_within_the_time_that_is_looked_at() -> None:
    works = (whole("x", "n1", started=0, walltime="3h"), whole("y", "n2", started=0, walltime="1h"))

    assert ends(*nodes("n1 n2"), *works) == [("y", 3600), ("x", 10800)]
    assert ends(*nodes("n1 n2"), *works, within=3600 * SECOND) == [("y", 3600)]
    assert AHEAD == 86400 * SECOND


def test_the_reservation_begins_with_the_end_that_makes_enough_room() -> None:
    works = tuple(whole(f"w{at}", f"n{at}", started=0, walltime=f"{at}h") for at in (1, 2, 3))
    found = reserved(*nodes("n1 n2 n3"), *works, wants("in", 2))

    assert found is not None
    assert found.at == 2 * 3600 * SECOND
    assert reserved(*nodes("n1 n2 n3"), *works, wants("in", 4)) is None


def test_all_who_end_at_one_time_are_gone_at_that_time() -> None:
    works = tuple(whole(f"w{at}", f"n{at}", started=0, walltime="1h") for at in (1, 2, 3))
    found = reserved(*nodes("n1 n2 n3"), *works, wants("in", 2))

    assert found is not None
    assert sorted((found.left[WHOLE] // FULL).tolist()) == [0, 0, 1]


def test_only_nodes_that_it_may_use_are_kept_for_it() -> None:
    """The node that is free first is not lent to it."""
    shut = vcluster("b", "hpc_batch", allow_lending=False)
    works = (
        whole("x", "n1", queue="b", started=0, walltime="1h"),
        whole("y", "n2", queue="b", started=0, walltime="2h"),
    )
    found = reserved(shut, node("n1", "b"), node("n2"), *works, wants("in", queue="a"))

    assert found is not None
    assert found.at == 2 * 3600 * SECOND


def test_who_would_stand_in_the_way_is_not_allowed_and_who_leaves_in_time_is() -> None:
    entries = (node("n1", gpu=4), part("old", "n1", gpu=3, started=0, walltime="1h"), shares("in", gpu=3))
    state = state_of(*entries, shares("next", gpu=1), shares("more", gpu=2))
    found = reservation_of(state, claim_within(state, state.work_index["in"]))
    assert found is not None
    claims = {name: claim_within(state, state.work_index[name]) for name in ("next", "more")}
    hour = 3600 * SECOND

    assert found.allows(claims["next"], [0], state.now, 9 * hour)
    assert not found.allows(claims["more"], [0], state.now, hour + 1)
    assert found.allows(claims["more"], [0], state.now, hour)
    found.take(claims["next"], [0], state.now, 9 * hour)
    assert not found.allows(claims["next"], [0], state.now, 9 * hour), "what was left is taken"
    found.take(claims["more"], [0], state.now, hour)
    assert found.allows(claims["next"], [0], state.now, hour), "who ends in time takes nothing"


def test_a_file_without_nodes_has_no_reservation() -> None:
    assert reserved(shares("in")) is None
