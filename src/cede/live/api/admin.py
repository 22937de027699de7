"""Paths for admins: tokens and the audit trail."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from pydantic import Field
from starlette.concurrency import run_in_threadpool

from cede.live import documents
from cede.live.api.access import CallerDep
from cede.live.api.bodies import RenewBody, TokenBody
from cede.live.api.paging import MOST_NUMBER, Numbered
from cede.live.api.problems import declared, invalid, refusal
from cede.live.api.rules import ABOVE_LIMIT, CLOSED_REVOKED, NEVER_EXPIRES, NOTHING
from cede.live.api.serializers import audit_document, timestamp, token_document
from cede.live.api.server import Server, ServerDep
from cede.live.api.tokens import hash_of, new_token
from cede.live.api.values import Label, parse_lifetime
from cede.live.store.records import Token
from cede.model.errors import Problem
from cede.model.times import format_duration

router = APIRouter(tags=["admin"])

Number = Annotated[int, Path(ge=1, le=MOST_NUMBER)]


class AuditQuery(Numbered):
    """Which entries of the audit trail."""

    by: Label | None = Field(None, description="Only of this user.")
    about: Label | None = Field(None, description="Only about this workload, node or user.")


@router.get("/audit", responses=declared(401, 403, 422), summary="Who asked for what")
async def audit(server: ServerDep, caller: CallerDep, query: Annotated[AuditQuery, Query()]) -> documents.AuditList:
    """Every change that was asked for, allowed or refused, oldest first."""
    caller.needs("admin", "reading the audit trail")
    read = partial(server.store.audit, after=query.after, limit=query.limit + 1, by=query.by, about=query.about)
    records = await run_in_threadpool(read)
    entries = [audit_document(entry) for entry in records[: query.limit]]
    return documents.AuditList(entries=entries, next=entries[-1]["number"] if len(records) > query.limit else None)


@router.get("/audit/chain", responses=declared(401, 403), summary="Whether the audit trail is as it was written")
async def chain(server: ServerDep, caller: CallerDep) -> documents.AuditChain:
    """Walks all of it, and all decisions: each has the hash of the one before it, and the store knows the last."""
    caller.needs("admin", "checking the audit trail")
    trail = await run_in_threadpool(server.store.check_audit)
    return documents.AuditChain(
        intact=trail.broken is None,
        records=trail.count,
        head=trail.head,
        decisions=trail.decisions,
        decision_head=trail.decision_head,
        broken=trail.broken,
        what=trail.what,
        why=trail.why,
    )


@router.get("/tokens", responses=declared(401, 403), summary="List tokens")
async def tokens(server: ServerDep, caller: CallerDep) -> documents.TokenList:
    caller.needs("admin", "listing tokens")
    records = await run_in_threadpool(server.store.tokens)
    return documents.TokenList(tokens=[token_document(token) for token in records])


@router.post(
    "/tokens", status_code=201, responses=declared(400, 401, 403, 408, 413, 422), summary="Make a token for a user"
)
async def make(server: ServerDep, caller: CallerDep, body: TokenBody) -> documents.Token:
    """The token is shown in this answer and never again. What the configuration says of the user counts more."""
    audit = caller.audit_request("make token", body.user)
    async with server.audited(audit):
        caller.needs("admin", "making tokens")
    known = next((user for user in server.config.users if user.name == body.user), None)
    role = body.role or ("user" if known is None else known.role)
    token, now = new_token(), server.clock.wall_now()
    expires = now + _lifetime(server, body.expires_in)
    add = partial(server.store.add_token, hash_of(token), body.user, role, tuple(body.projects), now, expires)
    number = await run_in_threadpool(add)
    await run_in_threadpool(server.note, replace(audit, detail=f"until {timestamp(expires)[:10]}"))
    return documents.Token(
        id=number,
        user=body.user,
        role=role,
        projects=body.projects,
        at=timestamp(now),
        revoked=False,
        expires=timestamp(expires),
        token=token,
    )


@router.post(
    "/tokens/{number}/renew",
    responses=declared(400, 401, 403, 404, 408, 409, 413, 422),
    summary="Let a token stand for longer",
)
async def renew(server: ServerDep, caller: CallerDep, number: Number, body: RenewBody | None = None) -> documents.Token:
    """For admins, and for whoever asks with that very token, for `token_lifetime` at most. One that expired is renewed
    too; a revoked one is not."""
    audit = caller.audit_request("renew token", str(number))
    async with server.audited(audit):
        if number != caller.token:
            caller.needs("admin", "renewing a token of others")
        token = await run_in_threadpool(_in_force, server, number)
        if token.expires is None:
            raise refusal(409, NEVER_EXPIRES, number=number)
        stands = _lifetime(server, None if body is None else body.expires_in)
        if stands > (most := server.config.token_lifetime) and not caller.admin:
            most_shown = format_duration(most)
            why = f"is more than the {most_shown} that its holder may renew it for (token_lifetime); an admin may"
            raise invalid([Problem("expires_in", why)], 403, ABOVE_LIMIT)
        expires = server.clock.wall_now() + stands
        await run_in_threadpool(server.store.renew, number, expires)
        server.tokens.clear()
    await run_in_threadpool(server.note, replace(audit, detail=f"until {timestamp(expires)[:10]}"))
    return token_document(replace(token, expires=expires))


def _in_force(server: Server, number: int) -> Token:
    token = next((one for one in server.store.tokens() if one.id == number and not one.revoked), None)
    if token is None:
        raise refusal(404, NOTHING, what="token in force", name=number)
    return token


def _lifetime(server: Server, duration: Any) -> int:
    """For how long a token stands, in microseconds."""
    return server.config.token_lifetime if duration is None else parse_lifetime(duration)


@router.delete("/tokens/{number}", responses=declared(401, 403, 404, 422), summary="Revoke a token")
async def revoke(server: ServerDep, caller: CallerDep, number: Number) -> documents.Token:
    """From now on it stands for nobody, and event streams that were opened with it end."""
    audit = caller.audit_request("revoke token", str(number))
    async with server.audited(audit):
        caller.needs("admin", "revoking tokens")
        if not await run_in_threadpool(server.store.revoke, number):
            raise refusal(404, NOTHING, what="token in force", name=number)
        server.tokens.clear()
        server.closes_streams_of(number, CLOSED_REVOKED)
    await run_in_threadpool(server.note, audit)
    records = await run_in_threadpool(server.store.tokens)
    return next(token_document(token) for token in records if token.id == number)
