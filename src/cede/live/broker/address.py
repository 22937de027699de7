"""Where the broker is found: the same place in every run of the server, for applications that outlive one."""

from __future__ import annotations

import tempfile
from contextlib import suppress
from pathlib import Path

from cede.checkpoint.files import replace

SOCKET = "broker.sock"
BEHIND = "broker.own"
"""The broker's own socket, behind the entrance that applications know."""
PORT = "broker.port"
LOOPBACK = "127.0.0.1"
LONGEST = 107
"""Bytes that the path of a unix socket may have."""


def socket_in(folder: Path) -> Path | None:
    """The unix socket of this data directory; none if its path is too long for one."""
    path = folder.absolute() / SOCKET
    return path if len(bytes(path)) <= LONGEST else None


def behind(folder: Path) -> Path:
    """A socket that only this account can open: in the data directory, or in a short one where that is too deep."""
    path = folder.absolute() / BEHIND
    if len(bytes(path)) <= LONGEST:
        return path
    return Path(tempfile.mkdtemp(prefix="cede-")) / BEHIND


def kept_port(folder: Path) -> int:
    """The port of the last run, or 0: any."""
    with suppress(OSError, ValueError):
        return int((folder / PORT).read_text(encoding="ascii"))
    return 0


def keep_port(folder: Path, port: int) -> None:
    replace(folder / PORT, str(port).encode(), mode=0o600)
