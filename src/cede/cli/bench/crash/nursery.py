"""A process that has Cede's modules in memory and forks a server from itself whenever it is asked to.

Most of a start goes into importing modules, which no kill can harm. Without that, more kills fall on what can be harmed.
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

from cede.live.config import ServerConfig
from cede.live.server import LiveServer
from cede.model.document import parse_document


def main(settings: str) -> None:
    """Each line of standard input is a wish for a server; its pid is the answer. The end of input is the last's end."""
    wanted = json.loads(settings)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    pid = 0
    print("ready", flush=True)
    for _ in sys.stdin:
        pid = os.fork()
        if pid == 0:
            _serve(wanted)
        print(pid, flush=True)
    with suppress(ProcessLookupError):
        if pid:
            os.kill(pid, signal.SIGKILL)


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
        LiveServer(config, parse_document(json.loads(Path(wanted["cluster"]).read_text()))).run(lambda _: None)
        code = 0
    except BaseException:
        logging.exception("the server ended")
    finally:
        os._exit(code)


if __name__ == "__main__":
    main(sys.argv[1])
