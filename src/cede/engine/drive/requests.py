"""What people ask for: submit, cancel, suspend, resume, checkpoint, and nodes in and out of service."""

from __future__ import annotations

from cede.engine.drive import rules
from cede.engine.drive.checkpoint_times import saves
from cede.engine.drive.facts import (
    AskCheckpoint,
    Cancel,
    Occupied,
    PutNode,
    PutQueue,
    Resume,
    SetAside,
    SetNode,
    SetTerms,
    Submit,
    Suspend,
)
from cede.engine.drive.holds import give_up, gone_nodes, release
from cede.engine.drive.job import Job, Leaving
from cede.engine.drive.job_table import JobTable
from cede.engine.drive.leaving import (
    allow_less,
    ask_for_checkpoint,
    in_force,
    kill,
    kill_now,
    send_away,
    tell_to_go,
)
from cede.engine.events import NodeMarked, NodePut, QueuePut, apply
from cede.model.errors import CedeError
from cede.model.lifecycle import PRESENT, WAITING, Phase, Signal
from cede.model.rules import Rule
from cede.model.times import Instant, to_the_second
from cede.state.columns import NEVER, NODE_STATES, NONE
from cede.state.entry import CLOCKS


class RefusedError(CedeError):
    """What was asked for cannot be; nothing was changed."""

    def __init__(self, rule: Rule, *, unknown: bool = False, **facts: object) -> None:
        super().__init__(rule.because(**facts))
        self.rule = rule.id
        self.unknown = unknown


def submit(roll: JobTable, fact: Submit) -> None:
    """A new workload waits for room; one that is suspended, to go on from its last checkpoint."""
    entry = fact.workload
    values = entry.__dict__  # an attribute of a checked entry takes five times as long
    name = values["name"]
    if name in roll.jobs:
        raise RefusedError(rules.NAME_TAKEN, name=name)
    if fact.caps and (breach := roll.tally.breach(entry, fact.caps)) is not None:
        raise RefusedError(rules.CAP, why=breach)
    if values["submitted"] is None:
        entry = entry.model_copy(update={"submitted": Instant(roll.now)})
    job = Job(entry, fact.terms, since=roll.now, preempted=values["preempted"])
    if values["state"] == "suspended":
        last = None if entry.checkpoint is None else entry.checkpoint.last
        job.phase, job.checkpoint = Phase.SUSPENDED, entry.submitted if last is None else last
    try:
        roll.enter(job)
    except CedeError as error:
        raise RefusedError(rules.IMPOSSIBLE, why=str(error)) from None
    roll.jobs[name] = job
    roll.count(job, None, job.phase)
    if roll.reasons:
        why = rules.SUBMITTED.because(by=entry.user or "somebody")
        roll.tell(job, "submit", rules.SUBMITTED.id, why, before=None)
    else:
        roll.touch(job)


def cancel(roll: JobTable, fact: Cancel) -> None:
    """It ends for good: at once if it waits, after its processes are gone if it runs."""
    job = known(roll, fact.name)
    job.aside = ""  # whoever wants its end must get it, and looks at it anew
    if job.phase is Phase.CANCELLING:
        if job.leaving is not None and job.leaving.cause != "cancel":
            job.leaving.cause, job.leaving.by = "cancel", fact.by
            roll.note(job, "end for good", rules.CANCELLED, by=fact.by or "somebody")
        if fact.now:
            kill_now(roll, job)
        return
    if job.phase in PRESENT:
        if job.leaving is None:
            job.leaving = Leaving("cancel", "told", by=fact.by)
        job.leaving.cause, job.leaving.by = "cancel", fact.by
        if fact.now:
            kill_now(roll, job, Signal.CANCEL)
        elif job.leaving.stage == "killed":
            roll.move(job, Signal.CANCEL, rules.CANCELLED, by=fact.by or "somebody")
            roll.mark(job)
        else:
            tell_to_go(roll, job, signal=Signal.CANCEL)
        return
    claimed = job.waits_for
    if job.phase is Phase.HELD:
        roll.released(job)
    roll.due_at(job, None)
    roll.move(job, Signal.CANCEL, rules.CANCELLED, by=fact.by or "somebody")
    job.ended = roll.now
    job.waits_for = ()
    roll.leave(job, preempted=False)
    roll.jobs.pop(job.name, None)
    release(roll, job.name, claimed)


def suspend(roll: JobTable, fact: Suspend) -> None:
    """It gives its room back and stays away until somebody resumes it."""
    job = known(roll, fact.name)
    if job.aside:
        raise RefusedError(rules.NOT_NOW, name=job.name, phase=job.phase, sentence=rules.ASIDE.because(why=job.aside))
    if job.parked:
        if fact.now and job.phase in PRESENT:
            _take_away(roll, job, job.parked)
        return
    if job.phase is Phase.CANCELLING:
        raise RefusedError(rules.NOT_NOW, name=job.name, phase=job.phase, sentence="it is ending for good")
    safe = job.began is None or job.leaving is not None or (saves(job) and job.terms.answers)
    if job.phase in PRESENT and not (fact.force or fact.now or safe):
        since = to_the_second(job.checkpoint or job.began or job.started or roll.now)
        raise RefusedError(rules.NO_CHECKPOINT, name=job.name, since=since)
    by = fact.by or "somebody"
    if job.phase is Phase.HELD:
        give_up(roll, job, rules.PARKED, by=by)
    job.parked = by
    if job.phase in PRESENT:
        if fact.now:
            _take_away(roll, job, by)
        elif job.leaving is None:
            send_away(roll, job, Leaving("suspend", "told", by=by, rule=rules.PARKED.id))
        else:
            roll.touch(job)
        return
    roll.note(job, "park", rules.PARKED, by=by)
    roll.leave(job, preempted=False)


def _take_away(roll: JobTable, job: Job, by: str) -> None:
    """It is killed at once, whether it was on its way out or not."""
    if job.leaving is None:
        job.leaving = Leaving("suspend", "told", by=by, rule=rules.PARKED.id)
    kill_now(roll, job, None if job.phase in (Phase.PREEMPTING, Phase.CANCELLING) else Signal.EVICT)


def set_terms(roll: JobTable, fact: SetTerms) -> None:
    """It goes on under these terms: also one that is on its way out gets no more time than they allow."""
    job = known(roll, fact.name)
    roll.recount(job)
    capped, job.terms, job.capped = job.capped, fact.terms, ""
    if capped and job.phase in WAITING and not job.out_of_line:
        roll.enter(job)  # unless it is still one too many, which is seen before anything is decided
    roll.saved(job, None)  # nobody is taken to need longer for a checkpoint than its timeout
    if fact.why:
        roll.note(job, "clamp", rules.CLAMPED, why=fact.why)
    if not job.aside:
        allow_less(roll, job)


def resume(roll: JobTable, fact: Resume) -> None:
    """Somebody lets a suspended workload queue again."""
    job = known(roll, fact.name)
    if job.aside:
        _take_back(roll, job, fact.by)
        return
    if not job.parked:
        sentence = "nobody suspended it" if job.phase in WAITING else "it is not suspended"
        raise RefusedError(rules.NOT_NOW, name=job.name, phase=job.phase, sentence=sentence)
    job.parked = ""
    roll.note(job, "resume", rules.RESUMED, by=fact.by or "somebody")
    if job.phase in WAITING and not job.out_of_line:
        roll.enter(job)


def _take_back(roll: JobTable, job: Job, by: str) -> None:
    """One that was set aside is decided about again; what was ordered of it is ordered again."""
    job.aside = ""
    roll.note(job, "resume", rules.RESUMED, by=by or "somebody")
    if job.phase not in WAITING:
        roll.reseat(job)
        for order in in_force(job):
            roll.order(order)
    elif not job.out_of_line:
        roll.enter(job)


def set_aside(roll: JobTable, fact: SetAside) -> None:
    """Steps go on without it: it is not looked at, and nobody takes or is given its room because of it."""
    job = known(roll, fact.name)
    if job.phase is Phase.HELD:
        give_up(roll, job, rules.ASIDE, why=fact.why)
    job.aside = fact.why
    roll.note(job, "set aside", rules.ASIDE, why=fact.why)
    if job.phase in WAITING:
        roll.leave(job, preempted=False)
    else:
        roll.seat_aside(job)


def checkpoint(roll: JobTable, fact: AskCheckpoint) -> None:
    """A checkpoint is wanted while the workload goes on."""
    job = known(roll, fact.name)
    what = rules.ASIDE.because(why=job.aside) if job.aside else ""
    if what:
        pass
    elif job.phase is Phase.CHECKPOINTING:
        what = "it was asked for one already"
    elif job.phase is not Phase.RUNNING:
        what = "it does not run"
    elif not job.terms.answers:
        what = "nothing answers a request for a checkpoint"
    if what:
        raise RefusedError(rules.NOT_NOW, name=job.name, phase=job.phase, sentence=what)
    ask_for_checkpoint(roll, job)


def set_node(roll: JobTable, fact: SetNode) -> None:
    """A node comes into service or goes out of it; holds on it are lost, and what runs there is lost or sent away."""
    if fact.node not in roll.state.node_index:
        raise RefusedError(rules.UNKNOWN, unknown=True, what="node", name=fact.node)
    if fact.state not in NODE_STATES:
        raise RefusedError(rules.IMPOSSIBLE, why=f"a node is {', '.join(NODE_STATES)}, not {fact.state!r}")
    apply(roll.state, NodeMarked(fact.node, fact.state))
    roll.dirty = True
    if fact.state == "ready":
        return
    there = sorted((job for job in roll.jobs.values() if fact.node in job.nodes), key=lambda job: job.name)
    # Holds first: whom they let go on may have to leave because of the node.
    for job in there:
        if job.phase is Phase.HELD and gone_nodes(roll, job):
            give_up(roll, job, rules.HOLD_LOST, why=f"{fact.node} is {fact.state}")
    for job in there:
        if job.phase not in PRESENT:
            continue
        if fact.state == "down":
            _lose(roll, job, fact.by)
        elif fact.evict and job.leaving is None:
            send_away(roll, job, Leaving("drain", "told", by=fact.by))
        elif fact.evict and job.phase is Phase.CHECKPOINTING and job.leaving is not None:
            _drain_too(roll, job, job.leaving, fact.by)


def _drain_too(roll: JobTable, job: Job, leaving: Leaving, by: str) -> None:
    """It makes way for somebody; now it leaves even if that one is no longer interested."""
    if leaving.cause == "preempt":
        leaving.cause, leaving.by = "drain", by
        roll.touch(job)


def _lose(roll: JobTable, job: Job, by: str) -> None:
    """Its node is down: whatever is left of it is killed."""
    if job.phase is Phase.CANCELLING:
        return
    if job.leaving is None:
        job.leaving = Leaving("node", "told", by=by)
    if not job.leaving.saved:
        job.leaving.cause = "node"
    if job.phase is not Phase.PREEMPTING:
        tell_to_go(roll, job)
    kill(roll, job)


def put_node(roll: JobTable, fact: PutNode) -> None:
    """A node joined, or changed."""
    _try(roll, NodePut(fact.node))
    roll.nodes[fact.node.name] = fact.node
    if fact.node.name in roll.occupied or any(fact.node.name in found.nodes for found in roll.found.values()):
        fill(roll, fact.node.name)


def occupy(roll: JobTable, fact: Occupied) -> None:
    """Room that work without a record fills is nobody else's; whoever has it already keeps it."""
    if fact.node not in roll.nodes:
        raise RefusedError(rules.UNKNOWN, unknown=True, what="node", name=fact.node)
    if fact.amounts or fact.whole:
        roll.occupied[fact.node] = fact
    else:
        roll.occupied.pop(fact.node, None)
    fill(roll, fact.node)


def fill(roll: JobTable, name: str) -> None:
    """The node as it stands, with so much more of it occupied than its entry says."""
    node, state = roll.nodes[name], roll.state
    row, nodes = state.node_index[name], state.nodes
    filled = roll.occupied.get(name)
    found = [(fact, fact.nodes.count(name)) for fact in roll.found.values() if name in fact.nodes]
    whole = (filled is not None and filled.whole) or any(fact.whole for fact, _ in found)
    occupied = dict(node.capacity if whole else node.occupied)
    parts = [] if filled is None else [(filled.amounts, 1)]
    for amounts, count in () if whole else [*parts, *((fact.amounts, members) for fact, members in found)]:
        for resource, nano in amounts.items():
            occupied[resource] = occupied.get(resource, 0) + nano * count
    holder, since = int(nodes.reserved_for[row]), int(nodes.reserved_since[row])
    clocks = {clock: int(getattr(nodes, clock)[row]) for clock in CLOCKS}
    stands: dict[str, object] = {
        "occupied": occupied,
        "state": NODE_STATES[nodes.state[row]],
        "reserved_for": None if holder == NONE else state.work_names[holder],
        "reserved_since": None if holder == NONE or since == NEVER else since,
        **{clock: None if at == NEVER else at for clock, at in clocks.items()},
    }
    _try(roll, NodePut(node.model_copy(update=stands)))


def put_queue(roll: JobTable, fact: PutQueue) -> None:
    """A queue joined, or changed."""
    _try(roll, QueuePut(fact.queue))


def _try(roll: JobTable, event: NodePut | QueuePut) -> None:
    try:
        apply(roll.state, event)
    except CedeError as error:
        raise RefusedError(rules.IMPOSSIBLE, why=str(error)) from None
    roll.dirty = True


def known(roll: JobTable, name: str) -> Job:
    """The workload of this name, if it is under way."""
    job = roll.jobs.get(name)
    if job is None:
        raise RefusedError(rules.UNKNOWN, unknown=True, what="workload under way", name=name)
    return job
