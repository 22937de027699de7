"""Whose quota work counts to: a tenant that the cluster file does not have is refused, for it would be no limit."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from cede.live.config import User
from tests.live.api.serving import ACCOUNT, CLUSTER, Running, serving
from tests.unit.cli.calls import CEDE, environment

LABS = CLUSTER | {
    "tenants": [{"name": "lab", "max_workloads": 2}, {"name": "uni", "max_nodes": 1}],
    "policies": [{"user": "ann", "default_priority": 3, "max_priority": 20}, {"project": "ml", "max_priority": 5}],
}
USERS = (
    User(name="root-admin", role="admin", account=ACCOUNT),
    User(name="ann", account=ACCOUNT, tenant="lab"),
    User(name="mel", account=ACCOUNT, projects=("ml",)),
)


@pytest.fixture(scope="module")
def labs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with serving(tmp_path_factory.mktemp("data"), cluster=LABS, users=USERS) as running:
        yield running


def test_a_submission_for_a_tenant_that_is_not_there_is_refused_with_the_nearest_name(labs: Running) -> None:
    answer = labs.submit(name="stray", tenant="laab")

    assert answer.status_code == 422
    assert answer.json()["errors"] == [
        {"place": "tenant", "message": "no tenant is called 'laab'", "hint": "did you mean 'lab'?"}
    ]
    assert labs.submit(name="far", tenant="zzz").json()["errors"][0]["hint"] == "the cluster file has lab, uni"
    assert labs.submit(name="right", tenant="uni").status_code == 201


def test_where_a_file_has_no_tenants_any_name_will_do(tmp_path: Path) -> None:
    with serving(tmp_path, users=USERS) as free:
        assert free.submit(name="any", tenant="zzz").json()["tenant"] == "zzz"


def test_a_user_with_a_policy_and_no_project_submits(labs: Running) -> None:
    made = labs.submit("ann", name="plain")

    assert (made.status_code, made.json()["priority"], made.json()["tenant"]) == (201, 3, "lab")
    assert labs.submit("ann", name="high", priority=21).json()["rule"] == "live.priority-range"
    assert labs.submit("mel", name="member", priority=6).json()["rule"] == "live.priority-range"


@pytest.mark.parametrize(
    ("tenant", "hint"), [("laab", "did you mean 'lab'?"), ("zzz", "the cluster file has lab, uni")]
)
def test_a_server_does_not_start_with_a_user_of_a_tenant_that_is_not_there(
    tmp_path: Path, tenant: str, hint: str
) -> None:
    (tmp_path / "cluster.yaml").write_text(yaml.safe_dump(LABS))
    users = [{"name": "bob", "tenant": "uni"}, {"name": "ann", "tenant": tenant}]
    (tmp_path / "config.yaml").write_text(yaml.safe_dump({"users": users, "port": 0}))
    command = [CEDE, "serve", tmp_path / "cluster.yaml", "--config", tmp_path / "config.yaml", "--data", tmp_path / "d"]
    ran = subprocess.run(
        list(map(str, command)), capture_output=True, env=environment(), check=False, timeout=300, text=True
    )

    assert ran.returncode == 2
    assert ran.stderr == f"error: users[ann].tenant: no tenant is called '{tenant}' ({hint})\n"
