import sys

import pytest

from cede.engine.drive.facts import Began, Checkpointed, CheckpointFailed, Exited
from cede.engine.drive.orders import Hint, Terminate
from cede.live.broker import criu
from tests.live.executor.stand import ROOT, Stand, task, until

COUNTS = "import time\nfor n in range(10**6):\n    print(n, flush=True)\n    time.sleep(0.01)\n"
WORKS, WHY = criu.works()
needs_criu = pytest.mark.skipif(not WORKS, reason=WHY)

counting = task(sys.executable, "-I", "-S", "-c", COUNTS, protocol="criu")


def numbers(stand: Stand, attempt: int) -> list[int]:
    return list(map(int, stand.executor.logs("job", attempt, 0, "out", 0, 1 << 20).data.split()))


def begin(stand: Stand) -> None:
    stand.run("job", counting)
    until(lambda: len(numbers(stand, 1)) > 5)


@needs_criu
def test_a_job_is_dumped_leaves_and_goes_on_where_it_was(stand: Stand) -> None:
    begin(stand)
    stand.executor.hint(Hint("job", 1, 1, leaving=True))
    assert stand.wait(Exited, "job") == Exited("job", 1, signal=9, told=True)
    assert stand.facts == [
        Began("job", 1),
        Checkpointed("job", 1, 1, leaves=True),
        Exited("job", 1, signal=9, told=True),
    ]

    stand.launch("job", counting, attempt=2, resume=True)
    stand.wait(Began, "job", count=2)
    until(lambda: len(numbers(stand, 2)) > 5)
    assert numbers(stand, 2)[0] == numbers(stand, 1)[-1] + 1
    stand.executor.terminate(Terminate("job", 2, "preempt", 5_000_000))
    assert stand.wait(Exited, "job", count=2) == Exited("job", 2, signal=15, told=True)
    assert stand.processes() == []


@needs_criu
def test_a_job_that_is_not_to_leave_goes_on_after_its_dump(stand: Stand) -> None:
    begin(stand)
    stand.executor.hint(Hint("job", 1, 1, leaving=False))
    assert stand.wait(Checkpointed, "job") == Checkpointed("job", 1, 1)
    seen = len(numbers(stand, 1))

    until(lambda: len(numbers(stand, 1)) > seen + 5)
    stand.executor.hint(Hint("job", 1, 2, leaving=True))
    assert stand.wait(Checkpointed, "job", count=2).leaves


@needs_criu
def test_a_dump_that_cannot_be_restored_is_an_end_with_a_reason(stand: Stand) -> None:
    begin(stand)
    stand.executor.hint(Hint("job", 1, 1, leaving=True))
    stand.wait(Exited, "job")
    for image in (stand.data / "jobs" / "job" / "criu" / "0").glob("*.img"):
        image.write_bytes(b"")
    stand.launch("job", counting, attempt=2, resume=True)

    assert stand.wait(Exited, "job", count=2).error.startswith("criu could not restore its processes")


@pytest.mark.skipif(WORKS and ROOT, reason="criu works here")
def test_where_processes_cannot_be_dumped_the_job_goes_on(stand: Stand) -> None:
    begin(stand)
    stand.executor.hint(Hint("job", 1, 1, leaving=True))

    assert stand.wait(CheckpointFailed, "job").why
    seen = len(numbers(stand, 1))
    until(lambda: len(numbers(stand, 1)) > seen + 5)
