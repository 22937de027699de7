"""The application: every path, every refusal a problem document, and the OpenAPI document that says so."""

from __future__ import annotations

import logging
import re
import sys
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from cede import __version__
from cede.live.api import admin, cluster, decisions, events, logs, orphans, stories, system, whatif, workloads
from cede.live.api.authentication import Authentication
from cede.live.api.body_limits import BoundedBodies
from cede.live.api.event_streams import EventStreams
from cede.live.api.problems import ProblemDocument, RefusedError, invalid, refusal, response, unusable
from cede.live.api.rules import BUSY, FAILED, IMPAIRED, NO_METHOD, NO_PATH, UNREADABLE
from cede.live.api.server import Server
from cede.live.store.errors import StoreError, UnwritableError
from cede.model.errors import InputError, shown_text

log = logging.getLogger("cede.api")

PREFIX = "/api/v1"
_PARAMETER = re.compile(r"\{\w+\}")
_PARTS = (workloads, stories, logs, cluster, decisions, whatif, events, admin, orphans, system)


def create_app(server: Server) -> FastAPI:
    """The API of this server. Before it is stopped, `close_app` ends its open streams."""
    app = FastAPI(
        title="Cede",
        version=__version__,
        openapi_url=f"{PREFIX}/openapi.json",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        generate_unique_id_function=lambda route: route.name,
    )
    app.state.server = server
    app.state.event_streams = EventStreams(server.controller)
    app.state.probe = system.ControllerProbe(server)
    for part in _PARTS:
        app.include_router(part.router, prefix=PREFIX)
    app.include_router(system.router, include_in_schema=False)
    app.add_middleware(BoundedBodies, limit=server.config.max_body)
    app.add_middleware(Authentication, server=server)
    server.closes_streams_of = app.state.event_streams.revoke
    _refuse_in_our_words(app)
    _describe(app)
    return app


def close_app(app: FastAPI) -> None:
    """End open streams and begin no more questions; called from the event loop."""
    app.state.event_streams.close()
    app.state.server.what_ifs.close()


def _refuse_in_our_words(app: FastAPI) -> None:
    async def answer(request: Request, error: Exception) -> JSONResponse:
        return response(_refusal_of(request, error))

    for kind in (RefusedError, InputError, RequestValidationError, HTTPException, StoreError, Exception):
        app.add_exception_handler(kind, answer)


def _refusal_of(request: Request, error: Exception) -> RefusedError:
    match error:
        case RefusedError():
            return error
        case InputError():
            return invalid(error.problems)
        case RequestValidationError():
            return unusable(request, error)
        case HTTPException():
            return _routed(request, error)
        case UnwritableError():
            return refusal(503, IMPAIRED, why=f"{error}; nothing of it happened")
        case StoreError():
            log.error("%s %s: %s", request.method, request.url.path, error)
            return refusal(503, BUSY, why="the store did not answer")
        case _:
            log.error("%s %s failed", request.method, request.url.path, exc_info=error)
            return refusal(500, FAILED)


def _routed(request: Request, error: HTTPException) -> RefusedError:
    path = shown_text(request.url.path)
    if error.status_code == 404:
        return refusal(404, NO_PATH, path=path)
    if error.status_code == 405:
        routed = (error.headers or {}).get("Allow", "")
        allowed = ", ".join(sorted(_allowed(request))) or routed
        refused = refusal(405, NO_METHOD, path=path, allowed=allowed, method=request.method)
        refused.headers["Allow"] = allowed
        return refused
    return refusal(400, UNREADABLE, why=_unreadable(error))


def _unreadable(error: HTTPException) -> str:
    """What keeps a body from being read."""
    match error.__cause__:
        case RecursionError():
            return "it is nested too deeply"
        case UnicodeDecodeError() as broken:
            return f"byte {broken.start} is no UTF-8"
        case ValueError():
            return f"a number in it has more than {sys.get_int_max_str_digits()} digits"
        case _:
            return shown_text(str(error.detail))


def _allowed(request: Request) -> set[str]:
    """The methods that this path takes, as the OpenAPI document has them."""
    paths: dict[str, dict[str, Any]] = request.app.openapi()["paths"]
    return {
        method.upper()
        for template, methods in paths.items()
        if re.fullmatch(_PARAMETER.sub("[^/]+", template), request.url.path)
        for method in methods
    }


def _describe(app: FastAPI) -> None:
    """The OpenAPI document, with the problem document among its schemas."""

    def document() -> dict[str, Any]:
        if app.openapi_schema is None:
            made = get_openapi(title="Cede", version=__version__, routes=app.routes)
            schemas = made.setdefault("components", {}).setdefault("schemas", {})
            problem = ProblemDocument.model_json_schema(ref_template="#/components/schemas/{model}")
            schemas |= problem.pop("$defs", {})
            schemas["ProblemDocument"] = problem
            for unused in ("HTTPValidationError", "ValidationError"):
                schemas.pop(unused, None)
            app.openapi_schema = made
        return app.openapi_schema

    app.openapi = document  # type: ignore[method-assign]
