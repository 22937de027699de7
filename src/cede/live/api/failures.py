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
    """Of a workload whose last attempt failed, with that; what it wrote is for those who may read it unrecorded."""
    job = record.job
    if not job.attempt or job.phase == Phase.COMPLETED:
        return workload
    found = await run_in_threadpool(server.executor.failure, job.name, job.attempt)
    if found is None or (found.told and job.phase != Phase.FAILED):
        return workload
    stderr = None
    if record.task.owner == caller.name or not server.ground.sensitive(job.workload):
        stderr = await run_in_threadpool(_last_lines, server, job.name, job.attempt, found.member)
    failure = documents.Failure(
        member=found.member,
        node=found.node,
        exit_code=found.code,
        exit_signal=found.signal,
        why=_why(found),
        stderr=stderr,
    )
    return {**workload, "failure": failure}


def _why(found: Failure) -> str:
    if found.error:
        return f"it could not be started: {found.error}"
    if found.lost:
        return "nobody saw how it ended"
    if found.signal is not None:
        return f"it was ended by signal {found.signal}"
    return f"it ended with exit code {found.code}"


def _last_lines(server: Server, name: str, attempt: int, member: int) -> list[str]:
    end = server.executor.logs(name, attempt, member, "err", _BEYOND, 0).next
    page = server.executor.logs(name, attempt, member, "err", max(0, end - LAST_BYTES), LAST_BYTES)
    lines = page.data.decode(errors="replace").splitlines()
    whole = lines[1:] if page.start and len(lines) > 1 else lines  # the first may have been cut
    return whole[-LAST_LINES:]
