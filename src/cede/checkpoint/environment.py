"""What Cede says in the environment of a process."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Environment:
    """What a job knows of itself. Outside Cede: the first attempt of a job without a name, which hears no hints."""

    job: str = ""
    attempt: int = 1
    resuming: bool = False
    directory: Path = Path()
    """Where checkpoints belong; outside Cede the working directory."""
    control: Path | None = None
    protocol: str = "none"
    hint_signal: int = signal.SIGUSR1
    broker: str = ""
    token: str = ""
    rank: int = 0
    size: int = 1
    interval: float | None = None
    """Seconds between checkpoints of its own accord, if the job was submitted with that."""


def read_environment(environment: Mapping[str, str] = os.environ) -> Environment:
    """What these variables say."""
    control = environment.get("CEDE_CONTROL_DIR")
    return Environment(
        job=environment.get("CEDE_JOB", ""),
        attempt=int(environment.get("CEDE_ATTEMPT") or 1),
        resuming=environment.get("CEDE_RESUME") == "1",
        directory=Path(environment.get("CEDE_CHECKPOINT_DIR") or "."),
        control=Path(control) if control else None,
        protocol=environment.get("CEDE_PROTOCOL") or "none",
        hint_signal=signal_number(environment.get("CEDE_HINT_SIGNAL") or "SIGUSR1"),
        broker=environment.get("CEDE_BROKER", ""),
        token=environment.get("CEDE_BROKER_TOKEN", ""),
        rank=int(environment.get("CEDE_RANK") or 0),
        size=int(environment.get("CEDE_SIZE") or 1),
        interval=float(environment.get("CEDE_CHECKPOINT_INTERVAL") or 0) or None,
    )


def signal_number(text: str) -> int:
    """`SIGUSR1`, `USR1` and `10` are the same signal."""
    if text.isdecimal():
        return signal.Signals(int(text))
    return signal.Signals["SIG" + text.upper().removeprefix("SIG")]
