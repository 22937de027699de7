"""A real server for a benchmark: a child process on a folder of its own, ended with everything it started."""

from __future__ import annotations

import getpass
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cede.live.client import Client
from cede.live.client.results import Workload
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

    def running(self, name: str) -> Workload:
        """The workload once it runs; an error that says why if it does not."""
        found = self.client.wait(name, timeout=60, states=("running", *FINAL))
        if found["state"] != "running":
            raise CedeError(f"{name} is {found['state']}: {found['why']}")
        return found


def account() -> str:
    """Whose rights the jobs have: nobody's where the server is root, else one's own."""
    return "nobody" if os.geteuid() == 0 else getpass.getuser()


@contextmanager
def served(cluster: dict[str, Any]) -> Iterator[Served]:
    """A server of this cluster, until the end of the block; its jobs are cancelled then."""
    with tempfile.TemporaryDirectory(prefix="cede-bench-") as folder:
        # Jobs under another account must reach their own folders in it.
        Path(folder).chmod(0o711)
        data = Path(folder) / "data"
        file = Path(folder) / "cluster.json"
        file.write_text(json.dumps(cluster))
        options = ["--port", "0", "--data", str(data), "--json"]
        if os.geteuid() == 0:
            options += ["--account", f"{getpass.getuser()}={account()}"]
        command = [sys.executable, "-c", "from cede.cli.live.serve import app; app()", str(file), *options]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=folder)
        try:
            assert process.stdout is not None, "it was asked for"
            if not process.stdout.readline():
                raise CedeError("the server did not start")
            with Client(data=data) as client:
                yield Served(process, client, data)
                _end_everything(client)
        finally:
            process.terminate()
            process.wait(timeout=30)


def _end_everything(client: Client) -> None:
    for job in client.jobs(state=("pending", "held", "suspended", "starting", "running", "checkpointing")):
        client.cancel(job["name"])
    for job in client.jobs(state=("cancelling", "preempting")):
        client.wait(job["name"], timeout=60)
