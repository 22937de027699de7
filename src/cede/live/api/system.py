"""Paths of the server itself: whether it is well, what it measures, and who the caller is."""

from __future__ import annotations

import asyncio
from typing import Literal

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.concurrency import run_in_threadpool

from cede import __version__
from cede.live import documents
from cede.live.api.access import STRANGER, CallerDep, authenticated
from cede.live.api.deadlines import in_time
from cede.live.api.problems import Responses, declared
from cede.live.api.redaction import Redactor
from cede.live.api.serializers import timestamp
from cede.live.api.server import Server, ServerDep

router = APIRouter(tags=["server"])

ANSWERS_WITHIN_S = 5.0
_EXPOSITION: Responses = {200: {"content": {"text/plain": {"schema": {"type": "string"}}}}}
_KEPT_S = 1.0


class ControllerProbe:
    """A liveness probe of the controller, sent at most once a second however often health is asked for."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._lock = asyncio.Lock()
        self._known_until = 0.0

    async def check(self) -> None:
        """Refuse if the controller does not answer."""
        loop = asyncio.get_running_loop()
        async with self._lock:
            if loop.time() >= self._known_until:
                await in_time(self._server.controller.describe(), ANSWERS_WITHIN_S)
                self._known_until = loop.time() + _KEPT_S


@router.get("/health", responses=declared(), summary="Whether the server is well")
async def health(server: ServerDep, request: Request) -> documents.Health:
    """Needs no token, and names no workload."""
    probe: ControllerProbe = request.app.state.probe
    await probe.check()
    alarms = len(server.controller.alarms)
    problems = await run_in_threadpool(Redactor(server, STRANGER).texts, server.controller.problems())
    status: Literal["ok", "impaired"] = "impaired" if problems or alarms else "ok"
    return documents.Health(status=status, version=__version__, alarms=alarms, problems=problems)


@router.get("/server", responses=declared(401), summary="About the server, and you")
async def about(server: ServerDep, caller: CallerDep) -> documents.Server:
    state = await in_time(server.controller.describe())
    notices = await run_in_threadpool(server.executor.notices)
    problem = "; ".join((*server.controller.problems(), *server.controller.alarms))
    redactor = Redactor(server, caller)
    return documents.Server(
        version=__version__,
        now=timestamp(server.clock.wall_now()),
        doctrine=state.doctrine,
        edition=state.edition,
        state_version=state.version,
        problem=await run_in_threadpool(redactor.text, problem),
        notices=[*notices, *await run_in_threadpool(redactor.texts, server.notices)],
        you=documents.You(name=caller.name, role=caller.role, projects=list(caller.projects), account=caller.account),
    )


@router.get(
    "/metrics",
    response_class=Response,
    responses=_EXPOSITION | declared(401),
    dependencies=[Depends(authenticated)],
    summary="Measurements for Prometheus",
)
async def metrics(server: ServerDep) -> Response:
    text = await run_in_threadpool(
        server.metrics.exposition, len(server.controller.problems()) + len(server.controller.alarms)
    )
    return Response(text, media_type=CONTENT_TYPE_LATEST)
