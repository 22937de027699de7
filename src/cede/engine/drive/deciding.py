"""Plan, check the plan, carry out what it decides, and plan again while that changes what comes next."""

from __future__ import annotations

from cede.engine.cycle import plan_state
from cede.engine.drive import rules
from cede.engine.drive.holds import has_room, hold, launch, still_leaving
from cede.engine.drive.job import Job, Leaving
from cede.engine.drive.leaving import send_away
from cede.engine.drive.quotas import has_quota, leaving_its_queue
from cede.engine.drive.roll import Roll, makes_way
from cede.engine.drive.step import Made
from cede.engine.verify import verify_state
from cede.model.cluster import ClusterFile
from cede.model.lifecycle import WAITING, Signal
from cede.model.plan import Decision, Plan
from cede.state.admission import admitted_parts
from cede.state.snapshot import snapshot

MOST_PLANS = 16
"""In one step. What is left is decided in the next, which follows at once."""


def decide(roll: Roll) -> int | None:
    """Carry out plans until one changes nothing; when the doctrine wants to be asked again."""
    wakes_at = None
    for _ in range(MOST_PLANS):
        made = plan_state(roll.state, roll.doctrine, misses=False, memory=roll.memory)
        roll.step.plans += 1
        wakes_at = made.wakes_at
        acts = any(decision.victims or decision.action == "start" for decision in made.decisions)
        problems = verify_state(roll.state, roll.doctrine, made) if acts else []
        if problems:
            roll.step.problems.extend(problems)
            roll.dirty = False
            return wakes_at
        moment = snapshot(roll.state) if any(decision.victims for decision in made.decisions) else None
        if not _carry_out(roll, made, moment):
            roll.dirty = False
            return wakes_at
    return roll.now


def _carry_out(roll: Roll, made: Plan, moment: ClusterFile | None) -> bool:
    """What this plan decides, in order, up to the first preemption; whether another plan must follow.

    For those after it a victim counts as gone, but it has not left: they are decided anew, on what is held and left.
    """
    for decision in made.decisions:
        job = None if decision.workload is None else roll.jobs[decision.workload]
        if decision.victims:
            _preempt(roll, made, decision, job, moment)
            return True
        if job is None:
            continue
        if decision.action == "start":
            _start(roll, made, decision, job)
        elif decision.action in ("wait", "refuse"):
            _wait(roll, job, decision)
    return False


def _start(roll: Roll, made: Plan, decision: Decision, job: Job) -> None:
    number = roll.next_decision
    _place(job, decision, number)
    parts = admitted_parts(roll.state, roll.state.work_index[job.name], decision.flavors, decision.counts)
    needs = None if parts is None else roll.state.vectors_of(parts, job.workload.exclusive)
    if not has_room(roll, job, needs) or not has_quota(roll, job, parts):
        who = " and ".join(still_leaving(roll, job) or leaving_its_queue(roll, job)) or "others"
        nodes = ", ".join(sorted(set(job.nodes))) or "its queue"
        job.nodes, job.decision = (), None
        job.rule, job.why = rules.STILL_LEFT.id, rules.STILL_LEFT.because(nodes=nodes, who=who)
        roll.touch(job)
        return
    _record(roll, made, decision, number)
    job.rule, job.why = decision.rule, decision.why
    roll.move(job, Signal.START)
    roll.settle_in(job, held=False)
    launch(roll, job)


def _preempt(roll: Roll, made: Plan, decision: Decision, job: Job | None, moment: ClusterFile | None) -> None:
    """Hold the claimant's room and send its victims away, all at once."""
    number = roll.next_decision
    victims = [roll.jobs[victim.workload] for victim in decision.victims]
    _record(roll, made, decision, number, moment)
    if job is not None:
        _place(job, decision, number)
        job.rule, job.why = decision.rule, decision.why
        hold(roll, job, victims)
    for victim, taken in zip(victims, decision.victims, strict=True):
        if victim.leaving is not None:
            if job is not None and not makes_way(roll, victim):
                victim.leaving.claimant = job.name
                roll.touch(victim)
            roll.mark(victim)
            continue
        leaving = Leaving(
            cause="preempt",
            stage="told",
            decision=number,
            claimant=None if job is None else job.name,
            fate=taken.fate,
            rule=taken.rule or decision.rule,
        )
        send_away(roll, victim, leaving)


def _place(job: Job, decision: Decision, number: int) -> None:
    job.nodes, job.flavors, job.counts = decision.nodes, decision.flavors, decision.counts
    job.decision = number


def _record(roll: Roll, made: Plan, decision: Decision, number: int, moment: ClusterFile | None = None) -> None:
    roll.made(number, Made(number, roll.now, made.doctrine, made.edition, decision, moment))


def _wait(roll: Roll, job: Job, decision: Decision) -> None:
    """Why it waits; a new rule is worth a record, a new number is not."""
    if job.phase not in WAITING:
        return
    if decision.action == "refuse":
        roll.step.refused[job.name] = decision
    if job.rule != decision.rule:
        job.rule, job.why = decision.rule, decision.why
        roll.tell(job, decision.action, decision.rule, decision.why, before=job.phase)
    job.why = decision.why
