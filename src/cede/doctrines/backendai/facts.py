"""The numbers that go into this doctrine's sentences."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from cede.doctrines.backendai.settings import Settings
from cede.doctrines.parts.candidates import Facts
from cede.doctrines.parts.orders import Rows
from cede.model.plan import ENDED, REQUEUED
from cede.model.times import show_duration
from cede.state.columns import KINDS, NEVER, STATES, SUSPENDED, SYSTEM, Int32s
from cede.state.state import State

SCOPES = ("user", "project", "domain")


def facts_about(state: State, claimant: int, settings: Settings) -> Facts:
    """A function from a candidate's row to everything a sentence may name."""
    work = state.work
    ceiling = highest_waiting(state, claimant, settings) if work.kind[claimant] == SYSTEM else None

    def facts(row: int) -> Mapping[str, object]:
        ran = "nothing (it has not begun)"
        if work.started[row] != NEVER:
            ran = show_duration(max(0, state.now - int(work.started[row])))
        return {
            "priority": int(work.priority[row]),
            "claimant_priority": int(work.priority[claimant]),
            "job_priority": int(work.job_priority[row]),
            "claimant_job_priority": int(work.job_priority[claimant]),
            "ceiling": ceiling,
            "threshold": settings.threshold,
            "scope": settings.scope,
            "its_owner": owner_of(state, row, settings.scope),
            "claimant_owner": owner_of(state, claimant, settings.scope),
            "state": STATES[int(work.state[row])],
            "ran": ran,
            "min_runtime": show_duration(settings.min_runtime),
            "node": ", ".join(dict.fromkeys(state.nodes_of(row))),
            "victim": state.work_names[row],
            "claimant": state.work_names[claimant],
            "members": int(work.members[claimant]),
        }

    return facts


def scope_column(state: State, scope: str) -> Int32s | None:
    """The column whose equality makes two workloads of one scope; None if the scope is the whole group."""
    return None if scope not in SCOPES else getattr(state.work, scope)


def owner_of(state: State, row: int, scope: str) -> str:
    column = scope_column(state, scope)
    if column is None:
        return state.partitions.names[int(state.work.partition[row])]
    names = {"user": state.users, "project": state.projects, "domain": state.domains}[scope]
    return names.name(int(column[row])) or "(none)"


def highest_waiting(state: State, row: int, settings: Settings) -> int | None:
    """The highest job priority of those that wait in the session's scope and are no system work.

    Release 26.8 looks for victims below that, for whomever; for a system session alone it does not look at all.
    """
    work = state.work
    others: Rows = np.fromiter(state.pending, np.intp, len(state.pending))
    others = others[(work.partition[others] == work.partition[row]) & (work.kind[others] != SYSTEM)]
    column = scope_column(state, settings.scope)
    if column is not None:
        others = others[column[others] == column[row]]
    return int(work.job_priority[others].max()) if len(others) else None


def fate_of(state: State, row: int, settings: Settings) -> str:
    """Whether a victim queues again: as the mode says; suspended interactive and inference work does not."""
    return fate_of_kind(int(state.work.kind[row]), settings)


def fate_of_kind(kind: int, settings: Settings) -> str:
    """The same of one that is of this kind."""
    if settings.mode == "reschedule":
        return REQUEUED
    if settings.mode == "suspend" and KINDS[kind] not in ("interactive", "inference"):
        return REQUEUED
    return ENDED


def pending_rows(state: State, partition: int) -> Rows:
    """Workloads of this group that wait and are not decided yet, in no particular order."""
    rows: Rows = np.fromiter(state.pending, np.intp, len(state.pending))
    waiting: Rows = rows[(state.work.partition[rows] == partition) & (state.work.state[rows] <= SUSPENDED)]
    return waiting


def groups_with_work(state: State) -> list[int]:
    """Partitions that have something pending, by name."""
    codes = {int(state.work.partition[row]) for row in state.pending}
    return sorted(codes, key=state.partitions.names.__getitem__)
