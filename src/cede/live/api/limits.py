"""A body is read whole before anything looks at it, or refused: it may be neither too large nor too slow."""

from __future__ import annotations

import asyncio

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from cede.live.api.problems import RefusedError, refusal, response
from cede.live.api.rules import TOO_LARGE, TOO_SLOW_BODY

ARRIVES_WITHIN_S = 30.0
_WITHOUT_BODY = frozenset({"GET", "HEAD", "OPTIONS"})


class BoundedBodies:
    """Middleware: passes requests on whose body is within the limit, with the body at hand."""

    def __init__(self, app: ASGIApp, limit: int) -> None:
        self._app = app
        self._limit = limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or (scope["method"] in _WITHOUT_BODY and not _announced(scope)):
            await self._app(scope, receive, send)
            return
        try:
            body = await self._read(scope, receive)
        except RefusedError as refused:
            await response(refused)(scope, receive, send)
            return
        if body is not None:
            await self._app(scope, _replayed(body, receive), send)

    async def _read(self, scope: Scope, receive: Receive) -> bytes | None:
        """The body; none if the caller went away."""
        if _announced(scope) > self._limit:
            raise self._too_large()
        chunks: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout(ARRIVES_WITHIN_S):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        return None
                    chunks.append(message.get("body", b""))
                    size += len(chunks[-1])
                    if size > self._limit:
                        raise self._too_large()
                    if not message.get("more_body", False):
                        return b"".join(chunks)
        except TimeoutError:
            raise refusal(408, TOO_SLOW_BODY, limit=int(ARRIVES_WITHIN_S)) from None

    def _too_large(self) -> RefusedError:
        refused = refusal(413, TOO_LARGE, limit=self._limit)
        # What is left of the body is not read, so nothing else can come over this connection.
        refused.headers["Connection"] = "close"
        return refused


def _announced(scope: Scope) -> int:
    """The size the caller says its body has; 0 if it says none that can be read."""
    for name, value in scope["headers"]:
        if name == b"content-length" and value.isdigit():
            return int(value[:20])
        if name == b"transfer-encoding":
            return 1
    return 0


def _replayed(body: bytes, receive: Receive) -> Receive:
    given = False

    async def again() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again
