"""Paths of events: a page of them, or a stream as they happen (server-sent events)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import ExitStack
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Request
from fastapi.responses import JSONResponse, Response, StreamingResponse
from pydantic import Field
from starlette.concurrency import run_in_threadpool
from starlette.types import Receive, Scope, Send

from cede.live import documents
from cede.live.api.access import Caller, CallerDep, caller_of, visible
from cede.live.api.event_streams import EventStreams, Reader
from cede.live.api.paging import MOST_NUMBER, Paging
from cede.live.api.problems import declared
from cede.live.api.redaction import Redactor
from cede.live.api.rules import CLOSED_CHANGED
from cede.live.api.serializers import event_document
from cede.live.api.server import Server, ServerDep
from cede.live.api.values import Label
from cede.live.store.records import Event, Token
from cede.model.times import SECOND

router = APIRouter(tags=["events"])

HEARTBEAT_S = 15.0
LONGEST_S = 3600.0
"""A stream ends after this; readers come back by themselves."""
STREAM = "text/event-stream"
_PAGE = 500


class EventQuery(Paging):
    """Which events, and how."""

    after: int | None = Field(
        None, ge=0, le=MOST_NUMBER, description="Only behind this one. Default: of a page 0, of a stream the newest."
    )
    workload: Label | None = Field(None, description="Only of this workload.")
    follow: bool | None = Field(
        None, description="true: a stream, false: a page. Default: what the Accept header asks for, else a page."
    )


_STREAMED: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "A page, or a stream. Each message of a stream has the event's number as id and the event as "
        "data. A message of type `closed` ends a stream early, and says by which rule: its reader was too slow, its "
        "token was revoked, the configuration says something else of its user, or others must be let in.",
        "content": {STREAM: {"schema": {"type": "string"}}},
    }
}


@router.get(
    "/events",
    response_model=documents.EventList,
    responses=_STREAMED | declared(401, 404, 409, 422, 429),
    summary="Read events, or follow them",
)
async def events(
    server: ServerDep,
    caller: CallerDep,
    request: Request,
    query: Annotated[EventQuery, Query()],
    last_event_id: Annotated[str | None, Header(max_length=100)] = None,
) -> Response:
    """A stream goes on after the event that the header Last-Event-ID names, or after `after`."""
    about = None if query.workload is None else (await visible(server, caller, query.workload)).job.name
    follow = query.follow
    if follow if follow is not None else STREAM in request.headers.get("accept", ""):
        resumed = last_event_id is not None and last_event_id.isascii() and last_event_id.isdigit()
        after = min(int(last_event_id[:19]), MOST_NUMBER) if resumed and last_event_id else query.after
        streams: EventStreams = request.app.state.event_streams
        # Entered here, so that a refusal is still an answer of its own.
        stack = ExitStack()
        reader = stack.enter_context(streams.reading(caller.name, caller.token))
        return _Streamed(stack, _Stream(server, caller, request.state.token, reader, about).frames(after))
    await server.reasons()
    page = await run_in_threadpool(
        partial(
            server.store.events,
            after=query.after or 0,
            limit=query.limit + 1,
            name=about,
            visible_to=caller.visibility,
        )
    )
    redactor = Redactor(server, caller)
    shown = await run_in_threadpool(lambda: [event_document(event, redactor) for event in page[: query.limit]])
    following = shown[-1]["number"] if len(page) > query.limit else None
    return JSONResponse(documents.EventList(events=shown, next=following))


class _Streamed(StreamingResponse):
    """A stream whose reader is unsubscribed with it, even if not one message was sent."""

    def __init__(self, stack: ExitStack, frames: AsyncIterator[str]) -> None:
        super().__init__(frames, media_type=STREAM, headers={"Cache-Control": "no-store"})
        self._stack = stack

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._stack:
            await super().__call__(scope, receive, send)


class _Stream:
    """One reader's stream: what it missed, from the store, then what happens."""

    def __init__(self, server: Server, caller: Caller, token: Token, reader: Reader, workload: str | None) -> None:
        self._server = server
        self._caller = caller
        self._token = token
        self._reader = reader
        self._workload = workload
        self._redactor = Redactor(server, caller)

    async def frames(self, after: int | None) -> AsyncIterator[str]:
        yield "retry: 1000\n\n"
        loop = asyncio.get_running_loop()
        ends = loop.time() + LONGEST_S
        if self._caller.expires is not None:
            ends = min(ends, loop.time() + (self._caller.expires - self._server.clock.wall_now()) / SECOND)
        last = -1 if after is None else after
        if after is not None:
            async for event in self._missed(after):
                if self._reader.closed:
                    break
                last = event.sequence
                yield await self._frame(event)
        while (left := ends - loop.time()) > 0:
            try:
                async with asyncio.timeout(min(left, HEARTBEAT_S)):
                    events = await self._reader.next()
            except TimeoutError:
                yield ": still here\n\n"
                continue
            if caller_of(self._server, self._token) != self._caller:
                self._reader.close(CLOSED_CHANGED)
            self._redactor.forget()
            for event in events:
                if self._reader.closed:
                    break
                if event.sequence > last and await self._wants(event):
                    last = event.sequence
                    yield await self._frame(event)
            if self._reader.closed:
                if (why := self._reader.why) is not None:
                    yield f"event: closed\ndata: {json.dumps({'rule': why.id, 'why': why.because()})}\n\n"
                return

    async def _missed(self, after: int) -> AsyncIterator[Event]:
        while True:
            page = await run_in_threadpool(
                partial(
                    self._server.store.events,
                    after=after,
                    limit=_PAGE,
                    name=self._workload,
                    visible_to=self._caller.visibility,
                )
            )
            for event in page:
                yield event
            if len(page) < _PAGE:
                return
            after = page[-1].sequence

    async def _wants(self, event: Event) -> bool:
        name = event.transition.name
        if self._workload is not None:
            return name == self._workload
        return self._caller.sees_all or await run_in_threadpool(self._redactor.sees, name)

    async def _frame(self, event: Event) -> str:
        if self._caller.sees_all:
            shown = event_document(event, self._redactor)
        else:
            shown = await run_in_threadpool(event_document, event, self._redactor)
        return f"id: {event.sequence}\ndata: {json.dumps(shown, ensure_ascii=False, separators=(',', ':'))}\n\n"
