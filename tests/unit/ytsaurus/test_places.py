"""Where work may stand: tags, labels, members, nodes that are not ready, and nodes on which somebody waits."""

from __future__ import annotations

from typing import Any

import pytest

import cede
from tests.builders import Entry, actions, decided, pending, preempting, reserved, running, suspended
from tests.unit.ytsaurus.small import docs, node, op, pool, starving

FAST, OLD = node("n1", cpu=4, labels={"fast": "1"}), node("n2", cpu=4, labels={"old": "1", "fast": "0"})
PLAIN = node("n3", cpu=4)


def place(*entries: Entry, **tree: Any) -> tuple[str, ...]:
    """Where `in` starts; nowhere, if it does not."""
    return decided(docs(*entries, **tree), "in").nodes


@pytest.mark.parametrize(
    ("text", "nodes"),
    [
        ("fast", ("n1",)),
        ("!fast", ("n3",)),
        ("fast & old", ("n2",)),
        ("old | !fast", ("n2",)),
        ("slow", ()),
        ("", ("n1",)),
    ],
)
def test_a_tag_is_the_key_of_a_label_whatever_its_value(text: str, nodes: tuple[str, ...]) -> None:
    assert place(FAST, OLD, PLAIN, op("in", scheduling_tag_filter=text), pending("in", cpu=1)) == nodes


def test_a_tag_filter_binds_preemption_too() -> None:
    """What stands on n2 and n3 is preemptible; the filter leaves n2."""
    full = [running(f"b{at}", f"n{at + 1}", queue="b", cpu=4, app="b", started=at - 9) for at in range(3)]
    ask = (op("in", scheduling_tag_filter="old"), pending("in", queue="a", cpu=4), pending("other", queue="a", cpu=9))

    made = decided(docs(FAST, OLD, PLAIN, starving("a", cpu=12), pool("b"), *full, *ask), "in")

    assert (made.nodes, [one.workload for one in made.victims]) == (("n2",), ["b1"])


def test_labels_names_and_a_required_node_leave_the_nodes_they_name() -> None:
    nodes = (FAST, OLD, PLAIN)

    assert place(*nodes, pending("in", cpu=1, constraints={"labels": {"fast": "0"}})) == ("n2",)
    assert place(*nodes, pending("in", cpu=1, constraints={"nodes": ["n3", "n2"]})) == ("n2",)
    assert place(*nodes, pending("in", cpu=1, required_node="n3")) == ("n3",)


def test_the_first_ready_node_by_name_on_which_it_fits_takes_it() -> None:
    nodes = (node("n10", cpu=4), node("n2", cpu=4), node("n1", cpu=4, state="cordoned"), node("n0", cpu=1))

    assert place(*nodes, pending("in", cpu=2)) == ("n10",)


# -- members -----------------------------------------------------------------------------------------------------------


def test_all_members_of_a_workload_stand_on_one_node() -> None:
    """Both nodes have room for two members between them; n2 has it for both alone."""
    nodes = (node("n1", cpu=2), node("n2", cpu=4))

    assert place(*nodes, pending("in", cpu=2, members=2)) == ("n2", "n2")


def test_a_workload_whose_members_fit_no_node_together_is_refused() -> None:
    cluster = docs(node("n1", cpu=2), node("n2", cpu=2), pending("in", cpu=2, members=2))

    assert decided(cluster, "in").rule == "ytsaurus.too-big"


def test_room_is_made_for_all_members_at_once() -> None:
    held = [running(f"b{at}", queue="b", app="b", cpu=1, started=at - 9) for at in range(4)]
    made = decided(
        docs(node("n1", cpu=4), starving("a", cpu=4), pool("b"), *held, pending("in", queue="a", cpu=1, members=2)),
        "in",
    )

    assert (made.nodes, [one.workload for one in made.victims]) == (("n1", "n1"), ["b3", "b2"])


def test_members_that_ask_to_be_spread_are_refused_and_one_alone_is_not() -> None:
    nodes = (node("n1", cpu=4), node("n2", cpu=4))

    assert decided(docs(*nodes, pending("in", cpu=1, members=2, placement="spread")), "in").rule == "ytsaurus.one-node"
    assert place(*nodes, pending("in", cpu=1, placement="spread")) == ("n1",)
    assert place(*nodes, pending("in", cpu=1, members=2, placement="tight")) == ("n1", "n1")


def test_a_victim_that_stands_on_several_nodes_frees_all_of_them() -> None:
    """`wide` has a member on each node. For one who needs n1 it goes, and n2 has room for the next one."""
    wide = running("wide", ["n1", "n2"], queue="b", cpu=2, members=2, started=-9)
    cluster = docs(
        *(node("n1", cpu=2), node("n2", cpu=2), starving("a", cpu=4), pool("b"), wide),
        *(pending(f"in{at}", queue="a", app="in", cpu=2, submitted=at) for at in range(2)),
    )

    found = {made.workload: (made.action, made.nodes) for made in cede.plan(cluster).decisions}

    assert found == {"in0": ("preempt", ("n1",)), "in1": ("start", ("n2",))}


# -- nodes -------------------------------------------------------------------------------------------------------------


def test_a_cordoned_node_has_no_heartbeat() -> None:
    """It is over its capacity for long, and full of what is preemptible: nothing starts there, nobody goes."""
    cordoned = node("n1", cpu=3, state="cordoned", overcommitted_since=-99)
    held = [running(f"b{at}", queue="b", app="b", cpu=1, started=at - 9) for at in range(4)]

    assert actions(docs(cordoned, starving("a", cpu=3), pool("b"), *held, pending("in", queue="a", cpu=1))) == {
        "in": "wait"
    }


def test_a_node_that_is_kept_for_another_takes_nobody_else() -> None:
    nodes = (node("n1", cpu=4, reserved_for="other"), node("n2", cpu=4))

    assert place(*nodes, pending("in", cpu=1), pending("other", cpu=1)) == ("n2",)
    assert decided(docs(*nodes, pending("in", cpu=1), pending("other", cpu=1)), "other").nodes == ("n1",)


SOON = (reserved("soon", "n1", queue="a", cpu=1), preempting("gone", "n1", queue="b", cpu=1))


def test_on_a_node_where_somebody_waits_for_its_room_nothing_starts() -> None:
    entries = (node("n1", cpu=4), starving("a", cpu=4), pool("b"), *SOON, pending("in", queue="a", cpu=1))

    assert decided(docs(*entries), "in").rule == "ytsaurus.node-waits"
    unblocked = docs(*entries, disable_scheduling_on_node_with_waiting_allocations=False)
    assert decided(unblocked, "in").action == "start"


def test_room_that_is_left_by_some_and_held_for_another_is_counted_once() -> None:
    """`gone` leaves 1 cpu to `soon`: of 4 cpu 3 are free."""
    entries = (node("n1", cpu=4), starving("a", cpu=4), pool("b"), *SOON, pending("in", queue="a", cpu=3))

    assert place(*entries, disable_scheduling_on_node_with_waiting_allocations=False) == ("n1",)


def test_a_node_needs_something_to_spare_to_be_looked_at() -> None:
    """By default 1 cpu, 1 user slot and 256 MiB, of what the file mentions."""
    half = pending("in", cpu="500m")
    held = running("b", cpu="3500m")

    assert decided(docs(node("n1", cpu=4), held, half), "in").rule == "ytsaurus.min-spare"
    assert place(node("n1", cpu=4), held, half, min_spare_allocation_resources_on_node={"cpu": "500m"}) == ("n1",)
    assert place(node("n1", cpu=4), held, half, min_spare_allocation_resources_on_node={"gpu": 1}) == ("n1",)
    small = node("n1", cpu=4, memory="128Mi")
    assert decided(docs(small, pending("in", cpu=1)), "in").rule == "ytsaurus.min-spare"


def test_what_may_be_taken_counts_as_spare() -> None:
    """Nothing is free, 2 cpu are preemptible, and `in` wants half a cpu of the one that a node must have."""
    held = [running(f"b{at}", queue="b", app="b", cpu=2, started=at - 9) for at in range(2)]
    asks = (pending("in", queue="a", app="in", cpu="500m", submitted=-1), pending("next", queue="a", app="in", cpu=2))
    cluster = docs(node("n1", cpu=4), starving("a", cpu=4), pool("b"), *held, *asks)

    assert decided(cluster, "in").action == "preempt"


# -- who comes first ---------------------------------------------------------------------------------------------------


def test_the_least_satisfied_operation_starts_first_then_the_first_by_name() -> None:
    """`a` has one of its cpu, `b` and `c` none: b, c, then everybody in turn."""
    asks = [pending(f"{app}{at}", app=app, cpu=1) for app in ("c", "b", "a") for at in (1, 2)]
    cluster = docs(node("n1", cpu=6), running("a0", app="a", cpu=1), *asks)

    started = [made.workload for made in cede.plan(cluster).decisions if made.action == "start"]

    assert started == ["b1", "c1", "a1", "b2", "c2"]


def test_of_one_operation_the_first_that_was_submitted_goes_first_then_by_uid() -> None:
    asks = [pending("late", app="x", cpu=1), pending("z", app="x", cpu=1, submitted=-9, uid="1")]
    asks += [pending("y", app="x", cpu=1, submitted=-9, uid="2"), suspended("back", app="x", cpu=1, submitted=-20)]

    assert list(actions(docs(node("n1", cpu=9), *asks))) == ["back", "z", "y", "late"]


def test_one_that_does_not_fit_is_passed_over_and_not_waited_for() -> None:
    asks = [pending("big", app="x", cpu=3, submitted=-9), pending("small", app="x", cpu=1)]

    assert actions(docs(node("n1", cpu=4), running("b", cpu=2), *asks)) == {"small": "start", "big": "wait"}
