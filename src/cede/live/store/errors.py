"""What can go wrong between Cede and its database."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy.exc import SQLAlchemyError

from cede.live.disk import why_unwritable
from cede.model.errors import CedeError


class StoreError(CedeError):
    """The database did not do what was asked; nothing of it was kept."""


class UnwritableError(StoreError):
    """The file system takes nothing at present. The message is the reason alone, for people who can change that."""


class StaleError(StoreError):
    """The step was made from another version than the one that is stored."""


class NewerError(StoreError):
    """The database was written by a newer Cede."""


class TakenError(StoreError):
    """There is such a workload or token already."""


class UnknownError(StoreError):
    """There is no such workload to go on from."""


class UnreadableError(StoreError):
    """What is stored of a workload is no record of one; the message says why."""


_READ_ONLY = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_CANTOPEN)
_BROKEN = (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN)


@contextmanager
def in_our_words(what: str, path: Path | None = None) -> Iterator[None]:
    """What the database complains of is raised as a StoreError that says what was being done, or what is in the way."""
    try:
        yield
    except SQLAlchemyError as error:
        cause = getattr(error, "orig", None) or error
        reason = "" if path is None else _in_the_way(getattr(cause, "sqlite_errorcode", 0), path)
        if reason:
            raise UnwritableError(reason) from error
        raise StoreError(f"{what}: {cause}") from error


def _in_the_way(code: int, path: Path) -> str:
    """Why nothing can be written, if it is that."""
    kind = code & 0xFF  # the rest says more of the same
    if kind == sqlite3.SQLITE_FULL:
        return f"no space left on {path.parent}"
    if kind in _BROKEN and (reason := why_unwritable(path.parent)):
        return reason
    if kind in _READ_ONLY:
        return f"{path} is read-only"
    return f"{path} cannot be read or written: input/output error" if kind in _BROKEN else ""
