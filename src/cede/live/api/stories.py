"""The path of a workload's story: everything that happened to it, why, and what stands in its way now."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool

from cede.doctrines.parts.doctrine import BRISK
from cede.engine.cluster import Cluster
from cede.engine.costs import DIGITS
from cede.engine.cycle import plan
from cede.live import documents
from cede.live.api.access import CallerDep, visible
from cede.live.api.deadlines import in_time
from cede.live.api.failures import with_failure
from cede.live.api.problems import RefusedError, declared
from cede.live.api.redaction import Redactor
from cede.live.api.serializers import decision_document, event_document, workload_document
from cede.live.api.server import Server, ServerDep
from cede.live.api.workloads import Named, with_stake
from cede.live.store.records import DecisionRecord, Event, Record
from cede.model.costs import cost_of, gpu_hours_in_words
from cede.model.errors import InputError
from cede.model.lifecycle import SENTENCES, WAITING, Signal
from cede.model.plan import Decision, Victim

router = APIRouter(tags=["workloads"])

MOST_TOLD = 2000
_SHOWN = 5


@router.get("/workloads/{name}/why", responses=declared(401, 404, 409, 422), summary="Tell a workload's story")
async def why(server: ServerDep, caller: CallerDep, name: Named) -> documents.Story:
    key = (await visible(server, caller, name)).job.name
    redactor = Redactor(server, caller)
    await server.reasons()
    story = await run_in_threadpool(server.store.story, key)
    if (record := story.record) is None:
        record = await visible(server, caller, name)  # or it is gone by now
    (record,) = await server.up_to_date([record])
    told = sorted(story.told, key=_place)
    workload = await run_in_threadpool(workload_document, record, redactor)
    decision, not_asked = await _in_its_way(server, redactor, record)
    return documents.Story(
        workload=await with_stake(server, record, await with_failure(server, caller, record, workload)),
        story=await run_in_threadpool(lambda: [_told(key, one, redactor) for one in told[-MOST_TOLD:]]),
        left_out=max(0, len(told) - MOST_TOLD),
        lost_gpu_hours=round(sum(one.transition.lost_gpu_hours for one in told if isinstance(one, Event)), DIGITS),
        stands_in_its_way=None if decision is None else decision.to_dict(),
        not_asked=not_asked,
    )


async def _in_its_way(
    server: Server, redactor: Redactor, record: Record
) -> tuple[Decision | None, Literal["", "busy", "parked", "set aside"]]:
    if record.job.phase not in WAITING:
        return None, ""
    if record.job.aside:
        return None, "set aside"
    if record.job.parked:
        return None, "parked"
    if record.job.retry_at is not None:  # its story says until when; a plan knows nothing of that
        return None, ""
    document, kept = await in_time(server.controller.moment())
    document, kept = await run_in_threadpool(redactor.moment, document, kept)
    name = await run_in_threadpool(redactor.name, record.job.name)

    def work() -> Decision | None:
        try:
            made = plan(Cluster(document), only=name, misses=True, effort=BRISK, kept=kept, until=True)
            return made.of(name)
        except InputError:
            return None  # it waits no more

    try:
        return await server.what_ifs.run(redactor.caller.name, work), ""
    except RefusedError:
        return None, "busy"


def _place(one: Event | DecisionRecord) -> tuple[int, bool]:
    """As they happened: within one step a workload is submitted before anything is decided about it."""
    return one.version, not (isinstance(one, Event) and one.transition.before is None)


def _told(name: str, one: Event | DecisionRecord, redactor: Redactor) -> documents.StoryLine:
    if isinstance(one, Event):
        event = event_document(one, redactor)
        sentence = _happened(one, event["why"])
        return {"at": event["at"], "sentence": sentence, "rule": event["rule"], "event": event, "decision": None}
    rule, sentence = _decided(name, one, redactor)
    decision = decision_document(one, redactor)
    return {"at": decision["at"], "sentence": sentence, "rule": rule, "event": None, "decision": decision}


def _happened(event: Event, why: str) -> str:
    moved = event.transition
    move = f"{moved.after}" if moved.before in (None, moved.after) else f"{moved.before} to {moved.after}"
    words = SENTENCES[moved.signal] if isinstance(moved.signal, Signal) else moved.signal
    lost = f"; {gpu_hours_in_words(moved.lost_gpu_hours)} lost" if moved.lost_gpu_hours else ""
    return f"{move}: {why or words}{lost}"


def _decided(name: str, record: DecisionRecord, redactor: Redactor) -> tuple[str, str]:
    """The rule that concerned this workload, and the decision as seen from its side."""
    why = redactor.text(record.why, record.rule)
    if record.claimant != name:
        victim = next((one for one in record.decision.victims if one.workload == name), None)
        rule = record.rule if victim is None else victim.rule or record.rule
        cost = "" if victim is None else _at_the_cost_of([victim])
        return (
            rule,
            f"decision {record.number}: it gives way to {redactor.maybe(record.claimant) or 'nobody'}{cost}: {why}",
        )
    parts = [f"decision {record.number}: {record.action}"]
    if record.victims:
        more = f" and {len(record.victims) - _SHOWN} more" if len(record.victims) > _SHOWN else ""
        shown = ", ".join(redactor.names(record.victims[:_SHOWN]))
        parts.append(f"evicting {shown}{more}{_at_the_cost_of(record.decision.victims)}")
    if record.decision.nodes:
        nodes = list(dict.fromkeys(record.decision.nodes))
        more = f" and {len(nodes) - _SHOWN} more" if len(nodes) > _SHOWN else ""
        parts.append(f"on {', '.join(nodes[:_SHOWN])}{more}")
    return record.rule, f"{' '.join(parts)}: {why}"


def _at_the_cost_of(victims: Sequence[Victim]) -> str:
    cost = cost_of(victims)
    return f" at the cost of {cost}" if cost else ""
