"""Room that is held for a claimant while its victims leave, and whether it is there yet."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from cede.engine.cycle import choice_of
from cede.engine.drive import rules
from cede.engine.drive.job import Job
from cede.engine.drive.job_table import JobTable, makes_way
from cede.engine.drive.leaving import withdraw
from cede.engine.drive.orders import Launch
from cede.engine.drive.quotas import has_quota
from cede.model.lifecycle import Phase, Signal
from cede.model.rules import Rule
from cede.model.times import SECOND, about
from cede.state.columns import NODE_STATES, Int64s
from cede.state.state import State

MARGIN = 60 * SECOND


def hold(roll: JobTable, job: Job, victims: list[tuple[Job, str]]) -> None:
    """Keep the room of its record for this claimant until these, each taken for its reason, have left; not for ever."""
    job.waits_for = tuple(victim.name for victim, _ in victims)
    job.started = roll.now
    limit = job.terms.hold_timeout
    if limit is None:
        limit = max((sequence_of(victim, reason) for victim, reason in victims), default=0) + MARGIN
    roll.move(job, Signal.HOLD)
    job.rule, job.why = rules.HELD.id, _held(roll, job)
    roll.settle_in(job, held=True)
    roll.due_at(job, roll.now + limit)


def sequence_of(job: Job, reason: str = "") -> int:
    """The longest that this workload may take to leave for this reason."""
    terms = job.terms
    asked = int(terms.checkpoint_timeout * (1 + terms.timeout_extension)) + terms.max_deferral if terms.answers else 0
    return asked + terms.grace(reason)


def someone_left(roll: JobTable, name: str) -> None:
    """A workload's room is free: who waited for it may enter."""
    for job in _in_order(roll):
        if name in job.waits_for:
            _wait_for(roll, job, tuple(other for other in job.waits_for if other != name))
        enter_if_free(roll, job)


def look_again(roll: JobTable) -> None:
    """Every claimant waits for those alone who are on the way out, and one that waits for nobody may enter.

    Whoever left did so in the step that says so. But a record that says otherwise must not keep its claimant waiting.
    """
    for job in _in_order(roll):
        others = [roll.jobs.get(name) for name in job.waits_for]
        leaving = tuple(other.name for other in others if other is not None and other.leaving is not None)
        if leaving != job.waits_for:
            _wait_for(roll, job, leaving)
        enter_if_free(roll, job)


def _in_order(roll: JobTable) -> list[Job]:
    return sorted(roll.held.values(), key=lambda held: (held.since, held.name))


def _wait_for(roll: JobTable, job: Job, names: tuple[str, ...]) -> None:
    job.waits_for = names
    job.why = _held(roll, job) if names else job.why
    roll.touch(job)


def enter_if_free(roll: JobTable, job: Job) -> None:
    """A claimant starts when the last one in its way has left."""
    if job.waits_for:
        return
    if lost := gone_nodes(roll, job):
        give_up(roll, job, rules.HOLD_LOST, why=f"{', '.join(lost)} is not ready")
    elif not has_room(roll, job):
        if not still_leaving(roll, job):
            give_up(roll, job, rules.HOLD_LOST, why=f"{_words(job)['nodes']} has too little left")
    elif has_quota(roll, job):
        roll.move(job, Signal.FREED, rules.FREED, nodes=_words(job)["nodes"] if roll.reasons else "")
        roll.take_hold(job)
        launch(roll, job)


def launch(roll: JobTable, job: Job) -> None:
    """Order the next attempt of a workload that has its room."""
    begin_attempt(job, roll.now)
    ways = roll.ways
    if ways.at_once:
        job.deadline = None
        if roll.awaits_start:
            roll.runs_since(job, roll.now)
        else:
            job.began = roll.now
        roll.began(job)
        if ways.walltimes:
            roll.watch(job)
    else:
        roll.due_at(job, roll.now + job.terms.start_timeout)
    roll.step.orders.append(Launch(job.name, job.attempt, job.nodes, job.checkpoint is not None))


def begin_attempt(job: Job, at: int) -> None:
    """Its record is that of its next attempt, which is given its room at this time."""
    job.attempt += 1
    job.started = at
    job.began = job.ended = None
    job.leaving = None
    job.hint = job.withdrawn = 0
    job.leaves_until = job.evicts_after = None
    job.exit_code = job.exit_signal = None
    job.waits_for = ()


def give_up(roll: JobTable, job: Job, rule: Rule, **facts: object) -> None:
    """The hold ends without its claimant: it waits again, and those who only wrote a checkpoint for it go on."""
    roll.due_at(job, None)
    claimed = job.waits_for
    roll.released(job)
    job.waits_for, job.nodes = (), ()
    roll.move(job, Signal.SUSPEND if job.resumes else Signal.REQUEUE, rule, **facts)
    roll.leave(job, preempted=False)
    release(roll, job.name, claimed)


def release(roll: JobTable, claimant: str, victims: tuple[str, ...]) -> None:
    """Victims whose claimant is gone, unless somebody else waits for them."""
    for name in victims:
        victim = roll.jobs.get(name)
        if victim is None or victim.leaving is None:
            continue
        waiting = [held for held in roll.held.values() if name in held.waits_for]
        if not waiting:
            withdraw(roll, victim, claimant)
        elif victim.leaving.claimant == claimant:
            victim.leaving.claimant = min(waiting, key=lambda held: (held.since, held.name)).name
            roll.touch(victim)
            roll.mark(victim)


def expired(roll: JobTable, job: Job) -> None:
    """The hold's deadline is over."""
    give_up(roll, job, rules.HOLD_EXPIRED, limit=about(roll.now - job.since))


def gone_nodes(roll: JobTable, job: Job) -> list[str]:
    """Those of its nodes that take no work any more, or not this one."""
    state, takes_cordoned = roll.state, roll.doctrine.takes_cordoned
    if all([state.is_ready(state.node_index[node]) for node in job.nodes]):  # noqa: C419 - there are few
        return []
    closed = {n: word for n in job.nodes if (word := NODE_STATES[state.nodes.state[state.node_index[n]]]) != "ready"}
    if closed and takes_cordoned is not None:
        there = takes_cordoned(state, choice_of(state).edition, state.work_index[job.name])
        closed = {n: word for n, word in closed.items() if word != "cordoned" or not there}
    return sorted(closed)


def still_leaving(roll: JobTable, job: Job) -> list[str]:
    """Who stands on its nodes and is on the way out."""
    found: set[str] = set()
    for node in set(job.nodes):
        for row in _standing(roll.state, roll.state.node_index[node]):
            other = roll.jobs.get(roll.state.work_names[row])
            if other is not None and other.leaving is not None:
                found.add(other.name)
    return sorted(found)


def _standing(state: State, node: int) -> Iterable[int]:
    """Who stands on a node; of records no column need be written for that."""
    if len(state.records) == len(state.work_index):
        return state.room().standing[node]
    there: list[int] = state.residents.work[state.node_residents[node]].tolist()
    return there


def has_room(roll: JobTable, job: Job, needs: list[Int64s] | None = None) -> bool:
    """Whether its members fit beside everybody whose processes are there, and beside what is held for others.

    Of the room held for another claimant, what its own victims still fill is no second claim.
    """
    state = roll.state
    if not job.nodes:
        return True
    record = state.records.get(state.work_index[job.name])
    if needs is None and record is not None and len(state.records) == len(state.work_index):
        return _records_leave_room(roll, job, record.template.need)
    members = state.members_of(state.work_index[job.name]) if needs is None else needs
    wanted: dict[int, Int64s] = {}
    for name, need in zip(job.nodes, members, strict=True):
        node = state.node_index[name]
        wanted[node] = need + wanted[node] if node in wanted else need.copy()
    return not any(bool(((_open(roll, node, job) < need) & (need > 0)).any()) for node, need in wanted.items())


def _records_leave_room(roll: JobTable, job: Job, need: tuple[tuple[int, int], ...]) -> bool:
    """The same where every workload is in records."""
    state, room = roll.state, roll.state.room()
    names, records = state.work_names, state.records
    wanted: dict[int, int] = {}
    for name in job.nodes:
        node = state.node_index[name]
        wanted[node] = wanted.get(node, 0) + 1
    for node, members in wanted.items():
        left = room.capacity[node].copy()
        held: dict[str, list[int]] = {}
        for row, count in room.standing[node].items():
            other = roll.jobs.get(names[row])
            if other is job:
                continue
            taken = left
            if other is not None and other.phase is Phase.HELD:
                taken = held.setdefault(other.name, [0] * len(left))
            for column, amount in records[row].template.need:
                taken[column] -= amount * count
            if other is not None and other.leaving is not None and makes_way(roll, other):
                claimed = held.setdefault(str(other.leaving.claimant), [0] * len(left))
                for column, amount in records[row].template.need:
                    claimed[column] += amount * count
        for amounts in held.values():
            for column, amount in enumerate(amounts):
                left[column] += min(0, amount)
        if any(left[column] < amount * members for column, amount in need):
            return False
    return True


def _open(roll: JobTable, node: int, claimant: Job) -> Int64s:
    state, nodes = roll.state, roll.state.nodes
    taken = nodes.occupied[:, node] + nodes.used[:, node] + nodes.leaving[:, node]
    held: dict[str, Int64s] = {}
    making_way: dict[str, Int64s] = {}
    for resident in state.node_residents[node]:
        job = roll.jobs.get(state.work_names[int(state.residents.work[resident])])
        if job is None or job is claimant:
            continue
        amount = state.residents.amount[:, resident]
        if job.phase is Phase.HELD:
            held[job.name] = held.get(job.name, 0) + amount
        elif job.leaving is not None and makes_way(roll, job):
            name = str(job.leaving.claimant)
            making_way[name] = making_way.get(name, 0) + amount
    for name, amount in held.items():
        taken = taken + np.maximum(0, amount - making_way.get(name, 0))
    found: Int64s = nodes.capacity[:, node] - taken
    return found


def _held(roll: JobTable, job: Job) -> str:
    """What it waits for, where anybody reads that."""
    return rules.HELD.because(**_words(job)) if roll.reasons else ""


def _words(job: Job) -> dict[str, str]:
    nodes = ", ".join(sorted(set(job.nodes))) or "its queue"
    return {"nodes": nodes, "who": " and ".join(job.waits_for) or "they"}
