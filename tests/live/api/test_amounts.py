"""One submission cannot keep the server from counting what all the others ask for."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cede.live.api.submissions import MOST_STRANGE
from tests.live.api.serving import CLUSTER, Running, serving

ASLEEP = CLUSTER | {"nodes": [node | {"state": "cordoned"} for node in CLUSTER["nodes"]]}


@pytest.fixture(scope="module")
def asleep(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """Nothing starts here."""
    with serving(tmp_path_factory.mktemp("asleep"), cluster=ASLEEP) as made:
        yield made


FINE: dict[str, tuple[dict[str, Any], str]] = {
    "of all members": ({"requests": {"memory": "10n"}}, "requests.memory"),
    "in one flavor": ({"requests": {"memory@fast": "10n"}}, 'requests["memory@fast"]'),
    "beside what fits nowhere": ({"requests": {"memory": "0.00000001", "cpu": 99999}}, "requests.memory"),
    "of some members": (
        {"pod_sets": [{"name": "a", "count": 1, "requests": {"memory": "1.00000001"}}]},
        "pod_sets[0].requests.memory",
    ),
}


@pytest.mark.parametrize(("body", "place"), FINE.values(), ids=FINE.keys())
def test_an_amount_so_fine_that_others_could_not_be_counted_beside_it_is_refused(
    asleep: Running, body: dict[str, Any], place: str
) -> None:
    answer = asleep.submit("alice", **body)

    assert (answer.status_code, answer.json()["errors"][0]["place"]) == (422, place)
    for _ in range(8):
        asleep.submit("bob", requests={"cpu": 1, "memory": "7Gi"}).raise_for_status()


@pytest.mark.parametrize("requests", [{"cpu": "1m"}, {"cpu": 0.333333}, {"memory": 1}, {"memory": "0.5Gi"}])
def test_amounts_that_people_write_are_fine_enough(asleep: Running, requests: dict[str, Any]) -> None:
    assert asleep.submit("alice", requests=requests).status_code == 201


@pytest.mark.parametrize("cpu", ["1n", "999u", 0.0005])
def test_a_member_that_asks_for_cores_asks_for_some(asleep: Running, cpu: str | float) -> None:
    alike, unlike = {"requests": {"cpu": cpu}}, {"pod_sets": [{"name": "a", "count": 1, "requests": {"cpu": cpu}}]}
    for body, place in ((alike, "requests.cpu"), (unlike, "pod_sets[0].requests.cpu")):
        answer = asleep.submit("alice", **body)

        assert (answer.status_code, answer.json()["errors"][0]["place"]) == (422, place)
        assert "the least of a member is 1m" in answer.json()["detail"]


def test_names_of_resources_do_not_pile_up_in_the_scheduler(tmp_path: Path) -> None:
    with serving(tmp_path, cluster=ASLEEP) as made:
        for start in range(0, MOST_STRANGE, 50):
            made.submit("alice", requests={f"r{at}": 1 for at in range(start, start + 50)})
        one_more = made.submit("bob", requests={"gpus@fast": 1, "cpu": 1})
        known = made.submit("bob", requests={"r7": 1, "cpu": 1})
        plain = made.submit("bob", requests={"cpu": 1, "memory": "1Gi"})

    assert (one_more.status_code, one_more.json()["rule"]) == (409, "live.strange-resource")
    assert "no node here has gpus@fast" in one_more.json()["detail"]
    assert known.json().get("rule") != "live.strange-resource"
    assert plain.status_code == 201


@pytest.mark.parametrize("path", ["/plan", "/diff"])
def test_a_question_names_no_more_resources_than_can_be_looked_at(asleep: Running, path: str) -> None:
    entries = [
        {"name": f"w{at}", "queue": "default", "requests": {f"r{at}x{number}": 1 for number in range(30)}}
        for at in range(4)
    ]
    answer = asleep.ask("POST", path, "alice", json={"add": entries})
    some = asleep.ask("POST", path, "alice", json={"add": entries[:2]})

    assert (answer.status_code, some.status_code) == (422, 200)
    assert "names 120 resources that are new here; a question may name 100" in answer.json()["detail"]


@pytest.mark.parametrize("of", ["requests", "labels"])
def test_one_member_names_no_more_than_can_be_looked_at(asleep: Running, of: str) -> None:
    many = {f"r{at}": "1" for at in range(65)}
    answer = asleep.submit("alice", **({"requests": many} if of == "requests" else {"constraints": {"labels": many}}))

    assert answer.status_code == 422
    assert "the most is 64" in answer.json()["detail"]


@pytest.mark.parametrize("body", [{"members": 100_001}, {"pod_sets": [("a", 60_000), ("b", 60_000)]}])
def test_a_workload_has_no_more_members_than_a_server_takes(asleep: Running, body: dict[str, Any]) -> None:
    if "pod_sets" in body:
        body = {"pod_sets": [{"name": name, "count": n, "requests": {"cpu": 1}} for name, n in body["pod_sets"]]}
    answer = asleep.submit("alice", **body)

    assert answer.status_code == 422
    assert "100000" in answer.json()["detail"]


WHAT_IF = ["nodes[n1].count=1000000", "nodes[n1].count=1e6", "nodes[n1].count=1000000.0", f"nodes[n1].count={10**400}"]


@pytest.mark.parametrize("change", WHAT_IF)
def test_a_question_adds_no_more_however_the_number_is_written(asleep: Running, change: str) -> None:
    answer = asleep.ask("POST", "/plan", "bob", json={"set": [change]})

    assert answer.status_code == 422
    assert "a question may add" in answer.json()["detail"]


def test_a_question_about_more_than_can_be_counted_is_refused(asleep: Running) -> None:
    body = {
        "set": ["nodes[n1].capacity.cpu=9223372036"],
        "add": [{"name": "fine", "queue": "default", "requests": {"cpu": "1n"}}],
    }
    for path in ("/plan", "/diff"):
        answer = asleep.ask("POST", path, "bob", json=body)

        assert answer.status_code == 422
        assert "too much to count exactly" in answer.json()["detail"]
