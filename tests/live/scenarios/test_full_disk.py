import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest

from cede.live.client.errors import ClientError
from tests.live.disks import fill, small_disk
from tests.live.serving import Live, cluster_of, serving, until

pytestmark = pytest.mark.slow

LONG_S = 65.0
"""Longer than a server may have been patient once."""


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    with small_disk(tmp_path) as point:
        yield point


def waits_for(go: Path, then: str = "exit 3") -> str:
    return f"until [ -e {go} ]; do sleep 0.05; done; {then}"


def impaired(live: Live) -> list[str]:
    return until(lambda: live.client.health()["problems"], what="health tells of it")


def refused(live: Live, name: str) -> ClientError:
    with pytest.raises(ClientError) as caught:
        live.shell(name, "true", cpu=1)
    return caught.value


def test_what_ends_while_the_disk_is_full_is_known_when_there_is_room_again(disk: Path, tmp_path: Path) -> None:
    go = tmp_path / "go"
    with serving(disk / "data", cluster_of("n1")) as live:
        live.shell("job", waits_for(go), cpu=1)
        live.wait("job", "running")
        hog = fill(disk)
        go.touch()

        assert impaired(live) == [f"no space left on {disk / 'data'}"]
        assert live.client.health()["status"] == "impaired"
        no = refused(live, "more")
        assert (no.status, no.rule) == (503, "live.impaired")
        assert f"impaired: no space left on {disk / 'data'}" in str(no)
        hog.unlink()

        assert live.end("job")["exit_code"] == 3
        until(lambda: live.client.health()["status"] == "ok")
        live.shell("more", "true", cpu=1)
        live.completed("more")


def test_the_end_of_a_job_is_kept_in_mind_for_as_long_as_it_cannot_be_stored(disk: Path, tmp_path: Path) -> None:
    """Only the store is on the disk that is full: how the job ended is written down at once."""
    data, go = disk / "data", tmp_path / "go"
    data.mkdir()
    for name in ("jobs", "active", "trash"):
        (tmp_path / name).mkdir(mode=0o711)
        (data / name).symlink_to(tmp_path / name)
    with serving(data, cluster_of("n1")) as live:
        live.shell("job", waits_for(go), cpu=1)
        live.wait("job", "running")
        hog = fill(disk)
        go.touch()
        until((tmp_path / "jobs" / "job" / "attempts" / "1" / "0" / "exit.json").exists)
        ended = time.time()
        time.sleep(LONG_S)  # the moment is what the test is about
        assert live.client.job("job")["state"] == "running"
        assert impaired(live) == [f"no space left on {data}"]
        hog.unlink()

        job = live.end("job")
        assert (job["state"], job["exit_code"]) == ("failed", 3)
        assert abs(seconds_of(job["ended"]) - ended) < LONG_S / 2
        until(lambda: live.client.health()["status"] == "ok")


def test_a_log_that_was_cut_because_the_disk_was_full_says_so(disk: Path, tmp_path: Path) -> None:
    go, written = tmp_path / "go", tmp_path / "written"
    with serving(disk / "data", cluster_of("n1")) as live:
        live.runs("job", f"echo ready; {waits_for(go, f'seq 1 9999; touch {written}; sleep 300')}", cpu=1)
        hog = fill(disk)
        go.touch()
        until(written.exists)
        hog.unlink()
        live.client.cancel("job")
        live.end("job")

        assert "bytes of output are missing here: no space left on device]" in live.log("job")


def test_a_store_that_was_moved_away_is_told_until_it_is_back(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with serving(data, cluster_of("n1")) as live:
        (data / "cede.db").rename(data / "elsewhere.db")
        try:
            assert live.client.health()["problems"] == [f"{data / 'cede.db'} was moved or deleted while it is in use"]
        finally:
            (data / "elsewhere.db").rename(data / "cede.db")

        assert live.client.health()["status"] == "ok"


def seconds_of(text: str | None) -> float:
    assert text is not None
    return datetime.fromisoformat(text).timestamp()
