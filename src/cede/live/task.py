"""What an executor runs for a workload: a command and all around it, which no decision looks at."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

Protocol = Literal["none", "signal", "shm", "grpc", "criu"]


class Task(BaseModel):
    """Checked where it is submitted; stored beside the workload's record."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    command: tuple[str, ...] = Field(min_length=1)
    env: dict[str, str] = Field(default_factory=dict)
    cwd: str
    owner: str
    """The Cede user it belongs to."""
    called: str = ""
    """What its owner calls it; empty: by the name of its record."""
    account: str | None = None
    """The unix account it runs as; none: that of the server."""
    protocol: Protocol = "none"
    """How its application is asked for a checkpoint."""
    hint_signal: str = "SIGUSR1"
    log_limit: int = 64 * 2**20
    """Bytes of one log file before it is rotated; one older file is kept."""
    cpu: float | None = None
    """What one member asked for, for limits where the machine allows them."""
    memory: int | None = None
    gpus: int = 0
    requests: dict[str, int] = Field(default_factory=dict)
    """All that one member asked for, in billionths; of unequal members the most of each."""
    exclusive: bool = False
    """It has its nodes to itself."""
    walltime_us: int | None = None
    grace_us: int = 30_000_000
