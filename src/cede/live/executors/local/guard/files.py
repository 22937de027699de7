"""Small JSON files that are there whole or not at all."""

from __future__ import annotations

import json
import os
from typing import Any


def put(folder: str, name: str, value: dict[str, Any], *, durable: bool = True) -> None:
    """The file holds `value`; if durable, also after a loss of power."""
    path = os.path.join(folder, name)
    temporary = os.path.join(folder, f".{name}.{os.getpid()}")
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        os.write(fd, json.dumps(value, separators=(",", ":")).encode())
        if durable:
            os.fsync(fd)
    finally:
        os.close(fd)
    os.rename(temporary, path)
    if durable:
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)


def get(folder: str, name: str) -> dict[str, Any] | None:
    """What the file holds; none if there is no such file. A file that was cut short holds nothing: {}."""
    try:
        fd = os.open(os.path.join(folder, name), os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        text = os.read(fd, os.fstat(fd).st_size + 1)
    finally:
        os.close(fd)
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
