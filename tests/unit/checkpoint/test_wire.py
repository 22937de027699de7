"""What is made from the protocol is made from this protocol."""

import pytest

from cede.checkpoint.wire import checkpoint_pb2 as pb
from cede.checkpoint.wire.generate import HERE, generated
from cede.checkpoint.wire.methods import REQUESTS, SERVICE


@pytest.fixture(scope="module")
def made() -> dict[str, str]:
    return generated()


def test_the_messages_are_those_of_the_protocol(made: dict[str, str]) -> None:
    stale = [name for name, text in made.items() if (HERE / name).read_text(encoding="utf-8") != text]

    assert stale == [], "run `python -m cede.checkpoint.wire.generate`"


def test_the_calls_are_those_of_the_protocol() -> None:
    [service] = pb.DESCRIPTOR.services_by_name.values()
    takes = {method.name: method.input_type.full_name for method in service.methods}
    answers = {method.name: method.output_type.name for method in service.methods}

    assert service.full_name == SERVICE
    assert takes.pop("Hints") == pb.Member.DESCRIPTOR.full_name
    assert answers.pop("Hints") == "Notice"
    assert takes == {name: kind.DESCRIPTOR.full_name for name, kind in REQUESTS.items()}
    assert set(answers.values()) == {"Noted"}


def test_a_progress_of_nothing_is_not_the_same_as_none() -> None:
    assert not pb.ProgressMade.FromString(pb.ProgressMade(hint=1).SerializeToString()).HasField("part")
    assert pb.ProgressMade.FromString(pb.ProgressMade(hint=1, part=0).SerializeToString()).HasField("part")
