"""A real server for the commands: `cede serve` as a child process, and `cede` called against it."""

from __future__ import annotations

import getpass
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cede.live.client import Client, ClientError
from tests.unit.cli.calls import CEDE, EXAMPLES, Ran, environment

CLUSTER = EXAMPLES / "live" / "demo.yaml"
COUNT = EXAMPLES / "checkpoint" / "count.py"
DEADLINE_S = 60.0
PACED = 'if [ $CEDE_RESUME = 1 ]; then exec "$@" 0.02; else exec "$@" 0.2; fi'
USER = getpass.getuser()


@dataclass(frozen=True, slots=True)
class Served:
    """A server that listens, what it said when it did, and a client of it."""

    process: subprocess.Popen[str]
    said: dict[str, Any]
    data: Path
    client: Client

    def run(self, *arguments: str | Path, **more: str) -> Ran:
        """A command as a process, without the environment of the tests."""
        return self.fed(subprocess.DEVNULL, *arguments, **more)

    def fed(self, stdin: int, *arguments: str | Path, **more: str) -> Ran:
        """The same, with this as its standard input."""
        given = environment(**{"CEDE_DATA": str(self.data), "COLUMNS": "100"} | more)
        command = [str(CEDE), *map(str, arguments)]
        ran = subprocess.run(command, stdin=stdin, capture_output=True, env=given, check=False, timeout=300)
        return Ran(ran.returncode, ran.stdout.decode(), ran.stderr.decode())

    def counting(self, name: str, *, priority: int, cpu: int = 2, steps: int = 20_000) -> None:
        """Submit a job that counts, and saves when it is asked; it heeds the signal when this returns.

        It takes its time, until it resumes.
        """
        command = ["sh", "-c", PACED, "sh", sys.executable, str(COUNT), str(steps)]
        checkpoint = {"mode": "manual", "protocol": "signal"}
        self.client.submit(command, name=name, priority=priority, cpu=cpu, checkpoint=checkpoint, cwd="/")
        until(lambda: b"starting from" in b"".join(self.client.logs(name)))
        # What it says can be read before it is on record that it runs, and until then nobody asks it for anything.
        self.client.wait(name, DEADLINE_S, states=["running"])


@contextmanager
def served(folder: Path, *arguments: str | Path) -> Iterator[Served]:
    """`cede serve` with its data in this folder."""
    accounts = ["--account", f"{USER}={USER}"] if os.geteuid() == 0 else []
    command = [CEDE, "serve", *arguments, "--data", folder, "--port", "0", "--json", *accounts]
    with (folder.parent / f"{folder.name}.log").open("w") as log:
        process = subprocess.Popen(
            list(map(str, command)), stdout=subprocess.PIPE, stderr=log, text=True, env=environment()
        )
    assert process.stdout is not None
    try:
        said = json.loads(process.stdout.readline())
        with Client(data=folder) as client:
            yield Served(process, said, folder, client)
            names = [job["name"] for job in client.jobs() if not job["ended"]]
            for name in names:
                try:
                    client.cancel(name)
                except ClientError as error:
                    if error.status != 409:  # it has ended meanwhile
                        raise
            for name in names:
                client.wait(name, DEADLINE_S)
    finally:
        process.terminate()
        process.wait(DEADLINE_S)
        process.stdout.close()


def until(condition: Callable[[], bool], deadline_s: float = DEADLINE_S) -> None:
    """Wait until this is true; it is an error if that takes too long."""
    ends = time.monotonic() + deadline_s
    while not condition():
        assert time.monotonic() < ends, "it never came true"
        time.sleep(0.02)


Call = Callable[..., Ran]
