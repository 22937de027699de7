"""What the API answers: every document once, for the server that writes it and the client that reads it.

Each is a plain dict. A server checks what it sends against these types, and the OpenAPI document is drawn from them.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired

# Pydantic cannot read the TypedDict of Python 3.11's own typing module.
from typing_extensions import TypedDict

from cede.model.lifecycle import Phase

Amounts = dict[str, int | str]
"""Amounts as a cluster file writes them."""


class Means:
    """What a key means, for the OpenAPI document. A client that only reads answers need not load Pydantic for it."""

    def __init__(self, words: str, **schema: Any) -> None:
        self._schema = {"description": words, **schema}

    def __get_pydantic_json_schema__(self, core: Any, handler: Any) -> dict[str, Any]:
        return {**handler(core), **self._schema}


State = Annotated[str, Means("Where a workload is in its life.", enum=[str(phase) for phase in Phase])]


Next = Annotated[int | None, Means("Give this as `after` for the next page; null on the last.")]


class Checkpoint(TypedDict):
    """How the workload saves its progress, and when it last did."""

    mode: Literal["auto", "manual", "none"]
    protocol: Literal["none", "signal", "shm", "grpc", "criu"]
    last: str | None
    time: str | None
    interval: Annotated[str | None, Means("How often it writes one by itself, if it was told to.")]


class PodSet(TypedDict):
    name: str
    count: int
    requests: Amounts


class AtStake(TypedDict):
    """What its eviction would throw away now; `lost` and `charged` are lengths of time."""

    lost: Annotated[str, Means("Its work since its last checkpoint, or since it began.")]
    charged: Annotated[str, Means("What it is charged when cost counts: never less for publishing checkpoints.")]
    cost: Annotated[float, Means("What its preemption costs, in minutes, as a plan tells it, and to start again.")]
    lost_gpu_hours: Annotated[float, Means("GPU-hours that would be thrown away.")]
    saving: Annotated[str, Means("How long it is expected to take to save its work, and how that is known.")]


class Failure(TypedDict):
    """The member that failed first, which is why the whole did."""

    member: Annotated[int, Means("Counted from 0.")]
    node: str
    exit_code: int | None
    exit_signal: int | None
    why: Annotated[str, Means("How it ended, in a sentence.")]
    stderr: Annotated[
        list[str] | None,
        Means("The last lines of its standard error, 10 at most; null if they are not for the caller."),
    ]


class Workload(TypedDict):
    """A workload at one moment. Times are RFC 3339 in UTC, amounts as in a cluster file."""

    name: str
    queue: str | None
    user: str
    project: str | None
    tenant: str | None
    kind: str
    priority: int | None
    job_priority: int | None
    state: State
    since: str
    submitted: str | None
    started: str | None
    began: str | None
    ended: str | None
    attempt: int
    members: int
    requests: Amounts
    pod_sets: list[PodSet] | None
    labels: Annotated[dict[str, str], Means("Of nodes it may run on.")]
    nodes: list[str]
    walltime: str | None
    checkpoint: Checkpoint
    preemptible: bool
    preempts: bool
    sensitive: bool
    preempted: Annotated[int, Means("How often it was preempted.")]
    thrashing: Annotated[bool, Means("Whether that is so often that somebody should look.")]
    requeues: int
    exit_code: int | None
    exit_signal: int | None
    failure: Annotated[Failure | None, Means("Of one whose last attempt failed, when it is asked for by name.")]
    rule: str
    why: Annotated[str, Means("Why it is where it is, in a sentence.")]
    waits_for: Annotated[list[str], Means("Of one whose room is held: which have not left yet.")]
    claimant: Annotated[str | None, Means("Of one that leaves: for which workload.")]
    deadline: Annotated[str | None, Means("When something happens to it by itself.")]
    command: list[str]
    cwd: str
    account: Annotated[str | None, Means("The unix account it runs as; null: the server's own.")]
    env: Annotated[dict[str, str] | None, Means("For its owner and admins; null for others and in lists.")]
    progress: float | None
    at_stake: Annotated[AtStake | None, Means("Of one that runs, when it is asked for by name.")]
    parked: Annotated[str, Means("Who keeps it from running; empty: nobody.")]
    set_aside: Annotated[
        str, Means("How the scheduler failed because of it: it does nothing for it until it is resumed.")
    ]
    version: int
    warnings: list[str]


class WorkloadList(TypedDict):
    workloads: list[Workload]
    next: Annotated[str | None, Means("Give this as `after` for the next page; null on the last.")]


class Event(TypedDict):
    """One thing that happened to a workload."""

    number: int
    at: str
    clock: Annotated[int, Means("The same in microseconds by the scheduler's clock, which nobody can set.")]
    workload: str
    attempt: int
    signal: str
    before: State | None
    after: State
    rule: str
    why: str
    decision: int | None
    claimant: str | None
    by: str
    lost_gpu_hours: Annotated[float, Means("GPU-hours that it threw away by leaving; 0 if it lost nothing with this.")]


class EventList(TypedDict):
    events: list[Event]
    next: Next


class Decision(TypedDict):
    """A decision that was carried out, with what it was made from."""

    number: int
    at: str
    workload: str | None
    action: str
    victims: list[str]
    rule: str
    why: str
    doctrine: str
    edition: str
    settings_hash: str
    cluster_hash: str
    cluster: Annotated[str | None, Means("Where the cluster file of that moment is, for admins.")]
    decision: Annotated[dict[str, Any], Means("All of it, as `cede plan --json` shows a decision.")]


class DecisionList(TypedDict):
    decisions: list[Decision]
    next: Next


class StoryLine(TypedDict):
    """One line of a story, with the event or the decision it tells of."""

    at: str
    sentence: str
    rule: str
    event: Event | None
    decision: Decision | None


class Story(TypedDict):
    """A workload's whole story, oldest first."""

    workload: Workload
    story: list[StoryLine]
    left_out: Annotated[int, Means("How many of the oldest lines are not told.")]
    lost_gpu_hours: Annotated[float, Means("GPU-hours that it threw away by leaving, all times together.")]
    stands_in_its_way: Annotated[
        dict[str, Any] | None,
        Means("Of one that waits: what would be decided about it now, with the nearest miss."),
    ]
    not_asked: Annotated[Literal["", "busy", "parked", "set aside"], Means("Why that could not be asked.")]


class Queue(TypedDict):
    """A queue, what it is promised and what it uses with all below it."""

    name: str
    parent: str | None
    guaranteed: Amounts
    max: Amounts
    usage: Amounts
    pending: int
    held: int
    running: int


class QueueList(TypedDict):
    doctrine: str
    edition: str
    now: str
    queues: list[Queue]


class Node(TypedDict):
    """A node. `used` by what runs there, `leaving` by what makes way, `held` for what comes; these two overlap."""

    name: str
    state: str
    partition: str
    capacity: Amounts
    occupied: Amounts
    used: Amounts
    held: Amounts
    leaving: Amounts
    workloads: list[str]
    others: int


class NodeList(TypedDict):
    now: str
    nodes: list[Node]


class AuditEntry(TypedDict):
    """Who asked for what, and whether it was done."""

    number: int
    at: str
    by: str
    role: str
    what: str
    about: str
    detail: str
    allowed: bool
    rule: str
    version: Annotated[int | None, Means("Of the step that did it; null for what is no step.")]
    previous: Annotated[str, Means("The hash of the record before it; zeros for the first.")]
    hash: Annotated[str, Means("The SHA-256 of the record, with `previous` in it.")]


class AuditList(TypedDict):
    entries: list[AuditEntry]
    next: Next


class AuditChain(TypedDict):
    """Whether the audit trail and the decisions are as they were written."""

    intact: bool
    records: Annotated[int, Means("How many are as they were written, up to the first that is not.")]
    head: Annotated[str, Means("The hash of the last record that was written; note it elsewhere.")]
    decisions: Annotated[int, Means("How many decisions are as they were written, with their victims.")]
    decision_head: Annotated[str, Means("The hash of the last decision; note it elsewhere.")]
    broken: Annotated[int | None, Means("The number of the first record, or decision, that is wrong or missing.")]
    what: Annotated[Literal["record", "decision"], Means("Which of the two that is.")]
    why: Annotated[str, Means("What is wrong with it; empty if all is well.")]


class Token(TypedDict):
    """Whose token it is; the token itself is not kept."""

    id: int
    user: str
    role: str
    projects: list[str]
    at: str
    revoked: bool
    expires: Annotated[str | None, Means("When it stands for nobody any more; null: it does not expire.")]
    token: NotRequired[Annotated[str, Means("Only in the answer that made it: it is shown this once.")]]


class TokenList(TypedDict):
    tokens: list[Token]


class Health(TypedDict):
    status: Annotated[Literal["ok", "impaired"], Means("impaired: it runs, and `problems` says what is wrong.")]
    version: str
    alarms: Annotated[int, Means("Workloads that are set aside, and what else waits for an admin; `/server` says it.")]
    problems: Annotated[list[str], Means("What keeps it from its work, or waits for an admin.")]


class Orphan(TypedDict):
    """An attempt that no record accounts for."""

    name: str
    attempt: int
    running: bool
    nodes: list[str]
    account: Annotated[str | None, Means("The unix account that it runs as.")]
    began: str | None
    why: Annotated[str, Means("How it is known that there is no record of it.")]


class OrphanList(TypedDict):
    orphans: list[Orphan]
    store: Annotated[str, Means("Which store this is: its identity, generation and step.")]
    loss: Annotated[str, Means("What the store has lost, until that is acknowledged; empty if nothing.")]


class You(TypedDict):
    name: str
    role: str
    projects: list[str]
    account: str | None


class Server(TypedDict):
    """What this server is, and who it takes the caller for."""

    version: str
    now: str
    doctrine: str
    edition: str
    state_version: int
    problem: Annotated[str, Means("What keeps the scheduler from its work; empty while all is well.")]
    notices: Annotated[list[str], Means("What the machine does not allow.")]
    you: You
