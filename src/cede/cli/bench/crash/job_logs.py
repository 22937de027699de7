"""What the jobs of the crash test wrote down, read back without asking Cede."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

COMPLETE = "complete"
FINISHED = "finished"
"""It got to its end after it had saved in order to leave: by the protocol it has left, or completed if let off."""


@dataclass(frozen=True, slots=True)
class Line:
    """One thing that one process did. `at` is in nanoseconds of the machine's monotonic clock."""

    at: int
    attempt: int
    member: int
    pid: int
    start: int
    what: str
    details: tuple[str, ...]

    @property
    def process(self) -> tuple[int, int]:
        return self.pid, self.start


@dataclass(frozen=True, slots=True)
class JobLog:
    """All that the processes of one job wrote, in the order of the file."""

    name: str
    lines: Sequence[Line]

    def attempts(self) -> list[int]:
        return sorted({line.attempt for line in self.lines})

    def of(self, attempt: int, *what: str) -> list[Line]:
        """Lines of an attempt, all or those of these kinds."""
        return [line for line in self.lines if line.attempt == attempt and (not what or line.what in what)]

    def members(self, attempt: int) -> Iterator[tuple[int, list[Line]]]:
        """The lines of each member of the attempt; those of its strays are left out."""
        by_member: dict[int, list[Line]] = {}
        strays = {line.process for line in self.of(attempt, "stray")}
        for line in self.of(attempt):
            if line.process not in strays:
                by_member.setdefault(line.member, []).append(line)
        yield from sorted(by_member.items())

    def completed(self, attempt: int, members: int, *what: str) -> bool:
        """Whether every member got to the end it came for, in one of these words."""
        return len({line.member for line in self.of(attempt, *what)}) == members


def read(folder: Path) -> Mapping[str, JobLog]:
    """By name, every job that ever ran."""
    return {path.stem: read_log(folder, path.stem) for path in sorted(folder.glob("*.log"))}


def read_log(folder: Path, name: str) -> JobLog:
    """What this job wrote down; nothing if it never ran."""
    path = folder / f"{name}.log"
    return JobLog(name, [_line(text) for text in _texts(path)] if path.exists() else [])


def _texts(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def _line(text: str) -> Line:
    at, attempt, member, pid, start, what, *details = text.split(" ")
    return Line(int(at), int(attempt), int(member), int(pid), int(start), what, tuple(details))
