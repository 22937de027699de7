"""A real server for a benchmark: a child process on a folder of its own, ended with everything it started."""

from __future__ import annotations

import getpass
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cede.live.client import Client
from cede.live.documents import Workload
from cede.model.errors import CedeError
from cede.model.lifecycle import FINAL


@dataclass(frozen=True, slots=True)
class Served:
    """A server that answers."""

    process: subprocess.Popen[str]
    client: Client
    data: Path

    def cpu_seconds(self) -> float:
        """What the server's own process has used of the processors so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory(self) -> int:
        """Bytes that the server's own process has in memory."""
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS:"))

    def descriptors(self) -> int:
        """How many files, sockets and the like it has open."""
        return len(list(Path(f"/proc/{self.process.pid}/fd").iterdir()))

    def store_size(self) -> int:
        """Bytes of the database, with what was not yet moved into it."""
        return sum(path.stat().st_size for path in self.data.glob("cede.db*") if not path.name.endswith("-shm"))

    def running(self, name: str) -> Workload:
        """The workload once it runs; an error that says why if it does not."""
        workload = self.client.wait(name, timeout=60, states=("running", *FINAL))
        if workload["state"] != "running":
            raise CedeError(f"{name} is {workload['state']}: {workload['why']}")
        return workload


def account() -> str:
    """Whose rights the jobs have: nobody's where the server is root, else one's own."""
    return "nobody" if os.geteuid() == 0 else getpass.getuser()


@contextmanager
def served(cluster: dict[str, Any]) -> Iterator[Served]:
    """A server of this cluster, until the end of the block; its jobs are cancelled then."""
    with place() as folder, served_in(folder, cluster) as here:
        yield here


@contextmanager
def place() -> Iterator[Path]:
    """A folder for the data of servers, until the end of the block."""
    with tempfile.TemporaryDirectory(prefix="cede-bench-") as folder:
        # Jobs under another account must reach their own folders in it.
        Path(folder).chmod(0o711)
        yield Path(folder)


@contextmanager
def served_in(folder: Path, cluster: dict[str, Any], config: Mapping[str, Any] | None = None) -> Iterator[Served]:
    """A server of this cluster with its data in the folder, where another may have been before."""
    data = folder / "data"
    file, settings = folder / "cluster.json", folder / "config.json"
    file.write_text(json.dumps(cluster))
    settings.write_text(json.dumps(config or {}))
    options = ["--port", "0", "--data", str(data), "--config", str(settings), "--json"]
    if os.geteuid() == 0:
        options += ["--account", f"{getpass.getuser()}={account()}"]
    command = [sys.executable, "-c", "from cede.cli.live.serve import app; app()", str(file), *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=folder)
    assert process.stdout is not None, "it was asked for"
    try:
        if not process.stdout.readline():
            raise CedeError("the server did not start")
        with Client(data=data) as client:
            yield Served(process, client, data)
            _end_everything(client)
    finally:
        process.terminate()
        process.wait(timeout=30)
        process.stdout.close()


def _end_everything(client: Client) -> None:
    for job in client.jobs(state=("pending", "held", "suspended", "starting", "running", "checkpointing")):
        client.cancel(job["name"])
    for job in client.jobs(state=("cancelling", "preempting")):
        client.wait(job["name"], timeout=60)
