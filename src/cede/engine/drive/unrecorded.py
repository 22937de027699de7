"""Attempts that their records do not know, as after a store was restored: they have their room, and their ends."""

from __future__ import annotations

from cede.engine.drive import rules
from cede.engine.drive.exits import exited
from cede.engine.drive.facts import Exited, Occupied, Unrecorded
from cede.engine.drive.holds import begin_attempt, give_up, has_room, launch
from cede.engine.drive.job import Job
from cede.engine.drive.job_table import JobTable
from cede.engine.drive.quotas import has_quota
from cede.engine.drive.requests import fill, occupy
from cede.model.lifecycle import FINAL, WAITING, Phase, Signal


def find(roll: JobTable, fact: Unrecorded) -> None:
    """What runs fills its nodes, and its workload does not stand in the line; of what has ended the end is told."""
    job = roll.jobs.get(fact.name)
    before = roll.found.get(fact.name)
    if before is not None and (fact.end is None or before.attempt <= fact.attempt):
        _forget(roll, before)
    if job is None or fact.attempt <= job.attempt:
        return
    if job.phase is Phase.HELD:
        give_up(roll, job, rules.HOLD_LOST, why=f"attempt {fact.attempt} of it began already")
    if fact.end is not None:
        _tell_end(roll, job, fact, fact.end)
    elif fact.nodes:
        roll.found[fact.name] = fact
        _fill(roll, fact)
        roll.dirty = True


def take_over(roll: JobTable) -> None:
    """Whoever waits and is found running has its room there, if there is so much by the records."""
    for fact in [roll.found[name] for name in sorted(roll.found)]:
        job = roll.jobs.get(fact.name)
        if job is not None and job.phase in WAITING and not (job.parked or job.aside or job.capped):
            _take_over(roll, job, fact)


def keep_out(roll: JobTable) -> None:
    """Nobody is started a second time: those that are found running do not stand in the line."""
    for name in sorted(roll.found):
        job = roll.jobs.get(name)
        row = roll.state.work_index.get(name)
        if job is None or job.phase not in WAITING or row is None:
            continue
        roll.state.forget(row)
        roll.state.away.add(name)
        roll.dirty = True
        if job.rule != rules.FOUND_WAITS.id:
            fact = roll.found[name]
            roll.note(job, "wait", rules.FOUND_WAITS, attempt=fact.attempt, nodes=_words(fact))


def vacate(roll: JobTable) -> None:
    """Nothing is known of work without a record, or that its record does not know, until somebody says so."""
    for fact in [roll.found[name] for name in sorted(roll.found)]:
        _forget(roll, fact)
    for name in sorted(roll.occupied):
        occupy(roll, Occupied(name))


def _take_over(roll: JobTable, job: Job, fact: Unrecorded) -> None:
    """Under quotas by flavor it is not known which ones it uses: there it stays out of the line until it has ended."""
    state = roll.state
    if state.static.flavored_quota or not roll.nodes.keys() >= set(fact.nodes):
        return
    if job.name not in state.work_index:
        roll.enter(job)
    if len(fact.nodes) != len(state.members_of(state.work_index[job.name])):
        return
    del roll.found[job.name]
    _fill(roll, fact)
    job.nodes = fact.nodes
    if not (has_room(roll, job) and has_quota(roll, job)):
        job.nodes = ()
        roll.found[job.name] = fact
        _fill(roll, fact)
        return
    _begin(roll, job, fact)
    roll.settle_in(job, held=False)
    launch(roll, job)


def _begin(roll: JobTable, job: Job, fact: Unrecorded) -> None:
    """It is about to begin the attempt that was found."""
    job.nodes, job.attempt, job.decision = fact.nodes, fact.attempt - 1, None
    job.retry_at = job.evicts_after = None
    roll.due_at(job, None)
    roll.move(job, Signal.START, rules.FOUND, attempt=fact.attempt, nodes=_words(fact))


def _tell_end(roll: JobTable, job: Job, fact: Unrecorded, end: Exited) -> None:
    """The attempt is over, and filled no room of which anybody need know now."""
    if job.phase not in WAITING:
        return
    row = roll.state.work_index.get(job.name)
    if row is not None:
        roll.state.forget(row)
        roll.dirty = True
    began = fact.began if fact.began is None else max(fact.began, job.workload.submitted or 0)
    roll.when = min(roll.now, began or end.at or roll.now)
    _begin(roll, job, fact)
    begin_attempt(job, roll.when)
    if began is not None:
        job.began = roll.when
        roll.began(job)
    if fact.saved is not None:
        roll.saved(job, max(fact.saved, job.checkpoint or 0))
    roll.when = roll.now
    exited(roll, job, end)
    if job.phase in FINAL:
        roll.jobs.pop(job.name, None)
    elif job.out_of_line:
        roll.state.away.add(job.name)
    else:
        roll.enter(job)


def _forget(roll: JobTable, fact: Unrecorded) -> None:
    """It runs no more, as far as anybody knows."""
    del roll.found[fact.name]
    _fill(roll, fact)
    job = roll.jobs.get(fact.name)
    if job is not None and job.phase in WAITING and not job.out_of_line and job.name not in roll.state.work_index:
        roll.enter(job)


def _fill(roll: JobTable, fact: Unrecorded) -> None:
    for node in sorted(set(fact.nodes) & roll.nodes.keys()):
        fill(roll, node)


def _words(fact: Unrecorded) -> str:
    return ", ".join(sorted(set(fact.nodes))) or "no node"
