"""Why nothing can be written to a file system at present, in a sentence."""

from __future__ import annotations

import os
from pathlib import Path

LEAST_FREE = 1 << 16
"""With fewer bytes than this no step can be stored."""


def why_unwritable(path: Path) -> str:
    """What keeps this folder from being written to; empty if nothing visible does."""
    try:
        volume = os.statvfs(path)
    except OSError as error:
        return f"{path} cannot be reached: {(error.strerror or str(error)).lower()}"
    if volume.f_flag & os.ST_RDONLY:
        return f"{path} is read-only"
    if volume.f_bavail * volume.f_frsize < LEAST_FREE or (volume.f_files and not volume.f_favail):
        return f"no space left on {path}"
    return ""
