"""Which servers are taken for what they say they are."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from pathlib import Path

from cede.live.client.errors import ClientError


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
