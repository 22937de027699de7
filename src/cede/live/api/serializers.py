"""Serialization: records of the store as documents of the API, redacted for one caller."""

from __future__ import annotations

from decimal import Decimal

from cede.engine.drive.losses import Stake
from cede.live import documents
from cede.live.api.redaction import Redactor
from cede.live.api.values import INTERVAL, amounts, moment
from cede.live.store.records import AuditEntry, DecisionRecord, Event, Record, Token
from cede.model.times import about, format_duration, parse_duration


def timestamp(us: int) -> str:
    """A time of the wall clock that is always there."""
    return moment(us) or ""


def workload_document(
    record: Record, redactor: Redactor, *, whole: bool = False, warnings: tuple[str, ...] = ()
) -> documents.Workload:
    """The workload as this caller may see it; `whole`: with its environment, if it may."""

    def at(us: int | None) -> str | None:
        try:
            return None if us is None else moment(redactor.clock.wall(us))
        except (ValueError, TypeError):  # its record is wrong, and must not keep others from theirs
            return None

    job, task, caller = record.job, record.task, redactor.caller
    entry = job.workload
    checkpoint = entry.checkpoint
    takes = job.takes if job.takes is not None or checkpoint is None else checkpoint.time
    return documents.Workload(
        name=redactor.name(job.name),
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
        else [documents.PodSet(name=p.name, count=p.count, requests=amounts(p.requests)) for p in entry.pod_sets],
        labels={} if entry.constraints is None else dict(entry.constraints.labels),
        nodes=list(job.nodes),
        walltime=None if entry.walltime is None else str(format_duration(entry.walltime)),
        checkpoint=documents.Checkpoint(
            mode="none" if checkpoint is None else checkpoint.mode,
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
        failure=None,
        rule=job.rule,
        why=redactor.text(job.why, job.rule),
        waits_for=redactor.names(job.waits_for),
        claimant=None if job.leaving is None else redactor.maybe(job.leaving.claimant),
        deadline=at(job.deadline),
        command=list(task.command),
        cwd=task.cwd,
        account=task.account,
        env=dict(task.env) if whole and (caller.admin or task.owner == caller.name) else None,
        progress=job.progress,
        at_stake=None,
        parked=job.parked,
        set_aside=job.aside,
        version=job.version,
        warnings=list(warnings),
    )


def stake_document(stake: Stake) -> documents.AtStake:
    price = stake.price
    return documents.AtStake(
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


def event_document(event: Event, redactor: Redactor) -> documents.Event:
    moved = event.transition
    return documents.Event(
        number=event.sequence,
        at=timestamp(redactor.clock.wall(moved.at)),
        clock=moved.at,
        workload=redactor.name(moved.name),
        attempt=moved.attempt,
        signal=str(moved.signal),
        before=moved.before,
        after=moved.after,
        rule=moved.rule,
        why=redactor.text(moved.why, moved.rule),
        decision=moved.decision,
        claimant=redactor.maybe(moved.claimant),
        by=moved.by,
        lost_gpu_hours=moved.lost_gpu_hours,
    )


def decision_document(record: DecisionRecord, redactor: Redactor) -> documents.Decision:
    return documents.Decision(
        number=record.number,
        at=timestamp(redactor.clock.wall(record.at)),
        workload=redactor.maybe(record.claimant),
        action=record.action,
        victims=redactor.names(record.victims),
        rule=record.rule,
        why=redactor.text(record.why, record.rule),
        doctrine=record.doctrine,
        edition=record.edition,
        settings_hash=record.settings_hash,
        cluster_hash=record.cluster_hash,
        cluster=f"/api/v1/decisions/{record.number}/cluster" if record.cluster_hash else None,
        decision=redactor.decision(record.decision.to_dict()),
    )


def audit_document(entry: AuditEntry) -> documents.AuditEntry:
    return documents.AuditEntry(
        number=entry.sequence,
        at=timestamp(entry.at),
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


def token_document(token: Token) -> documents.Token:
    return documents.Token(
        id=token.id,
        user=token.name,
        role=token.role,
        projects=list(token.projects),
        at=timestamp(token.at),
        revoked=token.revoked,
        expires=moment(token.expires),
    )
