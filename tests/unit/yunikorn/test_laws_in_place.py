"""Edition `laws` around the laws: fences and policies, when a claimant may try, nodes, limits and gangs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import cede
from tests.builders import actions, asking, decided, laws, node, path, pending, reserved, running, verdicts
from tests.unit.yunikorn.claims import IN, A, B, protected_by, taken, victims, waits_by, work

FENCES = Path(__file__).parents[3] / "examples" / "yunikorn" / "fences.yaml"
N2 = node("n1", cpu=2)
OLD = work("old", "root.b")

# -- law 7 and policies ----------------------------------------------------------------------------------------------


def queues_in_reach(claimant: str) -> set[str]:
    """The queues of the figure in which a claimant finds anybody that its fence leaves open."""
    cluster = cede.load(FENCES)
    queue_of = {one.name: one.queue for one in cluster.document.workloads}
    candidates = verdicts(decided(cluster, claimant, explain=True))
    closed = ("law-7", "inter-queue", "running-only")
    return {str(queue_of[name]).rpartition(".")[2] for name, (_, rule) in candidates.items() if rule not in closed}


@pytest.mark.parametrize(
    ("claimant", "queues"),
    [
        ("a-in", set()),
        ("b-in", {"queue-a", "queue-c"}),
        ("one-in", {"queue-2"}),
        ("system-in", {"queue-a", "queue-b", "queue-c", "queue-1", "queue-2"}),
    ],
)
def test_the_fences_of_the_figure_keep_work_in_and_nobody_out(claimant: str, queues: set[str]) -> None:
    assert queues_in_reach(claimant) == queues


def test_the_figure_is_decided_as_its_arrows_say() -> None:
    plan = cede.plan(cede.load(FENCES))

    assert {made.workload: sorted(victim.workload for victim in made.victims) for made in plan.decisions} == {
        "a-in": [],
        "b-in": ["c-2"],
        "one-in": ["two-3"],
        "system-in": ["two-2"],
    }


def test_a_fence_on_the_root_fences_nothing() -> None:
    assert victims(N2, path("root", policy="fence"), A, B, OLD, IN) == ["old"]


def test_the_nearest_of_two_fences_counts() -> None:
    tree = (
        path("root.t", policy="fence"),
        path("root.t.p", policy="fence"),
        path("root.t.p.a", cpu=4),
        path("root.t.b"),
    )

    assert protected_by(laws(N2, *tree, work("old", "root.t.b"), asking("in", "root.t.p.a", cpu=2)), "old") == "law-7"


@pytest.mark.parametrize("where", ["root.p.b", "root.p", "root"])
def test_disabled_protects_a_queue_and_all_below_it(where: str) -> None:
    tree = [path(name, **({"policy": "disabled"} if name == where else {})) for name in ("root", "root.p", "root.p.b")]

    assert protected_by(laws(N2, A, *tree, work("old", "root.p.b"), IN), "old") == "disabled"


def test_disabled_above_is_not_lifted_below() -> None:
    tree = (path("root.p", policy="disabled"), path("root.p.b", policy="default"))

    assert protected_by(laws(N2, A, *tree, work("old", "root.p.b"), IN), "old") == "disabled"


def test_work_of_a_disabled_queue_still_preempts() -> None:
    assert victims(N2, path("root.a", cpu=4, policy="disabled"), B, OLD, IN) == ["old"]


# -- when ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "age", "action"),
    [
        ({}, 29, "wait"),
        ({}, 30, "preempt"),
        ({"delay": "5s"}, 4, "wait"),
        ({"delay": "5s"}, 5, "preempt"),
        ({"delay": "1m30s"}, 89, "wait"),
        ({"delay": "0s"}, 29, "wait"),
    ],
)
def test_a_claimant_waits_for_the_delay_of_its_leaf(settings: dict[str, str], age: int, action: str) -> None:
    claimant = asking("in", "root.a", cpu=2, submitted=-age)

    assert actions(laws(N2, path("root.a", cpu=4, **settings), B, OLD, claimant)) == {"in": action}


def test_a_delay_on_a_parent_has_no_effect() -> None:
    tree = (path("root.p", delay="5s"), path("root.p.a", cpu=4))

    assert waits_by(laws(N2, *tree, B, OLD, asking("in", "root.p.a", cpu=2, submitted=-10))) == "delay"


def test_settle_waits_for_the_delay() -> None:
    found = cede.settle(laws(N2, A, B, OLD, pending("in", queue="root.a", cpu=2, submitted=-25)))

    assert [(one.at, one.victim, one.claimant) for one in found.preemptions] == [(6, "old", "in")]
    assert found.running == {"in": ["n1"]}


def test_preemption_can_be_switched_off_for_all_but_work_that_needs_its_node() -> None:
    off = {"preemption.enabled": False}
    agent = asking("agent", "root.a", cpu=2, required_node="n1", submitted=0)

    assert actions(laws(N2, A, B, OLD, IN, **off)) == {"in": "wait"}
    assert actions(laws(N2, A, B, OLD, agent, **off)) == {"agent": "preempt"}


def test_who_never_preempts_waits() -> None:
    assert waits_by(laws(N2, A, B, OLD, asking("in", "root.a", cpu=2, preempts=False))) == "may-not-preempt"


def test_earlier_claimants_leave_less_of_the_guarantee() -> None:
    """The first brings its queue to 4, so that the second may not try."""
    full = (work("b-1", "root.b"), work("b-2", "root.b"), work("mine", "root.a"))
    both = (asking("first", "root.a", cpu=2, submitted=-99), IN)

    assert actions(laws(node("n1", cpu=6), A, B, *full, *both)) == {"first": "preempt", "in": "wait"}


def test_no_victim_is_chosen_twice() -> None:
    both = (asking("first", "root.a", cpu=2, submitted=-99), IN)
    cluster = laws(node("n1", cpu=4), A, B, work("b-1", "root.b"), work("b-2", "root.b"), *both)

    assert [taken(cluster, name) for name in ("first", "in")] == [["b-1"], ["b-2"]]


# -- nodes -----------------------------------------------------------------------------------------------------------


def test_victims_stand_on_one_node() -> None:
    nodes = (node("n1", cpu=2), node("n2", cpu=2))
    far = (work("one", "root.b", "n1"), work("two", "root.b", "n2"))
    wide = node("n3", cpu=4)
    high = work("high", "root.c", "n3", cpu=4, priority=9)
    claimant = asking("in", "root.a", cpu=4)

    assert waits_by(laws(*nodes, wide, A, B, path("root.c"), *far, high, claimant)) == "no-lawful-set"


def test_what_is_free_on_the_node_counts() -> None:
    assert victims(node("n1", cpu=3), A, B, OLD, IN) == ["old"]
    small = work("small", "root.b", cpu=1, submitted=1)
    assert victims(node("n1", cpu=4), A, B, OLD, small, IN) == ["small"]


def test_the_node_is_held_for_its_claimant() -> None:
    """The next in line would fit into what is free beside the victim, and into what it leaves."""
    later = asking("later", "root.b", cpu=1, submitted=-1)
    found = cede.settle(laws(node("n1", cpu=2), A, B, OLD, IN, later))

    assert found.running == {"in": ["n1"]}
    assert sorted(found.pending) == ["later", "old"]
    assert [one.victim for one in found.preemptions] == ["old"]


def test_a_reserved_node_is_left_to_its_holder() -> None:
    kept = node("n1", cpu=2, reserved_for="other")
    other = asking("other", "root.b", cpu=1, submitted=0, priority=-1)

    assert waits_by(laws(kept, A, B, OLD, other, IN)) == "no-usable-node"


@pytest.mark.parametrize("state", ["cordoned", "down"])
def test_a_node_that_is_not_ready_is_not_cleared(state: str) -> None:
    nodes = (node("n1", cpu=2, state=state), node("n2", cpu=2))
    works = (work("here", "root.b", "n1", priority=-9), work("there", "root.b", "n2"))

    assert victims(*nodes, A, B, *works, IN) == ["there"]


def test_constraints_decide_which_node_is_cleared() -> None:
    nodes = (node("n1", cpu=2), node("n2", cpu=2, labels={"zone": "z"}))
    works = (work("here", "root.b", "n1", priority=-9), work("there", "root.b", "n2"))
    claimant = asking("in", "root.a", cpu=2, constraints={"labels": {"zone": "z"}})

    assert victims(*nodes, A, B, *works, claimant) == ["there"]


# -- work that needs a certain node ----------------------------------------------------------------------------------


def agent(**values: Any) -> Any:
    return asking("in", "root.a", **{"cpu": 2, "submitted": 0, "required_node": "n1", **values})


def test_it_makes_room_at_once_whatever_is_guaranteed_fenced_or_disabled() -> None:
    queues = (path("root.a", policy="fence"), path("root.b", cpu=9, policy="disabled"))

    assert victims(N2, *queues, OLD, agent()) == ["old"]


def test_it_clears_its_own_queue_but_not_its_own_application() -> None:
    mine = work("mine", "root.a", app="other")

    assert victims(N2, A, mine, agent(app="job")) == ["mine"]
    assert protected_by(laws(N2, A, mine, agent(app="other")), "mine") == "law-3"


def test_it_takes_no_higher_priority_and_no_work_like_itself() -> None:
    assert protected_by(laws(N2, A, B, work("old", "root.b", priority=1), agent()), "old") == "law-6"
    other = laws(N2, A, B, work("old", "root.b", required_node="n1"), agent())
    assert verdicts(decided(other, "in", explain=True))["old"] == ("not-eligible", "pinned-work")


def test_it_takes_who_opted_out_last() -> None:
    shy = work("shy", "root.b", preemptible=False, priority=-9)

    assert victims(node("n1", cpu=4), A, B, shy, OLD, agent()) == ["old"]
    assert victims(N2, A, B, shy, agent()) == ["shy"]


def test_it_takes_nobody_of_another_node() -> None:
    nodes = (node("n1", cpu=2), node("n2", cpu=2))
    works = (work("here", "root.b", "n1"), work("there", "root.b", "n2", priority=-9))

    assert victims(*nodes, A, B, *works, agent()) == ["here"]


# -- limits, gangs, files without nodes ------------------------------------------------------------------------------


def test_a_limit_on_the_path_is_made_room_under_from_below_it() -> None:
    """There is room on the node, but not under the limit; who stands outside of it gives nothing."""
    tree = (path("root.t", max={"cpu": 4}), path("root.t.a", cpu=4), path("root.t.b"))
    works = (work("inside", "root.t.b", cpu=4, submitted=-9), work("outside", "root.b", cpu=4, priority=-9))

    assert victims(node("n1", cpu=20), B, *tree, *works, asking("in", "root.t.a", cpu=2)) == ["inside"]


def test_room_is_made_under_the_limit_and_on_the_node_with_the_same_victims() -> None:
    tree = (path("root.t", max={"cpu": 4}), path("root.t.a", cpu=4), path("root.t.b"))
    nodes = (node("n1", cpu=2), node("n2", cpu=4))
    works = (work("one", "root.t.b", "n1"), work("two", "root.t.b", "n2"), work("other", "root.b", "n2", priority=-9))

    assert victims(*nodes, B, *tree, *works, asking("in", "root.t.a", cpu=2)) == ["one"]


def test_the_own_queue_at_its_limit_gives_nobody() -> None:
    a = path("root.a", cpu=4, max={"cpu": 3})

    assert waits_by(laws(node("n1", cpu=9), a, work("mine", "root.a"), IN)) == "no-lawful-set"


def test_without_nodes_only_the_limits_are_short() -> None:
    tree = (path("root.t", max={"cpu": 4}), path("root.t.a", cpu=4), path("root.t.b"))
    works = (running("one", queue="root.t.b", cpu=2), running("two", queue="root.t.b", cpu=2, submitted=-9))
    cluster = laws(*tree, *works, asking("in", "root.t.a", cpu=2))

    assert taken(cluster) == ["one"]
    assert decided(cluster, "in").nodes == ()
    assert actions(laws(A, B, running("old", queue="root.b", cpu=2), IN)) == {"in": "start"}


def test_nobody_preempts_for_a_gang() -> None:
    gang = asking("in", "root.a", cpu=1, members=2)

    assert waits_by(laws(N2, A, B, OLD, gang)) == "one-member"
    assert actions(laws(N2, A, gang)) == {"in": "start"}


def test_a_gang_on_one_node_goes_as_one() -> None:
    gang = running("gang", ["n1", "n1"], queue="root.b", cpu=2, members=2)

    assert victims(node("n1", cpu=4), A, path("root.b"), gang, IN) == ["gang"]
    assert protected_by(laws(node("n1", cpu=4), A, path("root.b", cpu=1), gang, IN), "gang") == "law-2"


def test_a_gang_on_two_nodes_stays() -> None:
    gang = running("gang", ["n1", "n2"], queue="root.b", cpu=2, members=2)
    made = decided(laws(N2, node("n2", cpu=2), A, B, gang, IN), "in", explain=True)

    assert verdicts(made) == {"gang": ("not-eligible", "one-node")}


def test_whoever_is_not_running_stays() -> None:
    made = decided(laws(N2, A, B, reserved("soon", queue="root.b", cpu=2), IN), "in", explain=True)

    assert verdicts(made) == {"soon": ("not-eligible", "running-only")}


def test_for_a_limit_alone_nobody_goes_only_to_make_room_where_there_is_some_elsewhere() -> None:
    """Without `old` the limit is kept, and n2 has room; on n1 `other` would have to go too."""
    tree = (path("root.p", max={"cpu": 4}), path("root.p.a", cpu=2), path("root.p.b"), path("root.o"))
    works = (work("old", "root.p.b", "n1", cpu=3), work("other", "root.o", "n1", cpu=1))
    cluster = laws(node("n1", cpu=4), node("n2", cpu=4), *tree, *works, asking("in", "root.p.a", cpu=4))
    [made] = cede.plan(cluster).decisions

    assert ([victim.workload for victim in made.victims], made.nodes) == (["old"], ("n2",))
    assert made.why.endswith("; it starts elsewhere, on n2: where victims do for the limit it does not fit then")
    assert cede.verify(cluster, cede.plan(cluster)) == []


def test_for_a_limit_alone_victims_go_first_whose_node_the_claimant_can_use() -> None:
    """`low` alone would do for the limit and comes first, but n1 is too small; n2 has room, n3 once `high` has left."""
    tree = (path("root.p", max={"cpu": 5}), path("root.p.a", cpu=3), path("root.p.b"))
    nodes = (node("n1", cpu=2), node("n2", cpu=3), node("n3", cpu=3))
    works = (work("low", "root.p.b", "n1", cpu=2, priority=-1), work("high", "root.p.b", "n3", cpu=2))
    cluster = laws(*nodes, *tree, *works, asking("in", "root.p.a", cpu=3))
    [made] = cede.plan(cluster).decisions

    assert ([victim.workload for victim in made.victims], made.nodes) == (["high"], ("n3",))
    assert "elsewhere" not in made.why
    assert cede.verify(cluster, cede.plan(cluster)) == []


def test_for_a_limit_alone_a_set_of_several_whose_node_the_claimant_can_use_has_nobody_for_the_node_alone() -> None:
    """Of n1 all three would have to go, and the limit is kept with two; on n2 two small ones do for both."""
    tree = (path("root.p", max={"cpu": 6}), path("root.p.a", cpu=4), path("root.p.b"))
    nodes = (node("n1", cpu=4), node("n2", cpu=4), node("n3", cpu=4))
    works = (
        *(work(f"one{at}", "root.p.b", "n1", cpu=1, priority=-1) for at in range(2)),
        *(work(f"two{at}", "root.p.b", "n2", cpu=1) for at in range(2)),
        work("other", "root.o", "n1", cpu=1),
    )
    cluster = laws(*nodes, *tree, path("root.o"), *works, asking("in", "root.p.a", cpu=4))
    [made] = cede.plan(cluster).decisions

    assert (sorted(victim.workload for victim in made.victims), made.nodes) == (["two0", "two1"], ("n2",))
    assert cede.verify(cluster, cede.plan(cluster)) == []


def test_for_a_limit_alone_the_claimant_takes_the_node_that_its_victims_leave_if_it_fits_there() -> None:
    tree = (path("root.p", max={"cpu": 4}), path("root.p.a", cpu=4), path("root.p.b"))
    cluster = laws(node("n1", cpu=9), node("n2", cpu=9), *tree, work("old", "root.p.b", "n2", cpu=4),
                   asking("in", "root.p.a", cpu=4))  # fmt: skip
    [made] = cede.plan(cluster).decisions

    assert (len(made.victims), made.nodes) == (1, ("n2",))
