"""Whose rights a job has under a server that is root: those that its owner has, and no more."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from cede.live.client import Client
from cede.live.client.errors import ClientError
from cede.live.config import User
from tests.live.scenarios.scripts import SAVES, SAVING
from tests.live.serving import DEADLINE_S, USERS, Live, cluster_of, serving

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can start jobs as somebody else"),
]

PERSONS = (
    *USERS,
    User(name="nora", account="nobody"),
    User(name="lost"),
    User(name="gone", account="no-such-account"),
)


@pytest.fixture(scope="module")
def served() -> Iterator[Live]:
    """Its data is where other accounts can get to: the folders that pytest makes are closed to them."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    try:
        with serving(folder / "data", cluster_of("n1"), users=PERSONS) as live:
            yield live
    finally:
        shutil.rmtree(folder)


def _as(live: Live, user: str) -> Client:
    return Client(live.client.url, live.client.make_token(user)["token"])


def test_under_root_a_job_has_the_rights_of_the_account_its_owner_is_mapped_to(live: Live) -> None:
    script = "id -un; id -Gn; test -w $CEDE_CHECKPOINT_DIR && echo can save; cat /etc/shadow"
    with _as(live, "nora") as nora:
        nora.submit(["sh", "-c", script], name="of-nora", cwd="/", cpu=1)
        ended = nora.wait("of-nora", DEADLINE_S)

    assert (ended["state"], ended["account"]) == ("failed", "nobody")
    assert live.log("of-nora").splitlines() == ["nobody", "nogroup", "can save"]
    assert "denied" in live.log("of-nora", stream="err").lower()


def test_under_root_who_is_mapped_to_no_account_cannot_submit(live: Live) -> None:
    with _as(live, "lost") as lost, pytest.raises(ClientError, match="account") as refused:
        lost.submit(["true"], name="of-lost", cwd="/", cpu=1)
    assert refused.value.status == 403
    assert all(job["name"] != "of-lost" for job in live.client.jobs())


def test_under_root_an_account_that_is_not_there_starts_nothing(live: Live) -> None:
    with _as(live, "gone") as gone:
        gone.submit(["id"], name="of-gone", cwd="/", cpu=1)
    ended = live.end("of-gone")
    assert (ended["state"], ended["rule"]) == ("failed", "live.cannot-start")
    assert "no-such-account" in ended["why"]


def test_under_root_one_user_cannot_read_the_files_of_anothers_job(live: Live) -> None:
    live.shell("private", "echo secret >$CEDE_CHECKPOINT_DIR/notes", cpu=1)
    live.completed("private")
    secret = live.data / "jobs" / "private" / "checkpoint" / "notes"
    assert secret.read_text() == "secret\n"
    with _as(live, "nora") as nora:
        nora.submit(["cat", str(secret)], name="spy", cwd="/", cpu=1)
        assert nora.wait("spy", DEADLINE_S)["state"] == "failed"

    assert live.log("spy") == ""


def test_under_root_a_job_of_another_account_answers_hints_and_resumes(live: Live) -> None:
    with _as(live, "nora") as nora:
        command = ["sh", "-c", SAVING]
        nora.submit(command, name="saves", cwd="/", cpu=4, priority=1, checkpoint=SAVES)
    live.said("saves", "ready")
    live.wait("saves", "running")
    live.preempt("saves")

    live.wait("saves", "suspended")
    live.client.cancel("saves-urgent")
    live.said("saves", "ready 2 1", attempt=2)


def test_under_root_only_who_is_mapped_to_root_has_its_rights(live: Live) -> None:
    live.shell("of-admin", "id -un")
    live.completed("of-admin")

    assert live.log("of-admin") == "root\n"
