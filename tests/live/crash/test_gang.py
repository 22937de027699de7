"""A gang of which some members got to their end, and others left with a checkpoint, has left."""

from typing import Any

from cede.engine.drive.facts import Began, Checkpointed, Exited, Fact
from cede.live.executors.local.gang import Gang, Member
from cede.live.executors.local.guard.outcome import gave_way, outcome


def member(code: int | None, **said: Any) -> Member:
    return Member(True, {"done": 0, "own": 0} | said, None if code is None else outcome(code=code))


def news(*members: Member) -> list[Fact]:
    return list(Gang("gang", 1, list(members)).news())


LEFT = [Began("gang", 1), Checkpointed("gang", 1, 1), Exited("gang", 1, code=0)]


def test_who_completed_without_an_answer_is_not_waited_for() -> None:
    assert news(member(0), member(None, done=1)) == LEFT[:2]


def test_who_saved_by_itself_and_completed_is_not_waited_for() -> None:
    assert Checkpointed("gang", 1, 2) in news(member(0, own=4), member(0, own=1, done=1), member(None, own=1, done=2))


def test_a_gang_has_not_completed_if_one_member_left_with_its_checkpoint() -> None:
    facts = news(member(0, own=4), member(0, done=1), member(0))

    assert [fact for fact in facts if fact != Checkpointed("gang", 1, 0)] == LEFT


def test_a_member_that_failed_without_an_answer_is_no_checkpoint() -> None:
    facts = news(member(0, done=1), member(3))

    assert facts == [Began("gang", 1), Exited("gang", 1, code=3)]


def test_a_gang_of_which_one_member_failed_before_the_others_were_cancelled_was_cancelled() -> None:
    """A record that was set back knows of it by this alone."""
    members = [Member(True, {}, outcome(code=5)), Member(True, {}, outcome(signal=15, told=True, cause="cancel"))]
    *_, end = Gang("gang", 1, members).news()

    assert end == Exited("gang", 1, code=5)
    assert isinstance(end, Exited)
    assert end.cause == "cancel"


def told_the_broker(code: int | None, hint: int) -> Member:
    return member(code, **({} if hint == 0 else gave_way(hint)))


def test_a_gang_of_which_only_a_broker_was_told_has_left_if_one_member_did() -> None:
    facts = news(told_the_broker(0, 1), told_the_broker(0, 0))

    assert [(type(fact), getattr(fact, "hint", None)) for fact in facts] == [
        (Began, None),
        (Checkpointed, 1),
        (Exited, None),
    ]


def test_a_gang_of_which_one_member_answered_an_earlier_request_has_no_checkpoint() -> None:
    assert [type(fact) for fact in news(told_the_broker(0, 2), told_the_broker(0, 1))] == [Began, Exited]
    assert [type(fact) for fact in news(told_the_broker(0, 2), told_the_broker(3, 0))] == [Began, Exited]
