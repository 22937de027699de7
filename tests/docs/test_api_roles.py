"""Who may use which path of the API is what the reference says, asked of a real server."""

from collections.abc import Iterator

import httpx
import pytest

from docs.drawn_api import ADMIN, ANY, OWNER, ROLES, USER, WIDE, document
from tests.live.serving import Live, cluster_of, serving

pytestmark = pytest.mark.slow

DENIED = {401, 403, 404}
PATHS = {
    one["operationId"]: (method, path)
    for path, methods in document()["paths"].items()
    for method, one in methods.items()
}
BODIES = {
    "submit": {"command": ["true"], "cwd": "/", "name": "again"},
    "diff": {"set": ["queues[default].settings.preemptible_priority=1"]},
    "plan": {},
    "make": {"user": "eve"},
}
"""What is asked for where a path takes something."""


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    with serving(tmp_path_factory.mktemp("data"), cluster_of("n1")) as live:
        live.submit("job", "sleep", "600", cpu=1, project="vision")
        live.wait("job", "running")
        yield live


@pytest.fixture(scope="module")
def tokens(live: Live) -> dict[str, str]:
    """Of somebody else in the project of the job, by role."""
    make = live.client.make_token
    return {
        "admin": make("root2", role="admin")["token"],
        "user": make("bob", role="user", projects=["vision"])["token"],
        "viewer": make("carol", role="viewer")["token"],
        "viewer of some": make("dave", role="viewer", projects=["vision"])["token"],
    }


def asked(live: Live, operation: str, token: str | None) -> int:
    """The status of an answer; 200 of everything that is no refusal of the caller."""
    method, path = PATHS[operation]
    filled = path.replace("{name}", "n1" if "/nodes/" in path else "job").replace("{number}", "99")
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    answer = httpx.request(
        method, f"{live.client.url}{filled}", headers=headers, json=BODIES.get(operation), timeout=60
    )
    refused = answer.json().get("rule", "") if answer.status_code in DENIED else ""
    # A decision or token of that number is not there, whoever asks; a bare server that is root wants an account first.
    return 200 if refused in ("live.unknown", "live.no-account") else answer.status_code


ALLOWED = {
    ANY: {"admin", "user", "viewer", "viewer of some"},
    USER: {"admin", "user"},
    OWNER: {"admin"},
    ADMIN: {"admin"},
    WIDE: {"admin", "user", "viewer"},
    "admin, viewer of all": {"admin", "viewer"},
}
"""Of callers that do not own the job."""


@pytest.mark.parametrize("operation", sorted(set(ROLES) - {"health", "cancel"}))
def test_a_path_is_for_whom_the_reference_says(operation: str, live: Live, tokens: dict[str, str]) -> None:
    found = {role for role, token in tokens.items() if asked(live, operation, token) not in DENIED}

    assert found == ALLOWED[ROLES[operation]]
    assert asked(live, operation, None) == 401


def test_health_needs_no_token(live: Live) -> None:
    assert asked(live, "health", None) == 200


def test_an_owner_may_do_what_is_for_owners(live: Live, tokens: dict[str, str]) -> None:
    for role in ("user", "viewer", "viewer of some"):
        assert asked(live, "cancel", tokens[role]) == 403
    assert live.client.cancel("job")["state"] == "cancelling"
