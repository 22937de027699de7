"""What the driver wants done. Each order may be given twice: doing it again changes nothing."""

from __future__ import annotations

from cede.model.value_class import value


@value
class Launch:
    """Start the processes of an attempt: one member on each of these nodes, in this order."""

    name: str
    attempt: int
    nodes: tuple[str, ...]
    resume: bool


@value
class Hint:
    """Ask the application for a checkpoint. Hints of one attempt are numbered from 1. `leaving`: it goes afterwards.

    `deadline`: when the checkpoint is waited for no longer, in microseconds since 1970, to be told to the application.
    """

    name: str
    attempt: int
    hint: int
    leaving: bool
    deadline: int | None = None


@value
class Terminate:
    """SIGTERM to every process group of the attempt; `grace` microseconds from now SIGKILL, by the supervisor itself.

    `cause`: preempt, suspend, cancel, walltime, drain.
    """

    name: str
    attempt: int
    cause: str
    grace: int


@value
class Kill:
    """SIGKILL to every process of the attempt. `cause`: as that of `Terminate`; empty if no record asks for it."""

    name: str
    attempt: int
    cause: str = ""


Order = Launch | Hint | Terminate | Kill
