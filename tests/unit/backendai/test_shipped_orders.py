"""Edition 26.8: the four orders of victims, collected agent by agent without sparing any."""

import pytest

import cede
from tests.builders import Entry, decided, group, node, pending, running, shipped

NODE = node("n1", cpu=8, gpu=4, mem=16)


def victims(order: str, *entries: Entry, **claimant: object) -> list[str]:
    """The victims on one node, in the order in which they were taken."""
    cluster = shipped(group(enabled=True, preemption_order=order, agent_selection_strategy="concentrated"),
                      *entries, pending("in", job_priority=9, **claimant))  # fmt: skip
    return [victim.workload for victim in decided(cluster, "in").victims]


# -- oldest and newest -----------------------------------------------------------------------------------------------

OLD, NEW = running("old", cpu=4, started=-20), running("new", cpu=4, started=-10)
NEVER = running("never", cpu=4, started=None)


@pytest.mark.parametrize(
    ("order", "entries", "goes"),
    [
        ("oldest", (OLD, NEW), ["old"]),
        ("newest", (OLD, NEW), ["new"]),
        ("oldest", (OLD, NEVER), ["never"]),
        ("newest", (NEW, NEVER), ["never"]),
        ("oldest", (running("low", cpu=4, started=-1, job_priority=-1), OLD), ["low"]),
        ("newest", (running("low", cpu=4, started=-99, job_priority=-1), NEVER), ["low"]),
        ("oldest", (running("x", cpu=4, started=-5, uid="2"), running("y", cpu=4, started=-5, uid="1")), ["y"]),
        ("newest", (running("x", cpu=4, uid="2"), running("y", cpu=4, uid="1")), ["y"]),
    ],
)
def test_job_priority_first_then_start_and_what_never_started_before_all_that_did(
    order: str, entries: tuple[Entry, ...], goes: list[str]
) -> None:
    assert victims(order, NODE, *entries, cpu=4) == goes


@pytest.mark.parametrize("order", ["oldest", "newest", "fewest-sessions", "smallest-resources"])
def test_the_queue_priority_is_no_key_in_any_order(order: str) -> None:
    entries = (running("a", cpu=4, started=-5, priority=99, uid="1"), running("b", cpu=4, started=-5, uid="2"))

    assert victims(order, NODE, *entries, cpu=4) == ["a"]


def test_who_gives_nothing_to_what_is_short_is_skipped() -> None:
    entries = (running("cpus", cpu=4, started=-20), running("gpus", gpu=4, started=-10))

    assert victims("oldest", NODE, *entries, cpu=4, gpu=1) == ["gpus"]


def test_who_gives_nothing_to_what_is_still_short_is_skipped_too() -> None:
    entries = (running("a", gpu=2, started=-30), running("b", cpu=4, started=-20), running("c", gpu=2, started=-10),
               running("d", cpu=4, started=-5))  # fmt: skip

    assert victims("oldest", NODE, *entries, cpu=4, gpu=2) == ["a", "b"]


def test_a_small_early_pick_stays_though_a_later_one_alone_would_do() -> None:
    entries = (running("small", cpu=1, started=-20), running("large", cpu=7, started=-10))

    assert victims("oldest", NODE, *entries, cpu=4) == ["small", "large"]


def test_only_what_is_missing_on_the_agent_is_collected() -> None:
    entries = (running("one", cpu=1, started=-20), running("two", cpu=6, started=-10))

    assert victims("oldest", NODE, *entries, cpu=2) == ["one"]


# -- fewest sessions -------------------------------------------------------------------------------------------------


def test_fewest_sessions_takes_the_one_that_gives_most_of_what_is_short() -> None:
    entries = (running("s1", cpu=2, started=-30), running("s2", cpu=2, started=-20), running("m", cpu=4, started=-10))

    assert victims("fewest-sessions", NODE, *entries, cpu=4) == ["m"]


def test_more_than_is_short_gives_no_more_than_what_is_short() -> None:
    entries = (running("exact", cpu=3, started=-20), running("large", cpu=5, started=-10))

    assert victims("fewest-sessions", NODE, *entries, cpu=3) == ["exact"]


def test_fewest_sessions_obeys_job_priority_first() -> None:
    entries = (running("s1", cpu=2, job_priority=1), running("s2", cpu=2, job_priority=1),
               running("m", cpu=4, job_priority=2))  # fmt: skip

    assert victims("fewest-sessions", NODE, *entries, cpu=4) == ["s1", "s2"]


def test_fewest_sessions_ends_in_oldest_and_what_never_started_first() -> None:
    entries = (running("new", cpu=2, started=-10), running("old", cpu=2, started=-20),
               running("never", cpu=4, started=None))  # fmt: skip

    assert victims("fewest-sessions", NODE, *entries, cpu=1) == ["never"]
    assert victims("fewest-sessions", NODE, *entries, cpu=4) == ["never"]


def test_fewest_sessions_takes_the_agent_that_needs_fewest() -> None:
    entries = (node("few", cpu=4), node("a-many", cpu=4), running("m", "few", cpu=4),
               running("s1", "a-many", cpu=2), running("s2", "a-many", cpu=2))  # fmt: skip

    assert victims("fewest-sessions", *entries, cpu=4) == ["m"]


# -- smallest resources ----------------------------------------------------------------------------------------------


def test_smallest_resources_takes_the_small_one_though_it_is_younger() -> None:
    entries = (running("large", cpu=6, started=-20), running("small", cpu=2, started=-10))

    assert victims("smallest-resources", NODE, *entries, cpu=2) == ["small"]


def test_smallest_resources_obeys_job_priority_first() -> None:
    entries = (running("large", cpu=6, job_priority=0), running("small", cpu=2, job_priority=1))

    assert victims("smallest-resources", NODE, *entries, cpu=2) == ["large"]


def test_smallest_resources_mixes_units_as_shipped() -> None:
    """Four cores and a byte are more than two cores and two gpus."""
    entries = (running("cores", cpu=4, mem=1, started=-20), running("gpus", cpu=4, started=-10))

    assert victims("smallest-resources", NODE, *entries, cpu=4) == ["gpus"]


def test_smallest_resources_takes_the_agent_that_loses_least() -> None:
    entries = (node("a-lot", cpu=4, mem=9), node("little", cpu=4), running("a", "a-lot", cpu=4, mem=9),
               running("b", "little", cpu=4))  # fmt: skip

    assert victims("smallest-resources", *entries, cpu=4) == ["b"]


def test_a_session_on_two_agents_counts_with_what_it_holds_on_each() -> None:
    entries = (node("n1", cpu=4), node("n2", cpu=8), running("wide", ["n1", "n2"], cpu=2, members=2, started=-10),
               running("small", "n1", cpu=2, started=-20), running("big", "n2", cpu=6, started=-20))  # fmt: skip

    assert victims("smallest-resources", *entries, cpu=2) == ["small"]


@pytest.mark.parametrize(
    ("amounts", "other", "first"),
    [
        ({"cpu": "100m", "gpu": "200m"}, {"cpu": "300m"}, "a"),
        ({"cpu": 1, "mem": 9007199254740993}, {"cpu": 2, "mem": 9007199254740992}, "a"),
        ({"cpu": 1, "mem": 9007199254740993}, {"cpu": 1, "mem": 9007199254740992}, "b"),
        ({"cpu": "1n", "mem": 10**13}, {"cpu": "2n", "mem": 10**13}, "a"),
        ({"cpu": "2n", "mem": 10**13}, {"cpu": "1n", "mem": 10**13}, "b"),
    ],
)
def test_totals_are_exact(amounts: dict[str, object], other: dict[str, object], first: str) -> None:
    """Totals that are equal on paper are equal, and those that are not are not: a is the older one."""
    room = node("n1", cpu=4, gpu=2, mem=20014398509481985)
    entries = (running("a", started=-20, **amounts), running("b", started=-10, **other))
    cluster = shipped(group(enabled=True, preemption_order="smallest-resources"), room, *entries,
                      pending("in", cpu=4, job_priority=9))  # fmt: skip

    assert decided(cluster, "in").victims[0].workload == first


# -- multi-node sessions ---------------------------------------------------------------------------------------------


def test_one_large_victim_admits_all_members() -> None:
    assert victims("oldest", NODE, running("old", cpu=8), cpu=2, members=3) == ["old"]


def test_a_victim_is_not_counted_twice() -> None:
    cluster = shipped(node("n1", cpu=8, occupied={"cpu": 6}), running("old", cpu=2),
                      pending("in", cpu=2, members=2, job_priority=9))  # fmt: skip

    assert decided(cluster, "in").action == "wait"


def test_what_a_victim_frees_elsewhere_serves_the_next_member() -> None:
    cluster = shipped(
        group(enabled=True, agent_selection_strategy="concentrated"), node("n1", cpu=4), node("n2", cpu=4),
        running("wide", ["n1", "n2"], cpu=4, members=2), pending("in", cpu=4, members=2, job_priority=9),
    )  # fmt: skip

    made = decided(cluster, "in")

    assert [victim.workload for victim in made.victims] == ["wide"]
    assert made.nodes == ("n1", "n2")


def test_a_session_is_placed_whole_or_not_at_all() -> None:
    cluster = shipped(
        node("n1", cpu=4), node("n2", cpu=4), running("low", "n1", cpu=4),
        running("high", "n2", cpu=4, job_priority=9), pending("in", cpu=4, members=2, job_priority=9),
    )  # fmt: skip

    assert decided(cluster, "in").action == "wait"
    assert cede.plan(cluster).victims == set()


@pytest.mark.parametrize("turn", [1, -1])
def test_members_of_different_size_are_placed_in_the_order_they_are_listed(turn: int) -> None:
    """The small one first takes the fuller node, and the large one has to go elsewhere; the large one first fits it."""
    parts = [
        {"name": "small", "count": 1, "requests": {"cpu": 2}},
        {"name": "large", "count": 1, "requests": {"cpu": 4}},
    ]
    cluster = shipped(group(agent_selection_strategy="concentrated"), node("n1", cpu=4), node("n2", cpu=6),
                      pending("in", pod_sets=parts[::turn]))  # fmt: skip

    assert decided(cluster, "in").nodes == ("n1", "n2")
