"""What the driver is told: what users want, and what executors and brokers saw."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from cede.engine.drive.caps import Cap
from cede.engine.drive.terms import Terms
from cede.model.cluster import Node, Queue, Workload
from cede.model.value_class import value


@value
class Submit:
    """A new workload; its entry has no nodes, and no state but `suspended`, of one that is known from before.

    It is refused if its user or its project has as much under way as the caps allow.
    """

    workload: Workload
    terms: Terms = field(default_factory=Terms)
    caps: tuple[Cap, ...] = ()


@value
class Cancel:
    """Somebody wants it to end for good; `now`: without any grace."""

    name: str
    by: str = ""
    now: bool = False


@value
class Suspend:
    """Somebody wants it out of the way until `Resume`; `force` gives up work that no checkpoint would save.

    `now`: it is killed at once, and what it did since its last checkpoint is lost.
    """

    name: str
    by: str = ""
    force: bool = False
    now: bool = False


@value
class Resume:
    name: str
    by: str = ""


@value
class SetTerms:
    """The administrator allows less than this workload was submitted with; `why` says what changed. Without it only how
    much its owners may have running did."""

    name: str
    terms: Terms
    why: str


@value
class AskCheckpoint:
    """Somebody wants a checkpoint written while the workload goes on."""

    name: str
    by: str = ""


@value
class Began:
    """All processes of the attempt run. `at`: since when, if not just now."""

    name: str
    attempt: int
    at: int | None = field(default=None, compare=False)


@value
class Exited:
    """No process of the attempt is left, or none ever was (`lost`, or `error` says why it could not be started).

    `told`: it had been signalled to end before it ended. `lost`: its node or its supervisor vanished; nobody saw how
    it ended. `error`: what kept it from starting, in a sentence. `cause`: why it was told, or was to be, by the order
    that was found beside it. `at`: when it ended, if not just now. `gave_way`: the last request to leave that it
    answered with a checkpoint, and may have ended because of; 0 if there was none.
    """

    name: str
    attempt: int
    code: int | None = None
    signal: int | None = None
    told: bool = False
    lost: bool = False
    walltime: bool = False
    error: str = ""
    cause: str = field(default="", compare=False)
    at: int | None = field(default=None, compare=False)
    gave_way: int = field(default=0, compare=False)


@value
class Stuck:
    """Processes of the attempt were killed and are still there; `why` names them."""

    name: str
    attempt: int
    why: str


@value
class Heard:
    """The application gave a sign of life about checkpoint `hint`; `progress` from 0 to 1 if it said so."""

    name: str
    attempt: int
    hint: int
    progress: float | None = None


@value
class Checkpointed:
    """A usable checkpoint is there: answering `hint`, or of its own accord (0). `leaves`: its processes are gone or
    going with it. `at`: when it was written, if not just now."""

    name: str
    attempt: int
    hint: int = 0
    leaves: bool = False
    at: int | None = None


@value
class CheckpointFailed:
    """The application answered `hint`, or the dump ended, without a usable checkpoint."""

    name: str
    attempt: int
    hint: int
    why: str = ""


@value
class Estimated:
    """The application says how long it takes to write a checkpoint, in microseconds."""

    name: str
    attempt: int
    takes: int


@value
class Deferral:
    """The application asks to be left alone for so long, in microseconds, before it checkpoints."""

    name: str
    attempt: int
    hint: int
    wanted: int


@value
class SetNode:
    """A node is ready, cordoned (drained) or down; what runs on a node that is down is lost.

    `evict`: what runs on a cordoned node leaves it, with its checkpoint where it has one.
    """

    node: str
    state: str
    by: str = ""
    evict: bool = False


@value
class PutNode:
    node: Node


@value
class Occupied:
    """What runs on a node without a record fills so much of it, in billionths, or all of it: until this is said anew,
    or the driver is made again."""

    node: str
    amounts: Mapping[str, int] = field(default_factory=dict)
    whole: bool = False


@value
class Unrecorded:
    """An attempt that the record of its workload does not know. It runs on these nodes, one for each member, each of
    which fills so much there, in billionths, or all: until this is said anew (without nodes: it runs no more), or the
    driver is made again. Or it has come to this `end`: it `began` then, and `saved` its work last then."""

    name: str
    attempt: int = 0
    nodes: tuple[str, ...] = ()
    amounts: Mapping[str, int] = field(default_factory=dict)
    whole: bool = False
    began: int | None = None
    saved: int | None = None
    end: Exited | None = None


@value
class PutQueue:
    queue: Queue


@value
class SetAside:
    """A step failed because of this workload, and `why` says how: nothing is decided about it until `Resume`."""

    name: str
    why: str


@value
class Restarted:
    """The driver was made again from its records: of what its doctrine remembered only that is left which it keeps."""


@value
class AskWhy:
    """Somebody wants to know why those that wait do."""


Fact = (
    Submit
    | Cancel
    | Suspend
    | Resume
    | SetTerms
    | AskCheckpoint
    | Began
    | Exited
    | Stuck
    | Heard
    | Checkpointed
    | CheckpointFailed
    | Deferral
    | Estimated
    | SetNode
    | PutNode
    | Occupied
    | Unrecorded
    | PutQueue
    | SetAside
    | Restarted
    | AskWhy
)
