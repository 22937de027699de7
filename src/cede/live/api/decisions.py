"""Paths of decisions: what was decided, why, and from what."""

from __future__ import annotations

import gzip
import json
import zlib
from dataclasses import replace
from functools import partial
from typing import Annotated

from fastapi import APIRouter, Path, Query
from fastapi.responses import Response
from pydantic import Field
from starlette.concurrency import run_in_threadpool

from cede.doctrines.document import parse_document
from cede.engine.cluster import Cluster
from cede.live import documents
from cede.live.api.access import CallerDep, visible
from cede.live.api.certificates import Seconds, decided
from cede.live.api.paging import MOST_NUMBER, Numbered
from cede.live.api.problems import Responses, declared, refusal
from cede.live.api.redaction import Redactor
from cede.live.api.rules import NOTHING, NOTHING_TO_CERTIFY
from cede.live.api.serializers import decision_document
from cede.live.api.server import Server, ServerDep
from cede.live.api.values import Label
from cede.live.store.records import DecisionRecord
from cede.model.plan import Decision

router = APIRouter(tags=["decisions"])

MOST_LOOKED_AT = 5000
"""Decisions read for one page by a caller who may see few of them."""
_FILE: Responses = {200: {"content": {"application/json": {"schema": {"type": "object"}}}}}

Number = Annotated[int, Path(ge=1, le=MOST_NUMBER)]


class DecisionQuery(Numbered):
    """Which decisions to list."""

    workload: Label | None = Field(None, description="Only those with this claimant or victim.")


@router.get("/decisions", responses=declared(401, 404, 409, 422), summary="List decisions")
async def decisions(
    server: ServerDep, caller: CallerDep, query: Annotated[DecisionQuery, Query()]
) -> documents.DecisionList:
    """Oldest first. A caller sees those about workloads it may see; others that they name are hidden in them."""
    about = None if query.workload is None else (await visible(server, caller, query.workload)).job.name
    redactor = Redactor(server, caller)

    def work() -> documents.DecisionList:
        records, following = _page(server, redactor, query, about)
        return documents.DecisionList(
            decisions=[decision_document(record, redactor) for record in records], next=following
        )

    return await run_in_threadpool(work)


def _page(
    server: Server, redactor: Redactor, query: DecisionQuery, about: str | None
) -> tuple[list[DecisionRecord], int | None]:
    """The page, and where the next begins."""
    page: list[DecisionRecord] = []
    after, looked_at = query.after, 0
    while looked_at < MOST_LOOKED_AT:
        read = partial(server.store.decisions, after=after, workload=about)
        batch = read(limit=query.limit + 1)
        for record in batch[: query.limit]:
            if len(page) == query.limit:
                return page, after
            after = record.number
            looked_at += 1
            if about is not None or _concerns(redactor, record):
                page.append(record)
        if len(batch) <= query.limit:
            return page, None
        if len(page) == query.limit:
            break
    return page, after


def _concerns(redactor: Redactor, record: DecisionRecord) -> bool:
    names = (*record.victims, *(() if record.claimant is None else (record.claimant,)))
    return redactor.caller.sees_all or any(redactor.sees(name) for name in names)


@router.get("/decisions/{number}", responses=declared(401, 403, 404, 422, 429), summary="Look at a decision")
async def decision(server: ServerDep, caller: CallerDep, number: Number, certify: Seconds = None) -> documents.Decision:
    """With `certify` its victims are compared with all that could have gone; so it is for those who may plan."""
    redactor = Redactor(server, caller)
    record = await run_in_threadpool(server.store.decision, number)
    if record is None or not await run_in_threadpool(_concerns, redactor, record):
        raise refusal(404, NOTHING, what="decision", name=number)
    if certify is None:
        return await run_in_threadpool(decision_document, record, redactor)
    caller.needs_full_view("planning")
    if not record.victims:
        raise refusal(422, NOTHING_TO_CERTIFY, number=number)
    kept = await run_in_threadpool(_kept, server, record)
    made = record.decision

    def work() -> Decision:
        return decided(Cluster(parse_document(json.loads(_unpacked(kept)))), made, record.kept, certify)

    proven = replace(record, decision=await server.what_ifs.run(caller.name, work))
    return await run_in_threadpool(decision_document, proven, redactor)


@router.get(
    "/decisions/{number}/cluster",
    response_class=Response,
    responses=_FILE | declared(401, 403, 404, 422),
    summary="The cluster file a decision was made from",
)
async def cluster(server: ServerDep, caller: CallerDep, number: Number) -> Response:
    """For admins. `cede plan` on this file decides the same again."""
    caller.needs("admin", "the cluster file of a decision")
    record = await run_in_threadpool(server.store.decision, number)
    if record is None:
        raise refusal(404, NOTHING, what="decision", name=number)
    kept = await run_in_threadpool(_kept, server, record)
    return Response(await run_in_threadpool(_unpacked, kept), media_type="application/json")


def _kept(server: Server, record: DecisionRecord) -> bytes:
    """The cluster file that a decision was made from."""
    kept = server.store.cluster(record.cluster_hash) if record.cluster_hash else None
    if kept is None:
        raise refusal(404, NOTHING, what="cluster file of decision", name=record.number)
    return kept


def _unpacked(kept: bytes) -> bytes:
    return gzip.decompress(kept) if kept[:2] == b"\x1f\x8b" else zlib.decompress(kept)
