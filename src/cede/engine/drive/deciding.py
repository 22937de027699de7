"""Plan, check the plan, carry out what it decides, and plan again while that changes what comes next."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from cede.doctrines.parts.doctrine import BRISK
from cede.engine.backfill import Head, Heads, restrain
from cede.engine.costs import priced
from cede.engine.cycle import plan_acts, plan_state
from cede.engine.drive import rules
from cede.engine.drive.backoff import held_back
from cede.engine.drive.holds import has_room, hold, launch, still_leaving
from cede.engine.drive.job import Job, Leaving
from cede.engine.drive.job_table import JobTable, makes_way
from cede.engine.drive.leaving import send_away
from cede.engine.drive.quotas import has_quota, leaving_its_queue
from cede.engine.drive.restart_memory import Moment, moment_of
from cede.engine.drive.step import Made
from cede.engine.verify import verify_state
from cede.model.lifecycle import START, WAITING
from cede.model.plan import ENDED, Decision, Plan, Victim
from cede.model.times import about
from cede.state.admission import admitted_parts

MOST_PLANS = 16
"""In one step. What is left is decided in the next, which follows at once."""
WHOLE_EVERY = 64
"""Of so many plans that act one is verified whole, the first among them: a search that takes too many victims does so
again and again, and the others cost what they touch."""


def decide(roll: JobTable) -> int | None:
    """Carry out plans until one changes nothing; when the doctrine wants to be asked again."""
    roll.decided_at = roll.now
    if roll.for_claimants and not roll.state.pending and not roll.ways.words:
        roll.dirty, roll.untold = False, True
        return None
    cycle = roll.cycle
    roll.untold = cycle is not None
    wakes_at = None
    again = False
    made: Plan | None
    heads: Heads = {}
    for _ in range(MOST_PLANS):
        roll.step.plans += 1
        if cycle is None:
            made, again = _whole_plan(roll, heads, roll.memory)
        else:
            made = plan_acts(cycle, roll.doctrine)
        if made is None:  # nothing acts, now and later
            roll.dirty = False
            return None
        wakes_at = made.wakes_at
        acts = preempts = False
        for decision in made.decisions:
            if decision.victims:
                acts = preempts = True
            elif decision.action == "start":
                acts = True
        problems = _problems(roll, made) if acts else None
        if problems:
            roll.step.problems.extend(problems)
            roll.dirty = False
            return wakes_at
        if preempts:
            heads.clear()
        before = roll.state.version
        more = _carry_out(roll, made) if preempts else _start_all(roll, made)
        if not more and (not (again or made.again) or roll.state.version == before):
            roll.dirty = False  # nothing changed, where room is still being left: another plan would be the same
            return wakes_at
    return roll.now


def _problems(roll: JobTable, made: Plan) -> list[str]:
    """What is wrong with a plan that acts; what costs as much as the cluster is large is asked now and then."""
    roll.verified += 1
    return verify_state(roll.state, roll.doctrine, made, whole=roll.verified % WHOLE_EVERY == 1)


def _whole_plan(roll: JobTable, heads: Heads, memory: dict[str, Any]) -> tuple[Plan, bool]:
    """What becomes of everybody, with words, and whether another plan must follow."""
    made = plan_state(
        roll.state, roll.doctrine, misses=False, memory=memory, effort=BRISK, carried_out=roll.transactional
    )
    if roll.ways.backfill == "off":
        return made, False
    kept = restrain(roll.state, roll.doctrine, made, roll.ways.backfill, heads, memory)
    for decision, head in kept.held_back:
        _hold_back(roll, decision, head)
    return replace(made, decisions=tuple(kept.decisions)), kept.again


def tell_why(roll: JobTable) -> None:
    """Those that wait are told why, by a whole plan of which nothing is carried out and nothing remembered.

    It is of the time of the last decision: of one that was looked at then, a doctrine that looks only now and then
    would not say any more what came of it.
    """
    state = roll.state
    journal, state.journal = state.journal, state.journal.aside()
    now, state.now = state.now, roll.decided_at
    try:
        made, _ = _whole_plan(roll, {}, roll.doctrine.copied(roll.memory))
    finally:
        state.journal, state.now = journal, now
    for decision in made.decisions:
        job = None if decision.workload is None else roll.jobs[decision.workload]
        if job is None:
            continue
        if decision.action in ("wait", "refuse"):
            _wait(roll, job, decision)
        elif job.rule != rules.STILL_LEFT.id:  # by a plan that nobody has asked for yet
            why = rules.NEXT_CYCLE.because(why=decision.why)
            _wait(roll, job, replace(decision, action="wait", rule=rules.NEXT_CYCLE.id, why=why))
    roll.untold = False


def _hold_back(roll: JobTable, decision: Decision, head: Head) -> None:
    """It would start, if it did not stand behind one whom it must not pass."""
    job = roll.jobs[decision.workload or ""]
    reservation = head.reservation
    rule = rules.BEHIND if reservation is None else rules.DELAYS
    at = "" if reservation is None else about(max(0, reservation.at - roll.now))
    before, job.rule = job.rule, rule.id
    job.why = rule.because(head=head.name, at=at)
    if job.rule != before:
        roll.touch(job)


def _carry_out(roll: JobTable, made: Plan) -> bool:
    """What this plan decides, in order, up to the first preemption; whether another plan must follow.

    For those after it a victim counts as gone, but it has not left: they are decided anew, on what is held and left.
    Where a plan is one transaction it does not count as gone, and all of it is carried out.
    """
    whole = roll.transactional
    acting = [decision for decision in made.decisions if decision.victims]
    wanted = roll.ways.moments
    asked = [wanted is None or wanted(decision) for decision in (acting if whole else acting[:1])]
    moment = moment_of(roll) if any(asked) else None
    if whole and any(_is_held_back(roll, decision) for decision in acting):
        return True
    for decision in made.decisions:
        job = None if decision.workload is None else roll.jobs[decision.workload]
        if decision.victims:
            if not whole and _is_held_back(roll, decision):
                return True
            _preempt(roll, made, decision, job, moment if asked.pop(0) else None)
            if not whole:
                return True
        elif job is None:
            continue
        elif decision.action == "start":
            _start(roll, made, decision, job)
        elif decision.action in ("wait", "refuse"):
            _wait(roll, job, decision)
    return True


def _start_all(roll: JobTable, made: Plan) -> bool:
    """The same of a plan that preempts nobody."""
    for decision in made.decisions:
        if decision.workload is None:
            continue
        job = roll.jobs[decision.workload]
        if decision.action == "start":
            _start(roll, made, decision, job)
        elif decision.action in ("wait", "refuse"):
            _wait(roll, job, decision)
    return False


def _is_held_back(roll: JobTable, decision: Decision) -> bool:
    """Whether the breaker keeps its claimant from evicting anybody for now."""
    victims = [roll.jobs[victim.workload] for victim in decision.victims]
    return decision.workload is not None and held_back(roll, roll.jobs[decision.workload], victims)


def _start(roll: JobTable, made: Plan, decision: Decision, job: Job) -> None:
    number = roll.next_decision
    _place(job, decision, number)
    if roll.state.between and not _has_all(roll, job, decision):
        who = " and ".join(still_leaving(roll, job) or leaving_its_queue(roll, job)) or "others"
        nodes = ", ".join(sorted(set(job.nodes))) or "its queue"
        job.nodes, job.decision = (), None
        job.rule, job.why = rules.STILL_LEFT.id, rules.STILL_LEFT.because(nodes=nodes, who=who)
        roll.touch(job)
        return
    if roll.reasons:
        _record(roll, made, decision, number)
    else:
        roll.next_decision = number + 1
    job.rule, job.why = decision.rule, decision.why
    roll.move(job, START)
    roll.settle_in(job, held=False)
    launch(roll, job)


def _has_all(roll: JobTable, job: Job, decision: Decision) -> bool:
    """Whether its room is there now: a plan counts who is leaving and what is held as overlapping."""
    parts = admitted_parts(roll.state, roll.state.work_index[job.name], decision.flavors, decision.counts)
    needs = None if parts is None else roll.state.vectors_of(parts, job.workload.exclusive)
    return has_room(roll, job, needs) and has_quota(roll, job, parts)


def _preempt(roll: JobTable, made: Plan, decision: Decision, job: Job | None, moment: Moment | None) -> None:
    """Hold the claimant's room and send its victims away, all at once."""
    number = roll.next_decision
    victims = [roll.jobs[victim.workload] for victim in decision.victims]
    decision = _with_own_fates(decision, victims)
    _record(roll, made, decision, number, moment)
    if job is not None:
        roll.breaker.record(roll.now, job, (victim for victim in victims if victim.leaving is None))
        _place(job, decision, number)
        job.rule, job.why = decision.rule, decision.why
        hold(roll, job, [(victim, taken.reason) for victim, taken in zip(victims, decision.victims, strict=True)])
    for victim, taken in zip(victims, decision.victims, strict=True):
        if victim.leaving is not None:
            if not makes_way(roll, victim):
                victim.leaving.claimant = None if job is None else job.name
                if job is None or victim.leaving.decision is None:  # who is named was named by some decision
                    victim.leaving.decision = number
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
            reason=taken.reason,
        )
        send_away(roll, victim, leaving)


def _with_own_fates(decision: Decision, victims: list[Job]) -> Decision:
    """The decision as it will be: a victim whose own policy is never to queue again ends."""
    if all(victim.terms.requeue != "never" for victim in victims):
        return decision
    taken = zip(decision.victims, victims, strict=True)
    return replace(
        decision, victims=tuple(replace(one, fate=ENDED) if job.terms.requeue == "never" else one for one, job in taken)
    )


def _place(job: Job, decision: Decision, number: int) -> None:
    job.nodes, job.flavors, job.counts = decision.nodes, decision.flavors, decision.counts
    job.decision = number


def _record(roll: JobTable, made: Plan, decision: Decision, number: int, moment: Moment | None = None) -> None:
    if roll.reasons and decision.victims:
        (decision,) = priced(roll.state, (decision,))
        decision = replace(decision, victims=tuple(_with_saving(roll, victim) for victim in decision.victims))
    if decision.victims or roll.reasons:
        at_that_time = () if moment is None else moment
        roll.made(Made(number, roll.now, made.doctrine, made.edition, decision, *at_that_time))
    roll.next_decision = number + 1


def _with_saving(roll: JobTable, victim: Victim) -> Victim:
    """With what its saving is expected to take, and what comes of one that does not save and has no way back left."""
    job = roll.jobs[victim.workload]
    words, most = roll.checkpoint_times.of(job).words, job.terms.max_requeues
    if words and victim.fate != ENDED and job.terms.answers and job.requeues >= most:
        words += f"; if it does not, it fails for good: it has queued again {job.requeues} of at most {most} times"
    return replace(victim, saving=words)


def _wait(roll: JobTable, job: Job, decision: Decision) -> None:
    """Why it waits; a new rule is worth a record, a new number is not."""
    if job.phase not in WAITING or job.evicts_after is not None:
        return
    if decision.action == "refuse":
        roll.step.refused[job.name] = decision
    if job.rule != decision.rule:
        job.rule, job.why = decision.rule, decision.why
        roll.tell(job, decision.action, decision.rule, decision.why, before=job.phase)
    job.why = decision.why
