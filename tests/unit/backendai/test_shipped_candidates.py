"""Edition 26.8: who may be preempted, by scope, job priority and runtime, and what becomes of victims."""

import pytest

import cede
from tests.builders import Entry, actions, cluster_of, decided, group, node, pending, running, shipped, verdicts

PREEMPTS = group(enabled=True)


# -- scope -----------------------------------------------------------------------------------------------------------

OLD = running("old", cpu=4, user="ann", project="vision", domain="lab")


@pytest.mark.parametrize(
    ("scope", "owner", "goes"),
    [
        ("user", {"user": "ann", "project": "speech", "domain": "prod"}, True),
        ("user", {"user": "bob", "project": "vision", "domain": "lab"}, False),
        ("project", {"user": "bob", "project": "vision", "domain": "prod"}, True),
        ("project", {"user": "ann", "project": "speech", "domain": "lab"}, False),
        ("domain", {"user": "bob", "project": "speech", "domain": "lab"}, True),
        ("domain", {"user": "ann", "project": "vision", "domain": "prod"}, False),
        ("resource-group", {"user": "bob", "project": "speech", "domain": "prod"}, True),
        (None, {"user": "ann", "project": "speech", "domain": "prod"}, True),
        (None, {"user": "bob", "project": "vision", "domain": "lab"}, False),
    ],
)
def test_the_group_preempts_within_its_scope(scope: str | None, owner: dict[str, str], goes: bool) -> None:
    settings = {} if scope is None else {"victim_scope": scope}
    claimant = pending("in", cpu=4, job_priority=1, **owner)
    cluster = shipped(group(enabled=True, **settings), node("n1", cpu=4), OLD, claimant)

    assert cede.plan(cluster).victims == ({"old"} if goes else set())


def test_no_scope_reaches_into_another_group() -> None:
    cluster = shipped(
        group("red", enabled=True, victim_scope="resource-group"), group("blue", enabled=True),
        node("r1", cpu=4, partition="red"), node("b1", cpu=4, partition="blue"),
        running("r", "r1", cpu=4, queue="red", job_priority=9), running("b", "b1", cpu=4, queue="blue"),
        pending("in", cpu=4, queue="red", job_priority=5),
    )  # fmt: skip

    made = decided(cluster, "in", explain=True)

    assert made.action == "wait"
    assert set(verdicts(made)) == {"r"}


# -- job priority ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("mine", "yours", "goes"), [(0, 0, False), (1, 0, True), (-1, -2, True), (-2, -1, False)])
def test_only_a_strictly_lower_job_priority_gives_way(mine: int, yours: int, goes: bool) -> None:
    cluster = shipped(node("n1", cpu=4), running("old", cpu=4, job_priority=yours),
                      pending("in", cpu=4, job_priority=mine))  # fmt: skip

    assert cede.plan(cluster).victims == ({"old"} if goes else set())


def test_queue_priority_and_threshold_do_not_matter() -> None:
    cluster = shipped(
        group(enabled=True, preemptible_priority=0), node("n1", cpu=4),
        running("old", cpu=4, priority=100), pending("in", cpu=4, priority=0, job_priority=1),
    )  # fmt: skip

    assert cede.plan(cluster).victims == {"old"}


@pytest.mark.parametrize(
    "protected",
    [
        running("old", cpu=4, preemptible=False),
        running("old", cpu=4, kind="system"),
        running("old", cpu=4, state="reserved"),
        running("old", cpu=4, state="preempting"),
        running("old", cpu=4, state="checkpointing"),
    ],
)
def test_what_never_gives_way(protected: Entry) -> None:
    assert actions(shipped(node("n1", cpu=4), protected, pending("in", cpu=4, job_priority=1))) == {"in": "wait"}


@pytest.mark.parametrize(
    ("settings", "claimant", "rule"),
    [
        ({}, pending("in", cpu=4, job_priority=1), "preemption-off"),
        ({"enabled": False}, pending("in", cpu=4, job_priority=1), "preemption-off"),
        ({"enabled": True}, pending("in", cpu=4, job_priority=1, preempts=False), "may-not-preempt"),
        ({"enabled": True}, pending("in", cpu=4, job_priority=1, kind="system"), "system-alone"),
    ],
)
def test_who_may_not_preempt(settings: dict[str, object], claimant: Entry, rule: str) -> None:
    made = decided(shipped(group(**settings), node("n1", cpu=4), running("old", cpu=4), claimant), "in", explain=True)

    assert (made.action, made.rule) == ("wait", f"backendai.{rule}")
    assert verdicts(made) == {"old": ("protected", rule)}


def test_where_queues_share_a_group_a_session_preempts_as_its_own_queue_says() -> None:
    queues = (group("a", partition="default"), group("b", partition="default", enabled=True))
    entries = (node("n1", cpu=4), running("old", cpu=4, queue="a"))

    for queue, victims in (("a", set()), ("b", {"old"})):
        cluster = shipped(*queues, *entries, pending("in", cpu=4, job_priority=1, queue=queue))
        assert cede.plan(cluster).victims == victims


# -- minimum runtime -------------------------------------------------------------------------------------------------

GRACE = group(enabled=True, preemption_min_runtime="1m")


@pytest.mark.parametrize(
    ("started", "goes"),
    [({"started": -60}, True), ({"started": -59.999}, False), ({"started": 0}, False), ({"started": None}, False)],
)
def test_a_session_may_go_once_it_ran_its_minimum(started: dict[str, float | None], goes: bool) -> None:
    cluster = shipped(GRACE, node("n1", cpu=4), running("old", cpu=4, **started), pending("in", cpu=4, job_priority=1))

    assert cede.plan(cluster).victims == ({"old"} if goes else set())


def test_without_a_minimum_even_what_never_started_may_go() -> None:
    """As long as its room can be booked twice: see what a pass does in the end."""
    cluster = shipped(node("n1", cpu=8), running("old", cpu=4, started=None), running("busy", cpu=4, job_priority=9),
                      pending("in", cpu=4, job_priority=1))  # fmt: skip

    assert cede.plan(cluster).victims == {"old"}


def test_a_plan_says_when_the_next_session_has_run_its_minimum() -> None:
    cluster = shipped(GRACE, node("n1", cpu=8), running("a", cpu=4, started=-10), running("b", cpu=4, started=-20),
                      pending("in", cpu=4, job_priority=1))  # fmt: skip

    assert cede.plan(cluster).wakes_at == 40_000_000


def test_settle_waits_for_the_minimum_and_preempts_then() -> None:
    cluster = shipped(
        GRACE, node("n1", cpu=4), running("old", cpu=4, started=-50), pending("in", cpu=4, job_priority=1)
    )

    end = cede.settle(cluster)

    assert [(one.at, one.victim) for one in end.preemptions] == [(11, "old")]
    assert (end.settled, set(end.running), end.ended) == (True, {"in"}, ("old",))


def test_settle_does_not_wait_for_what_time_will_not_change() -> None:
    never = running("old", cpu=4, started=None)
    cluster = shipped(GRACE, node("n1", cpu=4), never, pending("in", cpu=4, job_priority=1))

    end = cede.settle(cluster)

    assert (end.settled, end.cycles, end.pending) == (True, 1, {"in": "backendai.no-room"})


# -- what becomes of victims -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("edition", "mode", "kind", "fate"),
    [
        ("bep-1014", None, "batch", "ended"),
        ("bep-1014", "terminate", "batch", "ended"),
        ("bep-1014", "suspend", "batch", "requeued"),
        ("bep-1014", "suspend", "service", "requeued"),
        ("bep-1014", "suspend", "interactive", "ended"),
        ("bep-1014", "suspend", "inference", "ended"),
        ("26.8", None, "batch", "ended"),
        ("26.8", "terminate", "interactive", "ended"),
        ("26.8", "reschedule", "batch", "requeued"),
        ("26.8", "reschedule", "interactive", "requeued"),
        ("26.8", "reschedule", "inference", "requeued"),
    ],
)
def test_a_victim_ends_or_queues_again_as_the_mode_says(edition: str, mode: str | None, kind: str, fate: str) -> None:
    settings = {"enabled": True} if edition == "26.8" else {}
    cluster = cluster_of(
        group(**settings, **({} if mode is None else {"preemption_mode": mode})), node("n1", cpu=4),
        running("old", cpu=4, priority=1, kind=kind, started=-60), pending("in", cpu=4, priority=9, job_priority=1),
        edition=edition,
    )  # fmt: skip

    assert [victim.fate for victim in decided(cluster, "in").victims] == [fate]
    assert ("old" in cede.settle(cluster).ended) is (fate == "ended")


def test_a_rescheduled_session_keeps_its_place_in_the_queue_and_starts_again_when_there_is_room() -> None:
    cluster = shipped(group(enabled=True, preemption_mode="reschedule"), node("n1", cpu=4), node("n2", cpu=4),
                      running("old", "n1", cpu=4, submitted=-50), running("more", "n2", cpu=4, submitted=-40),
                      pending("in", cpu=4, job_priority=1), pending("late", cpu=4))  # fmt: skip

    end = cede.settle(cluster)

    assert end.pending == {"late": "backendai.blocked-by-head", "old": "backendai.no-room"}
    assert end.running == {"in": ["n1"], "more": ["n2"]}


def test_a_suspended_batch_job_resumes_and_an_interactive_one_does_not() -> None:
    cluster = cluster_of(
        group(preemption_mode="suspend"), node("n1", cpu=4), node("n2", cpu=4, labels={"free": "yes"}),
        running("batch", "n1", cpu=2, priority=1), running("notebook", "n1", cpu=2, priority=1, kind="interactive"),
        pending("in", cpu=4, priority=9, constraints={"nodes": ["n1"]}),
    )  # fmt: skip

    end = cede.settle(cluster)

    assert end.running == {"batch": ["n2"], "in": ["n1"]}
    assert end.ended == ("notebook",)
