"""Paths of workloads: submit, list, look, and change."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query, Response
from pydantic import Field
from starlette.concurrency import run_in_threadpool

from cede.engine.drive.facts import AskCheckpoint, Cancel, Fact, Resume, Suspend
from cede.engine.drive.rules import NAME_TAKEN
from cede.live import documents
from cede.live.api.access import Caller, CallerDep, find_record, touchable, visible
from cede.live.api.bodies import CancelBody, Submission, SuspendBody
from cede.live.api.deadlines import in_time
from cede.live.api.failures import with_failure
from cede.live.api.paging import Paging
from cede.live.api.problems import RefusedError, declared, invalid, refusal
from cede.live.api.redaction import Redactor
from cede.live.api.rules import ENDED, ORPHANED, RULES
from cede.live.api.serializers import stake_document, workload_document
from cede.live.api.server import Server, ServerDep
from cede.live.api.submissions import check_submission, stem_of
from cede.live.api.values import Label
from cede.live.api.workload_names import keys_of
from cede.live.store.records import Record
from cede.model.errors import Problem, shown
from cede.model.lifecycle import FINAL, PRESENT, Phase

router = APIRouter(tags=["workloads"])

_TRIES = 5

Named = Annotated[str, Path(min_length=1, max_length=253, description="The workload's name.")]


class WorkloadQuery(Paging):
    """Which workloads to list."""

    state: list[Phase] = Field(default_factory=list, max_length=20, description="Only these states.")
    queue: Label | None = None
    user: list[Label] = Field(default_factory=list, max_length=100, description="Only of these users.")
    project: list[Label] = Field(default_factory=list, max_length=100, description="Only of these projects.")
    order: Literal["newest", "oldest"] = "newest"
    after: Label | None = Field(None, description="The `next` of the page before.")


@router.post(
    "/workloads",
    status_code=201,
    responses=declared(400, 401, 403, 408, 409, 413, 422),
    summary="Submit a workload",
)
async def submit(server: ServerDep, caller: CallerDep, body: Submission, response: Response) -> documents.Workload:
    """Answered when the submission is durable. `warnings` says what will not go as it seems to be meant.

    A name is the owner's own: whether somebody else uses it makes no difference.
    """
    audit = caller.audit_request("submit", body.name or stem_of(body.command[0]))
    async with server.audited(audit):
        made = await (_submit(server, caller, body, body.name) if body.name else _named(server, caller, body))
    response.headers["Location"] = f"/api/v1/workloads/{made['name']}"
    return made


async def _named(server: Server, caller: Caller, body: Submission) -> documents.Workload:
    """Submitted under a name that its owner has not used; another submission may be faster, but not for ever."""
    stem = stem_of(body.command[0])
    for last in (*[False] * (_TRIES - 1), True):
        name = await run_in_threadpool(server.names_of(caller.name).fresh, stem)
        try:
            return await _submit(server, caller, body, name)
        except RefusedError as refused:
            if last or refused.rule != NAME_TAKEN.id:
                raise
    raise AssertionError("the last try returns or raises")


async def _submit(server: Server, caller: Caller, body: Submission, name: str) -> documents.Workload:
    """Submitted as NAME if that is free, else as OWNER.NAME: its owner calls it NAME all the same."""
    for key in keys_of(caller.name, name):
        if await run_in_threadpool(server.store.called, caller.name, name) is not None:
            raise refusal(409, NAME_TAKEN, name=name)
        if await run_in_threadpool(server.store.taken, key):
            continue
        if server.executor.holds(key):  # a folder without a record, which is for an admin to decide about
            if body.name and caller.sees_all:
                raise refusal(409, ORPHANED, name=key)
            continue
        order = check_submission(server, server.checks, caller, body, key, name)
        try:
            answer = await server.ask(order.submit, caller.audit_request("submit", key), order.task)
        except RefusedError as refused:
            if refused.rule == NAME_TAKEN.id:
                continue  # somebody was faster; if it was the owner, that is found above
            if not refused.rule.startswith(f"{RULES.doctrine}."):  # a doctrine found no place for it
                refused.detail += order.hint
            raise
        assert answer.job is not None, "a submission that is not refused has a record"
        record = Record(answer.job, order.task)
        return await _shown(server, caller, record, (*order.warnings, *answer.warnings))
    raise AssertionError("there is always another key")


@router.get("/workloads", responses=declared(401, 422), summary="List workloads")
async def listed(
    server: ServerDep, caller: CallerDep, query: Annotated[WorkloadQuery, Query()]
) -> documents.WorkloadList:
    """By submission. A caller sees what its role and its projects allow."""
    place = None
    if query.after is not None:
        place = await run_in_threadpool(find_record, server, caller, query.after)
        if place is None:
            raise invalid([Problem("after", f"there is no workload {shown(query.after)} to go on after")])
    records = await run_in_threadpool(
        partial(
            server.store.workloads,
            phases=query.state,
            queue=query.queue,
            users=query.user or None,
            projects=query.project or None,
            visible_to=caller.visibility,
            after=None if place is None else place.job.name,
            limit=query.limit + 1,
            newest_first=query.order == "newest",
        )
    )
    redactor = Redactor(server, caller)
    page = await server.up_to_date(records[: query.limit])
    workloads = await run_in_threadpool(lambda: [workload_document(record, redactor) for record in page])
    return documents.WorkloadList(
        workloads=workloads, next=workloads[-1]["name"] if len(records) > query.limit else None
    )


@router.get("/workloads/{name}", responses=declared(401, 404, 409, 422), summary="Look at a workload")
async def one(server: ServerDep, caller: CallerDep, name: Named) -> documents.Workload:
    record = await visible(server, caller, name)
    workload = await with_failure(server, caller, record, await _shown(server, caller, record))
    return await with_stake(server, record, workload)


async def _shown(server: Server, caller: Caller, record: Record, warnings: tuple[str, ...] = ()) -> documents.Workload:
    """All that this caller may see of the workload."""
    (record,) = await server.up_to_date([record])
    show = partial(workload_document, record, Redactor(server, caller), whole=True, warnings=warnings)
    return await run_in_threadpool(show)


async def with_stake(server: Server, record: Record, workload: documents.Workload) -> documents.Workload:
    """Of one that runs, with what its preemption would cost now."""
    if (
        workload["state"] not in PRESENT
        or (stake := await in_time(server.controller.at_stake(record.job.name))) is None
    ):
        return workload
    return {**workload, "at_stake": stake_document(stake)}


_CHANGES = declared(400, 401, 403, 404, 408, 409, 413, 422)


@router.post("/workloads/{name}/cancel", responses=_CHANGES, summary="End a workload for good")
async def cancel(
    server: ServerDep, caller: CallerDep, name: Named, body: CancelBody | None = None
) -> documents.Workload:
    """One that runs is told to go, and is killed if it has not gone when its grace period is over."""
    now = body is not None and body.now
    return await _change(server, caller, name, "cancel", partial(Cancel, now=now), "now" if now else "")


@router.post("/workloads/{name}/suspend", responses=_CHANGES, summary="Keep a workload from running")
async def suspend(
    server: ServerDep, caller: CallerDep, name: Named, body: SuspendBody | None = None
) -> documents.Workload:
    """It leaves with a checkpoint if it can write one, and waits until it is resumed."""
    how = body or SuspendBody()
    detail = ", ".join(word for word, said in (("force", how.force), ("now", how.now)) if said)
    return await _change(server, caller, name, "suspend", partial(Suspend, force=how.force, now=how.now), detail)


@router.post("/workloads/{name}/resume", responses=_CHANGES, summary="Let a suspended workload queue again")
async def resume(server: ServerDep, caller: CallerDep, name: Named) -> documents.Workload:
    return await _change(server, caller, name, "resume", Resume)


@router.post("/workloads/{name}/checkpoint", responses=_CHANGES, summary="Ask a workload for a checkpoint")
async def checkpoint(server: ServerDep, caller: CallerDep, name: Named) -> documents.Workload:
    """It goes on running; `checkpoint.last` tells when the checkpoint is written."""
    return await _change(server, caller, name, "checkpoint", AskCheckpoint)


async def _change(
    server: Server, caller: Caller, name: str, what: str, fact: Callable[[str, str], Fact], detail: str = ""
) -> documents.Workload:
    """What came of asking for this change of the workload; the trail has it under the name that is there once."""
    audit = caller.audit_request(what, name, detail)
    async with server.audited(audit):
        record = await touchable(server, caller, name, what)
        key = record.job.name
        if record.job.phase in FINAL:
            raise refusal(409, ENDED, name=name, phase=record.job.phase)
        try:
            answer = await server.ask(fact(key, caller.name), caller.audit_request(what, key, detail))
        except RefusedError as refused:
            if not caller.sees_all:
                redactor = Redactor(server, caller)
                refused.detail = await run_in_threadpool(redactor.text, refused.detail, refused.rule)
            raise
    return await _shown(server, caller, Record(answer.job or record.job, record.task))
