"""Small files that people write by hand beside a trace: mappings, faults."""

from __future__ import annotations

from pathlib import Path

from cede.model.errors import InputError, Problem


def bytes_of(path: str | Path, most: int, what: str) -> bytes:
    """What is in the file; an InputError if it cannot be read, or has more bytes than `what` may have."""
    name = str(path)
    try:
        data = Path(path).read_bytes()
    except (OSError, ValueError) as error:
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        raise InputError([Problem(name, f"cannot be read: {reason}")]) from None
    if len(data) > most:
        raise InputError([Problem(name, f"has {len(data)} bytes, and {what} above {most} are not read")])
    return data
