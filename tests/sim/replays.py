"""A small replay in which somebody gives way, as files; and a command that is watched from a terminal."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cede.sim.generate import generate
from cede.sim.recipes import recipe
from cede.sim.traces.cede_format import write
from tests.unit.cli.calls import CEDE, environment

EXAMPLE = Path(__file__).parents[2] / "examples" / "replay"
PATIENCE_S = 300.0

CLUSTER = """\
cede: 1
doctrine: backendai
nodes:
  - {name: n, capacity: {gpu: 4}}
queues:
  - {name: q, settings: {preemptible_priority: 50, preemption_mode: suspend}}
"""
KUEUE = """\
cede: 1
doctrine: kueue
nodes:
  - {name: n, capacity: {gpu: 4}}
queues:
  - {name: q, guaranteed: {gpu: 4}, settings: {withinClusterQueue: LowerPriority}}
"""
JOBS = """\
{"name": "train", "submitted": 0, "duration": 3600, "requests": {"gpu": 4}, "priority": 10, "checkpoint": "auto", \
"checkpoint_time": 30, "restart_time": 60}
{"name": "urgent", "submitted": 1000, "duration": 600, "requests": {"gpu": 4}, "priority": 90}
"""
"""`train` is asked at 1000 and saved at 1030; `urgent` runs until 1630; `train` restores until 1690 and works 2600"""

TRAIN_ENDS_S = 4290


def small(folder: Path) -> tuple[str, str]:
    """The trace and the cluster file of the case, in this folder."""
    (folder / "jobs.jsonl").write_text(JOBS, encoding="utf-8")
    (folder / "cluster.yaml").write_text(CLUSTER, encoding="utf-8")
    (folder / "kueue.yaml").write_text(KUEUE, encoding="utf-8")
    return "jobs.jsonl", "cluster.yaml"


def long(folder: Path, jobs: int = 30_000) -> tuple[Path, Path]:
    """A trace that takes a while to replay, and a cluster for it."""
    trace, cluster = folder / "long.parquet", folder / "long.yaml"
    write(generate(recipe("philly-like", jobs=jobs, seed=1, queues=1)), trace)
    cluster.write_text(
        "cede: 1\ndoctrine: backendai\nnodes:\n  - {name: n, count: 100, capacity: {gpu: 8, cpu: 64, memory: 512Gi}}\n"
        "queues:\n  - {name: team-1, settings: {preemptible_priority: 50}}\n",
        encoding="utf-8",
    )
    return trace, cluster


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below the folder, by its place."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


class Watched:
    """A command whose standard error is a terminal; it has a group of processes of its own."""

    def __init__(self, process: subprocess.Popen[bytes], screen: int) -> None:
        self.process = process
        self._screen = screen
        self.seen = ""

    def wait_for(self, pattern: str) -> None:
        """Until the screen has shown this."""
        ends = time.monotonic() + PATIENCE_S
        while re.search(pattern, self.seen) is None:
            assert time.monotonic() < ends, self.seen[-2000:]
            try:
                self.seen += os.read(self._screen, 65536).decode(errors="replace")
            except OSError:  # nobody has the other end any more
                raise AssertionError(f"it ended before it showed {pattern!r}: {self.seen[-2000:]}") from None

    def interrupt(self) -> None:
        """Ctrl-C: everybody in the terminal hears of it."""
        os.killpg(self.process.pid, signal.SIGINT)

    def end(self) -> tuple[int, str]:
        """Its exit code, and what it printed; nothing that it started is left."""
        out, _ = self.process.communicate(timeout=PATIENCE_S)
        ends = time.monotonic() + PATIENCE_S
        while _is_alive(self.process.pid):
            assert time.monotonic() < ends, "it left processes behind"
            time.sleep(0.05)
        return self.process.returncode, out.decode()


@contextmanager
def watched(*arguments: str | Path) -> Iterator[Watched]:
    screen, theirs = pty.openpty()
    process = subprocess.Popen(
        [str(CEDE), *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=theirs,
        env=environment(COLUMNS="160", TERM="xterm"),
        start_new_session=True,
    )
    os.close(theirs)
    try:
        yield Watched(process, screen)
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()
        os.close(screen)


def _is_alive(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True
