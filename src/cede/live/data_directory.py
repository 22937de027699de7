"""The data directory: where it is, that one server has it at a time, and how others find that server."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TextIO

from cede.model.errors import CedeError

VARIABLE = "CEDE_DATA"
NOTE = "server.json"
OF_ROOT = Path("/var/lib/cede")
"""Where every account can pass through: jobs under other accounts reach their own folders in it."""
OWN = ("server.*", "cede.db*", "local.token", "broker.*")
"""What lies in the directory beside the folders of jobs."""


def data_directory(given: str | Path | None = None, environ: Mapping[str, str] = os.environ) -> Path:
    """Where a server of this account keeps what it must not lose, and its commands find it, unless told otherwise."""
    if given is not None:
        return Path(given)
    if named := environ.get(VARIABLE):
        return Path(named)
    if os.geteuid() == 0:
        return OF_ROOT
    state = environ.get("XDG_STATE_HOME")
    return (Path(state) if state else Path.home() / ".local" / "state") / "cede"


@dataclass(frozen=True, slots=True)
class Note:
    """How to reach the server of a data directory from the same account."""

    url: str
    token: str
    pid: int
    certificate: str | None = None
    """That of a server that speaks https: from here it is known by it, whatever name is on it."""


class DataDirectory:
    """A data directory that this process has for itself."""

    def __init__(self, path: Path, lock: TextIO) -> None:
        self.path = path
        self._lock = lock

    @classmethod
    def take(cls, path: Path) -> DataDirectory:
        """The directory, made if need be; an error if another server has it."""
        try:
            path.mkdir(parents=True, exist_ok=True, mode=0o700)
            _keep_from_others(path)
            lock = os.fdopen(os.open(path / "server.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600), "r+")
        except OSError as error:
            raise CedeError(f"{path}: cannot be used for data: {(error.strerror or str(error)).lower()}") from None
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            lock.close()
            note = read_note(path)
            where = f" at {note.url} (process {note.pid})" if note else ""
            hint = "stop it, or give another directory with --data"
            raise CedeError(f"{path}: a server{where} is using it already ({hint})") from None
        return cls(path.resolve(), lock)

    def announce(self, note: Note) -> None:
        """Leave word of the server, for this account only."""
        text = json.dumps(asdict(note))
        fresh = self.path / f"{NOTE}.new"
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write(text)
        fresh.replace(self.path / NOTE)

    def leave(self) -> None:
        """Another server may have it."""
        with suppress(FileNotFoundError):
            (self.path / NOTE).unlink()
        self._lock.close()


def _keep_from_others(path: Path) -> None:
    """The server's own files are for its account alone. An account that can read a file can lock it, and jobs of other
    accounts pass through here; an older server may have left some open."""
    for kind in OWN:
        for file in path.glob(kind):
            if file.is_file() and not file.is_symlink():
                file.chmod(file.stat().st_mode & 0o700)


def read_note(path: Path) -> Note | None:
    """The word left by the server of this directory, if one runs or was killed."""
    try:
        fields = json.loads((path / NOTE).read_text())
        certificate = fields.get("certificate")
        return Note(str(fields["url"]), str(fields["token"]), int(fields["pid"]), certificate)
    except (OSError, ValueError, KeyError, TypeError):
        return None
