"""What a client returns: the API's documents as plain dicts."""

from __future__ import annotations

from typing import Any, NamedTuple, TypedDict

Amounts = dict[str, int | str]


class Checkpoint(TypedDict):
    mode: str
    protocol: str
    last: str | None
    time: str | None
    interval: str | None


class AtStake(TypedDict):
    lost: str
    charged: str
    cost: float
    lost_gpu_hours: float
    saving: str


class Failure(TypedDict):
    """The member that failed first; `stderr` is the last of what it wrote there, none if that is not for the caller."""

    member: int
    node: str
    exit_code: int | None
    exit_signal: int | None
    why: str
    stderr: list[str] | None


class Piece(NamedTuple):
    """Bytes of one stream, with a time by which those of all members can be put in order."""

    at: int
    stream: str
    data: bytes


class Workload(TypedDict):
    """A workload at one moment."""

    name: str
    queue: str | None
    user: str
    project: str | None
    tenant: str | None
    kind: str
    priority: int | None
    job_priority: int | None
    state: str
    since: str
    submitted: str | None
    started: str | None
    began: str | None
    ended: str | None
    attempt: int
    members: int
    requests: Amounts
    pod_sets: list[dict[str, Any]] | None
    labels: dict[str, str]
    nodes: list[str]
    walltime: str | None
    checkpoint: Checkpoint
    preemptible: bool
    preempts: bool
    sensitive: bool
    preempted: int
    thrashing: bool
    requeues: int
    exit_code: int | None
    exit_signal: int | None
    failure: Failure | None
    rule: str
    why: str
    waits_for: list[str]
    claimant: str | None
    deadline: str | None
    command: list[str]
    cwd: str
    account: str | None
    env: dict[str, str] | None
    progress: float | None
    at_stake: AtStake | None
    parked: str
    set_aside: str
    version: int
    warnings: list[str]


class Event(TypedDict):
    """One thing that happened to a workload."""

    number: int
    at: str
    clock: int
    workload: str
    attempt: int
    signal: str
    before: str | None
    after: str
    rule: str
    why: str
    decision: int | None
    claimant: str | None
    by: str
    lost_gpu_hours: float


class Decision(TypedDict):
    """A decision that was carried out."""

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
    cluster: str | None
    decision: dict[str, Any]


class Told(TypedDict):
    """One line of a story."""

    at: str
    sentence: str
    rule: str
    event: Event | None
    decision: Decision | None


class Why(TypedDict):
    """A workload's whole story."""

    workload: Workload
    story: list[Told]
    left_out: int
    lost_gpu_hours: float
    stands_in_its_way: dict[str, Any] | None
    not_asked: str


class Queue(TypedDict):
    name: str
    parent: str | None
    guaranteed: Amounts
    max: Amounts
    usage: Amounts
    pending: int
    held: int
    running: int


class Node(TypedDict):
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


class AuditEntry(TypedDict):
    number: int
    at: str
    by: str
    role: str
    what: str
    about: str
    detail: str
    allowed: bool
    rule: str
    version: int | None
    previous: str
    hash: str


class AuditChain(TypedDict):
    """`broken` is the number of the first record that is wrong or missing, none if all is well."""

    intact: bool
    records: int
    head: str
    decisions: int
    decision_head: str
    what: str
    broken: int | None
    why: str


class Token(TypedDict, total=False):
    """`token` is there only in the answer that made it."""

    id: int
    user: str
    role: str
    projects: list[str]
    at: str
    revoked: bool
    expires: str | None
    token: str


class Health(TypedDict):
    """`status` is ok or impaired, and `problems` says what is wrong; `alarms` is how many workloads are set aside."""

    status: str
    version: str
    alarms: int
    problems: list[str]


class Orphan(TypedDict):
    """An attempt that no record accounts for."""

    name: str
    attempt: int
    running: bool
    nodes: list[str]
    account: str
    began: str | None
    why: str


class Orphans(TypedDict):
    """`loss` is what the store has lost, until somebody acknowledges it."""

    orphans: list[Orphan]
    store: str
    loss: str


class Server(TypedDict):
    """About the server, and whom it takes the caller for."""

    version: str
    now: str
    doctrine: str
    edition: str
    state_version: int
    problem: str
    notices: list[str]
    you: dict[str, Any]
