"""What the edition promises of a preemption, re-derived one workload at a time by code that chose nothing."""

from __future__ import annotations

from collections.abc import Iterator

from cede.doctrines.backendai.settings import DOCUMENT, SHIPPED, Settings, settings_of
from cede.model.plan import ENDED, REQUEUED, Decision
from cede.state.columns import KINDS, NEVER, STATES
from cede.state.state import State


def objections(state: State, edition: str, made: Decision) -> Iterator[str]:
    """Sentences that say what is unlawful about this decision; the state is as it was before it."""
    if made.workload is None or not made.victims:
        return
    claimant = state.work_index[made.workload]
    settings = settings_of(state.tree.settings(int(state.work.queue[claimant])), edition)
    if not state.work.preempts[claimant]:
        yield f"{made.workload} never preempts, yet it has victims"
    if edition == SHIPPED and not settings.enabled:
        yield f"the group of {made.workload} does not preempt"
    if edition == SHIPPED and KINDS[state.work.kind[claimant]] == "system":
        yield f"{made.workload} is system work and starts no preemption"
    for victim in made.victims:
        row = state.work_index[victim.workload]
        for complaint in _about(state, edition, settings, claimant, row):
            yield f"{victim.workload} {complaint}"
        resumes = settings.mode == "reschedule" or (
            settings.mode == "suspend" and _resumes(KINDS[state.work.kind[row]])
        )
        if victim.fate != (REQUEUED if resumes else ENDED):
            yield f"{victim.workload} would be {victim.fate}, against the mode {settings.mode}"


def _resumes(kind: str) -> bool:
    return kind in ("batch", "service", "system")


def _about(state: State, edition: str, settings: Settings, claimant: int, row: int) -> Iterator[str]:
    work = state.work
    if STATES[work.state[row]] != "running":
        yield f"is {STATES[work.state[row]]}"
    if not work.preemptible[row]:
        yield "asks not to be preempted"
    if KINDS[work.kind[row]] == "system":
        yield "is system work"
    if work.partition[row] != work.partition[claimant]:
        yield "is of another group"
    if edition == DOCUMENT:
        if int(work.priority[row]) >= int(work.priority[claimant]):
            yield f"has priority {work.priority[row]}, not below {work.priority[claimant]}"
        if int(work.priority[row]) > settings.threshold:
            yield f"has priority {work.priority[row]}, above the threshold {settings.threshold}"
        return
    if int(work.job_priority[row]) >= int(work.job_priority[claimant]):
        yield f"has job priority {work.job_priority[row]}, not below {work.job_priority[claimant]}"
    if settings.scope in ("user", "project", "domain"):
        owners = getattr(work, settings.scope)
        if int(owners[row]) != int(owners[claimant]):
            yield f"is not of the claimant's {settings.scope}"
    if settings.min_runtime:
        ran = None if work.started[row] == NEVER else state.now - int(work.started[row])
        if ran is None or ran < settings.min_runtime:
            yield f"ran {ran} of {settings.min_runtime} microseconds"
