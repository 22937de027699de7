"""Why the last attempt of a workload failed: which member, on which node, how, and what it said last."""

from __future__ import annotations

from starlette.concurrency import run_in_threadpool

from cede.live import documents
from cede.live.api.access import Caller
from cede.live.api.server import Server
from cede.live.executors.executor import Failure
from cede.live.store.records import Record
from cede.model.lifecycle import Phase

LAST_LINES = 10
LAST_BYTES = 4096
_BEYOND = 2**62


async def with_failure(
    server: Server, caller: Caller, record: Record, workload: documents.Workload
) -> documents.Workload:
    """The document with the failure of the last attempt, if it failed; with the last lines of stderr where the caller
    may read those without a record."""
    job = record.job
    if not job.attempt or job.phase == Phase.COMPLETED:
        return workload
    failure = await run_in_threadpool(server.executor.failure, job.name, job.attempt)
    if failure is None or (failure.told and job.phase != Phase.FAILED):
        return workload
    stderr = None
    if record.task.owner == caller.name or not server.checks.sensitive(job.workload):
        stderr = await run_in_threadpool(_last_lines, server, job.name, job.attempt, failure.member)
    shown = documents.Failure(
        member=failure.member,
        node=failure.node,
        exit_code=failure.code,
        exit_signal=failure.signal,
        why=_why(failure),
        stderr=stderr,
    )
    return {**workload, "failure": shown}


def _why(failure: Failure) -> str:
    if failure.error:
        return f"it could not be started: {failure.error}"
    if failure.lost:
        return "nobody saw how it ended"
    if failure.signal is not None:
        return f"it was ended by signal {failure.signal}"
    return f"it ended with exit code {failure.code}"


def _last_lines(server: Server, name: str, attempt: int, member: int) -> list[str]:
    end = server.executor.logs(name, attempt, member, "err", _BEYOND, 0).next
    page = server.executor.logs(name, attempt, member, "err", max(0, end - LAST_BYTES), LAST_BYTES)
    lines = page.data.decode(errors="replace").splitlines()
    whole = lines[1:] if page.start and len(lines) > 1 else lines  # the first may have been cut
    return whole[-LAST_LINES:]
