"""Live commands where no server is, and servers that cannot be started."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from cede.cli.live.config import local_user, read_config
from cede.cli.live.submission import checkpoint_of, option_of
from cede.cli.main import LIVE
from cede.live.data_directory import data_directory
from cede.model.errors import InputError
from tests.unit.cli.calls import EXAMPLES, called, cede

NEEDS = {
    "ps": (),
    "status": ("a",),
    "logs": ("a",),
    "wait": ("a",),
    "why": ("a",),
    "cancel": ("a",),
    "suspend": ("a",),
    "resume": ("a",),
    "checkpoint": ("a",),
    "submit": ("--", "true"),
    "top": (),
    "queues": (),
    "nodes": (),
    "events": (),
    "decisions": (),
    "snapshot": (),
    "export": ("--out", "history.jsonl"),
    "token": ("list",),
    "audit": (),
    "orphans": ("list",),
    "plan": ("--live",),
    "diff": ("--live", "--without", "a"),
}


@pytest.fixture(autouse=True)
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CEDE_URL", "CEDE_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("CEDE_DATA", str(tmp_path / "data"))


def test_every_command_that_needs_a_server_is_tried() -> None:
    assert {*NEEDS} == {*LIVE, "plan", "diff"} - {"serve", "demo"}


@pytest.mark.parametrize("name", NEEDS)
def test_a_command_says_how_to_start_a_server_where_there_is_none(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    ran = called(capsys, name, *NEEDS[name])

    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("error: no server runs with the data directory ")
    assert "start one with `cede serve`" in ran.err
    assert ran.err.count("\n") == 1


def test_a_server_that_was_killed_is_told_from_one_that_refuses(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = tmp_path / "killed"
    data.mkdir()
    (data / "server.json").write_text(json.dumps({"url": "http://127.0.0.1:9", "token": "x" * 20, "pid": 1}))
    ran = called(capsys, "queues", "--data", data)

    assert ran.code == 2
    assert ran.err.startswith("error: no answer from http://127.0.0.1:9: ")
    assert "`cede serve` starts a server" in ran.err


@pytest.mark.parametrize("url", ["127.0.0.1:8642", "ftp://127.0.0.1:8642", "localhost"])
def test_an_address_without_http_is_told_how_one_is_written(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    ran = called(capsys, "ps", "--url", url, "--token", "x" * 20)

    assert (ran.code, ran.out) == (2, "")
    assert ran.err == (
        f"error: '{url}' is no address of a server: it begins with neither http:// nor https:// "
        "(write it like http://127.0.0.1:8642)\n"
    )


NO_TEXT = "a\udcff"
"""As Python has an argument of bytes that are no characters."""
SERVED = ("--url", "http://127.0.0.1:9", "--token", "x" * 20)


@pytest.mark.parametrize(
    "words",
    [
        *((name, *SERVED, NO_TEXT) for name, needed in sorted(NEEDS.items()) if needed == ("a",)),
        ("nodes", "drain", *SERVED, NO_TEXT),
        ("orphans", "end", *SERVED, NO_TEXT),
        ("events", *SERVED, NO_TEXT),
        ("ps", *SERVED, "--queue", NO_TEXT),
        ("audit", *SERVED, "--by", NO_TEXT),
    ],
    ids=lambda words: " ".join(words[:2]).partition(" --")[0],
)
def test_what_is_no_text_is_refused_before_anybody_is_asked(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    ran = called(capsys, *words)

    assert (ran.code, ran.err) == (2, "error: 'a\\udcff' is no valid Unicode text\n")


@pytest.mark.parametrize("words", [("status",), ("ps", "--queue"), ("events",)], ids=" ".join)
def test_what_no_address_can_hold_is_refused(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    ran = called(capsys, words[0], *SERVED, *words[1:], "a" * 70_000)

    assert ran.code == 2
    assert "has 70000 characters, and nothing is called by more than 1000" in ran.err


@pytest.mark.parametrize(
    "url", ["http://[::1", "http://x:abc", "http://a\nb", f"http://{'a' * 300}", "http://a..b", f"http://{NO_TEXT}"]
)
def test_an_address_that_is_none_is_refused(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    ran = called(capsys, "ps", "--url", url, "--token", "x")

    assert ran.code == 2
    assert " is no address of a server: " in ran.err
    assert "write it like http://127.0.0.1:8642" in ran.err


@pytest.mark.parametrize("token", ["caf\u00e9", "a\nb", NO_TEXT])
def test_a_token_that_can_be_none_is_refused(token: str, capsys: pytest.CaptureFixture[str]) -> None:
    ran = called(capsys, "ps", "--url", "http://127.0.0.1:9", "--token", token)

    assert (ran.code, ran.err) == (2, "error: the token has characters that none has (give it as it was shown)\n")


WRONG_SERVES = {
    "a level that is none": (["--log-level", "loud"], "--log-level: 'loud' is no level"),
    "an account that is not there": (["--account", "me=n0b0dy"], "this machine has no account 'n0b0dy'"),
    "a user without an account": (["--account", "me"], "--account me: gives no value"),
    "nodes beside a file": ([str(EXAMPLES / "live" / "demo.yaml"), "--nodes", "2"], "--nodes: stands beside"),
    "a file that is none": (["nowhere.yaml"], "nowhere.yaml: cannot be read"),
    "a file with workloads": ([str(EXAMPLES / "gang.yaml")], "gang.yaml: workloads: 6 given; a cluster"),
}


@pytest.mark.parametrize(("arguments", "said"), WRONG_SERVES.values(), ids=WRONG_SERVES.keys())
def test_a_server_is_not_started_with(
    arguments: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ran = called(capsys, "serve", "--data", tmp_path / "data", "--port", "0", *arguments)

    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err
    assert ran.err.startswith("error")


def test_a_configuration_is_refused_with_every_place(tmp_path: Path) -> None:
    path = tmp_path / "server.yaml"
    path.write_text("port: 70000\ntimes: {grace_period: soon}\nusrs: []\nusers: [{name: a, role: boss}]\n")
    ran = cede("serve", "--config", path, "--data", tmp_path / "data")

    assert ran.code == 2
    assert f"error: 4 problems in {path}" in ran.err
    assert "  times.grace_period: 'soon' is no duration" in ran.err
    assert "  usrs: there is no key 'usrs' (did you mean 'users'?)" in ran.err
    assert "  users[0].role: 'boss' is none of admin, user, viewer" in ran.err


def test_places_of_a_submission_are_told_as_options() -> None:
    assert option_of("requests.cpu") == "--cpu"
    assert option_of('requests["nvidia.com/gpu"]') == 'requests["nvidia.com/gpu"]'
    assert option_of("requests.licences") == "--request licences"
    assert option_of("times.max_deferral") == "--max-deferral"
    assert option_of("times.grace_period") == "--grace"
    assert option_of("env.CEDE_X") == "--env CEDE_X"
    assert option_of("command[0]") == "command[0]"


def test_a_checkpoint_is_a_mode_and_perhaps_a_protocol() -> None:
    assert checkpoint_of(None) is None
    assert checkpoint_of("auto") == {"mode": "auto"}
    assert checkpoint_of("manual:shm") == {"mode": "manual", "protocol": "shm"}


def test_completion_of_names_is_silent_without_a_server() -> None:
    ran = cede(
        _CEDE_COMPLETE="complete_bash",
        COMP_WORDS="cede status ",
        COMP_CWORD="2",
        CEDE_DATA=os.environ["CEDE_DATA"],
    )

    assert (ran.out.strip(), ran.err) == ("", "")


def test_completion_is_installed_for_a_shell_that_is_named(tmp_path: Path) -> None:
    ran = cede("--install-completion", "zsh", HOME=str(tmp_path))

    assert ran.code == 0
    assert "compdef _cede_completion cede" in (tmp_path / ".zfunc" / "_cede").read_text()


def test_a_shell_nobody_knows_is_refused() -> None:
    ran = cede("--show-completion", "tcsh")

    assert (ran.code, ran.err) == (2, "error: 'tcsh' is none of bash, zsh, fish\n")


def test_options_stand_over_the_configuration_and_leave_its_times_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "server.yaml"
    path.write_text("port: 1000\nhost: 127.0.0.2\ntimes: {grace_period: 5s}\n")
    config = read_config(str(path), [], port=2000, host=None)

    assert (config.port, config.host, config.times.grace_period) == (2000, "127.0.0.2", 5_000_000)


def test_an_account_is_refused_where_no_job_could_have_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)

    with pytest.raises(InputError, match="only a server that is root runs jobs as another account"):
        read_config(None, ["alice=nobody"])


def test_whoever_starts_a_server_stays_an_admin_when_mapped_to_an_account(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 0)
    me = local_user()
    config = read_config(None, [f"{me}=nobody", "alice=nobody"])

    assert [(user.name, user.role, user.account) for user in config.users] == [
        (me, "admin", "nobody"),
        ("alice", "user", "nobody"),
    ]


@pytest.mark.parametrize("uid", [0, 1000], ids=["root", "another account"])
def test_commands_look_where_a_server_of_the_same_account_keeps_its_data(
    uid: int, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CEDE_DATA")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr(os, "geteuid", lambda: uid)
    of_server = Path("/var/lib/cede") if uid == 0 else tmp_path / "cede"

    assert data_directory() == of_server
    assert f"no server runs with the data directory {of_server}: " in called(capsys, "ps").err
