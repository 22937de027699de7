"""Questions about the live cluster: stories, plans, differences, snapshots."""

import pytest

import cede
from cede.live.client import ClientError
from tests.live.api.serving import DEADLINE_S, Running, until


@pytest.fixture(scope="module")
def full(running: Running) -> Running:
    """A low one runs on the whole node, and a second one waits behind it."""
    running.submit("bob", name="low", priority=5, command=["sleep", "600"], requests={"cpu": 4}).raise_for_status()
    until(lambda: running.client("bob").job("low")["state"] == "running")
    running.submit("bob", name="next", priority=5, command=["true"], requests={"cpu": 4}).raise_for_status()
    return running


def test_a_story_tells_what_happened_and_what_stands_in_the_way(full: Running) -> None:
    ran, waits = full.client("bob").why("low"), full.client("bob").why("next")

    sentences = [line["sentence"] for line in ran["story"]]
    assert sentences[0] == "pending: bob submitted it"
    assert any(sentence.startswith("decision 1: start on n1") for sentence in sentences)
    assert ran["stands_in_its_way"] is None
    assert waits["stands_in_its_way"] is not None
    assert (waits["stands_in_its_way"]["workload"], waits["stands_in_its_way"]["action"]) == ("next", "wait")
    assert waits["stands_in_its_way"]["nearest_miss"][0]["workload"] == "low"
    assert {one["kind"] for one in waits["stands_in_its_way"]["until"]} >= {"room"}


def test_a_plan_with_changes_changes_nothing(full: Running) -> None:
    urgent = {"name": "urgent", "queue": "default", "priority": 90, "requests": {"cpu": 4}}
    client = full.client("alice")

    made = client.plan(add=[urgent], explain=True)
    differs = client.diff(add=[urgent])

    decision = next(one for one in made["decisions"] if one["workload"] == "urgent")
    assert (decision["action"], [victim["workload"] for victim in decision["victims"]]) == ("preempt", ["low"])
    assert [gone["workload"] for gone in differs["evicted"]] == ["low"]
    assert full.client("bob").job("low")["state"] == "running"
    assert full.ask("GET", "/workloads/urgent").status_code == 404


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ({"set": ["workloads[nobody].priority=1"]}, "set workloads[nobody]"),
        ({"set": ["priority"]}, "set priority"),
        ({"without": ["nobody"]}, "without nobody"),
        ({"add": [{"name": "x", "requests": {"cpu": -1}}]}, "workloads[x].requests.cpu"),
        ({"doctrine": "none"}, "doctrine"),
        ({"only": "nobody"}, "only"),
    ],
)
def test_a_question_that_makes_no_sense_is_refused_with_its_place(
    full: Running, body: dict[str, str], place: str
) -> None:
    answer = full.ask("POST", "/plan", json=body)

    assert answer.status_code == 422
    assert answer.json()["errors"][0]["place"].startswith(place)


def test_nothing_to_compare_is_refused(full: Running) -> None:
    with pytest.raises(ClientError, match="nothing to compare"):
        full.client().diff()


def test_a_viewer_of_some_projects_plans_nothing(full: Running) -> None:
    assert full.ask("POST", "/plan", "ml-guest", json={}).json()["rule"] == "live.role"
    assert full.ask("POST", "/plan", "guest", json={}).status_code == 200


def test_a_snapshot_is_a_cluster_file_that_plans_the_same(full: Running) -> None:
    client = full.client()

    made = cede.plan(cede.load(client.snapshot()))

    assert [(d.workload, d.action) for d in made.decisions] == [
        (d["workload"], d["action"]) for d in client.plan()["decisions"]
    ]


def test_queues_and_nodes_show_what_is_used(full: Running) -> None:
    [queue], [node] = full.client().queues(), full.client().nodes()

    assert (queue["name"], queue["usage"], queue["running"], queue["pending"]) == ("default", {"cpu": 4}, 1, 1)
    assert (node["name"], node["used"], node["workloads"]) == ("n1", {"cpu": 4}, ["low"])


def test_a_drained_node_takes_nothing_new(full: Running) -> None:
    client = full.client()

    assert client.drain("n1")["state"] == "cordoned"
    assert client.undrain("n1")["state"] == "ready"


def test_a_workload_that_ended_cannot_be_cancelled(running: Running) -> None:
    client = running.client("bob")
    client.submit(["true"], name="over", cwd="/tmp")
    client.wait("over", DEADLINE_S)

    with pytest.raises(ClientError, match="over is completed already") as caught:
        client.cancel("over")
    assert caught.value.status == 409


def test_the_metrics_count_what_happened(running: Running) -> None:
    client = running.client()
    client.submit(["true"], name="counted", cwd="/tmp")
    client.wait("counted", DEADLINE_S)

    def counted(name: str) -> float:
        series = dict(line.rsplit(" ", 1) for line in client.metrics().splitlines() if not line.startswith("#"))
        return float(series.get(name, 0))

    assert counted("cede_submissions_total") >= 1
    # A step is counted a moment after it is stored.
    until(lambda: counted('cede_ended_total{state="completed"}') >= 1)
    assert running.ask("GET", "/metrics", None).status_code == 401


@pytest.mark.parametrize("path", ["/plan", "/diff"])
@pytest.mark.parametrize("entry", [None, 5, "x", [], [None]])
def test_an_entry_that_is_no_workload_is_refused_with_its_place(full: Running, path: str, entry: object) -> None:
    answer = full.ask("POST", path, json={"add": [entry], "set": [None], "without": [None]})

    assert answer.status_code == 422
    places = {one["place"]: one["message"] for one in answer.json()["errors"]}
    assert set(places) == {"add[0]", "set[0]", "without[0]"}
    assert places["add[0]"] == "is no workload; give an entry as in a cluster file"


@pytest.mark.parametrize(
    "given", [{"command": [None]}, {"constraints": {"nodes": [None]}}, {"pod_sets": [None]}, {"env": {"A": None}}]
)
def test_a_submission_with_nothing_where_something_must_be_is_refused(full: Running, given: dict[str, object]) -> None:
    assert full.submit(**given).status_code == 422
