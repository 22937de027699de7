"""A file system that is soon full."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def small_disk(folder: Path) -> Iterator[Path]:
    """One of a few megabytes; where none can be mounted, the test is skipped."""
    point = folder / "disk"
    point.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=8m,mode=755", "tmpfs", str(point)]
    made = subprocess.run(command, capture_output=True, text=True, check=False)
    if made.returncode:
        pytest.skip(f"no file system can be mounted here: {made.stderr.strip()}")
    yield point
    subprocess.run(["umount", "-l", str(point)], check=True)


def fill(disk: Path) -> Path:
    """The file that takes all the room there was."""
    hog = disk / "hog"
    with hog.open("wb", buffering=0) as file:
        for size in (1 << 16, 1 << 12, 1):
            while True:
                try:
                    if file.write(b"x" * size) < size:
                        break
                except OSError:
                    break
    return hog
