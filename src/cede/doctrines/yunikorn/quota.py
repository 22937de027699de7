"""Quota preemption of release 1.9: a queue that stays above its own max gives back what is too much."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from cede.doctrines.parts.doctrine import Cycle
from cede.doctrines.yunikorn.queues import Queues
from cede.doctrines.yunikorn.quota_cut import Scales, cut_of
from cede.doctrines.yunikorn.quota_timer import TIMERS, Timer, Timers, advanced, fires, first_seen
from cede.doctrines.yunikorn.quota_words import decision_of
from cede.doctrines.yunikorn.settings import mode_of
from cede.model.plan import Decision
from cede.model.times import SECOND
from cede.state.columns import NEVER, RUNNING
from cede.state.state import State

INTERVAL = SECOND
"""YuniKorn looks at the quotas once a second."""


def cut_back(cycle: Cycle, queues: Queues) -> Iterator[Decision]:
    """One decision for each queue that is above its max, whose time has come, and that finds somebody to take.

    From the root down; what is below a queue that is cut back is left alone in this cycle.
    """
    state = cycle.state
    choice = state.static.doctrine
    if choice is None or not mode_of(choice.settings).quota:
        return
    timers = _timers_of(cycle)
    _tick(cycle, queues, timers)
    below = [queue for queue in range(queues.size) if len(queues.path[queue]) == 1]
    below.sort(key=queues.names.__getitem__, reverse=True)
    while below:
        queue = below.pop()
        name = queues.names[queue]
        timer, scales = timers.get(name), Scales(state, queues)
        if timer is None or not fires(timer, scales.named(scales.used(queue)), state.now):
            below += reversed(queues.children[queue])
            continue
        cut = cut_of(scales, queue)
        cycle.wake(state.now + INTERVAL)  # what is below may be due as well
        if not cut.victims:
            timers[name] = replace(timer, start=None)
            continue
        timers[name] = replace(timer, taken=tuple(state.work_names[row] for row in cut.victims))
        made = decision_of(scales, cut, explain=cycle.explain)
        for row in cut.victims:
            cycle.trial.evict(row)
        yield made


def _timers_of(cycle: Cycle) -> dict[str, Timer]:
    """The timers of a run of cycles; of a single plan, none yet."""
    found = cycle.memory.get(TIMERS)
    if not isinstance(found, Timers):
        found = cycle.memory[TIMERS] = Timers()
    return found.by_queue


def _tick(cycle: Cycle, queues: Queues, timers: dict[str, Timer]) -> None:
    """Every timer as it stands now; the cycle wakes when the next one runs out."""
    state, now = cycle.state, cycle.state.now
    scales = Scales(state, queues)
    for queue, name in enumerate(queues.names):
        limit = scales.limit(queue) if state.tree.listed[queue] else None
        delay, known = queues.properties[queue].quota_delay, timers.get(name)
        if known is None and (limit is None or not delay):
            continue
        named, used = None if limit is None else scales.named(limit), scales.named(scales.used(queue))
        if known is None:
            given = int(state.tree.over_limit_since[queue])
            timer = first_seen(named, delay, used, now, None if given == NEVER else given)
        else:
            timer = advanced(_carried_out(state, known), named, delay, used, now)
        timers[name] = timer
        if timer.start is not None and timer.start > now:
            cycle.wake(timer.start)


def _carried_out(state: State, timer: Timer) -> Timer:
    """A run stops the timer, unless its plan was not carried out: then all it took run on."""
    if not timer.taken:
        return timer
    index, phase = state.work_index, state.work.state
    still = all(name in index and phase[index[name]] == RUNNING for name in timer.taken)
    return replace(timer, taken=(), start=timer.start if still else None)
