"""Edition 26.8: what several sessions of one pass do to each other, and what the end of a pass does to all of them."""

from dataclasses import replace

import pytest

import cede
from cede.model.plan import Decision, Victim
from tests.builders import Entry, actions, decided, group, node, pending, reserved, running, shipped

FIFO = group(enabled=True, scheduler="fifo")
ONE_EACH = tuple(running(f"r{number}", cpu=1, started=-60 + number) for number in range(1, 5))


def claim(name: str, order: int, **values: object) -> Entry:
    return pending(name, **{"cpu": 1, "job_priority": 9, "submitted": -100 + order, **values})


def victims(cluster: cede.Cluster) -> dict[str | None, list[str]]:
    return {made.workload: [victim.workload for victim in made.victims] for made in cede.plan(cluster).decisions}


def warned(cluster: cede.Cluster, name: str) -> set[str]:
    return {warning.rule.removeprefix("backendai.") for warning in decided(cluster, name).warnings}


# -- the credit of a session's victims -------------------------------------------------------------------------------


def test_a_second_session_takes_more_than_it_needs() -> None:
    """The booking of the first stays and the room of its victim does not count: the agent is one over."""
    cluster = shipped(FIFO, node("n1", cpu=4), *ONE_EACH, claim("p1", 1), claim("p2", 2))

    assert victims(cluster) == {"p1": ["r1"], "p2": ["r2", "r3"]}
    assert warned(cluster, "p2") >= {"credit-lost"}
    assert "credit-lost" not in warned(cluster, "p1")


def test_what_a_victim_leaves_over_is_nobodys_in_this_pass() -> None:
    cluster = shipped(FIFO, node("n1", cpu=2), running("r1", cpu=2), claim("p1", 1), claim("p2", 2, job_priority=0))

    assert actions(cluster) == {"p1": "preempt", "p2": "wait"}
    assert warned(cluster, "p2") == {"credit-lost"}


def test_one_who_would_need_one_more_victim_than_there_is_waits() -> None:
    cluster = shipped(FIFO, node("n1", cpu=2), *ONE_EACH[:2], claim("p1", 1), claim("p2", 2))

    assert victims(cluster) == {"p1": ["r1"], "p2": []}


def test_nobody_is_taken_twice_and_the_explanation_says_so() -> None:
    cluster = shipped(FIFO, node("n1", cpu=2), *ONE_EACH[:2], claim("p1", 1), claim("p2", 2))
    made = next(made for made in cede.plan(cluster, explain=True).decisions if made.workload == "p2")

    assert {one.workload: one.rule for one in made.candidates or ()} == {
        "r1": "backendai.running-only",
        "r2": "backendai.not-enough",
        "p1": "backendai.running-only",
    }


def test_a_decision_that_would_be_the_same_carries_no_warning() -> None:
    nodes = (node("n1", cpu=1), node("n2", cpu=1), running("a", "n1", cpu=1), running("b", "n2", cpu=1))
    cluster = shipped(FIFO, *nodes, claim("p1", 1), claim("p2", 2))

    assert actions(cluster) == {"p1": "preempt", "p2": "preempt"}
    assert "credit-lost" not in warned(cluster, "p2")


def test_the_members_of_one_session_share_the_credit_of_its_victims() -> None:
    cluster = shipped(FIFO, node("n1", cpu=2), running("r1", cpu=2), claim("p1", 1, members=2))

    assert victims(cluster) == {"p1": ["r1"]}


# -- what is reserved and what is preempting -------------------------------------------------------------------------

OVERLAP = (node("n1", cpu=2), running("out", cpu=1, state="preempting"), reserved("next", cpu=1))


def test_what_is_reserved_and_what_is_preempting_are_both_subtracted() -> None:
    cluster = shipped(FIFO, *OVERLAP, claim("p1", 1))

    assert actions(cluster) == {"p1": "wait"}
    assert warned(cluster, "p1") == {"no-overlap"}


def test_so_that_even_a_victim_makes_too_little_room() -> None:
    cluster = shipped(FIFO, *OVERLAP, running("r1", cpu=1), claim("p1", 1))

    assert actions(cluster) == {"p1": "wait"}
    assert warned(cluster, "p1") == {"no-overlap"}


def test_two_deviations_that_matter_only_together_are_both_named() -> None:
    """It asks for two: one more if what overlaps counted once, one more with what is left of the victim."""
    cluster = shipped(FIFO, node("n1", cpu=4), running("out", cpu=1, state="preempting"), reserved("next", cpu=1),
                      running("r1", cpu=2), claim("p1", 1), claim("p2", 2, cpu=2, job_priority=0))  # fmt: skip

    assert actions(cluster) == {"p1": "preempt", "p2": "wait"}
    assert warned(cluster, "p2") == {"no-overlap", "credit-lost"}


# -- the joint booking at the end ------------------------------------------------------------------------------------


def test_room_that_is_to_come_from_one_that_never_started_cannot_be_booked() -> None:
    cluster = shipped(FIFO, node("n1", cpu=1), running("never", cpu=1, started=None), claim("p1", 1))
    made = decided(cluster, "p1")

    assert (made.action, made.rule, made.victims, made.nodes) == ("wait", "backendai.rolled-back", (), ())
    assert warned(cluster, "p1") == {"undone-reservation"}


def test_it_can_as_long_as_both_fit_beside_all_that_is_reserved() -> None:
    """What others use does not count then."""
    entries = (running("never", cpu=1, started=None), running("old", cpu=1, job_priority=9))

    assert victims(shipped(FIFO, node("n1", cpu=2), *entries, claim("p1", 1))) == {"p1": ["never"]}


def test_every_preemption_of_the_pass_is_rolled_back_and_plain_starts_stand() -> None:
    cluster = shipped(
        FIFO, node("n1", cpu=1), node("n2", cpu=1), node("n3", cpu=1),
        running("never", "n1", cpu=1, user="ann", started=None), running("old", "n2", cpu=1, user="bob"),
        claim("p1", 1, user="bob", constraints={"nodes": ["n2"]}), claim("p2", 2, user="cid"),
        claim("p3", 3, user="ann"),
    )  # fmt: skip

    assert actions(cluster) == {"p1": "wait", "p2": "start", "p3": "wait"}
    assert {decided(cluster, name).rule for name in ("p1", "p3")} == {"backendai.rolled-back"}


def test_another_group_has_a_pass_of_its_own() -> None:
    cluster = shipped(
        group("blue", enabled=True), group("red", enabled=True), node("b1", cpu=1, partition="blue"),
        node("r1", cpu=1, partition="red"), running("never", "b1", cpu=1, queue="blue", started=None),
        running("old", "r1", cpu=1, queue="red"), claim("b", 1, queue="blue"), claim("r", 2, queue="red"),
    )  # fmt: skip

    assert actions(cluster) == {"b": "wait", "r": "preempt"}


def test_what_was_reserved_before_and_what_starts_in_the_pass_counts_too() -> None:
    """Four: one used by old, one that starts, two of never, which the reservation is to have: five with its own two."""
    entries = (node("n1", cpu=4), running("never", cpu=2, started=None), running("old", cpu=1, job_priority=9))
    starts = claim("s", 1, job_priority=0)

    assert actions(shipped(FIFO, *entries, starts, claim("p1", 2, cpu=2))) == {"s": "start", "p1": "wait"}
    assert victims(shipped(FIFO, *entries, claim("p1", 2, cpu=2))) == {"p1": ["never"]}


def test_one_that_is_asked_about_is_rolled_back_for_the_sake_of_one_behind_it() -> None:
    entries = (node("n1", cpu=1), node("n2", cpu=1), running("never", "n1", cpu=1, user="ann", started=None),
               running("old", "n2", cpu=1, user="bob"))  # fmt: skip
    cluster = shipped(FIFO, *entries, claim("p1", 1, user="bob"), claim("p2", 2, user="ann"))

    assert actions(cluster, only="p1") == {"p1": "wait"}
    assert actions(shipped(FIFO, *entries, claim("p1", 1, user="bob")), only="p1") == {"p1": "preempt"}


def test_an_explanation_calls_nobody_a_victim_who_is_not() -> None:
    cluster = shipped(FIFO, node("n1", cpu=1), running("never", cpu=1, started=None), claim("p1", 1))
    (made,) = cede.plan(cluster, explain=True).decisions

    assert [(one.verdict, one.rule) for one in made.candidates or ()] == [("protected", "backendai.rolled-back")]


def test_settle_ends_where_every_pass_is_rolled_back() -> None:
    cluster = shipped(FIFO, node("n1", cpu=1), running("never", cpu=1, started=None), claim("p1", 1))

    end = cede.settle(cluster)

    assert (end.settled, end.pending) == (True, {"p1": "backendai.rolled-back"})


# -- system work as a claimant ---------------------------------------------------------------------------------------

FULL = (node("n1", cpu=1), running("old", cpu=1, user="ann"))


@pytest.mark.parametrize(
    ("beside", "action"),
    [
        ((), "wait"),
        ((pending("x", cpu=1, user="ann", job_priority=1),), "preempt"),
        ((pending("x", cpu=1, user="bob", job_priority=1),), "wait"),
        ((pending("x", cpu=1, user="ann", job_priority=1, kind="system"),), "wait"),
        ((pending("x", cpu=1, user="ann", job_priority=0),), "wait"),
    ],
    ids=["alone", "beside another of its scope", "of another scope", "of system work", "of no higher rank"],
)
def test_system_work_preempts_only_beside_other_work_of_its_scope(beside: tuple[Entry, ...], action: str) -> None:
    cluster = shipped(FIFO, *FULL, *beside, claim("sftp", 1, kind="system", user="ann", priority=90))

    assert decided(cluster, "sftp").action == action


# -- what holds a plan to it -----------------------------------------------------------------------------------------


STARTS = Decision("p2", "start", "backendai.fits", "it fits now on n1", nodes=("n1",))
PREEMPTS = Decision("p1", "preempt", "backendai.lower-job-priority", "no room", nodes=("n1",))


@pytest.mark.parametrize(
    ("entries", "made", "complaint"),
    [
        ((node("n1", cpu=2), running("r1", cpu=2)), (replace(PREEMPTS, victims=(Victim("r1", "x", "ended"),)), STARTS),
         "p2: p2 takes cpu of n1 that is counted for another session"),
        (OVERLAP, (STARTS,), "p2: p2 takes cpu of n1 that is counted for another session"),
        ((node("n1", cpu=1), running("never", cpu=1, started=None)),
         (replace(PREEMPTS, victims=(Victim("never", "x", "ended"),)),),
         "p1: n1 cannot book its reservations of cpu beside what is reserved there"),
    ],
    ids=["a victim's room for another", "room that overlaps", "what never started"],
)  # fmt: skip
def test_verify_holds_a_plan_to_the_books_of_the_release(
    entries: tuple[Entry, ...], made: tuple[Decision, ...], complaint: str
) -> None:
    """Each of these is lawful where a victim is gone for those after it, and who leaves makes way for who comes."""
    cluster = shipped(FIFO, *entries, claim("p1", 1), claim("p2", 2))
    plan = cede.plan(cluster)

    assert cede.verify(cluster, plan) == []
    assert cede.verify(cluster, replace(plan, decisions=made)) == [complaint]
