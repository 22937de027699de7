"""Files that are there in full or not at all."""

from __future__ import annotations

import os
from pathlib import Path


def replace(path: Path, data: bytes, *, durable: bool = True, mode: int = 0o666) -> None:
    """The file holds this data. A reader finds the old data or the new, whatever breaks down meanwhile.

    `durable`: it also survives a power cut from now on. `mode`: who may do what, as far as the umask lets them.
    """
    fresh = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "wb") as file:
            file.write(data)
            file.flush()
            if durable:
                os.fsync(file.fileno())
        fresh.replace(path)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise
    if durable:
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def within(folder: Path, name: str) -> Path:
    """The path of a file of this name in the folder or below it; ValueError if the name leads out of it."""
    path = Path(name)
    if not name or path.is_absolute() or ".." in path.parts or path == Path():
        raise ValueError(f"{name!r} is not the name of a file in the checkpoint directory")
    return folder / path
