"""From what a caller sends to what the scheduler takes: a workload, its terms, and what it runs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Any

from pydantic import ValidationError

from cede.engine.drive.caps import running_of
from cede.engine.drive.facts import Submit
from cede.engine.drive.terms import Terms
from cede.live.api.access import Caller
from cede.live.api.bodies import MOST_MEMBERS, CheckpointBody, Submission
from cede.live.api.problems import invalid, refusal
from cede.live.api.rules import (
    ABOVE_LIMIT,
    INVALID,
    LONGEST_WALLTIME,
    NO_ACCOUNT,
    NO_GRANT,
    NO_QUEUE,
    NO_SUCH_PRIORITY,
    NOTHING_ANSWERS,
    OTHER_PROJECT,
    OTHER_TENANT,
    RESERVED_VARIABLE,
    STRANGE_RESOURCE,
)
from cede.live.api.server import Server
from cede.live.api.submission_checks import SubmissionChecks
from cede.live.api.values import INTERVAL
from cede.live.config import Defaults, Grant, Times
from cede.live.owner_limits import OF_TERMS, Bound, OwnerLimits, caps_of, path_of
from cede.live.task import Protocol, Task
from cede.live.terms import terms_of
from cede.model.cluster import Workload
from cede.model.errors import Problem
from cede.model.quantities import NANO
from cede.model.reports import Finding, Hints, findings_of
from cede.model.resources import is_gpu, split_flavor
from cede.model.times import SECOND, format_duration, parse_duration

_KEYS = (
    *("priority", "job_priority", "kind", "app", "members", "requests", "exclusive", "placement"),
    *("walltime", "preemptible", "preempts", "sensitive"),
)
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9._-]+")
_MOST_STEM = 80
MOST_STRANGE = 100
"""Names of resources that nothing here has, and that are asked for all the same, while one server runs."""


@dataclass(frozen=True, slots=True)
class CheckedSubmission:
    """A submission that may be made."""

    submit: Submit
    task: Task
    warnings: tuple[str, ...]
    hint: str
    """What may help if it is refused for what it asks for."""


def check_submission(
    server: Server, checks: SubmissionChecks, caller: Caller, body: Submission, key: str, name: str = ""
) -> CheckedSubmission:
    """What is to be submitted as `key`, and what its owner calls it; whatever stands against it is a refusal."""
    caller.needs("user", "submitting")
    if body.kind == "system":
        caller.needs("admin", "submitting system work")
    account = _account(server, caller)
    _check_environment(body.env or {})
    workload = _workload(checks, caller, body, key, server.config.defaults)
    limits = OwnerLimits(server.config, caller.name, caller.role, path_of(checks.document, workload.queue))
    _check_grants(checks, caller, limits, workload)
    if (breach := checks.breach(workload)) is not None:
        raise breach
    protocol, answers, warnings = _protocol(server, body.checkpoint)
    workload, terms = _within(server, checks, limits, workload, body, answers, warnings)
    task = _task(server, caller, body, workload, terms, protocol, account, name)
    caps = caps_of(server.config, caller.name, workload.project)
    _note_strange(server, checks, workload)
    return CheckedSubmission(
        Submit(workload, replace(terms, running=running_of(caps)), caps),
        task,
        (*warnings, *checks.warnings(workload, gpus=server.gpus)),
        checks.meant(workload),
    )


def _check_grants(checks: SubmissionChecks, caller: Caller, limits: OwnerLimits, workload: Workload) -> None:
    """Refuse what takes a grant that the caller does not have."""
    highest = workload.sensitive and checks.sensitive.priority is not None
    chosen = highest or workload.priority != checks.own_priority(caller.name, workload.project)
    wanted: tuple[tuple[Grant, bool, str], ...] = (
        ("unpreemptible", not workload.preemptible, "submit work that is not preemptible"),
        ("exclusive", workload.exclusive, "submit work that takes whole nodes"),
        ("priority", chosen or workload.job_priority is not None, "choose a priority"),
    )
    for grant, needed, what in wanted:
        if needed and not limits.may(grant):
            raise refusal(403, NO_GRANT, caller=caller.name, what=what, grant=grant)


def _note_strange(server: Server, checks: SubmissionChecks, workload: Workload) -> None:
    """Refuse one more resource that nothing here has where there were many: the scheduler keeps a column for each name
    that it ever heard, beside everything it knows, for as long as it runs."""
    new = checks.strange(workload) - server.strange
    if len(server.strange) + len(new) > MOST_STRANGE:
        raise refusal(409, STRANGE_RESOURCE, resource=min(new), hint=checks.meant(workload), most=MOST_STRANGE)
    server.strange |= new


def _within(
    server: Server,
    checks: SubmissionChecks,
    limits: OwnerLimits,
    workload: Workload,
    body: Submission,
    answers: bool,
    warnings: list[str],
) -> tuple[Workload, Terms]:
    """The workload and its terms, none of whose times is above the limits.

    A submission that asks for no more than it would get by default passes any limit.
    """

    def terms_for(times: Times) -> Terms:
        return terms_of(
            server.config,
            checks.document,
            workload.queue,
            times,
            app=workload.app or workload.name,
            answers=answers,
            sensitive=checks.sensitive(workload),
        )

    terms, usual = terms_for(_times(body)), terms_for(Times())
    problems = []
    for name, of in OF_TERMS.items():
        bound = limits.bound(name)
        if bound is not None and of(terms) > max(bound.most, of(usual)):
            place, more = (
                ("checkpoint_timeout", " with its extension" if terms.timeout_extension else "")
                if name == "checkpoint_time"
                else (name, "")
            )
            problems.append(Problem(f"times.{place}", _above(of(terms), more, bound)))
    most = limits.bound("walltime")
    if most is not None and workload.walltime is None:
        workload = workload.like(walltime=most.most)
        warnings.append(LONGEST_WALLTIME.because(most=format_duration(most.most), key=most.key))
    elif most is not None and workload.walltime is not None and workload.walltime > most.most:
        problems.append(Problem("walltime", _above(workload.walltime, "", most)))
    if problems:
        raise invalid(problems, 403, ABOVE_LIMIT)
    return workload, terms


def _above(wanted: int, more: str, bound: Bound) -> str:
    return f"{format_duration(wanted)}{more} is above {format_duration(bound.most)}, the most here ({bound.key})"


def stem_of(command: str) -> str:
    """The beginning of a name for what runs this command."""
    plain = _NOT_IN_NAMES.sub("-", PurePosixPath(command).name).strip("._-")
    return plain[:_MOST_STEM].rstrip("._-") or "job"


def _account(server: Server, caller: Caller) -> str | None:
    if not server.root:
        return None
    if caller.account is None:
        raise refusal(403, NO_ACCOUNT, caller=caller.name)
    return caller.account


def _check_environment(env: Mapping[str, str]) -> None:
    for name in env:
        if name.startswith("CEDE_"):
            refused = refusal(422, RESERVED_VARIABLE, name=name)
            raise invalid([Problem(f"env.{name}", refused.detail)], rule=RESERVED_VARIABLE)


def _project(caller: Caller, wanted: str | None) -> str | None:
    if wanted is None:
        return caller.projects[0] if caller.projects else None
    if not caller.admin and wanted not in caller.projects:
        known = ", ".join(caller.projects) or "none"
        raise refusal(403, OTHER_PROJECT, caller=caller.name, project=wanted, projects=known)
    return wanted


def _tenant(caller: Caller, wanted: str | None) -> str | None:
    """Hard quotas bind only if nobody chooses whose they use."""
    if wanted is None or wanted == caller.tenant:
        return caller.tenant
    if not caller.admin:
        raise refusal(403, OTHER_TENANT, caller=caller.name, tenant=wanted, own=caller.tenant or "no tenant")
    return wanted


def _queue(checks: SubmissionChecks, chosen: str | None, default: str | None) -> str | None:
    """Its queue: nothing is outside of them where there are any, for limits hold for all work."""
    queue = chosen or default or checks.default_queue
    if queue is None and checks.leaves:
        what = "it names no queue, and this server has no default (defaults.queue of its configuration)"
        raise invalid([Problem("queue", what, f"name one of {', '.join(checks.leaves)}")], rule=NO_QUEUE)
    return queue


def _workload(checks: SubmissionChecks, caller: Caller, body: Submission, name: str, defaults: Defaults) -> Workload:
    """The entry of the cluster file that the submission stands for."""
    project = _project(caller, body.project)
    entry: dict[str, Any] = {"name": name, "user": caller.name}
    entry |= {key: value for key in _KEYS if (value := getattr(body, key)) is not None}
    entry.setdefault("priority", checks.own_priority(caller.name, project))
    queue = _queue(checks, body.queue, defaults.queue)
    entry |= {"queue": queue} if queue is not None else {}
    entry |= {"project": project} if project is not None else {}
    tenant = _tenant(caller, body.tenant)
    entry |= {"tenant": tenant} if tenant is not None else {}
    if body.pod_sets is not None:
        if (members := sum(part.count for part in body.pod_sets)) > MOST_MEMBERS:
            raise invalid([Problem("pod_sets", f"come to {members} members; the most is {MOST_MEMBERS}")])
        parts = [part.model_dump(exclude_none=True) for part in body.pod_sets]
        entry["pod_sets"] = [
            part | {"requests": checks.filled(part["requests"], defaults.requests, queue)} for part in parts
        ]
    else:
        entry["requests"] = checks.filled(body.requests or {}, defaults.requests, queue)
    if body.constraints is not None:
        entry["constraints"] = body.constraints.model_dump(exclude_none=True)
    if body.checkpoint is not None:
        entry["checkpoint"] = body.checkpoint.model_dump(include={"mode", "time"}, exclude_none=True)
    try:
        workload = Workload.model_validate(entry)
    except ValidationError as error:
        raise invalid(one.problem() for one in findings_of(error, Workload, Hints())) from None
    if findings := checks.findings(workload):
        _refuse(findings)
    return workload


def _refuse(findings: list[Finding]) -> None:
    """A priority that the doctrine does not have is a bad request; everything else cannot be used."""
    bad = any(one.loc == ("priority",) for one in findings)
    problems = [one.problem() for one in sorted(findings, key=lambda one: one.loc != ("priority",))]
    raise invalid(problems, 400 if bad else 422, NO_SUCH_PRIORITY if bad else INVALID)


def _protocol(server: Server, checkpoint: CheckpointBody | None) -> tuple[Protocol, bool, list[str]]:
    """How the application is asked for a checkpoint, whether that will be answered, and what to say if not."""
    if checkpoint is None or checkpoint.mode == "none":
        if checkpoint is not None and checkpoint.protocol is not None:
            raise invalid([Problem("checkpoint.protocol", "stands beside mode none, which means no checkpoints")])
        return "none", False, []
    if checkpoint.protocol is None:
        if checkpoint.mode == "auto" and server.criu:
            return "criu", True, []
        why = "it names no protocol" + (", and CRIU does not work on this machine" if checkpoint.mode == "auto" else "")
        return "none", False, [NOTHING_ANSWERS.because(mode=checkpoint.mode, why=why)]
    if checkpoint.protocol == "criu" and not server.criu:
        return "criu", False, [NOTHING_ANSWERS.because(mode=checkpoint.mode, why="CRIU does not work on this machine")]
    return checkpoint.protocol, True, []


def _times(body: Submission) -> Times:
    given = {} if body.times is None else body.times.model_dump(exclude_none=True)
    return Times.model_validate(given | {"requeue": body.requeue, "max_requeues": body.max_requeues})


def _task(
    server: Server,
    caller: Caller,
    body: Submission,
    workload: Workload,
    terms: Terms,
    protocol: Protocol,
    account: str | None,
    name: str,
) -> Task:
    env = dict(body.env or {})
    checkpoint = body.checkpoint
    if checkpoint is not None and checkpoint.interval is not None:
        env[INTERVAL] = f"{parse_duration(checkpoint.interval) / SECOND:g}"
    parts = [workload.requests] if workload.pod_sets is None else [part.requests for part in workload.pod_sets]
    cpu, memory = _most(parts, "cpu"), _most(parts, "memory")
    return Task(
        command=tuple(body.command),
        env=env,
        cwd=body.cwd,
        owner=caller.name,
        called="" if name == workload.name else name,
        account=account,
        protocol=protocol,
        hint_signal="SIGUSR1" if checkpoint is None else checkpoint.signal,
        log_limit=server.config.log_limit,
        cpu=cpu / NANO if cpu else None,
        memory=memory // NANO or None,
        gpus=max(sum(-(-nano // NANO) for name, nano in part.items() if is_gpu(name)) for part in parts),
        requests={name: max(part.get(name, 0) for part in parts) for part in parts for name in part},
        exclusive=workload.exclusive,
        walltime_us=workload.walltime,
        grace_us=terms.grace_period,
    )


def _most(parts: list[dict[str, int]], resource: str) -> int:
    """What one member asked for; of unequal members the largest."""
    return max(sum(nano for name, nano in part.items() if split_flavor(name)[0] == resource) for part in parts)
