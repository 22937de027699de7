"""Paths of questions: what would be decided now, or with changes. Nothing is changed by asking.

Plans are about the workloads of all, so they are for users and admins, and for viewers of everything. Whoever may not
see all asks about a cluster in which the names of the others are hidden.
"""

from __future__ import annotations

from decimal import Decimal
from functools import partial
from math import isnan
from typing import Any

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool

from cede.doctrines.parts.doctrine import BRISK
from cede.engine.cluster import Cluster
from cede.engine.cycle import plan as decide
from cede.engine.diff import diff as compare
from cede.engine.drive.restart_memory import Kept
from cede.engine.whatif import WhatIf, changed, cluster_if
from cede.live.api.access import Caller, CallerDep
from cede.live.api.bodies import PlanBody, WhatIfBody
from cede.live.api.certificates import Seconds
from cede.live.api.deadlines import in_time
from cede.live.api.problems import RefusedError, declared, invalid
from cede.live.api.redaction import Redactor
from cede.live.api.server import Server, ServerDep
from cede.live.api.submissions import MOST_STRANGE
from cede.model.cluster import ClusterFile
from cede.model.document import dump_document
from cede.model.errors import CedeError, DoctrineError, InputError, Problem

router = APIRouter(tags=["what-if"])

MOST_ADDED = 100_000
"""Nodes and members that a question may come to have in all, beside those there are."""
ELSEWHERE = "save the snapshot, and ask `cede plan` on a machine of your own"
_BEYOND = 10**18

_REFUSALS = declared(400, 401, 403, 408, 413, 422, 429)


@router.post("/plan", responses=_REFUSALS, summary="What would be decided now")
async def plan(server: ServerDep, caller: CallerDep, body: PlanBody, certify: Seconds = None) -> dict[str, Any]:
    """One cycle on the live state, as `cede plan --json` shows it, with the changes if there are any."""
    document, kept = await _moment(server, caller)

    def work() -> dict[str, Any]:
        cluster = _changed(document, body)
        told = partial(decide, explain=body.explain, shares=body.shares, misses=True)
        made = told(cluster, only=body.only, certify=certify, effort=BRISK, kept=kept)
        return made.to_dict()

    return await _tried(server, caller, work)


@router.post("/diff", responses=_REFUSALS, summary="What changes would change")
async def diff(server: ServerDep, caller: CallerDep, body: WhatIfBody, certify: Seconds = None) -> dict[str, Any]:
    """The plan as it is beside the plan as it would be, as `cede diff --json` shows it."""
    if not _what_if(body):
        hint = "give at least one of set, add, without and doctrine"
        raise invalid([Problem("", "there is nothing to compare", hint)])
    document, kept = await _moment(server, caller)

    def work() -> dict[str, Any]:
        after = _changed(document, body)
        return compare(Cluster(document), after, certify=certify, effort=BRISK, kept=kept).to_dict()

    return await _tried(server, caller, work)


async def _moment(server: Server, caller: Caller) -> tuple[ClusterFile, Kept]:
    caller.needs_full_view("planning")
    document, kept = await in_time(server.controller.moment())
    return await run_in_threadpool(Redactor(server, caller).moment, document, kept)


async def _tried(server: Server, caller: Caller, work: Any) -> dict[str, Any]:
    try:
        answer: dict[str, Any] = await server.what_ifs.run(caller.name, work)
    except InputError as error:
        raise invalid(Problem(_place(one.path), one.message, one.hint) for one in error.problems) from None
    except (RefusedError, DoctrineError):
        raise  # the fault of a doctrine is none of the caller's
    except CedeError as error:  # amounts that come to more than can be counted
        raise invalid([Problem("", str(error))]) from None
    return answer


def _place(path: str) -> str:
    """The key of the body that stands for an option of the command."""
    if path == "--for":
        return "only"
    return path.removeprefix("--").replace("add [", "add[", 1)


def _what_if(body: WhatIfBody) -> WhatIf:
    added = tuple((f"[{number}]", entry) for number, entry in enumerate(body.add))
    return WhatIf(body.doctrine, tuple(body.without), added, tuple(body.set))


def _changed(document: ClusterFile, body: WhatIfBody) -> Cluster:
    what_if = _what_if(body)
    if not what_if:
        return Cluster(document)
    data = dump_document(document)
    after = changed(data, what_if)
    if isinstance(after, dict) and (grown := _size(after) - _size(data)) > MOST_ADDED:
        message = f"adds {grown} nodes and members; a question may add {MOST_ADDED}"
        raise InputError([Problem("", message, ELSEWHERE)])
    if (new := len(_resources(after) - _resources(data))) > MOST_STRANGE:
        message = f"names {new} resources that are new here; a question may name {MOST_STRANGE}"
        raise InputError([Problem("", message, ELSEWHERE)])
    return cluster_if(data, what_if)


def _size(data: dict[str, Any]) -> int:
    """How many nodes and members there are, as far as that can be read before anything is checked."""
    counts = [entry.get("count", 1) for entry in _entries(data, "nodes")]
    counts += [entry.get("members", 1) for entry in _entries(data, "workloads")]
    for entry in _entries(data, "workloads"):
        counts += [part.get("count", 1) for part in _entries(entry, "pod_sets")]
    return sum(map(_number, counts))


def _resources(data: Any) -> set[str]:
    """The names under which anything is asked for or offered, as far as that can be read before anything is checked."""
    entries = [] if not isinstance(data, dict) else [*_entries(data, "nodes"), *_entries(data, "workloads")]
    parts = [*entries, *(part for entry in entries for part in _entries(entry, "pod_sets"))]
    amounts = (part.get(key) for part in parts for key in ("capacity", "requests", "usage"))
    return {name for values in amounts if isinstance(values, dict) for name in values}


def _number(raw: Any) -> int:
    """As many as that is, however the number is written; what is no number is found wrong by others."""
    if not isinstance(raw, int | float | Decimal) or (not isinstance(raw, int) and isnan(raw)):
        return 0
    return int(min(max(raw, 0), _BEYOND))


def _entries(data: dict[str, Any], key: str) -> list[dict[str, Any]]:
    entries = data.get(key)
    return [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []
