"""Who may see and touch what."""

from pathlib import Path

import httpx
import pytest

from cede.live.api.tokens import first_token, hash_of
from cede.live.client import ClientError
from cede.live.config import User
from cede.live.store.store import Store
from cede.model.errors import InputError
from tests.live.api.serving import Running, serving


@pytest.fixture(scope="module")
def jobs(running: Running) -> Running:
    """Alice runs one in the project ml, with a secret in its environment; eve has one of her own."""
    for user, name in (("alice", "hers"), ("eve", "eves")):
        running.submit(user, name=name, command=["sleep", "600"], env={"SECRET": user}).raise_for_status()
    return running


@pytest.mark.parametrize("token", [None, "wrong", "token-of-nobody", "a" * 10_000])
def test_without_a_valid_token_nothing_is_answered(running: Running, token: str | None) -> None:
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}

    answer = running.ask("GET", "/workloads", None, headers=headers)

    assert answer.status_code == 401
    assert answer.headers["www-authenticate"].startswith("Bearer")
    assert answer.json()["rule"] in ("live.no-token", "live.wrong-token")


def test_health_needs_no_token(running: Running) -> None:
    assert httpx.get(f"{running.url}/health", trust_env=False).json()["status"] == "ok"


@pytest.mark.parametrize(
    ("user", "seen"),
    [
        ("root-admin", {"hers", "eves"}),
        ("alice", {"hers"}),
        ("bob", {"hers"}),
        ("eve", {"eves"}),
        ("guest", {"hers", "eves"}),
        ("ml-guest", {"hers"}),
    ],
)
def test_everybody_sees_what_role_and_project_allow(jobs: Running, user: str, seen: set[str]) -> None:
    client = jobs.client(user)
    hidden = {"hers", "eves"} - seen

    assert {job["name"] for job in client.jobs()} == seen
    assert {event["workload"] for event in client.events()} == seen
    assert {name for decision in client.decisions() if (name := decision["workload"])} == seen
    assert {name for node in client.nodes() for name in node["workloads"]} == seen
    for name in hidden:
        for path in ("", "/why", "/logs"):
            answer = jobs.ask("GET", f"/workloads/{name}{path}", user)
            assert (answer.status_code, answer.json()["rule"]) == (404, "live.not-visible")


def test_a_hidden_workload_is_refused_like_one_that_is_not_there(jobs: Running) -> None:
    hidden = jobs.ask("POST", "/workloads/eves/cancel", "bob").json()
    absent = jobs.ask("POST", "/workloads/none/cancel", "bob").json()
    hidden_page = jobs.ask("GET", "/workloads", "bob", params={"after": "eves"})
    absent_page = jobs.ask("GET", "/workloads", "bob", params={"after": "none"})

    assert hidden["detail"].replace("eves", "none") == absent["detail"]
    assert (hidden_page.status_code, absent_page.status_code) == (422, 422)


@pytest.mark.parametrize("what", ["cancel", "suspend", "resume", "checkpoint"])
@pytest.mark.parametrize("user", ["bob", "guest", "ml-guest"])
def test_nobody_touches_what_belongs_to_another(jobs: Running, user: str, what: str) -> None:
    answer = jobs.ask("POST", f"/workloads/hers/{what}", user)

    assert (answer.status_code, answer.json()["rule"]) == (403, "live.not-yours")


def test_the_environment_is_shown_to_owner_and_admin_only(jobs: Running) -> None:
    shown = {user: jobs.client(user).job("hers")["env"] for user in ("root-admin", "alice", "bob", "guest")}

    assert shown == {"root-admin": {"SECRET": "alice"}, "alice": {"SECRET": "alice"}, "bob": None, "guest": None}
    assert all(job["env"] is None for job in jobs.client("root-admin").jobs())


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/audit"),
        ("GET", "/tokens"),
        ("POST", "/tokens"),
        ("DELETE", "/tokens/1"),
        ("POST", "/nodes/n1/drain"),
        ("POST", "/nodes/n1/undrain"),
        ("GET", "/decisions/1/cluster"),
        ("GET", "/snapshot"),
    ],
)
def test_some_things_are_for_admins_only(jobs: Running, method: str, path: str) -> None:
    body = {"json": {"user": "bob", "role": "admin"}} if path == "/tokens" and method == "POST" else {}

    answer = jobs.ask(method, path, "bob", **body)

    assert (answer.status_code, answer.json()["rule"]) == (403, "live.role")


def test_viewers_submit_nothing(running: Running) -> None:
    assert running.submit("guest").json()["rule"] == "live.role"


def test_system_work_is_for_admins(running: Running) -> None:
    assert running.submit("bob", kind="system").json()["rule"] == "live.role"


def test_a_user_submits_in_its_own_projects_only(running: Running) -> None:
    answer = running.submit("eve", project="ml")

    assert (answer.status_code, answer.json()["rule"]) == (403, "live.other-project")
    assert answer.json()["detail"] == "eve is not in the project ml; its projects: spies"


def test_nobody_submits_as_somebody_else(running: Running) -> None:
    [error] = running.submit("eve", user="alice").json()["errors"]

    assert (error["place"], error["message"]) == ("user", "there is no key 'user'")


def test_a_token_is_shown_once_works_at_once_and_ends_at_once(running: Running) -> None:
    client = running.client()
    made = client.make_token("carol", projects=["ml"])
    running.tokens["carol"] = made["token"]

    seen = running.client("carol").server()["you"]
    client.revoke_token(made["id"])

    assert (seen["name"], seen["role"], seen["projects"]) == ("carol", "user", ["ml"])
    assert running.ask("GET", "/workloads", "carol").status_code == 401
    assert all("token" not in token for token in client.tokens())
    assert running.server.store.token(hash_of(made["token"])) is None


def test_the_audit_trail_has_what_was_allowed_and_what_was_refused(jobs: Running) -> None:
    jobs.ask("POST", "/workloads/hers/cancel", "bob")
    jobs.ask("POST", "/nodes/n1/drain", "eve")
    entries = [(e["by"], e["what"], e["about"], e["allowed"], e["rule"]) for e in jobs.client().audit()]

    assert ("alice", "submit", "hers", True, "") in entries
    assert ("bob", "cancel", "hers", False, "live.not-yours") in entries
    assert ("eve", "drain", "n1", False, "live.role") in entries


def test_under_a_root_server_nobody_runs_anything_without_an_account(tmp_path: Path) -> None:
    with serving(tmp_path, users=(User(name="homeless"),)) as made:
        made.server.root = True

        answer = made.submit("homeless")

    assert (answer.status_code, answer.json()["rule"]) == (403, "live.no-account")


def test_the_first_start_makes_an_admin_token_and_the_second_none(tmp_path: Path) -> None:
    store = Store.open(f"sqlite:///{tmp_path / 'cede.db'}")
    token = first_token(store, {}, 1)
    again = first_token(store, {}, 2)
    first_token(store, {"CEDE_ADMIN_TOKEN": "chosen-by-the-admin"}, 3)
    first_token(store, {"CEDE_ADMIN_TOKEN": "chosen-by-the-admin"}, 4)

    assert token is not None
    assert again is None
    made, given = store.token(hash_of(token)), store.token(hash_of("chosen-by-the-admin"))
    assert made is not None
    assert given is not None
    assert (made.role, given.role, len(store.tokens())) == ("admin", "admin", 2)
    with pytest.raises(InputError, match="16 to 500"):
        first_token(store, {"CEDE_ADMIN_TOKEN": "short"}, 5)
    store.close()


def test_a_client_says_which_rule_refused(running: Running) -> None:
    with pytest.raises(ClientError) as caught:
        running.client("guest").submit(["true"], cwd="/tmp")

    assert (caught.value.status, caught.value.rule) == (403, "live.role")
