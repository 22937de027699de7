"""What the broker takes from whom, and what it makes of it."""

import threading
from collections.abc import Iterator
from contextlib import ExitStack
from math import inf, nan
from pathlib import Path
from typing import Any

import grpc
import pytest

from cede.checkpoint.wire import checkpoint_pb2 as pb
from cede.engine.drive.facts import Checkpointed, CheckpointFailed, Deferral, Fact, Heard
from cede.engine.drive.orders import Hint
from cede.live.broker.attempts import Estimate
from cede.live.broker.service import MOST_STREAMS, Broker
from tests.live.broker.client import Client, Stream, connected
from tests.live.broker.peers import SECRET, eventually

OK, DENIED = grpc.StatusCode.OK, grpc.StatusCode.PERMISSION_DENIED
INVALID, EARLY = grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.FAILED_PRECONDITION


class Desk:
    """A broker, what it reported, and a connection to it."""

    def __init__(self, broker: Broker, facts: list[Fact], client: Client, address: str) -> None:
        self.broker = broker
        self.facts = facts
        self.client = client
        self.address = address

    def member(self, number: int = 0, size: int = 1, name: str = "job", attempt: int = 1) -> pb.Member:
        token = self.broker.token(name, attempt)
        return pb.Member(job=name, attempt=attempt, member=number, size=size, token=token)

    def register(self, member: pb.Member, **known: float) -> grpc.StatusCode:
        return self.client.call("Register", pb.Registration(member=member, **known))

    def done(self, member: pb.Member, hint: int) -> grpc.StatusCode:
        return self.client.call("Done", pb.CheckpointDone(member=member, hint=hint))


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    facts: list[Fact] = []
    broker = Broker(facts.append, SECRET)
    address = broker.open(tmp_path)
    with connected(address) as client:
        yield Desk(broker, facts, client, address)
    broker.close()


def test_a_hint_reaches_who_listens_and_who_comes_later(desk: Desk) -> None:
    early, late = desk.member(0, 2), desk.member(1, 2)
    assert desk.register(early) == OK
    first = desk.client.hints(early)
    eventually(lambda: reached(desk, first), "the stream is open")
    desk.broker.hint(Hint("job", 1, 1, leaving=True, deadline=5_000_000))
    eventually(lambda: first.numbers == [1], "the first member hears")
    assert desk.register(late) == OK
    second = desk.client.hints(late)

    eventually(lambda: second.numbers == [1], "the second member hears")
    assert second.notices[0].hint.leaving
    assert second.notices[0].hint.deadline_us == 5_000_000


def test_an_order_that_comes_twice_is_told_once_and_another_deadline_again(desk: Desk) -> None:
    assert desk.register(desk.member()) == OK
    heard = desk.client.hints(desk.member())
    eventually(lambda: reached(desk, heard), "the stream is open")
    for deadline in (5, 5, 9):
        desk.broker.hint(Hint("job", 1, 1, leaving=True, deadline=deadline))
    desk.broker.granted("job", 1, 1, 2.5)

    eventually(lambda: heard.notices[-1].grant.seconds == 2.5, "the grant")
    assert [notice.hint.deadline_us for notice in heard.notices if notice.WhichOneof("about") == "hint"] == [5, 9]


def reached(desk: Desk, heard: Stream) -> bool:
    """Whether something that is told now arrives."""
    desk.broker.granted("job", 1, 9, 1)
    return heard.notices != []


def test_answers_become_facts(desk: Desk) -> None:
    me = desk.member()
    desk.broker.hint(Hint("job", 1, 3, leaving=True))
    assert desk.client.call("Progress", pb.ProgressMade(member=me, hint=3)) == OK
    assert desk.client.call("Progress", pb.ProgressMade(member=me, hint=3, part=0.0)) == OK
    assert desk.client.call("Defer", pb.TimeWanted(member=me, hint=3, seconds=90)) == OK
    assert desk.broker.outstanding() == [Hint("job", 1, 3, leaving=True)]
    assert desk.done(me, 3) == OK
    assert desk.done(me, 0) == OK
    assert desk.client.call("Failed", pb.CheckpointMissing(member=me, hint=4, why="x" * 1000)) == OK

    assert desk.facts == [
        Heard("job", 1, 3),
        Heard("job", 1, 3, 0.0),
        Deferral("job", 1, 3, 90_000_000),
        Checkpointed("job", 1, 3),
        Checkpointed("job", 1, 0),
        CheckpointFailed("job", 1, 4, "x" * 500),
    ]
    assert desk.broker.outstanding() == []


def test_a_gang_has_answered_when_every_member_has(desk: Desk) -> None:
    for hint in (1, 2):
        desk.broker.hint(Hint("job", 1, hint, leaving=False))
        for number in (2, 0, 0, 1):
            assert desk.done(desk.member(number, 3), hint) == OK

    assert [fact for fact in desk.facts if isinstance(fact, Checkpointed)] == [
        Checkpointed("job", 1, 1),
        Checkpointed("job", 1, 2),
    ]
    assert desk.facts[-1] == Checkpointed("job", 1, 2)


def test_a_gang_that_asks_for_time_asks_once(desk: Desk) -> None:
    desk.broker.hint(Hint("job", 1, 1, leaving=True))
    for number in range(3):
        asks = pb.TimeWanted(member=desk.member(number, 3), hint=1, seconds=30)
        assert desk.client.call("Defer", asks) == OK

    assert desk.facts == [Deferral("job", 1, 1, 30_000_000), Heard("job", 1, 1), Heard("job", 1, 1)]


def test_one_member_that_fails_fails_the_gang(desk: Desk) -> None:
    desk.broker.hint(Hint("job", 1, 1, leaving=True))
    desk.done(desk.member(0, 2), 1)
    desk.client.call("Failed", pb.CheckpointMissing(member=desk.member(1, 2), hint=1, why="no room"))

    assert desk.facts == [Heard("job", 1, 1), CheckpointFailed("job", 1, 1, "no room")]
    assert desk.broker.outstanding() == []


def test_a_gang_s_checkpoint_of_its_own_accord_is_one_of_all_members(desk: Desk) -> None:
    for _ in range(2):
        desk.done(desk.member(0, 2), 0)
        desk.done(desk.member(1, 2), 0)

    assert desk.facts == [Heard("job", 1, 0), Checkpointed("job", 1, 0)] * 2


def test_the_estimate_of_a_gang_is_that_of_its_slowest(desk: Desk) -> None:
    desk.register(desk.member(0, 2), estimate_s=2, interval_s=60)
    desk.register(desk.member(1, 2), estimate_s=3)

    assert desk.broker.estimate("job", 1) == Estimate(3_000_000, 60_000_000)
    assert desk.broker.estimate("other", 1) == Estimate()


REFUSED: dict[str, tuple[str, Any, grpc.StatusCode]] = {
    "no token": ("Done", pb.CheckpointDone(member=pb.Member(job="job", attempt=1)), DENIED),
    "no sender": ("Done", pb.CheckpointDone(), DENIED),
    "a token that is no text a server makes": (
        "Done",
        pb.CheckpointDone(member=pb.Member(job="job", attempt=1, token="ü" * 64)),
        DENIED,
    ),
}


@pytest.mark.parametrize(("call", "request_", "code"), REFUSED.values(), ids=REFUSED.keys())
def test_without_the_token_nothing_is_taken(call: str, request_: Any, code: grpc.StatusCode, desk: Desk) -> None:
    assert desk.client.call(call, request_) == code
    assert desk.facts == []


def test_a_token_is_good_for_one_attempt_of_one_job(desk: Desk) -> None:
    mine = desk.member()
    for name, attempt in (("job", 2), ("jo", 1), ("job2", 1)):
        forged = pb.Member(job=name, attempt=attempt, token=mine.token)
        assert desk.register(forged) == DENIED
        heard = desk.client.hints(forged)
        eventually(lambda heard=heard: heard.code == DENIED, "the stream is refused")  # type: ignore[misc]


OUT_OF_BOUNDS: dict[str, Any] = {
    "progress above 1": lambda me: ("Progress", pb.ProgressMade(member=me, hint=1, part=1.5)),
    "progress that is no number": lambda me: ("Progress", pb.ProgressMade(member=me, hint=1, part=nan)),
    "a deferral without an end": lambda me: ("Defer", pb.TimeWanted(member=me, hint=1, seconds=inf)),
    "a deferral into the past": lambda me: ("Defer", pb.TimeWanted(member=me, hint=1, seconds=-1)),
    "a deferral of no hint": lambda me: ("Defer", pb.TimeWanted(member=me, seconds=1)),
    "a failure of no hint": lambda me: ("Failed", pb.CheckpointMissing(member=me)),
    "an estimate that is no number": lambda me: ("Register", pb.Registration(member=me, estimate_s=nan)),
}


@pytest.mark.parametrize("case", OUT_OF_BOUNDS.values(), ids=OUT_OF_BOUNDS.keys())
def test_what_nobody_can_mean_is_refused(case: Any, desk: Desk) -> None:
    assert desk.client.call(*case(desk.member())) == INVALID
    assert desk.facts == []


def test_one_connection_has_only_so_many_streams(desk: Desk) -> None:
    members = [desk.member(number, 2 * MOST_STREAMS) for number in range(2 * MOST_STREAMS)]
    for member in members:
        assert desk.register(member) == OK
    streams = [desk.client.hints(member) for member in members]
    desk.broker.hint(Hint("job", 1, 1, leaving=False))

    eventually(lambda: sum(1 in stream.numbers for stream in streams) == MOST_STREAMS, "as many hear as may")
    assert sum(map(len, desk.broker._streams.values())) == MOST_STREAMS


def test_a_member_beyond_the_size_is_refused(desk: Desk) -> None:
    assert desk.register(desk.member(2, 2)) == INVALID
    assert desk.register(desk.member(0, 2**31)) == INVALID


def test_a_huge_message_is_refused(desk: Desk) -> None:
    huge = pb.CheckpointMissing(member=desk.member(), hint=1, why="x" * 100_000)

    assert desk.client.call("Failed", huge) == grpc.StatusCode.RESOURCE_EXHAUSTED
    assert desk.facts == []


def test_who_has_not_registered_hears_nothing(desk: Desk) -> None:
    heard = desk.client.hints(desk.member())
    eventually(lambda: heard.code == EARLY, "the stream is refused")


def test_a_forgotten_attempt_hears_nothing_more(desk: Desk) -> None:
    desk.register(desk.member())
    heard = desk.client.hints(desk.member())
    eventually(lambda: reached(desk, heard), "the stream is open")
    desk.broker.hint(Hint("job", 1, 1, leaving=True))
    eventually(lambda: heard.numbers == [1], "the hint")
    desk.broker.forget("job", 1)

    eventually(lambda: heard.code == OK, "the stream ends")
    assert desk.broker.outstanding() == []


def test_a_new_attempt_makes_the_old_one_forgotten(desk: Desk) -> None:
    desk.broker.hint(Hint("job", 1, 1, leaving=True))
    desk.broker.hint(Hint("job", 2, 1, leaving=True))

    assert desk.broker.outstanding() == [Hint("job", 2, 1, leaving=True)]


def test_many_listeners_cost_no_threads(desk: Desk) -> None:
    before = threading.active_count()
    members = [desk.member(number, 40) for number in range(40)]
    for member in members:
        desk.register(member)
    with ExitStack() as stack:
        clients = [stack.enter_context(connected(desk.address)) for _ in range(4)]
        heard = [clients[number % 4].hints(member) for number, member in enumerate(members)]
        # Who comes at the very moment of the hint may be told twice.
        eventually(lambda: all(reached(desk, each) for each in heard), "the streams are open")
        desk.broker.hint(Hint("job", 1, 1, leaving=False))
        eventually(lambda: all(each.numbers == [1] for each in heard), "everybody hears")
        # One thread for each stream is the clients', and gRPC has one more for each of these, and one for all.
        assert threading.active_count() <= before + 40 + 4 + 1


def test_members_that_ended_well_are_not_waited_for(desk: Desk) -> None:
    desk.broker.ended("job", 1, 2)
    desk.broker.hint(Hint("job", 1, 1, leaving=True))
    assert desk.done(desk.member(0, 3), 1) == OK
    desk.broker.ended("job", 1, 0)
    desk.broker.ended("job", 1, 1)
    desk.broker.ended("job", 1, 1)
    desk.broker.hint(Hint("job", 1, 2, leaving=True))
    desk.broker.ended("job", 1, 2)

    assert desk.facts == [Heard("job", 1, 1), Checkpointed("job", 1, 1)]
