import time
from pathlib import Path

import pytest

from cede.engine.drive.facts import Exited
from cede.live.executors.local.guard.logs import Log
from cede.live.executors.local.logs import read_page
from tests.live.executor.stand import Stand, shell, task, until


def test_a_log_is_read_in_pages(stand: Stand) -> None:
    stand.end("job", shell("printf 0123456789"))
    pages = [stand.executor.logs("job", 1, 0, "out", offset, 4) for offset in (0, 4, 8, 10)]

    assert [page.data for page in pages] == [b"0123", b"4567", b"89", b""]
    assert [(page.start, page.next, page.ended) for page in pages] == [
        (0, 4, False),
        (4, 8, False),
        (8, 10, True),
        (10, 10, True),
    ]


def test_the_end_of_a_log_is_known_only_after_the_end_of_the_job(stand: Stand) -> None:
    stand.run("job", shell("echo one; read x < /proc/sys/kernel/ostype; exec sleep 100"))
    stand.said("job", "one")
    page = stand.executor.logs("job", 1, 0, "out", 0, 100)
    stand.terminate("job")
    stand.wait(Exited, "job")

    assert (page.data, page.ended) == (b"one\n", False)
    assert stand.executor.logs("job", 1, 0, "out", page.next, 100).ended


def test_a_flood_takes_bounded_room_and_its_end_is_kept(stand: Stand) -> None:
    """Lines are numbered, so that one can see which part of the flood is left."""
    limit = 64 * 1024
    stand.end("job", shell("seq -f '%09.0f' 1 100000", log_limit=limit))
    files = {path.name: path.stat().st_size for path in stand.folder("job").glob("out.*")}
    page = stand.executor.logs("job", 1, 0, "out", 0, 1 << 20)

    assert set(files) == {"out.log", "out.log.1", "out.at"}
    assert max(files.values()) <= limit
    assert page.next == 100_000 * 10
    assert page.ended
    assert page.start == (100_000 * 10 // limit - 1) * limit
    assert page.data == b"".join(b"%09d\n" % number for number in range(1, 100_001))[page.start :]


def test_a_log_is_read_without_a_gap_while_it_is_rotated(stand: Stand) -> None:
    stand.launch(
        "job",
        shell("for n in $(seq 1 300); do seq -f '%09.0f' $((n*100-99)) $((n*100)); sleep 0.001; done", log_limit=8192),
    )
    at, numbers = 0, b""
    while True:
        page = stand.executor.logs("job", 1, 0, "out", at, 1 << 20)
        numbers = page.data if page.start != at else numbers + page.data
        at = page.next
        if page.ended:
            break
    whole = b"".join(b"%09d\n" % number for number in range(1, 30_001))

    assert at == len(whole)
    assert whole.endswith(numbers)
    assert len(numbers) >= 8192
    stand.wait(Exited, "job")


@pytest.mark.parametrize("crash", ["before the new file", "before the note"])
def test_a_writer_that_died_while_it_rotated_leaves_a_log_that_can_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, crash: str
) -> None:
    monkeypatch.chdir(tmp_path)
    log = Log("out", 10)
    log.write(b"0123456789abcdefghijKLM")
    (tmp_path / "out.log").rename(tmp_path / "out.log.1")
    if crash == "before the note":
        (tmp_path / "out.log").write_bytes(b"NOP")
    page = read_page(tmp_path, "out", 0, 100, ended=True)

    assert (page.start, page.data) == (20, b"KLM" + (b"NOP" if crash == "before the note" else b""))


def test_a_full_disk_costs_words_but_no_job(stand: Stand) -> None:
    """The log cannot be opened anew: its name is taken by a folder."""
    stand.run(
        "job", shell("until [ -e $CEDE_CHECKPOINT_DIR/go ]; do sleep 0.01; done; seq 1 9999; exit 6", log_limit=4096)
    )
    (stand.folder("job") / "out.log.1").mkdir()
    (stand.data / "jobs" / "job" / "checkpoint" / "go").touch()

    assert stand.wait(Exited, "job").code == 6


def test_what_is_written_through_a_pipe_that_others_hold_ends_with_the_job(stand: Stand) -> None:
    """A process outside the job holds the writing end of its output; the job's end does not wait for it."""
    stand.run("job", shell("echo before; exec sleep 100"))
    stand.said("job", "before")
    with Path(f"/proc/{stand.pid('job')}/fd/1").open("wb", buffering=0) as held:
        stand.terminate("job")
        stand.wait(Exited, "job")
        assert held.fileno() >= 0
    assert stand.text("job") == "before\n"


def test_of_what_never_ran_there_is_no_log(stand: Stand) -> None:
    page = stand.executor.logs("unknown", 1, 0, "out", 0, 100)

    assert (page.data, page.start, page.next) == (b"", 0, 0)
    with pytest.raises(ValueError, match="no stream"):
        stand.executor.logs("unknown", 1, 0, "../x", 0, 100)
    with pytest.raises(ValueError, match="no name of a job"):
        stand.executor.logs("../x", 1, 0, "out", 0, 100)


def test_an_idle_job_and_its_supervisor_use_no_processor(stand: Stand) -> None:
    stand.run("job", task("sleep", "100"))
    status = Path(f"/proc/{stand.supervisor('job')}/status")

    def switches() -> int:
        return int(next(line.split()[1] for line in status.read_text().splitlines() if line.startswith("voluntary")))

    def calm() -> bool:
        before = switches()
        time.sleep(0.5)
        return switches() == before

    assert until(calm)
