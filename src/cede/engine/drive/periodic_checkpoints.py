"""Checkpoints that nobody asked for: once a minute the doctrine is asked who should write one."""

from __future__ import annotations

import numpy as np

from cede.doctrines.parts.cost import AUTO
from cede.engine.drive import rules
from cede.engine.drive.job import Job
from cede.engine.drive.job_table import JobTable
from cede.engine.drive.leaving import ask_for_checkpoint
from cede.model.lifecycle import Phase
from cede.model.times import SECOND
from cede.state.columns import RUNNING

EVERY = 60 * SECOND
REST = 5 * EVERY
"""Who was asked is not asked again before, whatever became of that."""


def ask_for_what_is_worth(roll: JobTable, before: int) -> int | None:
    """Ask them, if a minute of the clock has begun since; when the next one begins, if anybody could be asked then.

    By minutes of the clock, so that a restart neither asks twice nor forgets to ask.
    """
    if roll.doctrine.saves is None:
        return None
    if roll.now // EVERY > before // EVERY:
        for name, why in list(roll.doctrine.saves(roll.state, roll.edition)):
            job = roll.jobs[name]
            if _may_be_asked(job) and (job.hinted is None or job.hinted + REST <= roll.now):
                ask_for_checkpoint(roll, job, rules.WORTH, why=why)
    return (roll.now // EVERY + 1) * EVERY if _somebody_saves(roll) else None


def _somebody_saves(roll: JobTable) -> bool:
    state, size = roll.state, roll.state.work.size
    rows = np.flatnonzero((state.work.state[:size] == RUNNING) & (state.work.checkpoint[:size] == AUTO))
    return any(_may_be_asked(roll.jobs[state.work_names[row]]) for row in rows)


def _may_be_asked(job: Job) -> bool:
    saves = job.workload.checkpoint
    return job.phase is Phase.RUNNING and job.terms.answers and saves is not None and saves.mode == "auto"
