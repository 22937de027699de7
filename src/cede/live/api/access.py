"""Authorization: who the caller is, and what it may see and touch.

An admin sees and touches everything. A user sees its own workloads and those of its projects, and touches its own. A
viewer sees the workloads of its projects, or all if it names none, and touches nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, Request
from fastapi.security import HTTPBearer
from starlette.concurrency import run_in_threadpool

from cede.live.api.problems import refusal
from cede.live.api.rules import NO_RECORD, NOT_VISIBLE, NOT_YOURS, ROLE
from cede.live.api.server import Server, ServerDep
from cede.live.store.errors import UnreadableError
from cede.live.store.records import AuditRequest, Record, Token
from cede.live.store.store import Store

BEARER = HTTPBearer(auto_error=False, scheme_name="token", description="A token of this server.")
_SHOWN = 60


@dataclass(frozen=True, slots=True)
class Caller:
    """The user behind a request."""

    name: str
    role: str
    projects: tuple[str, ...] = ()
    account: str | None = None
    tenant: str | None = None
    token: int = 0
    """Which token it has shown."""
    expires: int | None = None
    """When that expires."""

    @property
    def admin(self) -> bool:
        return self.role == "admin"

    @property
    def sees_all(self) -> bool:
        return self.admin or (self.role == "viewer" and not self.projects)

    @property
    def visibility(self) -> tuple[str, tuple[str, ...]] | None:
        """What the store shall show: all, or what belongs to this user or to these projects."""
        if self.sees_all:
            return None
        return self.name, self.projects

    def sees(self, record: Record) -> bool:
        return self.sees_what(record.task.owner, record.job.workload.project)

    def sees_what(self, owner: str, project: str | None) -> bool:
        """Whether it may see what belongs to this owner and this project."""
        return self.sees_all or project in self.projects or owner == self.name

    def touches(self, record: Record) -> bool:
        return self.admin or (self.role == "user" and record.task.owner == self.name)

    def audit_request(self, what: str, about: str, detail: str = "") -> AuditRequest:
        """The entry of the audit trail for what this caller asks."""
        return AuditRequest(0, self.name, self.role, what, about[:200], detail)

    def needs(self, role: str, what: str) -> None:
        """Refuse unless the caller has the role; `user` means an admin too."""
        if self.admin or (role == "user" and self.role == "user"):
            return
        needed = "an admin" if role == "admin" else "a user or an admin"
        raise refusal(403, ROLE, name=self.name, role=self.role, what=what, needed=needed)

    def needs_full_view(self, what: str) -> None:
        """Refuse a viewer of some projects what concerns all of them."""
        if self.role == "viewer" and self.projects:
            raise refusal(403, ROLE, name=self.name, role="viewer of some projects", what=what, needed="one of all")


STRANGER = Caller("", "viewer", ("",))
"""A caller without a token: a viewer of nothing."""


def caller_of(server: Server, token: Token) -> Caller:
    """The holder of this token. What the configuration says of a user counts more than what the token says."""
    user = next((user for user in server.config.users if user.name == token.name), None)
    known = (token.id, token.expires)
    if user is None:
        return Caller(token.name, token.role, token.projects, None, None, *known)
    return Caller(user.name, user.role, user.projects, user.account, user.tenant, *known)


async def authenticated(server: ServerDep, request: Request, _given: Annotated[Any, Depends(BEARER)]) -> Caller:
    """The caller, whose token was looked at where the request came in."""
    return caller_of(server, request.state.token)


CallerDep = Annotated[Caller, Depends(authenticated)]


async def visible(server: Server, caller: Caller, name: str) -> Record:
    """The workload, if the caller may see it; one that may not be seen is as unknown as one that is not there."""
    record = await run_in_threadpool(find_record, server, caller, name)
    if record is None:
        shown = name if len(name) <= _SHOWN else f"{name[:_SHOWN]}..."
        raise refusal(404, NOT_VISIBLE, name=shown, caller=caller.name)
    return record


def find_record(server: Server, caller: Caller, name: str) -> Record | None:
    """The workload that the caller means, if it may see it: its own of this name, then one with this name, then
    OWNER.NAME. A caller that sees all sees the names of records, and means those first."""
    for key in _meant(server.store, caller, name):
        try:
            record = server.store.workload(key)
        except UnreadableError as error:
            if any(caller.sees_what(one.owner, one.project) for one in server.store.named([key])):
                raise refusal(409, NO_RECORD, why=str(error)) from error
            continue
        if record is not None and caller.sees(record):
            return record
    return None


def _meant(store: Store, caller: Caller, name: str) -> Iterator[str]:
    """The names of records that this name may stand for."""
    if caller.sees_all:
        yield name
    if (own := store.called(caller.name, name)) is not None:
        yield own
    if not caller.sees_all:
        yield name
    for at, letter in enumerate(name):
        if letter == "." and (key := store.called(name[:at], name[at + 1 :])) is not None:
            yield key


async def touchable(server: Server, caller: Caller, name: str, what: str) -> Record:
    """The workload, if the caller may change it."""
    record = await visible(server, caller, name)
    if not caller.touches(record):
        raise refusal(403, NOT_YOURS, name=name, owner=record.task.owner, what=what)
    return record
