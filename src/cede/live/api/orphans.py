"""Paths for work without a record: list it, end it, forget it; and acknowledge that a store lost steps."""

from __future__ import annotations

from functools import partial

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool

from cede.live import documents
from cede.live.api.access import Caller, CallerDep
from cede.live.api.problems import declared, refusal
from cede.live.api.rules import NOTHING, ORPHAN_RECORDED, ORPHAN_RUNS
from cede.live.api.server import Server, ServerDep
from cede.live.api.values import moment
from cede.live.api.workloads import Named
from cede.live.reconcile import Orphan

router = APIRouter(tags=["admin"])


@router.get("/orphans", responses=declared(401, 403), summary="List work without a record")
async def orphans(server: ServerDep, caller: CallerDep) -> documents.OrphanList:
    """What runs, or ran, and is not in the store: of a store that was restored, cut or swapped."""
    caller.needs("admin", "looking at work without a record")
    await run_in_threadpool(server.controller.reconciler.look)
    return _list(server)


@router.post("/orphans/{name}/end", responses=declared(401, 403, 404, 422), summary="End work without a record")
async def end_orphan(server: ServerDep, caller: CallerDep, name: Named) -> documents.OrphanList:
    """All its processes are killed; its files stay until it is forgotten."""
    audit = caller.audit_request("end orphan", name)
    async with server.audited(audit):
        orphan = await _orphan(server, caller, name, "ending work without a record")
    await run_in_threadpool(server.note, audit)
    await run_in_threadpool(partial(server.controller.reconciler.end, orphan))
    return _list(server)


@router.delete(
    "/orphans/{name}", responses=declared(401, 403, 404, 409, 422), summary="Delete the files of work without a record"
)
async def forget_orphan(server: ServerDep, caller: CallerDep, name: Named) -> documents.OrphanList:
    """Its logs and checkpoints are gone, and its name is free."""
    audit = caller.audit_request("forget orphan", name)
    async with server.audited(audit):
        orphan = await _orphan(server, caller, name, "forgetting work without a record")
        if orphan.trace.running:
            raise refusal(409, ORPHAN_RUNS, name=name)
        if orphan.recorded:
            raise refusal(409, ORPHAN_RECORDED, name=name)
    await run_in_threadpool(server.note, audit)
    await run_in_threadpool(partial(server.controller.reconciler.forget, orphan))
    return _list(server)


@router.post("/store/acknowledge", responses=declared(401, 403), summary="Acknowledge what the store has lost")
async def acknowledge(server: ServerDep, caller: CallerDep) -> documents.OrphanList:
    """Health does not tell of it any more; the audit trail does."""
    audit = caller.audit_request("acknowledge loss", "store", server.store.lineage.loss)
    async with server.audited(audit):
        caller.needs("admin", "acknowledging what the store has lost")
    await run_in_threadpool(server.note, audit)
    await run_in_threadpool(server.store.acknowledge)
    return _list(server)


async def _orphan(server: Server, caller: Caller, name: str, what: str) -> Orphan:
    caller.needs("admin", what)
    await run_in_threadpool(server.controller.reconciler.look)
    orphan = server.controller.reconciler.find(name)
    if orphan is None:
        raise refusal(404, NOTHING, what="work without a record", name=name)
    return orphan


def _list(server: Server) -> documents.OrphanList:
    lineage = server.store.lineage
    stamp = lineage.stamp
    return documents.OrphanList(
        orphans=[_shown(orphan) for orphan in server.controller.reconciler.orphans],
        store=f"{stamp.identity}, generation {stamp.generation}, step {stamp.version}",
        loss=lineage.loss,
    )


def _shown(orphan: Orphan) -> documents.Orphan:
    trace = orphan.trace
    return documents.Orphan(
        name=trace.name,
        attempt=trace.attempt,
        running=trace.running,
        nodes=list(trace.nodes),
        account=trace.account,
        began=moment(trace.at),
        why=orphan.why,
    )
