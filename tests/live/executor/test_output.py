"""Both streams of a member, put together as they were written."""

from __future__ import annotations

import random
from functools import partial
from pathlib import Path

import pytest

from cede.live.executors.executor import Failure
from cede.live.executors.local.guard.logs import Log
from cede.live.executors.local.guard.output_order import OutputOrder
from cede.live.executors.local.output import read_output
from tests.live.executor.stand import Stand, shell, until


class Writer:
    """What a supervisor does with what it reads, in the present folder; `whole` is that."""

    def __init__(self, limit: int = 1 << 20) -> None:
        self.logs = [Log(name, limit) for name in ("out", "err")]
        self.order = OutputOrder(limit)
        self.whole = b""

    def write(self, stream: int, data: bytes) -> None:
        self.order.goes_on(stream, *(log.position for log in self.logs))
        self.logs[stream].write(data)
        self.whole += data


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def read(folder: Path, limit: int = 1 << 20, ended: bool = True, offset: int = 0) -> tuple[bytes, int]:
    """All there is from this offset, in pages of this size; and the offset to go on from."""
    data = b""
    while True:
        page = read_output(folder, offset, limit, ended)
        assert page.start == offset, "nothing is skipped"
        data += b"".join(piece.data for piece in page.pieces)
        offset = page.next
        if not page.pieces:
            assert page.ended is ended
            return data, offset


@pytest.mark.parametrize("limit", [1, 7, 1 << 20])
def test_both_streams_come_in_the_order_in_which_they_were_written(folder: Path, limit: int) -> None:
    writer, chance = Writer(), random.Random(1)
    seen, offset = b"", 0
    for number in range(300):
        writer.write(chance.randrange(2), f"{number} ".encode() * chance.randrange(1, 4))
        if number % 50 == 0:
            more, offset = read(folder, limit, ended=False, offset=offset)
            seen += more
            assert seen == writer.whole
    more, _ = read(folder, limit, offset=offset)

    assert seen + more == writer.whole
    assert read(folder, limit)[0] == writer.whole


def test_pieces_say_which_stream_they_are_of_and_when(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    moments = iter(range(1_000_000_000, 2**62, 10_000_000))
    monkeypatch.setattr("cede.live.executors.local.guard.output_order.time.monotonic_ns", lambda: next(moments))
    writer = Writer()
    for stream, data in ((0, b"a"), (0, b"b"), (1, b"c"), (0, b"d")):
        writer.write(stream, data)

    assert [(p.at, p.stream, p.data) for p in read_output(folder, 0, 100, True).pieces] == [
        (1_000_000, "out", b"ab"),
        (1_020_000, "err", b"c"),
        (1_030_000, "out", b"d"),
    ]


def test_what_was_rotated_away_is_skipped_and_the_rest_keeps_its_place(folder: Path) -> None:
    writer = Writer(limit=4096)
    writer.write(1, b"first words\n")
    for number in range(3000):
        writer.write(0, b"%07d\n" % number)
        if number % 1000 == 999:
            writer.write(1, b"after %07d\n" % number)
    page = read_output(folder, 0, 1 << 20, ended=True)
    after = read_output(folder, page.next, 1 << 20, ended=True)
    while not after.ended:
        page, after = after, read_output(folder, after.next, 1 << 20, ended=True)

    assert page.pieces[0].data, "what is left of err is still there"
    assert writer.whole.endswith(b"".join(piece.data for piece in after.pieces))
    assert after.pieces[-1].data == b"after 0002999\n"
    assert after.next == len(writer.whole)
    assert read_output(folder, 5, 1 << 20, ended=True).start == 5


def test_an_order_that_is_too_old_or_was_never_noted_loses_no_byte(folder: Path) -> None:
    writer = Writer(limit=40_000)
    for number in range(2000):
        writer.write(number % 2, b"%04d\n" % number)
    kept = b"".join(piece.data for piece in read_output(folder, 0, 1 << 20, ended=True).pieces)
    assert sorted(kept.split()) == sorted(writer.whole.split())
    assert writer.whole.endswith(kept[-1000:]), "the end is in order"

    for path in folder.glob("order.*"):
        path.unlink()
    data, _ = read(folder)
    assert data.split() == sorted(writer.whole.split(), key=lambda word: (int(word) % 2, word))
    running, at = read(folder, ended=False)
    assert data.startswith(running), "of one that runs still, nothing is shown that would change its place"
    assert at == len(running)


def said(stand: Stand, stream: str, word: str) -> bool:
    return word in stand.text("job", stream=stream)


def test_a_real_member_is_heard_in_order(stand: Stand) -> None:
    waits = "until [ -e $CEDE_CHECKPOINT_DIR/{0} ]; do sleep 0.01; done"
    script = f"echo one; {waits.format(1)}; echo two >&2; {waits.format(2)}; echo three; exit 3"
    stand.run("job", shell(script))
    go = stand.data / "jobs" / "job" / "checkpoint"
    for number, stream, word in ((1, "out", "one"), (2, "err", "two")):
        until(partial(said, stand, stream, word))
        (go / str(number)).touch()
    until(lambda: stand.executor.output("job", 1, 0, 0, 100).ended)

    assert [(p.stream, p.data) for p in stand.executor.output("job", 1, 0, 0, 100).pieces] == [
        ("out", b"one\n"),
        ("err", b"two\n"),
        ("out", b"three\n"),
    ]
    assert stand.executor.failure("job", 1) == Failure(0, "n0", 3, None, told=False, lost=False, error="")


def test_the_member_that_failed_first_is_the_failure_of_all(stand: Stand) -> None:
    stand.end("gang", shell("[ $CEDE_RANK = 2 ] && exit 9; exec sleep 100"), members=4)
    stand.end("fine", shell("true"), members=2)

    assert stand.executor.failure("gang", 1) == Failure(2, "n2", 9, None, told=False, lost=False, error="")
    assert stand.executor.failure("fine", 1) is None
    assert stand.executor.failure("nobody", 1) is None
