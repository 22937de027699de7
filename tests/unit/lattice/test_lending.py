"""Who may stand on whose nodes, and that nodes are borrowed last."""

from __future__ import annotations

from typing import Any

import pytest

import cede
from cede.doctrines.lattice.lending import borrowed_by, claims_nodes, is_sensitive, open_to, standing_at_home
from cede.state.columns import NONE
from tests.builders import Entry, decided
from tests.unit.lattice.small import core, node, nodes, part, policy, shares, vcluster, wants, whole

ALL = (node("own", "a"), node("nobodys"), node("lent", "b"))


def open_nodes(*queues: Entry, queue: str | None = "a", **values: Any) -> set[str]:
    """Nodes on which `in` may stand."""
    more = {} if queue is None else {"queue": queue}
    state = policy(*ALL, *queues, wants("in", **more, **values)).state
    usable = open_to(state, state.work_index["in"])
    return {name for name, row in state.node_index.items() if usable[row]}


@pytest.mark.parametrize(
    ("borrower", "lender", "lends"),
    [
        ({}, {}, True),
        ({"allow_borrowing": True}, {"allow_lending": True}, True),
        ({"allow_borrowing": False}, {}, False),
        ({}, {"allow_lending": False}, False),
        ({"allow_lending": False}, {"allow_borrowing": False}, True),
    ],
)
def test_nodes_are_lent_where_both_sides_agree(borrower: dict[str, Any], lender: dict[str, Any], lends: bool) -> None:
    found = open_nodes(vcluster("a", "hpc_batch", **borrower), vcluster("b", "hpc_batch", **lender))

    assert found == {"own", "nobodys"} | ({"lent"} if lends else set())


@pytest.mark.parametrize(("borrower", "lender"), [("sensitive", "hpc_batch"), ("hpc_batch", "sensitive")])
def test_a_sensitive_vcluster_neither_lends_nor_borrows_whatever_its_switches(borrower: str, lender: str) -> None:
    switches = {"allow_borrowing": True, "allow_lending": True}
    found = open_nodes(vcluster("a", borrower, **switches), vcluster("b", lender, **switches))

    assert found == {"own", "nobodys"}


def test_work_without_a_vcluster_borrows_from_whoever_lends() -> None:
    assert open_nodes(vcluster("a"), vcluster("b"), queue=None) == {"own", "nobodys", "lent"}
    assert open_nodes(vcluster("a"), vcluster("b", allow_lending=False), queue=None) == {"own", "nobodys"}


def test_a_sensitive_claim_uses_the_nodes_it_names_whatever_their_home() -> None:
    claim = wants("in", queue="a", sensitive=True, required_node="lent")
    cluster = policy(*ALL, vcluster("a", "sensitive"), vcluster("b", allow_lending=False), claim)

    assert claims_nodes(cluster.state, cluster.state.work_index["in"])
    assert decided(cluster, "in").nodes == ("lent",)


def test_in_the_library_nobody_asks_whose_a_node_is() -> None:
    entries = (node("lent", "b", fingerprint="x"), vcluster("a", "sensitive"), vcluster("b", allow_lending=False))

    assert decided(core(*entries, wants("in", queue="a")), "in").nodes == ("lent",)
    assert decided(policy(*entries, wants("in", queue="a")), "in").rule == "lattice.not-lent"


@pytest.mark.parametrize(
    ("borrower", "lender", "why"),
    [
        ({"allow_borrowing": False}, {}, "its vCluster does not borrow"),
        ({}, {"allow_lending": False}, "they are not lent to it"),
    ],
)
def test_who_may_use_no_node_is_told_why(borrower: dict[str, Any], lender: dict[str, Any], why: str) -> None:
    entries = (node("n1", "b"), vcluster("a", **borrower), vcluster("b", **lender), wants("in", queue="a"))
    made = decided(policy(*entries), "in")

    assert (made.rule, made.why) == ("lattice.not-lent", f"the nodes it could use have another home, and {why}")


# -- where it goes -----------------------------------------------------------------------------------------------------

A, B = vcluster("a", "hpc_batch"), vcluster("b", "hpc_batch")


@pytest.mark.parametrize("preemptible", [True, False])
def test_a_node_is_borrowed_only_while_no_other_fits(preemptible: bool) -> None:
    """Though the borrowed node would be left with less."""
    entries = (node("lent", "b", gpu=4), node("own", "a", gpu=8), A, B)
    asking = shares("in", queue="a", gpu=4, preemptible=preemptible)

    assert decided(policy(*entries, asking), "in").nodes == ("own",)
    full = part("busy", "own", queue="a", gpu=8, priority=9)
    assert decided(policy(*entries, full, asking), "in").nodes == ("lent",)


def test_a_gang_borrows_as_few_nodes_as_it_can() -> None:
    entries = (*nodes("b1 b2 b3", "b"), *nodes("z1 z2", "a"), A, B)

    assert set(decided(policy(*entries, wants("in", 3, queue="a")), "in").nodes) == {"z1", "z2", "b1"}


def test_a_tight_gang_goes_where_it_borrows_least_though_there_is_more_to_spare() -> None:
    entries = (*nodes("g1 g2", "b", group="g"), *nodes("h1 h2 h3", "a", group="h"), A, B)
    gang = wants("in", 2, queue="a", placement="tight")

    assert set(decided(policy(*entries, gang, topology="group"), "in").nodes) <= {"h1", "h2", "h3"}


def test_victims_are_not_taken_where_a_node_can_be_borrowed() -> None:
    entries = (node("own", "a"), node("lent", "b"), A, B, whole("old", "own", queue="a", priority=1))
    plan = cede.plan(policy(*entries, wants("in", queue="a", priority=9)))

    assert (plan.victims, plan.decisions[0].nodes) == (set(), ("lent",))


# -- masks -------------------------------------------------------------------------------------------------------------


def test_masks_say_who_is_sensitive_at_home_and_what_is_borrowed() -> None:
    cluster = policy(
        *ALL,
        vcluster("a", "hpc_batch"),
        vcluster("b", "sensitive"),
        whole("home", "own", queue="a"),
        whole("free", "nobodys", queue="a"),
        whole("away", "lent", queue="a", priority=10),
        wants("flag", queue="a", sensitive=True),
        wants("quiet", queue="b"),
    )
    state = cluster.state
    names = state.work_names

    assert {names[row] for row in is_sensitive(state).nonzero()[0]} == {"away", "flag", "quiet"}
    at_home = standing_at_home(state, state.work.queue)
    assert {names[row] for row in at_home.nonzero()[0]} == {"home", "free"}
    borrowed = borrowed_by(state, int(state.tree.index["a"]))
    assert borrowed is not None
    assert [name for name, row in state.node_index.items() if borrowed[row]] == ["lent"]
    nobody = borrowed_by(state, NONE)
    assert nobody is not None
    assert {name for name, row in state.node_index.items() if nobody[row]} == {"own", "lent"}
    assert borrowed_by(policy(node(), vcluster("a"), wants("in")).state, 0) is None
