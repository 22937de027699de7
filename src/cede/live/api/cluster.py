"""Paths of the cluster: queues, nodes, and the live state as a cluster file."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path
from starlette.concurrency import run_in_threadpool

from cede.engine.drive.facts import SetNode
from cede.live import documents
from cede.live.api.access import Caller, CallerDep, authenticated
from cede.live.api.bodies import DrainBody
from cede.live.api.deadlines import in_time
from cede.live.api.problems import declared
from cede.live.api.redaction import Redactor
from cede.live.api.serializers import timestamp
from cede.live.api.server import Server, ServerDep
from cede.live.api.values import amounts
from cede.live.view import NodeView, QueueView
from cede.model.document import dump_document

router = APIRouter(tags=["cluster"])


Named = Annotated[str, Path(min_length=1, max_length=253, description="The node's name.")]


@router.get("/queues", responses=declared(401), summary="List queues", dependencies=[Depends(authenticated)])
async def queues(server: ServerDep) -> documents.QueueList:
    state = await in_time(server.controller.describe())
    shown = [_queue(queue) for queue in state.queues]
    now = timestamp(server.clock.wall(state.now))
    return documents.QueueList(doctrine=state.doctrine, edition=state.edition, now=now, queues=shown)


def _queue(queue: QueueView) -> documents.Queue:
    return documents.Queue(
        name=queue.name,
        parent=queue.parent,
        guaranteed=amounts(queue.guaranteed),
        max=amounts(queue.max),
        usage=amounts(queue.usage),
        pending=queue.pending,
        held=queue.held,
        running=queue.running,
    )


@router.get("/nodes", responses=declared(401), summary="List nodes")
async def nodes(server: ServerDep, caller: CallerDep) -> documents.NodeList:
    """`workloads` names those that the caller may see; `others` counts the rest."""
    state = await in_time(server.controller.describe())
    redactor = Redactor(server, caller)
    shown = await run_in_threadpool(lambda: [_node(node, redactor) for node in state.nodes])
    return documents.NodeList(now=timestamp(server.clock.wall(state.now)), nodes=shown)


def _node(node: NodeView, redactor: Redactor) -> documents.Node:
    shown = [redactor.name(name) for name in node.workloads if redactor.sees(name)]
    return documents.Node(
        name=node.name,
        state=node.state,
        partition=node.partition,
        capacity=amounts(node.capacity),
        occupied=amounts(node.occupied),
        used=amounts(node.used),
        held=amounts(node.held),
        leaving=amounts(node.leaving),
        workloads=shown,
        others=len(node.workloads) - len(shown),
    )


_CHANGES = declared(400, 401, 403, 404, 408, 409, 413, 422)


@router.post("/nodes/{name:path}/drain", responses=_CHANGES, summary="Take a node out of service")
async def drain(server: ServerDep, caller: CallerDep, name: Named, body: DrainBody | None = None) -> documents.Node:
    """Nothing new starts there. What runs there may end, unless `evict` sends it away."""
    evict = body is not None and body.evict
    fact = SetNode(name, "cordoned", caller.name, evict=evict)
    return await _set(server, caller, fact, "drain", "evict" if evict else "")


@router.post("/nodes/{name:path}/undrain", responses=_CHANGES, summary="Bring a node back into service")
async def undrain(server: ServerDep, caller: CallerDep, name: Named) -> documents.Node:
    return await _set(server, caller, SetNode(name, "ready", caller.name), "undrain")


async def _set(server: Server, caller: Caller, fact: SetNode, what: str, detail: str = "") -> documents.Node:
    audit = caller.audit_request(what, fact.node, detail)
    async with server.audited(audit):
        caller.needs("admin", f"to {what} a node")
        await server.ask(fact, audit)
    state = await in_time(server.controller.describe())
    return next(_node(node, Redactor(server, caller)) for node in state.nodes if node.name == fact.node)


@router.get("/snapshot", responses=declared(401, 403), summary="The live state as a cluster file")
async def snapshot(server: ServerDep, caller: CallerDep) -> dict[str, Any]:
    """For admins, and viewers of everything: it names all workloads and whose they are."""
    if not caller.sees_all:
        caller.needs("admin", "a snapshot of everything")
    document = await in_time(server.controller.snapshot())
    return await run_in_threadpool(dump_document, document)
