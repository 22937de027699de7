"""Names for workloads that were given none, and how a client finds its server."""

import json
from pathlib import Path

import pytest

from cede.live.api.workload_names import GeneratedNames
from cede.live.client import Client, ClientError
from cede.live.client.discovery import find


def test_numbers_count_up_and_skip_what_is_taken() -> None:
    names = GeneratedNames({"a-1", "a-3"}.__contains__)

    assert [names.fresh("a") for _ in range(3)] == ["a-2", "a-4", "a-5"]
    assert names.fresh("b") == "b-1"


def test_after_a_restart_a_free_number_is_found_without_trying_all() -> None:
    asked: list[str] = []

    def taken(name: str) -> bool:
        asked.append(name)
        return int(name.partition("-")[2]) <= 100_000

    assert GeneratedNames(taken).fresh("a") == "a-100001"
    assert len(asked) < 50


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("CEDE_URL", "CEDE_TOKEN", "CEDE_DATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr("os.geteuid", lambda: 1000)  # root has a place of its own


def left(folder: Path, url: str) -> None:
    folder.mkdir(parents=True)
    (folder / "server.json").write_text(json.dumps({"url": url, "pid": 1, "token": "left"}))


def test_arguments_count_before_the_environment_and_that_before_the_data_directory(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    left(tmp_path / "state" / "cede", "http://left")
    left(tmp_path / "other", "http://other")

    assert find(None, None, None) == ("http://left", "left")
    assert find(None, None, tmp_path / "other") == ("http://other", "left")
    monkeypatch.setenv("CEDE_DATA", str(tmp_path / "other"))
    assert find(None, None, None) == ("http://other", "left")
    monkeypatch.setenv("CEDE_URL", "http://set/")
    monkeypatch.setenv("CEDE_TOKEN", "set")
    assert find(None, None, None) == ("http://set", "set")
    assert find("http://given", "given", None) == ("http://given", "given")


def test_without_any_server_a_client_says_how_to_start_one() -> None:
    with pytest.raises(ClientError, match="cede serve"):
        Client()


def test_a_token_is_never_sent_to_another_server_than_the_one_that_left_it(tmp_path: Path) -> None:
    left(tmp_path / "state" / "cede", "http://left")

    with pytest.raises(ClientError, match="no token for http://elsewhere"):
        find("http://elsewhere", None, None)


@pytest.mark.slow
def test_a_server_that_does_not_answer_is_an_error_of_its_own() -> None:
    with pytest.raises(ClientError, match="no answer from") as caught, Client("http://127.0.0.1:9", "token") as client:
        client.health()

    assert caught.value.status == 0
