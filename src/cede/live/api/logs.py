"""The path of logs: a part of what a member of a workload wrote."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from fastapi.responses import Response
from pydantic import Field
from starlette.concurrency import run_in_threadpool

from cede.live.api.access import Caller, CallerDep, find_record, visible
from cede.live.api.bodies import MOST_MEMBERS
from cede.live.api.paging import MOST_NUMBER, Parameters
from cede.live.api.problems import declared, invalid, refusal
from cede.live.api.rules import SENSITIVE_OUTPUT
from cede.live.api.server import Server, ServerDep
from cede.live.api.workloads import Named
from cede.live.executors.executor import LogPage, Piece
from cede.live.store.errors import UnreadableError
from cede.live.store.records import Record
from cede.model.errors import Problem
from cede.model.lifecycle import FINAL

router = APIRouter(tags=["workloads"])

MOST_BYTES = 2**20
LONGEST_WAIT_S = 30
_LOOK_AGAIN_S = 0.1
START, NEXT, ENDED = "Cede-Log-Start", "Cede-Log-Next", "Cede-Log-Ended"


class LogQuery(Parameters):
    """Which part of which log."""

    attempt: int | None = Field(None, ge=1, le=2**31, description="Default: the present or last one.")
    member: int = Field(0, ge=0, le=MOST_MEMBERS, description="Counted from 0.")
    stream: Literal["out", "err", "both"] = Field("out", description="both: as they were written, one after the other.")
    framed: bool = Field(
        False,
        description="Each piece is preceded by a line `STREAM AT SIZE`: out or err, a time in microseconds by which "
        "pieces of all members can be put in order, and its bytes. Of `both` only.",
    )
    offset: int = Field(
        0, ge=0, le=MOST_NUMBER, description="In bytes from the first ever written, frames not counted."
    )
    limit: int = Field(65536, ge=1, le=MOST_BYTES, description="The most bytes of one answer.")
    wait: float = Field(0, ge=0, le=LONGEST_WAIT_S, description="Seconds to wait for more, if there is nothing yet.")


def _header(text: str, kind: str) -> dict[str, Any]:
    return {"description": text, "schema": {"type": kind}}


_PAGE: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The bytes as they were written.",
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
        "headers": {
            START: _header("Where the answer begins; later than asked where older bytes were rotated away.", "integer"),
            NEXT: _header("The offset to go on from.", "integer"),
            ENDED: _header("Whether nothing more will come: true or false.", "string"),
        },
    }
}


@router.get(
    "/workloads/{name}/logs",
    response_class=Response,
    responses=_PAGE | declared(401, 403, 404, 409, 422),
    summary="Read what a workload wrote",
)
async def logs(server: ServerDep, caller: CallerDep, name: Named, query: Annotated[LogQuery, Query()]) -> Response:
    """One page of one stream of one member of one attempt. Of sensitive work only its owner's and admins'."""
    record = await _readable(server, caller, name, query)
    attempt = record.job.attempt if query.attempt is None else query.attempt
    if query.attempt is not None and query.attempt > record.job.attempt:
        made = f"it had {record.job.attempt} so far" if record.job.attempt else "it has not begun yet"
        raise invalid([Problem("attempt", f"there is no attempt {query.attempt}; {made}")])
    if query.framed and query.stream != "both":
        raise invalid([Problem("framed", "says which stream a piece is of, and one alone was asked for")])
    if query.member >= record.job.workload.size:
        raise invalid([Problem("member", f"it has {record.job.workload.size} members, counted from 0")])
    ends = asyncio.get_running_loop().time() + query.wait
    while True:
        page = LogPage(b"", 0, 0, ended=record.job.phase in FINAL)
        if attempt:
            page = await run_in_threadpool(_page, server, record.job.name, attempt, query)
        if page.data or page.ended or asyncio.get_running_loop().time() >= ends:
            break
        await asyncio.sleep(_LOOK_AGAIN_S)
        if not attempt and query.attempt is None:
            record = await visible(server, caller, name)
            attempt = record.job.attempt
    headers = {START: str(page.start), NEXT: str(page.next), ENDED: "true" if page.ended else "false"}
    headers["X-Content-Type-Options"] = "nosniff"  # whatever a workload wrote, no browser shall take it for a page
    return Response(page.data, media_type="application/octet-stream", headers=headers)


def _page(server: Server, name: str, attempt: int, query: LogQuery) -> LogPage:
    if query.stream != "both":
        return server.executor.logs(name, attempt, query.member, query.stream, query.offset, query.limit)
    output = server.executor.output(name, attempt, query.member, query.offset, query.limit)
    data = b"".join(_framed(piece) if query.framed else piece.data for piece in output.pieces)
    return LogPage(data, output.start, output.next, output.ended)


def _framed(piece: Piece) -> bytes:
    return b"%s %d %d\n%s" % (piece.stream.encode(), piece.at, len(piece.data), piece.data)


async def _readable(server: Server, caller: Caller, name: str, query: LogQuery) -> Record:
    """The workload, if the caller may read what it wrote; of sensitive work every other reader is put on record."""
    record = await run_in_threadpool(find_record, server, caller, name)
    if record is None:
        with suppress(UnreadableError):  # callers that may see it were told so above
            record = await run_in_threadpool(server.store.workload, name)
    if record is None or record.task.owner == caller.name or not server.checks.sensitive(record.job.workload):
        return await visible(server, caller, name)
    place = f"attempt {query.attempt or record.job.attempt}, member {query.member}, {query.stream}"
    audit = caller.audit_request("read output", record.job.name, f"{place}, from byte {query.offset}")
    async with server.audited(audit):
        await visible(server, caller, name)
        if not caller.admin:
            raise refusal(403, SENSITIVE_OUTPUT, name=name, owner=record.task.owner)
    await run_in_threadpool(server.note, audit)
    return record
