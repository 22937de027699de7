"""Authentication: whose token it is, before anything of a body is read; without one a request is refused at once."""

from __future__ import annotations

import logging
from typing import Final

from starlette.concurrency import run_in_threadpool
from starlette.types import ASGIApp, Receive, Scope, Send

from cede.live.api.body_limits import announced
from cede.live.api.connections import MOST_HEAD
from cede.live.api.problems import RefusedError, refusal, response
from cede.live.api.rules import BUSY, EXPIRED_TOKEN, LONG_HEAD, MANY_WRONG, NO_TOKEN, TOO_LARGE, WRONG_TOKEN
from cede.live.api.server import Server
from cede.live.api.tokens import hash_of, is_of_a_server
from cede.live.api.values import moment
from cede.live.api.wrong_tokens import MOST, WITHIN_S, WrongTokens, address_of
from cede.live.store.errors import StoreError
from cede.live.store.records import AuditRequest, Token

log = logging.getLogger("cede.api")

OPEN: Final = frozenset({"/health", "/api/v1/health", "/api/v1/openapi.json"})
"""What needs no token, if nothing is sent with it."""


class Authentication:
    """Middleware: passes on requests whose token is in force, and says whose it is."""

    def __init__(self, app: ASGIApp, server: Server) -> None:
        self._app = app
        self._server = server
        self._wrong: WrongTokens = server.wrong_tokens

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and size_of_head(scope) > MOST_HEAD:
            await _refuse(refusal(431, LONG_HEAD, limit=MOST_HEAD), scope, receive, send)
            return
        if scope["type"] == "http" and (scope["path"] not in OPEN or announced(scope)):
            try:
                await self._authenticate(scope)
            except StoreError as error:
                log.error("%s %s: %s", scope["method"], scope["path"], error)
                await _refuse(refusal(503, BUSY, why="the store did not answer"), scope, receive, send)
                return
            except RefusedError as refused:
                await _refuse(refused, scope, receive, send)
                return
        await self._app(scope, receive, send)

    async def _authenticate(self, scope: Scope) -> None:
        """The scope carries the token from here on; a refusal if it is in force for nobody."""
        if announced(scope) > self._server.config.max_body:
            raise refusal(413, TOO_LARGE, limit=self._server.config.max_body)
        given = _given(scope)
        if given is None:
            raise refusal(401, NO_TOKEN)
        client = scope.get("client")
        address = address_of(client[0] if client else None)
        digest = hash_of(given)
        kept_out = self._wrong.is_kept_out(address, digest)
        # One that a server made is looked at all the same: guessing does not find it, and must not lock it out.
        token = await self._server.tokens.holder(digest) if not kept_out or is_of_a_server(given) else None
        if token is None and kept_out:
            refused = refusal(401, MANY_WRONG, most=MOST, within=int(WITHIN_S))
            refused.headers["Retry-After"] = str(int(WITHIN_S))
            raise refused
        if token is None or self._server.expired(token):
            await self._wrong_token(address, token)
        else:
            self._wrong.right(address, digest)
            state = scope.setdefault("state", {})
            state["token"] = token
            if (connection := state.get("connection")) is not None:
                connection.known(token)

    async def _wrong_token(self, address: str, token: Token | None) -> None:
        """It is refused, and on record."""
        if token is None:
            refused, by, role = refusal(401, WRONG_TOKEN), address, "nobody"
        else:
            refused = refusal(401, EXPIRED_TOKEN, name=token.name, at=moment(token.expires))
            by, role = token.name, token.role
        if detail := self._wrong.wrong(address):
            audit = AuditRequest(0, by, role, "sign in", address, detail, allowed=False, rule=refused.rule)
            await run_in_threadpool(self._server.note, audit)
        raise refused


async def _refuse(refused: RefusedError, scope: Scope, receive: Receive, send: Send) -> None:
    """The refusal is sent, and the connection closed: nobody reads what else was sent over it."""
    if refused.status == 401:
        refused.headers["WWW-Authenticate"] = 'Bearer realm="cede"'
    refused.headers["Connection"] = "close"
    await response(refused)(scope, receive, send)


def size_of_head(scope: Scope) -> int:
    """The bytes of what was sent before the body, as far as they were more than a few."""
    headers = sum(len(name) + len(value) + len(": \r\n") for name, value in scope["headers"])
    return headers + len(scope.get("raw_path") or b"") + len(scope["query_string"])


def _given(scope: Scope) -> str | None:
    """The token that was sent, if one was."""
    for name, value in scope["headers"]:
        if name == b"authorization":
            scheme, _, token = value.decode("latin-1").partition(" ")
            return token.strip() if scheme.lower() == "bearer" else None
    return None
