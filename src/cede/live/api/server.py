"""What the API needs of a running server: its parts, and how requests are passed to them."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from concurrent.futures import Future
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Annotated, Protocol

from fastapi import Depends, Request
from starlette.concurrency import run_in_threadpool

from cede.engine.clock import SchedulerClock
from cede.engine.drive.driver import Reasons
from cede.engine.drive.facts import Fact
from cede.engine.drive.losses import Stake
from cede.engine.drive.restart_memory import Kept
from cede.live.api.deadlines import WhatIfPool, in_time
from cede.live.api.problems import RefusedError
from cede.live.api.submission_checks import SubmissionChecks
from cede.live.api.tokens import KnownTokens
from cede.live.api.workload_names import GeneratedNames
from cede.live.api.wrong_tokens import WrongTokens
from cede.live.config import ServerConfig
from cede.live.controller import Answer
from cede.live.executors.executor import Executor
from cede.live.metrics import Metrics
from cede.live.reconcile import Reconciler
from cede.live.store.records import AuditRequest, Event, Record, Token
from cede.live.store.store import Store
from cede.live.task import Task
from cede.live.view import ClusterState
from cede.model.cluster import ClusterFile
from cede.model.lifecycle import WAITING
from cede.model.rules import Rule

MOST_OWNERS = 1000
TOLD_WITHIN_S = 5.0


class Scheduler(Protocol):
    """What the API asks of the controller, which answers from its own thread."""

    @property
    def cluster_file(self) -> ClusterFile:
        """The cluster without its workloads: doctrine, nodes, queues and policies, as they stand."""

    def ask(self, fact: Fact, audit: AuditRequest, task: Task | None = None) -> Future[Answer]: ...

    def snapshot(self) -> Future[ClusterFile]: ...

    def moment(self) -> Future[tuple[ClusterFile, Kept]]: ...

    def describe(self) -> Future[ClusterState]: ...

    def at_stake(self, name: str) -> Future[Stake | None]: ...

    def reasons(self) -> Future[Reasons]: ...

    def problems(self) -> tuple[str, ...]:
        """What keeps it from its work, or waits for an admin; none while all is well."""

    @property
    def reconciler(self) -> Reconciler:
        """It knows what runs without a record."""

    @property
    def alarms(self) -> tuple[str, ...]:
        """What waits for an admin, in sentences."""

    @property
    def dead(self) -> str:
        """Why it has ended though nobody stopped it; empty while it lives."""

    def subscribe(self, callback: Callable[[Sequence[Event]], None]) -> None: ...

    def unsubscribe(self, callback: Callable[[Sequence[Event]], None]) -> None: ...


@dataclass(slots=True)
class Server:
    """One running server as the API sees it."""

    controller: Scheduler
    store: Store
    executor: Executor
    config: ServerConfig
    metrics: Metrics
    clock: SchedulerClock
    root: bool = field(default_factory=lambda: os.geteuid() == 0)
    """Whether jobs need an account of their own."""
    criu: bool = False
    """Whether process trees can be dumped here."""
    gpus: bool = True
    """Whether this machine has any."""
    notices: tuple[str, ...] = ()
    """What the machine does not allow, beside what the executor says."""
    what_ifs: WhatIfPool = field(default_factory=WhatIfPool)
    mask: bytes = field(default_factory=lambda: os.urandom(16))
    """What names that may not be seen are replaced with follows from it."""
    strange: set[str] = field(default_factory=set)
    """The resources, and those in some flavor, that were asked for and that nothing here has."""
    tokens: KnownTokens = field(init=False)
    wrong_tokens: WrongTokens = field(default_factory=WrongTokens)
    closes_streams_of: Callable[[int, Rule], None] = lambda _token, _why: None
    """Ends the event streams of a token, for this reason; called from the event loop."""
    _checks: SubmissionChecks | None = None
    _names: dict[str, GeneratedNames] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.tokens = KnownTokens(self.store)

    @property
    def checks(self) -> SubmissionChecks:
        """What submissions are checked against, made ready anew when the cluster changed."""
        document = self.controller.cluster_file
        if self._checks is None or self._checks.document is not document:
            self._checks = SubmissionChecks(document)
        return self._checks

    def names_of(self, owner: str) -> GeneratedNames:
        """The names that this owner's workloads get by themselves: nobody else's count."""
        if owner not in self._names:
            if len(self._names) >= MOST_OWNERS:
                self._names.clear()
            self._names[owner] = GeneratedNames(lambda name: self.store.called(owner, name) is not None)
        return self._names[owner]

    def expired(self, token: Token) -> bool:
        return token.expires is not None and token.expires <= self.clock.wall_now()

    async def ask(self, fact: Fact, audit: AuditRequest, task: Task | None = None) -> Answer:
        """What the controller answers, once that is durable; a refusal is raised."""
        try:
            answer = await in_time(self.controller.ask(fact, audit, task))
            if answer.refusal is not None:
                refused = answer.refusal
                raise RefusedError(404 if refused.unknown else 409, refused.rule, refused.why)
        except RefusedError as error:
            error.audited = True
            raise
        return answer

    async def up_to_date(self, records: Iterable[Record]) -> list[Record]:
        """The same records; those that wait say why as of now, or as of last time if that takes too long."""
        page = list(records)
        if not any(record.job.phase in WAITING for record in page):
            return page
        reasons = await self.reasons()
        return [_told(record, reasons.get(record.job.name)) for record in page]

    async def reasons(self) -> Reasons:
        """Why each waiting workload waits, if that is known in time; the events have it then."""
        try:
            return await in_time(self.controller.reasons(), TOLD_WITHIN_S)
        except RefusedError:
            return {}

    @asynccontextmanager
    async def audited(self, audit: AuditRequest) -> AsyncIterator[None]:
        """Whatever the API itself refuses inside is in the audit trail; what the controller is asked, it writes."""
        try:
            yield
        except RefusedError as refused:
            if not refused.audited:
                refused.audited = True
                await run_in_threadpool(self.note, replace(audit, allowed=False, rule=refused.rule))
            raise

    def note(self, audit: AuditRequest) -> None:
        """An entry of the audit trail for what is no fact."""
        self.store.note_audit(audit, self.clock.wall_now())


def _told(record: Record, told: tuple[int, str, str] | None) -> Record:
    job = record.job
    if told is None or job.phase not in WAITING or job.version != told[0]:
        return record
    return replace(record, job=replace(job, rule=told[1], why=told[2]))


async def server_of(request: Request) -> Server:
    """The server that this application is part of."""
    server: Server = request.app.state.server
    return server


ServerDep = Annotated[Server, Depends(server_of)]
