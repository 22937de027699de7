"""Discovery: the address and token of a server, and which certificate it must show."""

from __future__ import annotations

import os
import ssl
from dataclasses import dataclass
from pathlib import Path

from cede.live.client.errors import ClientError
from cede.live.data_directory import OF_ROOT, data_directory, read_note


@dataclass(frozen=True, slots=True)
class Trust:
    """Certificates in a PEM file. `pinned`: the server has the very certificate in it, whatever name is on that."""

    file: Path
    pinned: bool = False

    def context(self) -> ssl.SSLContext:
        """What a connection is checked with; a ClientError if the file is of no use."""
        try:
            made = ssl.create_default_context(cafile=str(self.file))
        except OSError as error:  # of TLS too
            why = (error.strerror or str(error)).lower()
            raise ClientError(0, "", f"{self.file}: no certificates to trust: {why}") from None
        if self.pinned:
            made.check_hostname = False
            made.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        return made


def find(url: str | None, token: str | None, data: str | Path | None) -> tuple[str, str]:
    """The address and the token to use; what is not given comes from the environment, then the data directory."""
    address = url or (None if data is not None else os.environ.get("CEDE_URL"))
    secret = _bare(token) or _bare(os.environ.get("CEDE_TOKEN"))
    folder = data_directory(data)
    left = read_note(folder)
    if address is not None:
        if secret is None and left is not None and left.url == address:
            secret = left.token
        if secret is None:
            raise ClientError(0, "", f"no token for {address}: give one, or set CEDE_TOKEN")
        return address.rstrip("/"), secret
    if left is None:
        detail = f"no server runs with the data directory {folder}: start one with `cede serve`, or set CEDE_URL"
        raise ClientError(0, "", detail + _of_root(folder))
    return left.url.rstrip("/"), _bare(token) or left.token


def _bare(token: str | None) -> str | None:
    """The token without what a file or a clipboard had around it; none if nothing is left."""
    return (token or "").strip() or None


def _of_root(folder: Path) -> str:
    """A server of root leaves word for root alone; other accounts may not know that there is one."""
    if folder == OF_ROOT or not OF_ROOT.is_dir():
        return ""
    return f" (one of root keeps its data in {OF_ROOT}; others reach it by CEDE_URL and CEDE_TOKEN)"


def trusted(url: str | None, data: str | Path | None, ca: str | Path | None) -> Trust | None:
    """Whom to trust beside the system: certificates that were given, else the very one that a server left here."""
    given = ca or os.environ.get("CEDE_CA")
    if given:
        return Trust(Path(given))
    address = url or (None if data is not None else os.environ.get("CEDE_URL"))
    left = read_note(data_directory(data))
    if left is None or left.certificate is None or address not in (None, left.url):
        return None
    return Trust(Path(left.certificate), pinned=True)
