"""A reader's terminal: the commands of a page, run in a folder with the examples, and the server that it starts.

`cede serve` stays in the background until the page ends or serves again. A question to it may be asked again for a
while, until it prints what the page shows: a server takes its time. Everything the page started is gone at the end.
"""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import mkdtemp
from types import TracebackType

from cede.live.client import Client, ClientError
from cede.model.lifecycle import FINAL, Phase
from docs.blocks import Block, Command
from docs.commands import PLAIN, agrees, parsed, prepared, ran, tidy
from docs.varying import USER, alike, as_a_reader_has_it

PATIENCE_S = 60.0
STARTS_WITHIN_S = 60.0
PAUSE_S = 0.05
UNFINISHED = -1
"""The exit code of what has none yet."""
CEDE = (sys.executable, "-W", "error", "-c", "import sys; from cede.cli.main import main; sys.exit(main())")
QUESTIONS = {"ps", "status", "why", "logs", "top", "queues", "events", "decisions", "snapshot", "audit", "plan", "diff"}
"""Commands that change nothing: asked twice, they may only say something newer."""


class Terminal:
    """Somebody who types in what a page shows. `patience_s`: how long to wait for what is shown to come true."""

    def __init__(self, folder: Path, patience_s: float = PATIENCE_S) -> None:
        self.folder = prepared(folder)
        self._patience_s = patience_s
        self._data: Path | None = None
        self._server: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Terminal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._data is None:
            return
        try:
            if self._server is not None and self._server.poll() is None:
                _end_jobs(self._data)
            self._stop()
        finally:
            shutil.rmtree(self._data, ignore_errors=True)

    def is_live(self) -> bool:
        """Whether the page has started a server."""
        return self._data is not None

    def outcome(self, command: Command) -> tuple[int, str]:
        """The exit code and what was printed, once it is what the page shows or patience is over."""
        words = shlex.split(command.line, comments=True)
        if command.parsed:
            return parsed(words)
        if words[:2] == ["cede", "serve"]:
            return self._serve(words[2:], command)
        if not self.is_live():
            return ran(command.line, self.folder)
        last = words[len(words) - 1 - words[::-1].index("cede") :]
        again = last[1] in QUESTIONS or last[1:] == ["nodes"]
        return self._until(lambda: self._ask(command.line), command, self._patience_s if again else 0.0)

    def agrees(self, shown: str, printed: str) -> bool:
        """Whether the page shows what was printed; with a server, but for what differs from run to run."""
        return (alike if self.is_live() else agrees)(shown, printed)

    def coloured(self, line: str, colours: Mapping[str, str]) -> str:
        """What a command prints on a terminal with colours."""
        without = {key: value for key, value in self._environment().items() if key != "NO_COLOR"}
        return self._seen(ran(line, self.folder, **(without | dict(colours)))[1])

    def run_python(self, block: Block) -> str:
        """What a block of Python complains of; nothing if it ends well."""
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", block.body],
            cwd=self.folder,
            env={"PYTHONUTF8": "1", "PATH": os.environ["PATH"], **(self._environment() if self.is_live() else {})},
            capture_output=True,
            encoding="utf-8",
            timeout=300,
            check=False,
        )
        return done.stderr if done.returncode else ""

    def _environment(self) -> dict[str, str]:
        return PLAIN | {
            "CEDE_DATA": str(self._data),
            "LOGNAME": USER,
            "PATH": os.environ["PATH"],
            "HOME": "/",
            "TZ": "UTC",
        }

    def _ask(self, line: str) -> tuple[int, str]:
        code, printed = ran(line, self.folder, **self._environment())
        return code, self._seen(printed)

    def _seen(self, printed: str) -> str:
        return as_a_reader_has_it(printed, self._data or Path(), self.folder)

    def _until(self, look: Callable[[], tuple[int, str]], command: Command, patience_s: float) -> tuple[int, str]:
        ends = time.monotonic() + patience_s
        while True:
            code, printed = look()
            right = code == command.code and (command.shown is None or self.agrees(command.shown, printed))
            if right or time.monotonic() >= ends:
                return code, printed
            time.sleep(PAUSE_S)

    # -- the server --------------------------------------------------------------------------------------------

    def _serve(self, arguments: list[str], command: Command) -> tuple[int, str]:
        """Start `cede serve` as the page has it, on a port and with data of its own; one from before is ended."""
        self._stop()
        if self._data is None:
            # Not in the folder of the page: the path of a socket may not be long.
            self._data = Path(mkdtemp(prefix="cede-docs-"))
        accounts = [] if os.geteuid() else ["--account", f"{USER}=root"]
        data, said = self._data, self._data / "server.out"
        with said.open("ab") as out:
            begins = out.tell()
            server = self._server = subprocess.Popen(
                [*CEDE, "serve", *arguments, "--port", "0", *accounts],
                cwd=self.folder,
                env=self._environment() | {"PYTHONUTF8": "1"},
                stdout=out,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
            )

        def look() -> tuple[int, str]:
            printed = self._seen(tidy(said.read_bytes()[begins:].decode()))
            return (0 if (data / "server.json").exists() else UNFINISHED), printed

        code, printed = self._until(look, command, PATIENCE_S if self._listens() else 0.0)
        return code if server.poll() is None else server.returncode, printed

    def _listens(self) -> bool:
        """Whether the server is up, once it is or has ended."""
        assert self._server is not None, "it was started"
        assert self._data is not None, "it has a place"
        ends = time.monotonic() + STARTS_WITHIN_S
        while self._server.poll() is None and time.monotonic() < ends:
            if (self._data / "server.json").exists():
                return True
            time.sleep(PAUSE_S)
        return False

    def _stop(self) -> None:
        """As Ctrl-C does. Jobs go on."""
        if self._server is not None and self._server.poll() is None:
            self._server.send_signal(signal.SIGINT)
            try:
                self._server.wait(PATIENCE_S)
            except subprocess.TimeoutExpired:
                self._server.kill()
                self._server.wait()


def _end_jobs(data: Path) -> None:
    """Jobs outlive a server; those of a page do not."""
    with Client(data=data) as client:
        names = [job["name"] for job in client.jobs(state=[str(phase) for phase in Phase if phase not in FINAL])]
        for name in names:
            try:
                client.cancel(name)
            except ClientError as error:
                if not error.status:
                    raise
        for name in names:
            client.wait(name, PATIENCE_S)
