"""Edition 26.8: the sequence of a group, and who holds up those behind."""

import pytest

import cede
from tests.builders import Entry, actions, decided, group, node, pending, running, shipped


def sequence(scheduler: str | None, *entries: Entry) -> list[str | None]:
    settings = {} if scheduler is None else {"scheduler": scheduler}
    return [made.workload for made in cede.plan(shipped(group(**settings), *entries)).decisions]


# -- sequence --------------------------------------------------------------------------------------------------------

QUEUE = (
    node("n1", cpu=100),
    pending("low-a", cpu=1, priority=1, submitted=-9), pending("low-b", cpu=1, priority=1, submitted=-8),
    pending("high-a", cpu=1, priority=9, submitted=-7), pending("high-b", cpu=1, priority=9, submitted=-6),
)  # fmt: skip


@pytest.mark.parametrize(
    ("scheduler", "order"),
    [
        ("fifo", ["high-a", "high-b", "low-a", "low-b"]),
        ("lifo", ["high-b", "high-a", "low-b", "low-a"]),
        ("drf", ["high-a", "high-b", "low-a", "low-b"]),
        ("fair-share", ["high-a", "high-b", "low-a", "low-b"]),
        (None, ["high-a", "high-b", "low-a", "low-b"]),
    ],
)
def test_bands_of_priority_and_inside_a_band_as_the_scheduler_says(scheduler: str | None, order: list[str]) -> None:
    assert sequence(scheduler, *QUEUE) == order


@pytest.mark.parametrize("scheduler", ["fifo", "lifo", "drf"])
def test_equal_arrivals_are_by_uid(scheduler: str) -> None:
    assert sequence(scheduler, node("n1", cpu=9), pending("a", cpu=1, uid="2"), pending("b", cpu=1, uid="1")) == [
        "b",
        "a",
    ]


HEAVY, LIGHT = pending("heavy", cpu=1, user="h", submitted=-9), pending("light", cpu=1, user="l", submitted=-1)


def test_the_owner_with_the_smaller_dominant_share_is_first() -> None:
    used = (running("x", cpu=10, user="l"), running("y", cpu=50, user="h"))

    assert sequence("drf", node("n1", cpu=100, mem=100), *used, HEAVY, LIGHT) == ["light", "heavy"]
    assert sequence("fifo", node("n1", cpu=100, mem=100), *used, HEAVY, LIGHT) == ["heavy", "light"]


def test_the_dominant_share_is_the_largest_over_all_slots() -> None:
    used = (running("x", cpu=10, mem=1, user="h"), running("y", cpu=1, mem=40, user="l"))

    assert sequence("drf", node("n1", cpu=100, mem=100), *used, HEAVY, LIGHT) == ["heavy", "light"]


@pytest.mark.parametrize("state", ["running", "checkpointing", "preempting", "reserved"])
def test_all_that_holds_room_counts_in_the_share_of_its_owner_also_what_makes_way(state: str) -> None:
    used = (running("x", cpu=50, user="h", state=state), running("y", cpu=10, user="l"))

    assert sequence("drf", node("n1", cpu=100), *used, HEAVY, LIGHT) == ["light", "heavy"]


def test_system_work_counts_in_nobodys_share() -> None:
    used = (running("x", cpu=50, user="h", kind="system"), running("y", cpu=10, user="l"))

    assert sequence("drf", node("n1", cpu=100), *used, HEAVY, LIGHT) == ["heavy", "light"]


@pytest.mark.parametrize("state", ["cordoned", "down"])
def test_shares_are_of_what_takes_work(state: str) -> None:
    """Of 20 cpu and 100 mem, 10 cpu are more than 40 mem; with the node that is closed it would be less."""
    nodes = (node("n1", cpu=20, mem=100), node("n2", cpu=80, state=state))
    used = (running("x", "n1", mem=40, user="h"), running("y", "n1", cpu=10, user="l"))

    assert sequence("drf", *nodes, *used, HEAVY, LIGHT) == ["heavy", "light"]


def test_members_of_different_size_all_count() -> None:
    parts = [{"name": "p", "count": 2, "requests": {"cpu": 5}}, {"name": "q", "count": 1, "requests": {"cpu": 1}}]
    used = (running("x", user="h", pod_sets=parts), running("y", cpu=10, user="l"))

    assert sequence("drf", node("n1", cpu=100), *used, HEAVY, LIGHT) == ["light", "heavy"]


def test_sessions_of_other_groups_count_too() -> None:
    cluster = shipped(
        group("red", scheduler="drf"), group("blue"), node("r1", cpu=100, partition="red"),
        node("b1", cpu=100, partition="blue"), running("x", "b1", cpu=90, user="h", queue="blue"),
        running("y", "r1", cpu=10, user="l", queue="red"), pending("heavy", cpu=1, user="h", queue="red"),
        pending("light", cpu=1, user="l", queue="red", submitted=9),
    )  # fmt: skip

    assert [made.workload for made in cede.plan(cluster).decisions] == ["light", "heavy"]


def test_dominant_shares_are_exact() -> None:
    """One part in ten to the sixteenth is a smaller share, though no floating point number shows it."""
    large = 10**16
    used = (running("x", mem=large, user="h"), running("y", mem=large - 1, user="l"))

    assert sequence("drf", node("n1", cpu=9, mem=3 * large), *used, HEAVY, LIGHT) == ["light", "heavy"]


def test_equal_shares_of_different_slots_are_equal() -> None:
    used = (running("x", cpu=1, user="h"), running("y", mem=7, user="l"))

    assert sequence("drf", node("n1", cpu=3, mem=21), *used, HEAVY, LIGHT) == ["heavy", "light"]


# -- blocking --------------------------------------------------------------------------------------------------------

NEXT = pending("next", cpu=1)
BUSY = (node("n1", cpu=4), running("x", "n1", cpu=3))


def first(**values: object) -> Entry:
    return pending("first", submitted=-9, **values)


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        ((*BUSY, first(cpu=2), NEXT), {"first": "wait", "next": "wait"}),
        ((*BUSY, first(cpu=1, members=2), NEXT), {"first": "wait", "next": "wait"}),
        ((*BUSY, first(cpu=5), NEXT), {"first": "refuse", "next": "wait"}),
        ((*BUSY, first(cpu=1, constraints={"labels": {"arch": "arm"}}), NEXT), {"first": "refuse", "next": "start"}),
        ((*BUSY, node("n2", cpu=9, state="cordoned"), first(cpu=1, required_node="n2"), NEXT),
         {"first": "wait", "next": "start"}),
        ((*BUSY, node("n2", cpu=9, state="down"), first(cpu=1, required_node="n2"), NEXT),
         {"first": "wait", "next": "start"}),
        ((*BUSY, node("n2", cpu=9, reserved_for="other"), pending("other", cpu=9, submitted=9),
          first(cpu=1, required_node="n2"), NEXT), {"first": "wait", "next": "wait", "other": "wait"}),
    ],
    ids=["no room", "no room for all members", "too big", "architecture", "cordoned", "down", "held by another"],
)  # fmt: skip
def test_lack_of_room_holds_up_those_behind_and_nothing_else_does(
    entries: tuple[Entry, ...], expected: dict[str, str]
) -> None:
    assert actions(shipped(group(scheduler="fifo"), *entries)) == expected


def test_a_quota_holds_up_nobody_else() -> None:
    cluster = shipped(
        group("small", partition="default", max={"cpu": 4}), group("wide", partition="default"), node("n1", cpu=8),
        running("x", cpu=4, queue="small"), first(cpu=1, queue="small"), pending("next", cpu=1, queue="wide"),
    )  # fmt: skip

    assert actions(cluster) == {"first": "wait", "next": "start"}
    assert decided(cluster, "first").rule == "backendai.quota"


def test_in_a_group_without_agents_everyone_fails_on_his_own() -> None:
    cluster = shipped(group("blue"), node("n1", cpu=4), pending("first", cpu=1), pending("next", cpu=1))

    assert {made.rule for made in cede.plan(cluster).decisions} == {"backendai.empty-group"}


def test_a_policy_holds_up_nobody_else() -> None:
    policy = Entry("policies", {"user": "ann", "max_priority": 5})
    cluster = shipped(group(scheduler="fifo"), policy, node("n1", cpu=4), first(cpu=1, user="ann"), NEXT)

    assert actions(cluster) == {"first": "refuse", "next": "start"}


def test_who_preempts_holds_up_nobody_and_several_may_preempt_in_one_pass() -> None:
    cluster = shipped(
        group(enabled=True, scheduler="fifo"), node("n1", cpu=4), node("n2", cpu=4), running("a", "n1", cpu=4),
        running("b", "n2", cpu=4),
        first(cpu=4, job_priority=1), pending("next", cpu=4, job_priority=1),
    )  # fmt: skip

    assert actions(cluster) == {"first": "preempt", "next": "preempt"}
    assert cede.plan(cluster).victims == {"a", "b"}


def test_one_groups_blocked_head_does_not_hold_up_another_group() -> None:
    cluster = shipped(group("red"), group("blue"), node("r1", cpu=1, partition="red"),
                      node("b1", cpu=1, partition="blue"), running("x", "b1", cpu=1, queue="blue"),
                      pending("b", cpu=1, queue="blue"), pending("r", cpu=1, queue="red"))  # fmt: skip

    assert actions(cluster) == {"b": "wait", "r": "start"}


def test_planned_alone_nobody_is_ahead() -> None:
    cluster = shipped(group(scheduler="fifo"), *BUSY, first(cpu=2), NEXT)

    assert actions(cluster) == {"first": "wait", "next": "wait"}
    assert actions(cluster, only="next") == {"next": "start"}


def test_a_skipped_session_names_no_nearest_miss_if_it_has_room() -> None:
    cluster = shipped(group(scheduler="fifo"), *BUSY, first(cpu=2), NEXT)

    assert [miss.workload for miss in decided(cluster, "first").nearest_miss] == ["x"]
    assert decided(cluster, "next").nearest_miss == ()
