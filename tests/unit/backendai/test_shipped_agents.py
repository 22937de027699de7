"""Edition 26.8: which of the agents that would do is taken, by strategy and by placement."""

import pytest

import cede
from tests.builders import Entry, cluster_of, decided, group, node, pending, running, shipped

STRATEGIES = ("concentrated", "dispersed", "legacy", "roundrobin")


def taken(strategy: str, *entries: Entry, **settings: object) -> dict[str | None, tuple[str, ...]]:
    """The agents of every session that starts or preempts."""
    cluster = shipped(group(agent_selection_strategy=strategy, scheduler="fifo", **settings), *entries)
    return {made.workload: made.nodes for made in cede.plan(cluster).decisions if made.nodes}


HALF = (node("a", cpu=8, mem=8), node("b", cpu=8, mem=8), node("c", cpu=4, mem=8), running("x", "b", cpu=4))


@pytest.mark.parametrize(
    ("strategy", "agent"), [("concentrated", "b"), ("dispersed", "a"), ("legacy", "a"), ("roundrobin", "a")]
)
def test_an_agent_is_taken_by_what_remains(strategy: str, agent: str) -> None:
    """Of cpu, which is all that is asked for, a has 8, b and c have 4; what is left of capacity does not matter."""
    assert taken(strategy, *HALF, pending("in", cpu=1)) == {"in": (agent,)}


@pytest.mark.parametrize(
    ("strategy", "agent"), [("concentrated", "small"), ("dispersed", "large"), ("legacy", "large")]
)
def test_amounts_are_compared_as_they_are_and_not_as_parts_of_a_capacity(strategy: str, agent: str) -> None:
    """One of two is half and less than three of eight; but three are more than one."""
    nodes = (node("small", cpu=2), node("large", cpu=8), running("x", "small", cpu=1), running("y", "large", cpu=5))

    assert taken(strategy, *nodes, pending("in", cpu=1)) == {"in": (agent,)}


SLOTS = {"apples": 1, "cpu": 1, "cuda.device": 1, "mem": 1}


@pytest.mark.parametrize(
    ("a", "b", "least"),
    [
        ({"cpu": 3, "mem": 9, "apples": 9, "cuda.device": 9}, {"cpu": 4, "mem": 2, "apples": 2, "cuda.device": 2}, "a"),
        ({"cpu": 4, "mem": 9, "apples": 1, "cuda.device": 1}, {"cpu": 4, "mem": 2, "apples": 9, "cuda.device": 9}, "b"),
        ({"cpu": 4, "mem": 2, "apples": 3, "cuda.device": 1}, {"cpu": 4, "mem": 2, "apples": 2, "cuda.device": 9}, "b"),
        ({"cpu": 4, "mem": 2, "apples": 2, "cuda.device": 1}, {"cpu": 4, "mem": 2, "apples": 2, "cuda.device": 9}, "a"),
    ],
    ids=["cpu", "then mem", "then the others by name", "to the last"],
)
def test_slot_after_slot_cpu_then_mem_then_the_others_by_name(a: dict[str, int], b: dict[str, int], least: str) -> None:
    nodes = (node("a", **a), node("b", **b))
    most = "b" if least == "a" else "a"

    agents = {strategy: taken(strategy, *nodes, pending("in", **SLOTS))["in"] for strategy in STRATEGIES[:3]}

    assert agents == {"concentrated": (least,), "dispersed": (most,), "legacy": (most,)}


def test_a_slot_that_is_not_asked_for_plays_no_part() -> None:
    nodes = (node("a", cpu=4, mem=99), node("b", cpu=8, mem=1))

    assert taken("legacy", *nodes, pending("in", mem=1)) == {"in": ("a",)}


def test_a_name_that_no_agent_of_the_group_has_is_no_slot() -> None:
    nodes = (node("a", cpu=4), node("b", cpu=8))
    cluster = cluster_of(group(agent_selection_strategy="legacy", max={"apples": 3}), *nodes, pending("in", cpu=1),
                         edition="26.8")  # fmt: skip

    assert decided(cluster, "in").nodes == ("b",)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_ties_are_by_name(strategy: str) -> None:
    nodes = (node("b", cpu=4), node("a", cpu=4), node("c", cpu=4))

    assert taken(strategy, *nodes, pending("in", cpu=1)) == {"in": ("a",)}


@pytest.mark.parametrize(
    ("strategy", "agents"),
    [
        ("concentrated", ("a", "a", "b")),
        ("dispersed", ("a", "b", "a")),
        ("roundrobin", ("a", "b", "a")),
        ("legacy", ("a", "b", "a")),
    ],
)
def test_earlier_members_count(strategy: str, agents: tuple[str, ...]) -> None:
    assert taken(strategy, node("a", cpu=4), node("b", cpu=4), pending("in", cpu=2, members=3)) == {"in": agents}


def test_earlier_sessions_of_the_pass_count() -> None:
    sessions = [pending(f"s{number}", cpu=2, submitted=number) for number in range(3)]

    assert taken("dispersed", node("a", cpu=4), node("b", cpu=4), *sessions) == {
        "s0": ("a",),
        "s1": ("b",),
        "s2": ("a",),
    }


# -- roundrobin ------------------------------------------------------------------------------------------------------

THREE = (node("a", cpu=4), node("b", cpu=4), node("c", cpu=4))


def test_roundrobin_goes_on_within_one_plan() -> None:
    sessions = [pending(f"s{number}", cpu=1, submitted=number) for number in range(4)]

    agents = taken("roundrobin", *THREE, *sessions)

    assert agents == {"s0": ("a",), "s1": ("b",), "s2": ("c",), "s3": ("a",)}


def test_roundrobin_counts_picks_modulo_the_agents_that_would_do() -> None:
    """The third pick is 2 modulo 2: a again, though c would be next. The counter knows no names."""
    only = {"constraints": {"nodes": ["a", "c"]}}
    sessions = (pending("s0", cpu=1, submitted=-3), pending("s1", cpu=1, submitted=-2),
                pending("s2", cpu=1, submitted=-1, **only), pending("s3", cpu=1))  # fmt: skip

    assert taken("roundrobin", *THREE, *sessions) == {"s0": ("a",), "s1": ("b",), "s2": ("a",), "s3": ("a",)}


@pytest.mark.parametrize("order", ["oldest", "fewest-sessions", "smallest-resources"])
def test_roundrobin_goes_on_where_victims_must_go(order: str) -> None:
    entries = (*THREE, *(running(f"r-{name}", name, cpu=4) for name in "abc"))
    sessions = [pending(f"s{number}", cpu=1, job_priority=1, submitted=number) for number in range(3)]

    agents = taken("roundrobin", *entries, *sessions, enabled=True, preemption_order=order)

    assert agents == {"s0": ("a",), "s1": ("c",), "s2": ("b",)}


def test_roundrobin_passes_over_agents_without_room() -> None:
    sessions = [pending(f"s{number}", cpu=1, submitted=number) for number in range(2)]

    assert taken("roundrobin", *THREE, running("x", "b", cpu=4), *sessions) == {"s0": ("a",), "s1": ("c",)}


def test_roundrobin_is_not_moved_by_groups_it_looked_at_in_vain() -> None:
    nodes = (node("a", cpu=1, labels={"group": "g1"}), node("b", cpu=4, labels={"group": "g2"}),
             node("c", cpu=4, labels={"group": "g2"}))  # fmt: skip
    sessions = (pending("gang", cpu=1, members=2, placement="tight", submitted=-1), pending("next", cpu=1))

    assert taken("roundrobin", *nodes, *sessions) == {"gang": ("b", "c"), "next": ("c",)}


def test_every_group_goes_round_on_its_own() -> None:
    red = group("red", agent_selection_strategy="roundrobin")
    blue = group("blue", agent_selection_strategy="roundrobin")
    nodes = [node(f"{queue}{number}", cpu=4, partition=queue) for queue in ("red", "blue") for number in (1, 2)]
    cluster = shipped(red, blue, *nodes, pending("r", cpu=1, queue="red"), pending("b", cpu=1, queue="blue"))

    assert (decided(cluster, "r").nodes, decided(cluster, "b").nodes) == (("red1",), ("blue1",))


def test_roundrobin_goes_on_from_cycle_to_cycle() -> None:
    """The victim queues again and starts in the next cycle: the second pick, of b and c, is c."""
    cluster = shipped(
        group(enabled=True, preemption_mode="reschedule", agent_selection_strategy="roundrobin"), *THREE,
        running("old", "a", cpu=4), pending("in", cpu=4, job_priority=1, constraints={"nodes": ["a"]}),
    )  # fmt: skip

    assert cede.settle(cluster).running == {"in": ["a"], "old": ["c"]}


# -- with victims ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", ["oldest", "fewest-sessions"])
@pytest.mark.parametrize(
    ("strategy", "agent"), [("concentrated", "b"), ("dispersed", "a"), ("legacy", "a"), ("roundrobin", "a")]
)
def test_the_strategy_looks_at_what_remains_with_all_who_may_go_credited(strategy: str, agent: str, order: str) -> None:
    """With x and y gone, a has 8 of 8 and b 4 of 8; who must really go does not matter."""
    entries = (node("a", cpu=8), node("b", cpu=8), running("x", "a", cpu=8, user="u"), running("y", "b", cpu=4,
               user="u"), running("z", "b", cpu=4, user="v"))  # fmt: skip

    agents = taken(
        strategy, *entries, pending("in", cpu=4, job_priority=1, user="u"), enabled=True, preemption_order=order
    )

    assert agents == {"in": (agent,)}


def test_no_victim_is_taken_while_an_agent_has_room() -> None:
    cluster = shipped(group(enabled=True, agent_selection_strategy="concentrated"), node("a", cpu=4), node("b", cpu=8),
                      running("x", "a", cpu=4), pending("in", cpu=4, job_priority=1))  # fmt: skip

    assert (decided(cluster, "in").action, decided(cluster, "in").nodes) == ("start", ("b",))


def test_credit_is_exact_for_very_large_amounts() -> None:
    """Two to the 53rd and one more: a sum in floating point would lose the one."""
    large = 2**53 + 1
    entries = (node("n1", mem=2 * large), running("a", mem=large), running("b", mem=large))

    for asked, action in ((2 * large, "preempt"), (2 * large + 1, "refuse")):
        cluster = shipped(*entries, pending("in", mem=asked, job_priority=1))
        assert decided(cluster, "in").action == action


def test_what_was_booked_in_this_pass_is_not_credited() -> None:
    cluster = shipped(
        group(enabled=True, scheduler="fifo"), node("n1", cpu=8), running("v1", cpu=2), running("v2", cpu=2),
        pending("first", cpu=4, submitted=-2), pending("second", cpu=6, job_priority=5, submitted=-1),
    )  # fmt: skip

    assert (decided(cluster, "first").action, decided(cluster, "second").action) == ("start", "wait")


# -- placement -------------------------------------------------------------------------------------------------------

ZONES = tuple(node(f"{zone}{number}", cpu=4, labels={"group": zone}) for zone in ("g1", "g2") for number in (1, 2))


def test_tight_members_stay_in_one_group() -> None:
    cluster = shipped(*ZONES, running("x", "g11", cpu=4, job_priority=9),
                      pending("in", cpu=4, members=2, placement="tight"))  # fmt: skip

    assert decided(cluster, "in").nodes == ("g21", "g22")


def test_tight_members_rather_wait_for_no_victim_than_take_the_first_group() -> None:
    cluster = shipped(*ZONES, running("x", "g11", cpu=4), pending("in", cpu=4, members=2, placement="tight",
                                                                  job_priority=1))  # fmt: skip

    assert (decided(cluster, "in").action, decided(cluster, "in").nodes) == ("start", ("g21", "g22"))


def test_spread_members_share_the_groups_evenly() -> None:
    cluster = shipped(group(agent_selection_strategy="concentrated"), *ZONES,
                      pending("in", cpu=1, members=4, placement="spread"))  # fmt: skip

    assert sorted(name[:2] for name in decided(cluster, "in").nodes) == ["g1", "g1", "g2", "g2"]
