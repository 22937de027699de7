"""Tokens of attempts, each derived from the server's secret: by HMAC, so that none need be stored."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from contextlib import suppress
from pathlib import Path

from cede.checkpoint.files import replace

NAME = "broker.key"
LENGTH = 32


def load_secret(folder: Path) -> bytes:
    """The same in every run of the server: applications that run on keep their tokens. Only the server can read it."""
    path = folder / NAME
    with suppress(FileNotFoundError):
        secret = path.read_bytes()
        if len(secret) >= LENGTH:
            return secret
    made = secrets.token_bytes(LENGTH)
    replace(path, made, mode=0o600)
    return made


def token(secret: bytes, name: str, attempt: int) -> str:
    """The token with which an application proves that it is this attempt."""
    return hmac.new(secret, f"checkpoint\0{name}\0{attempt}".encode(), hashlib.sha256).hexdigest()


def proves(secret: bytes, name: str, attempt: int, given: str) -> bool:
    """Whether this is the token of the attempt, in the same time whatever it is."""
    return hmac.compare_digest(token(secret, name, attempt).encode(), given.encode())
