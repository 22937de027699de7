"""Cases taken from each doctrine's own documents and tests, with the result they state."""

import json
from pathlib import Path

import pytest

from tests.vectors.comparison import Json, complaints

VECTORS = sorted(Path(__file__).parent.glob("*/*.json"))


def read(path: Path) -> Json:
    vector: Json = json.loads(path.read_text(encoding="utf-8"))
    return vector


@pytest.mark.parametrize("path", VECTORS, ids=lambda path: path.stem)
def test_the_result_is_the_one_stated_and_the_plan_is_lawful(path: Path) -> None:
    assert complaints(read(path)) == []


def test_a_vector_is_named_after_its_file_and_stands_with_its_doctrine() -> None:
    for path in VECTORS:
        vector = read(path)

        assert (vector["id"], vector["doctrine"]) == (path.stem, path.parent.name)


VECTOR = read(Path(__file__).parent / "backendai" / "backendai-002.json")


@pytest.mark.parametrize(
    ("expect", "complaint"),
    [
        ({"victims": {"old": None}}, "victims are ['new'], not ['old']"),
        ({"victims": {"new": "whim"}}, "new goes for backendai.lower-job-priority, not for whim"),
        ({"victims_any_of": [["old"], []]}, "victims are ['new'], none of [['old'], []]"),
        ({"not_victims": ["new"]}, "new is a victim"),
        ({"nodes": {"claimant": ["agent-b"]}}, "claimant goes on ['agent-a'], not on ['agent-b']"),
        ({"flavors": {"claimant": {"cpu": "spot"}}}, "claimant takes flavors {}, not {'cpu': 'spot'}"),
        ({"shares": {"workloads": {"claimant": {"turn": 2}}}}, "shares.workloads.claimant.turn is 1, not 2"),
        ({"shares": {"queues": {"none": 1}}}, "shares.queues.none is missing"),
        ({"settle": {"alive": ["new"]}}, "new does not run"),
        ({"settle": {"gone": ["old"]}}, "old still runs"),
        ({"settle": {"running_count": {"old": 2}}}, "1 of old run, not 2"),
    ],
)
def test_a_wrong_result_is_noticed(expect: Json, complaint: str) -> None:
    assert complaints({**VECTOR, "expect": expect}) == [complaint]
