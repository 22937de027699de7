"""A body is read whole before anything looks at it, or refused: it may be neither too large nor too slow, nor one of
too many, and its text must be text.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from cede.live.api.problems import RefusedError, invalid, refusal, response
from cede.live.api.rules import BUSY, ONE_AT_A_TIME, TOO_LARGE, TOO_SLOW_BODY, UNREADABLE
from cede.model.errors import Problem, path_of

ARRIVES_WITHIN_S = 30.0
MOST_BODIES = 64
"""In hand at once: what they need together is bounded."""
MOST_OF_ONE = 16
"""Of one token."""
_LONE = re.compile(rb"\\u[dD][89a-fA-F]|\xed[\xa0-\xbf]")
"""What a lone surrogate is written with, among other things."""
_WITHOUT_BODY = frozenset({"GET", "HEAD", "OPTIONS"})


class BoundedBodies:
    """Middleware: passes requests on whose body is within the limit, with the body at hand."""

    def __init__(self, app: ASGIApp, limit: int) -> None:
        self._app = app
        self._limit = limit
        self._in_hand: Counter[int] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or (scope["method"] in _WITHOUT_BODY and not announced(scope)):
            await self._app(scope, receive, send)
            return
        token = scope.get("state", {}).get("token")
        whose = 0 if token is None else token.id
        try:
            self._take_up(whose)
        except RefusedError as refused:
            await response(refused)(scope, receive, send)
            return
        try:
            body = await self._read(scope, receive)
            if body is not None:
                check_text(body)
                await self._app(scope, _replayed(body, receive), send)
        except RefusedError as refused:
            await response(refused)(scope, receive, send)
        finally:
            self._in_hand[whose] -= 1
            self._in_hand += Counter()

    def _take_up(self, whose: int) -> None:
        """One more body of this token; a refusal, before anything of it is read, if there are too many."""
        if self._in_hand[whose] >= MOST_OF_ONE:
            raise _unread(refusal(429, ONE_AT_A_TIME, caller="this token", most=MOST_OF_ONE))
        if self._in_hand.total() >= MOST_BODIES:
            raise _unread(refusal(503, BUSY, why=f"{MOST_BODIES} bodies are being read or answered"))
        self._in_hand[whose] += 1

    async def _read(self, scope: Scope, receive: Receive) -> bytes | None:
        """The body; none if the caller went away."""
        if announced(scope) > self._limit:
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
            raise _unread(refusal(408, TOO_SLOW_BODY, limit=int(ARRIVES_WITHIN_S))) from None

    def _too_large(self) -> RefusedError:
        return _unread(refusal(413, TOO_LARGE, limit=self._limit))


def _unread(refused: RefusedError) -> RefusedError:
    """What is left of the body is not read, so nothing else can come over this connection."""
    refused.headers["Connection"] = "close"
    return refused


def check_text(body: bytes) -> None:
    """A refusal with every place of a JSON body that holds half of a surrogate pair: no file and no answer could.

    A body in another encoding than UTF-8 is refused whole: JSON has no other, and here nobody would look through it.
    """
    if not json.detect_encoding(body).startswith("utf-8"):
        raise refusal(400, UNREADABLE, why="it is not in UTF-8")
    if _LONE.search(body) is None:
        return
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return  # the parser of the body says what is wrong
    if places := list(_broken(document, ())):
        message, hint = "is no valid Unicode text: it holds half of a surrogate pair", "write the character itself"
        raise invalid(Problem(place, message, hint) for place in places)


def _broken(value: Any, place: tuple[str | int, ...]) -> Iterator[str]:
    if isinstance(value, str):
        if not _is_text(value):
            yield path_of(place)
    elif isinstance(value, dict):
        for key, held in value.items():
            if _is_text(key):
                yield from _broken(held, (*place, key))
            else:
                yield path_of(place)
    elif isinstance(value, list):
        for at, held in enumerate(value):
            yield from _broken(held, (*place, at))


def _is_text(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def announced(scope: Scope) -> int:
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
