"""Where the server is: told, in the environment, or left by it in its data directory."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

from cede.live.client.errors import ClientError

RECORD = "server.json"


def find(url: str | None, token: str | None, data: str | Path | None) -> tuple[str, str]:
    """The address and the token to use; what is not given comes from the environment, then the data directory."""
    environ = os.environ
    address = url or (None if data is not None else environ.get("CEDE_URL"))
    secret = token or environ.get("CEDE_TOKEN")
    if address is not None:
        if secret is None:
            left = _left(data_directory(data, environ))
            secret = left.get("token") if left.get("url") == address else None
        if secret is None:
            raise ClientError(0, "", f"no token for {address}: give one, or set CEDE_TOKEN")
        return address.rstrip("/"), secret
    folder = data_directory(data, environ)
    left = _left(folder)
    if not left:
        detail = f"no server runs with the data directory {folder}: start one with `cede serve`, or set CEDE_URL"
        raise ClientError(0, "", detail)
    return left["url"].rstrip("/"), token or left["token"]


def data_directory(given: str | Path | None, environ: Mapping[str, str]) -> Path:
    """Where a server of this user keeps its data."""
    if given is not None:
        return Path(given)
    if environ.get("CEDE_DATA"):
        return Path(environ["CEDE_DATA"])
    state = environ.get("XDG_STATE_HOME")
    return (Path(state) if state else Path.home() / ".local" / "state") / "cede"


def _left(folder: Path) -> dict[str, str]:
    """What a running server wrote about itself; nothing if none did, or it is not for us to read."""
    try:
        found = json.loads((folder / RECORD).read_text(encoding="utf-8"))
        return {"url": str(found["url"]), "token": str(found["token"])}
    except (OSError, ValueError, KeyError, TypeError):
        return {}
