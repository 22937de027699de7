"""Paths of workloads: submit, list, look, and change."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query, Response
from pydantic import Field
from starlette.concurrency import run_in_threadpool

from cede.engine.drive.facts import AskCheckpoint, Cancel, Fact, Resume, Suspend
from cede.engine.drive.rules import NAME_TAKEN
from cede.live.api.access import Caller, Whoever, touchable, visible
from cede.live.api.bodies import Submission, SuspendBody
from cede.live.api.failures import with_failure
from cede.live.api.paging import Paging
from cede.live.api.problems import RefusedError, declared, invalid, refusal
from cede.live.api.rules import ENDED, ORPHANED, RULES
from cede.live.api.server import Here, Server
from cede.live.api.submissions import ordered, stem_of
from cede.live.api.values import Label
from cede.live.api.views import WorkloadList, WorkloadView, stake_view, workload_view
from cede.live.api.waiting import in_time
from cede.live.store.records import Asked, Record
from cede.model.errors import Problem, shown
from cede.model.lifecycle import FINAL, PRESENT, Phase

router = APIRouter(tags=["workloads"])

_TRIES = 5

Named = Annotated[str, Path(min_length=1, max_length=253, description="The workload's name.")]


class Filters(Paging):
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
async def submit(server: Here, caller: Whoever, body: Submission, response: Response) -> WorkloadView:
    """Answered when the submission is durable. `warnings` says what will not go as it seems to be meant."""
    asked = caller.asks("submit", body.name or stem_of(body.command[0]))
    async with server.asked_for(asked):
        made = await (_submit(server, caller, body, asked, body.name) if body.name else _named(server, caller, body))
    response.headers["Location"] = f"/api/v1/workloads/{made.name}"
    return made


async def _named(server: Server, caller: Caller, body: Submission) -> WorkloadView:
    """Submitted under a name that nobody has used; somebody may be faster, but not for ever."""
    stem = stem_of(body.command[0])
    for last in (*[False] * (_TRIES - 1), True):
        name = await run_in_threadpool(server.names.fresh, stem)
        try:
            return await _submit(server, caller, body, caller.asks("submit", name), name)
        except RefusedError as refused:
            if last or refused.rule != NAME_TAKEN.id:
                raise
    raise AssertionError("the last try returns or raises")


async def _submit(server: Server, caller: Caller, body: Submission, asked: Asked, name: str) -> WorkloadView:
    order = ordered(server, server.ground, caller, body, name)
    if server.executor.holds(name) and not await run_in_threadpool(server.store.taken, name):
        raise refusal(409, ORPHANED, name=name)
    try:
        answer = await server.ask(order.submit, asked, order.task)
    except RefusedError as refused:
        if not refused.rule.startswith(f"{RULES.doctrine}."):  # a doctrine found no place for it
            refused.detail += order.hint
        raise
    assert answer.job is not None, "a submission that is not refused has a record"
    warnings = (*order.warnings, *answer.warnings)
    return workload_view(Record(answer.job, order.task), caller, server.clock, whole=True, warnings=warnings)


@router.get("/workloads", responses=declared(401, 422), summary="List workloads")
async def listed(server: Here, caller: Whoever, wanted: Annotated[Filters, Query()]) -> WorkloadList:
    """By submission. A caller sees what its role and its projects allow."""
    if wanted.after is not None:
        place = await run_in_threadpool(server.store.workload, wanted.after)
        if place is None or not caller.sees(place):
            raise invalid([Problem("after", f"there is no workload {shown(wanted.after)} to go on after")])
    found = await run_in_threadpool(
        partial(
            server.store.workloads,
            phases=wanted.state,
            queue=wanted.queue,
            users=wanted.user or None,
            projects=wanted.project or None,
            visible_to=caller.sight,
            after=wanted.after,
            limit=wanted.limit + 1,
            newest_first=wanted.order == "newest",
        )
    )
    views = [workload_view(record, caller, server.clock) for record in found[: wanted.limit]]
    return WorkloadList(workloads=views, next=views[-1].name if len(found) > wanted.limit else None)


@router.get("/workloads/{name}", responses=declared(401, 404, 422), summary="Look at a workload")
async def one(server: Here, caller: Whoever, name: Named) -> WorkloadView:
    record = await visible(server, caller, name)
    view = workload_view(record, caller, server.clock, whole=True)
    return await with_stake(server, await with_failure(server, caller, record, view))


async def with_stake(server: Server, view: WorkloadView) -> WorkloadView:
    """Of one that runs, with what its preemption would cost now."""
    if view.state not in PRESENT or (stake := await in_time(server.controller.at_stake(view.name))) is None:
        return view
    return view.model_copy(update={"at_stake": stake_view(stake)})


_CHANGES = declared(400, 401, 403, 404, 408, 409, 413, 422)


@router.post("/workloads/{name}/cancel", responses=_CHANGES, summary="End a workload for good")
async def cancel(server: Here, caller: Whoever, name: Named) -> WorkloadView:
    """One that runs is told to go, and is killed if it has not gone when its grace period is over."""
    return await _change(server, caller, name, "cancel", Cancel(name, caller.name))


@router.post("/workloads/{name}/suspend", responses=_CHANGES, summary="Keep a workload from running")
async def suspend(server: Here, caller: Whoever, name: Named, body: SuspendBody | None = None) -> WorkloadView:
    """It leaves with a checkpoint if it can write one, and waits until it is resumed."""
    force = body is not None and body.force
    return await _change(server, caller, name, "suspend", Suspend(name, caller.name, force), "force" if force else "")


@router.post("/workloads/{name}/resume", responses=_CHANGES, summary="Let a suspended workload queue again")
async def resume(server: Here, caller: Whoever, name: Named) -> WorkloadView:
    return await _change(server, caller, name, "resume", Resume(name, caller.name))


@router.post("/workloads/{name}/checkpoint", responses=_CHANGES, summary="Ask a workload for a checkpoint")
async def checkpoint(server: Here, caller: Whoever, name: Named) -> WorkloadView:
    """It goes on running; `checkpoint.last` tells when the checkpoint is written."""
    return await _change(server, caller, name, "checkpoint", AskCheckpoint(name, caller.name))


async def _change(server: Server, caller: Caller, name: str, what: str, fact: Fact, detail: str = "") -> WorkloadView:
    asked = caller.asks(what, name, detail)
    async with server.asked_for(asked):
        record = await touchable(server, caller, name, what)
        if record.job.phase in FINAL:
            raise refusal(409, ENDED, name=name, phase=record.job.phase)
        answer = await server.ask(fact, asked)
    return workload_view(Record(answer.job or record.job, record.task), caller, server.clock, whole=True)
