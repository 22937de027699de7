"""A name is its owner's own, and what somebody may not see is in no answer."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cede.live.api.workload_names import keys_of
from tests.live.api.serving import CLUSTER, Running, serving

ASLEEP = CLUSTER | {"nodes": [node | {"state": "cordoned"} for node in CLUSTER["nodes"]]}


@pytest.fixture(scope="module")
def asleep(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """Nothing starts here. Alice and eve see nothing of each other."""
    with serving(tmp_path_factory.mktemp("asleep"), cluster=ASLEEP) as made:
        yield made


def test_a_name_that_somebody_else_uses_is_as_free_as_any(asleep: Running) -> None:
    first = asleep.submit("alice", name="train")
    taken = asleep.submit("eve", name="train", command=["sleep", "1"])
    free = asleep.submit("eve", name="other")

    assert (first.status_code, taken.status_code, free.status_code) == (201, 201, 201)
    assert taken.json()["name"] == "train"
    assert taken.headers["location"] == "/api/v1/workloads/train"
    assert asleep.client("eve").job("train")["command"] == ["sleep", "1"]
    assert asleep.client("alice").job("train")["command"] == ["true"]
    assert {job["name"] for job in asleep.client("eve").jobs()} == {"train", "other"}


def test_one_owner_uses_a_name_once(asleep: Running) -> None:
    asleep.submit("alice", name="once").raise_for_status()
    asleep.submit("eve", name="once").raise_for_status()

    for user in ("alice", "eve"):
        again = asleep.submit(user, name="once")
        assert (again.status_code, again.json()["rule"]) == (409, "live.name-taken")
        assert f"{user}.once" not in again.text


def test_a_snapshot_writes_the_owner_before_a_name_that_two_use(asleep: Running) -> None:
    for user in ("alice", "eve"):
        asleep.submit(user, name="twice").raise_for_status()

    names = {one["name"] for one in asleep.client().snapshot()["workloads"]}
    assert {"twice", "eve.twice"} <= names
    assert asleep.client().job("eve.twice")["user"] == "eve"
    assert asleep.client().job("alice.twice")["user"] == "alice"
    assert asleep.client("eve").job("eve.twice")["name"] == "twice"


def test_whoever_changes_a_workload_changes_its_own(asleep: Running) -> None:
    for user in ("alice", "eve"):
        asleep.submit(user, name="changed").raise_for_status()

    assert asleep.client("eve").cancel("changed")["name"] == "changed"
    assert asleep.client("alice").job("changed")["state"] == "pending"
    assert {event["workload"] for event in asleep.client("eve").events(workload="changed")} == {"changed"}
    refused = asleep.ask("POST", "/workloads/changed/cancel", "eve").json()
    assert (refused["rule"], refused["detail"]) == ("live.ended", "changed is cancelled already")
    assert asleep.ask("POST", "/workloads/alice.changed/cancel", "eve").status_code == 404


def test_names_that_are_made_up_do_not_count_what_others_have(tmp_path: Path) -> None:
    with serving(tmp_path, cluster=ASLEEP) as made:
        for _ in range(3):
            made.submit("alice", command=["sleep", "9"]).raise_for_status()

        assert made.submit("eve", command=["sleep", "9"]).json()["name"] == "sleep-1"


def test_mates_of_a_project_tell_equal_names_apart(asleep: Running) -> None:
    asleep.submit("alice", name="shared", project="ml").raise_for_status()
    asleep.submit("bob", name="shared", project="ml").raise_for_status()

    seen = {job["name"]: job["user"] for job in asleep.client("bob").jobs(project=["ml"]) if "shared" in job["name"]}
    assert seen == {"shared": "bob", "alice.shared": "alice"}
    assert asleep.client("bob").job("alice.shared")["user"] == "alice"


def test_an_owner_whose_name_is_no_name_of_a_job_has_names_too() -> None:
    keys = keys_of("ann/../x y@example.org", "a")
    assert [next(keys) for _ in range(3)] == ["a", "ann-..-x-y-example.org.a", "ann-..-x-y-example.org.a.2"]


def answers(running: Running, user: str, own: str) -> Iterator[tuple[str, str]]:
    """Everything that this user can be told, by what was asked."""
    paths = ("/workloads", "/events", "/decisions", "/nodes", "/queues", "/server", "/metrics", "/snapshot", "/audit")
    for path in (*paths, f"/workloads/{own}", f"/workloads/{own}/why", f"/events?workload={own}"):
        yield path, running.ask("GET", path, user).text
    questions: list[tuple[str, dict[str, Any]]] = [
        ("/plan", {"explain": True, "shares": True}),
        ("/plan", {"only": own, "explain": True}),
        ("/diff", {"set": [f"workloads[{own}].priority=20"]}),
        ("/plan", {"without": ["hidden-job"]}),
        ("/plan", {"set": ["workloads[top-secre].priority=1"]}),
    ]
    for path, body in questions:
        yield f"{path} {json.dumps(body)}", running.ask("POST", path, user, json=body).text
    for decision in running.ask("GET", "/decisions", user).json()["decisions"]:
        yield f"decision {decision['number']}", running.ask("GET", f"/decisions/{decision['number']}", user).text


@pytest.mark.slow
@pytest.mark.parametrize("doctrine", ["backendai", "lattice", "kueue", "yunikorn", "ytsaurus"])
def test_no_answer_names_what_its_reader_may_not_see(tmp_path: Path, doctrine: str) -> None:
    node = {"name": "n1", "capacity": {"cpu": 4, "memory": "8Gi"}}
    queue: dict[str, Any] = {"name": "default"}
    if doctrine == "backendai":
        queue["settings"] = {"preemptible_priority": 50, "preemption_mode": "suspend"}
    if doctrine == "kueue":
        queue |= {"guaranteed": {"cpu": 4}, "settings": {"withinClusterQueue": "LowerPriority"}}
    cluster = CLUSTER | {"doctrine": doctrine, "nodes": [node], "queues": [queue], "policies": []}
    with serving(tmp_path, cluster=cluster) as made:
        whole = {"requests": {"cpu": 4}, "command": ["sleep", "600"]}
        made.submit("alice", name="top-secret", **whole, priority=1).raise_for_status()
        made.client().wait("top-secret", 30, states=["running"])
        made.submit("eve", name="mine", **whole, priority=1).raise_for_status()
        made.submit("alice", name="top-secret-2", **whole, priority=9).raise_for_status()
        made.submit("eve", name="mine-2", **whole, priority=2).raise_for_status()

        told = list(answers(made, "eve", "mine"))
        assert [asked for asked, text in told if "top-secret" in text] == []
        assert any("hidden-" in text for _, text in told)
        absent = made.ask("POST", "/plan", "eve", json={"without": ["nothing"]}).text
        hidden = made.ask("POST", "/plan", "eve", json={"without": ["top-secret"]}).text
        assert hidden.replace("top-secret", "nothing") == absent


def test_who_has_no_token_is_told_of_troubles_without_names(tmp_path: Path) -> None:
    with serving(tmp_path, cluster=ASLEEP) as made:
        made.submit("alice", name="top-secret").raise_for_status()
        made.server.controller.problem = "a plan was not carried out: top-secret is on n1 twice"  # type: ignore[attr-defined]

        for told in (made.ask("GET", "/health", None).json()["problems"], made.client("eve").server()["problem"]):
            assert "top-secret" not in str(told)
            assert "is on n1 twice" in str(told)
        assert "top-secret is on n1 twice" in made.client().server()["problem"]


def test_a_plan_that_hides_names_decides_the_same(tmp_path: Path) -> None:
    with serving(tmp_path) as made:
        for number, user in enumerate(["alice", "eve", "alice", "eve"]):
            made.submit(user, name=f"{user}-{number}", requests={"cpu": 3}, command=["sleep", "600"])

        def actions(user: str) -> list[str]:
            return [one["action"] for one in made.client(user).plan()["decisions"]]

        assert actions("eve") == actions("root-admin")


LONE = "\ud800"
BODIES: dict[str, tuple[str, dict[str, Any], str]] = {
    "a label": ("/workloads", {"constraints": {"labels": {"zone": LONE}}}, "constraints.labels.zone"),
    "the name of a label": ("/workloads", {"constraints": {"labels": {LONE: "a"}}}, "constraints.labels"),
    "a project": ("/workloads", {"project": LONE}, "project"),
    "an argument": ("/workloads", {"command": ["echo", LONE]}, "command[1]"),
    "a folder": ("/workloads", {"cwd": f"/{LONE}"}, "cwd"),
    "a resource": ("/workloads", {"requests": {LONE: 1}}, "requests"),
    "a key": ("/workloads", {LONE: 1}, ""),
    "a project of a token": ("/tokens", {"user": "x", "projects": [LONE]}, "projects[0]"),
    "a change": ("/plan", {"set": [f"workloads[a].queue={LONE}"]}, "set[0]"),
    "an entry": ("/plan", {"add": [{"name": LONE}]}, "add[0].name"),
}


@pytest.mark.parametrize(("path", "body", "place"), BODIES.values(), ids=BODIES.keys())
def test_half_a_character_is_refused_wherever_it_comes_in(
    running: Running, path: str, body: dict[str, Any], place: str
) -> None:
    given = {"command": ["true"], "cwd": "/tmp"} | body if path == "/workloads" else body
    for content in (json.dumps(given).encode(), json.dumps(given, ensure_ascii=False).encode("utf-8", "surrogatepass")):
        answer = running.ask("POST", path, content=content, headers={"Content-Type": "application/json"})
        assert (answer.status_code, answer.json()["errors"][0]["place"]) == (422, place)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32-be"])
def test_half_a_character_in_another_encoding_is_refused_too(running: Running, encoding: str) -> None:
    given = {"command": ["true"], "cwd": "/tmp", "constraints": {"labels": {"zone": LONE}}}
    for text in (json.dumps(given), json.dumps(given, ensure_ascii=False)):
        content = text.encode(encoding, "surrogatepass")
        answer = running.ask("POST", "/workloads", content=content, headers={"Content-Type": "application/json"})
        assert (answer.status_code, answer.json()["rule"]) == (400, "live.unreadable")


def test_a_body_may_begin_with_the_mark_of_its_encoding(running: Running) -> None:
    content = json.dumps({"command": ["true"], "cwd": "/tmp"}).encode("utf-8-sig")
    answer = running.ask("POST", "/workloads", content=content, headers={"Content-Type": "application/json"})

    assert answer.status_code == 201


def test_a_whole_character_beyond_the_first_plane_is_taken(running: Running) -> None:
    made = running.submit("alice", env={"FACE": "\U0001f600"})

    assert made.json()["env"] == {"FACE": "\U0001f600"}
