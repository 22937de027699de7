"""Who asks, and what they may see and touch.

An admin sees and touches everything. A user sees its own workloads and those of its projects, and touches its own. A
viewer sees the workloads of its projects, or all if it names none, and touches nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from starlette.concurrency import run_in_threadpool

from cede.live.api.problems import RefusedError, refusal
from cede.live.api.rules import NO_TOKEN, NOT_VISIBLE, NOT_YOURS, ROLE, WRONG_TOKEN
from cede.live.api.server import Here, Server
from cede.live.store.records import Asked, Record, Token

BEARER = HTTPBearer(auto_error=False, scheme_name="token", description="A token of this server.")
_SHOWN = 60


@dataclass(frozen=True, slots=True)
class Caller:
    """Whoever a request comes from."""

    name: str
    role: str
    projects: tuple[str, ...] = ()
    account: str | None = None
    tenant: str | None = None

    @property
    def admin(self) -> bool:
        return self.role == "admin"

    @property
    def sees_all(self) -> bool:
        return self.admin or (self.role == "viewer" and not self.projects)

    @property
    def sight(self) -> tuple[str, tuple[str, ...]] | None:
        """What the store shall show: all, or what belongs to this user or to these projects."""
        if self.sees_all:
            return None
        return self.name, self.projects

    def sees(self, record: Record) -> bool:
        if self.sees_all or record.job.workload.project in self.projects:
            return True
        return record.task.owner == self.name

    def touches(self, record: Record) -> bool:
        return self.admin or (self.role == "user" and record.task.owner == self.name)

    def asks(self, what: str, about: str, detail: str = "") -> Asked:
        """The entry of the audit trail for what this caller asks."""
        return Asked(0, self.name, self.role, what, about[:200], detail)

    def needs(self, role: str, what: str) -> None:
        """Refuse unless the caller has the role; `user` means an admin too."""
        if self.admin or (role == "user" and self.role == "user"):
            return
        needed = "an admin" if role == "admin" else "a user or an admin"
        raise refusal(403, ROLE, name=self.name, role=self.role, what=what, needed=needed)

    def needs_sight(self, what: str) -> None:
        """Refuse a viewer of some projects what concerns all of them."""
        if self.role == "viewer" and self.projects:
            raise refusal(403, ROLE, name=self.name, role="viewer of some projects", what=what, needed="one of all")


def caller_of(server: Server, token: Token) -> Caller:
    """Whoever holds this token. What the configuration says of a user counts more than what the token says."""
    user = next((user for user in server.config.users if user.name == token.name), None)
    if user is None:
        return Caller(token.name, token.role, token.projects)
    return Caller(user.name, user.role, user.projects, user.account, user.tenant)


Given = Annotated[HTTPAuthorizationCredentials | None, Depends(BEARER)]


async def authenticated(server: Here, given: Given) -> Caller:
    """The caller; who has no valid token is refused."""
    if given is None:
        raise _unknown(refusal(401, NO_TOKEN))
    token = await server.tokens.holder(given.credentials)
    if token is None:
        raise _unknown(refusal(401, WRONG_TOKEN))
    return caller_of(server, token)


def _unknown(refused: RefusedError) -> RefusedError:
    refused.headers["WWW-Authenticate"] = 'Bearer realm="cede"'
    return refused


Whoever = Annotated[Caller, Depends(authenticated)]


async def visible(server: Server, caller: Caller, name: str) -> Record:
    """The workload, if the caller may see it; one that may not be seen is as unknown as one that is not there."""
    record = await run_in_threadpool(server.store.workload, name)
    if record is None or not caller.sees(record):
        shown = name if len(name) <= _SHOWN else f"{name[:_SHOWN]}..."
        raise refusal(404, NOT_VISIBLE, name=shown, caller=caller.name)
    return record


async def touchable(server: Server, caller: Caller, name: str, what: str) -> Record:
    """The workload, if the caller may change it."""
    record = await visible(server, caller, name)
    if not caller.touches(record):
        raise refusal(403, NOT_YOURS, name=name, owner=record.task.owner, what=what)
    return record
