"""A process that has Cede's modules in memory and forks a server from itself whenever it is asked to.

Most of a start goes into importing modules, which no kill can harm. So more kills fall on what can be harmed.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from cede.cli.bench.crash.clock_steps import SteppedMachine, step_supervisors
from cede.doctrines.document import parse_document
from cede.live.config import ServerConfig
from cede.live.server import LiveServer


def main() -> None:
    """Each line of standard input describes a server, and is answered with its pid. The end of input is their end."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    children: list[int] = []
    print("ready", flush=True)
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            _serve(json.loads(line))
        with suppress(ProcessLookupError):
            children.append(os.pidfd_open(pid))
        print(pid, flush=True)
    for child in children:
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(child, signal.SIGKILL)


def _serve(wanted: dict[str, Any]) -> None:
    """In a session of its own, deaf to whoever started the benchmark."""
    code = 1
    try:
        os.setsid()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        nothing = os.open(os.devnull, os.O_RDWR)
        for fd in (0, 1):
            os.dup2(nothing, fd)
        log = os.open(wanted["log"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.dup2(log, 2)
        logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
        config = ServerConfig.model_validate(wanted["config"])
        machine = SteppedMachine(Path(wanted["clock"]))
        step_supervisors(Path(wanted["clock"]))
        LiveServer(config, parse_document(wanted["cluster"]), machine=machine).run(lambda _: None)
        code = 0
    except BaseException:
        logging.exception("the server ended")
    finally:
        os._exit(code)


if __name__ == "__main__":
    main()
