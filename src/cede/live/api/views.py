"""A workload as the API shows it, and what is said of events and decisions."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Literal

from pydantic import Field

from cede.engine.drive.losses import Stake
from cede.live.api.values import INTERVAL, Quantities, View, amounts, moment
from cede.live.api.visibility import Sight
from cede.live.store.records import AuditEntry, DecisionRecord, Event, Record, Token
from cede.model.lifecycle import Phase
from cede.model.times import about, format_duration, parse_duration

LAST_LINES = 10
Page = Field(None, description="Give this as `after` for the next page; null on the last.")


class CheckpointView(View):
    """How the workload saves its progress, and when it last did."""

    mode: Literal["auto", "manual", "none"]
    protocol: Literal["none", "signal", "shm", "grpc", "criu"]
    last: str | None = None
    time: str | None = None
    interval: str | None = Field(None, description="How often it writes one by itself, if it was told to.")


class PodSetView(View):
    name: str
    count: int
    requests: Quantities


class AtStake(View):
    """What its eviction would throw away now; `lost` and `charged` are lengths of time."""

    lost: str = Field(description="Its work since its last checkpoint, or since it began.")
    charged: str = Field(description="What it is charged when cost counts: never less for publishing checkpoints.")
    cost: float = Field(description="What its preemption costs, in minutes, as a plan tells it, and to start again.")
    lost_gpu_hours: float = Field(description="GPU-hours that would be thrown away.")
    saving: str = Field(description="How long it is expected to take to save its work, and how that is known.")


class FailureView(View):
    """The member that failed first, which is why the whole did."""

    member: int = Field(description="Counted from 0.")
    node: str
    exit_code: int | None
    exit_signal: int | None
    why: str = Field(description="How it ended, in a sentence.")
    stderr: list[str] | None = Field(
        description=f"The last lines of its standard error, {LAST_LINES} at most; null if they are not for the caller."
    )


class WorkloadView(View):
    """A workload at one moment. Times are RFC 3339 in UTC, amounts as in a cluster file."""

    name: str
    queue: str | None
    user: str
    project: str | None
    tenant: str | None
    kind: str
    priority: int | None
    job_priority: int | None
    state: Phase
    since: str
    submitted: str | None
    started: str | None
    began: str | None
    ended: str | None
    attempt: int
    members: int
    requests: Quantities
    pod_sets: list[PodSetView] | None
    labels: dict[str, str] = Field(description="Of nodes it may run on.")
    nodes: list[str]
    walltime: str | None
    checkpoint: CheckpointView
    preemptible: bool
    preempts: bool
    sensitive: bool
    preempted: int = Field(description="How often it had to give way.")
    thrashing: bool = Field(description="Whether that is so often that somebody should look.")
    requeues: int
    exit_code: int | None
    exit_signal: int | None
    failure: FailureView | None = Field(
        None, description="Of one whose last attempt failed, when it is asked for by name."
    )
    rule: str
    why: str = Field(description="Why it is where it is, in a sentence.")
    waits_for: list[str] = Field(description="Of one whose room is held: who has not left yet.")
    claimant: str | None = Field(description="Of one that leaves: for whom.")
    deadline: str | None = Field(description="When something happens to it by itself.")
    command: list[str]
    cwd: str
    account: str | None = Field(description="The unix account it runs as; null: the server's own.")
    env: dict[str, str] | None = Field(None, description="For its owner and admins; null for others and in lists.")
    progress: float | None
    at_stake: AtStake | None = Field(None, description="Of one that runs, when it is asked for by name.")
    parked: str = Field(description="Who keeps it from running; empty: nobody.")
    set_aside: str = Field(description="How the scheduler failed because of it: it does nothing for it until resumed.")
    version: int
    warnings: list[str] = Field(default_factory=list)


class WorkloadList(View):
    workloads: list[WorkloadView]
    next: str | None = Page


class EventView(View):
    """One thing that happened to a workload."""

    number: int
    at: str
    clock: int = Field(description="The same in microseconds by the scheduler's clock, which nobody can set.")
    workload: str
    attempt: int
    signal: str
    before: Phase | None
    after: Phase
    rule: str
    why: str
    decision: int | None
    claimant: str | None
    by: str
    lost_gpu_hours: float = Field(description="GPU-hours that it threw away by making way; 0 if it did not, with this.")


class EventList(View):
    events: list[EventView]
    next: int | None = Page


class DecisionView(View):
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
    cluster: str | None = Field(description="Where the cluster file of that moment is, for admins.")
    decision: dict[str, Any] = Field(description="All of it, as `cede plan --json` shows a decision.")


class DecisionList(View):
    decisions: list[DecisionView]
    next: int | None = Page


class AuditView(View):
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
    version: int | None = Field(description="Of the step that did it; null for what is no step.")
    previous: str = Field(description="The hash of the record before it; zeros for the first.")
    hash: str = Field(description="The SHA-256 of the record, with `previous` in it.")


class AuditList(View):
    entries: list[AuditView]
    next: int | None = Page


class ChainView(View):
    """Whether the audit trail and the decisions are as they were written."""

    intact: bool
    records: int = Field(description="How many are as they were written, up to the first that is not.")
    head: str = Field(description="The hash of the last record that was written; note it elsewhere.")
    decisions: int = Field(description="How many decisions are as they were written, with their victims.")
    decision_head: str = Field(description="The hash of the last decision; note it elsewhere.")
    broken: int | None = Field(description="The number of the first record, or decision, that is wrong or missing.")
    what: Literal["record", "decision"] = Field(description="Which of the two that is.")
    why: str = Field(description="What is wrong with it; empty if all is well.")


class TokenView(View):
    """Whose token it is; the token itself is not kept."""

    id: int
    user: str
    role: str
    projects: list[str]
    at: str
    revoked: bool
    expires: str | None = Field(description="When it stands for nobody any more; null: it does not expire.")


class TokenList(View):
    tokens: list[TokenView]


class NewToken(TokenView):
    token: str = Field(description="Shown this once.")


def shown_moment(us: int) -> str:
    """A time of the wall clock that is always there."""
    return moment(us) or ""


def workload_view(record: Record, sight: Sight, *, whole: bool = False, warnings: tuple[str, ...] = ()) -> WorkloadView:
    """The workload as this caller may see it; `whole`: with its environment, if it may."""

    def at(us: int | None) -> str | None:
        try:
            return None if us is None else moment(sight.clock.wall(us))
        except (ValueError, TypeError):  # its record is wrong, and must not keep others from theirs
            return None

    job, task, caller = record.job, record.task, sight.caller
    entry = job.workload
    asked = entry.checkpoint
    takes = job.takes if job.takes is not None or asked is None else asked.time
    return WorkloadView(
        name=sight.name(job.name),
        queue=entry.queue,
        user=task.owner,
        project=entry.project,
        tenant=entry.tenant,
        kind=entry.kind,
        priority=entry.priority,
        job_priority=entry.job_priority,
        state=job.phase,
        since=at(job.since) or "",
        submitted=at(entry.submitted),
        started=at(job.started),
        began=at(job.began),
        ended=at(job.ended),
        attempt=job.attempt,
        members=entry.size,
        requests=amounts(entry.requests),
        pod_sets=None
        if entry.pod_sets is None
        else [PodSetView(name=p.name, count=p.count, requests=amounts(p.requests)) for p in entry.pod_sets],
        labels={} if entry.constraints is None else dict(entry.constraints.labels),
        nodes=list(job.nodes),
        walltime=None if entry.walltime is None else str(format_duration(entry.walltime)),
        checkpoint=CheckpointView(
            mode="none" if asked is None else asked.mode,
            protocol=task.protocol,
            last=at(job.checkpoint),
            time=None if takes is None else str(format_duration(takes)),
            interval=_interval(task.env.get(INTERVAL)),
        ),
        preemptible=entry.preemptible,
        preempts=entry.preempts,
        sensitive=entry.sensitive,
        preempted=job.preempted,
        thrashing=job.thrashes,
        requeues=job.requeues,
        exit_code=job.exit_code,
        exit_signal=job.exit_signal,
        rule=job.rule,
        why=sight.text(job.why, job.rule),
        waits_for=sight.names(job.waits_for),
        claimant=None if job.leaving is None else sight.maybe(job.leaving.claimant),
        deadline=at(job.deadline),
        command=list(task.command),
        cwd=task.cwd,
        account=task.account,
        env=dict(task.env) if whole and (caller.admin or task.owner == caller.name) else None,
        progress=job.progress,
        parked=job.parked,
        set_aside=job.aside,
        version=job.version,
        warnings=list(warnings),
    )


def stake_view(stake: Stake) -> AtStake:
    price = stake.price
    return AtStake(
        lost=about(stake.lost),
        charged=about(stake.charged),
        cost=price.cost,
        lost_gpu_hours=price.lost_gpu_hours,
        saving=stake.saving,
    )


def _interval(seconds: str | None) -> str | None:
    """What the application was told, as a duration; what it was told by its own environment may be none."""
    try:
        return None if seconds is None else str(format_duration(parse_duration(Decimal(seconds))))
    except (ArithmeticError, ValueError):
        return None


def event_view(event: Event, sight: Sight) -> EventView:
    moved = event.transition
    return EventView(
        number=event.sequence,
        at=shown_moment(sight.clock.wall(moved.at)),
        clock=moved.at,
        workload=sight.name(moved.name),
        attempt=moved.attempt,
        signal=str(moved.signal),
        before=moved.before,
        after=moved.after,
        rule=moved.rule,
        why=sight.text(moved.why, moved.rule),
        decision=moved.decision,
        claimant=sight.maybe(moved.claimant),
        by=moved.by,
        lost_gpu_hours=moved.lost_gpu_hours,
    )


def decision_view(record: DecisionRecord, sight: Sight) -> DecisionView:
    return DecisionView(
        number=record.number,
        at=shown_moment(sight.clock.wall(record.at)),
        workload=sight.maybe(record.claimant),
        action=record.action,
        victims=sight.names(record.victims),
        rule=record.rule,
        why=sight.text(record.why, record.rule),
        doctrine=record.doctrine,
        edition=record.edition,
        settings_hash=record.settings_hash,
        cluster_hash=record.cluster_hash,
        cluster=f"/api/v1/decisions/{record.number}/cluster" if record.cluster_hash else None,
        decision=sight.decision(record.decision.to_dict()),
    )


def audit_view(entry: AuditEntry) -> AuditView:
    return AuditView(
        number=entry.sequence,
        at=shown_moment(entry.at),
        by=entry.by,
        role=entry.role,
        what=entry.what,
        about=entry.about,
        detail=entry.detail,
        allowed=entry.allowed,
        rule=entry.rule,
        version=entry.version,
        previous=entry.previous,
        hash=entry.hash,
    )


def token_view(token: Token) -> TokenView:
    return TokenView(
        id=token.id,
        user=token.name,
        role=token.role,
        projects=list(token.projects),
        at=shown_moment(token.at),
        revoked=token.revoked,
        expires=moment(token.expires),
    )
