"""A server of its own for the demo: a child process that ends with it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cede.cli.live.config import local_user
from cede.model.errors import CedeError

if TYPE_CHECKING:
    from rich.console import Console

    from cede.live.client import Client

PACKAGE = Path(__file__).resolve().parents[2]
FOLDERS = (PACKAGE.parents[1] / "examples", PACKAGE / "examples")
"""Where the examples are: in the source tree, or within an installed package."""
CEDE = (sys.executable, "-c", "import sys; from cede.cli.main import main; sys.exit(main())")
LESSER = "nobody"
ENDS_WITHIN_S = 15.0


def example_file(name: str) -> Path:
    """One of the examples."""
    for folder in FOLDERS:
        if (folder / name).is_file():
            return folder / name
    raise CedeError(f"the example {name} is not here; run the demo from Cede's source tree")


@dataclass(frozen=True, slots=True)
class DemoServer:
    """A running server. `account`: whose rights its jobs have; none where everything is this user's."""

    process: subprocess.Popen[str]
    client: Client
    data: Path
    account: str | None
    program: Path
    kept: bool

    def introduce(self, out: Console) -> None:
        """Where it is, and whose rights jobs have."""
        from cede.cli.output import text

        user = local_user()
        rights = f"everything runs as {user}" if self.account is None else f"jobs of {user} run as {self.account}"
        if self.account == "root":
            rights += f", because {LESSER} cannot read Python or the examples here"
        out.print(
            text("A server with two logical nodes of this machine is up: ", "bold") + text(self.client.url, "cyan")
        )
        out.print(text(f"data in {self.data}; {rights}", "dim"), soft_wrap=True)
        out.print()

    def invite(self, out: Console) -> None:
        """What to try while it stays up."""
        from cede.cli.output import text

        out.print()
        out.print(text(f"The server stays up at {self.client.url} until Ctrl-C. In another terminal:", "bold"))
        for line in (
            f"export CEDE_DATA={self.data}",
            "cede top",
            f"cede submit --cpu 1 --checkpoint manual:signal -- {sys.executable} {self.program} 100 0.1",
            "cede diff --live --set 'queues[default].settings.preemptible_priority=0'",
        ):
            out.print(text(f"  {line}", "green"), soft_wrap=True)
        out.print(text(f"Programs use CEDE_URL and CEDE_TOKEN; the token is in {self.data / 'server.json'}.", "dim"))
        sys.stdout.flush()

    def stay(self) -> None:
        """Until somebody ends it, or the server ends."""
        with suppress(KeyboardInterrupt):
            self.process.wait()


@contextmanager
def serving(data: str | None, port: int) -> Iterator[DemoServer]:
    """The demo's server, up; when the block is over it is gone, and so are its jobs and what was temporary."""
    program = example_file("checkpoint/count.py")
    cluster = example_file("live/demo.yaml")
    folder = Path(tempfile.mkdtemp(prefix="cede-demo-")) if data is None else Path(data).absolute()
    account = _account(program)
    before = signal.signal(signal.SIGTERM, _interrupt)
    process: subprocess.Popen[str] | None = None
    try:
        process = _start(folder, cluster, port, account)
        url = _url(process, folder)
        from cede.live.client import Client

        with Client(url, data=folder) as client:
            try:
                yield DemoServer(process, client, folder, account, program, data is not None)
            finally:
                _end_jobs(client)
    finally:
        signal.signal(signal.SIGTERM, before)
        _end(process)
        if data is None:
            shutil.rmtree(folder, ignore_errors=True)


def _start(folder: Path, cluster: Path, port: int, account: str | None) -> subprocess.Popen[str]:
    accounts = [] if account is None else ["--account", f"{local_user()}={account}"]
    command = [*CEDE, "serve", str(cluster), "--data", str(folder), "--port", str(port), "--json", *accounts]
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "server.log").open("w") as log:
        # A session of its own: Ctrl-C is for the demo, which ends it in order.
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, start_new_session=True)


def _url(process: subprocess.Popen[str], folder: Path) -> str:
    """Where it listens, once it does."""
    assert process.stdout is not None, "it was made with a pipe"
    line = process.stdout.readline()
    if not line:
        said = (folder / "server.log").read_text(errors="replace").strip().splitlines()
        why = said[-1].removeprefix("error: ") if said else "it said nothing"
        raise CedeError(f"the server did not start: {why}")
    return str(json.loads(line)["url"])


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def _end_jobs(client: Client) -> None:
    """Jobs outlive a server; those of a demo do not."""
    from cede.live.client import ClientError
    from cede.model.lifecycle import FINAL, Phase

    with suppress(ClientError, TimeoutError):
        names = [job["name"] for job in client.jobs(state=[str(phase) for phase in Phase if phase not in FINAL])]
        for name in names:
            with suppress(ClientError):
                client.cancel(name)
        for name in names:
            client.wait(name, ENDS_WITHIN_S)


def _end(process: subprocess.Popen[str] | None) -> None:
    if process is None:
        return
    process.terminate()
    try:
        process.wait(ENDS_WITHIN_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdout is not None:
        process.stdout.close()


def _account(program: Path) -> str | None:
    """As root: an account with fewer rights if it can run the program, else root's own; else none."""
    if os.geteuid() != 0:
        return None
    command = [sys.executable, "-c", f"import cede.checkpoint; open({str(program)!r}).read()"]
    try:
        tried = subprocess.run(
            command, user=LESSER, group=_group(LESSER), extra_groups=[], cwd="/", capture_output=True, check=False
        )
    except (OSError, KeyError):
        return "root"
    return LESSER if tried.returncode == 0 else "root"


def _group(account: str) -> int:
    import pwd

    return pwd.getpwnam(account).pw_gid
