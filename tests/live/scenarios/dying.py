"""A server that is a process of its own, and can be killed."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cede.live.client import Client
from cede.live.config import ServerConfig, User
from tests.live.serving import TIMES, USERS, Live

PATIENT_S = 60.0
"""A busy machine may take its time; nothing here is measured from above but what the records say."""


class Child(Live):
    """Its configuration and its cluster are files beside its data."""

    process: subprocess.Popen[bytes]

    def start(self) -> None:
        folder = self.data.parent
        (folder / "cluster.json").write_text(json.dumps(self.cluster))
        files = [str(folder / name) for name in ("config.json", "cluster.json")]
        program = str(Path(__file__).with_name("child.py"))
        self.process = subprocess.Popen([sys.executable, program, *files], stdout=subprocess.PIPE)
        assert self.process.stdout is not None
        self.client = Client(*self.process.stdout.readline().decode().split())

    def kill(self) -> None:
        """kill -9: nothing is put in order. Its jobs go on."""
        self.client.close()
        self.process.kill()
        self._bury()

    def stop(self) -> None:
        self.client.close()
        self.process.terminate()
        self._bury()

    def _bury(self) -> None:
        self.process.wait(PATIENT_S)
        assert self.process.stdout is not None
        self.process.stdout.close()


@contextmanager
def child(folder: Path, cluster: dict[str, Any], *, users: Sequence[User] = USERS) -> Iterator[Child]:
    """A server with its data below this folder. At the end nothing of it is left running."""
    named = [user.model_dump(exclude_none=True) for user in users]
    given = {"port": 0, "data": str(folder / "data"), "users": named, "times": TIMES}
    (folder / "config.json").write_text(json.dumps(given))
    live = Child(cluster, ServerConfig.model_validate(given))
    live.start()
    try:
        yield live
    finally:
        try:
            live.clear()
        finally:
            live.stop()
