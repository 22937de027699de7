"""What happens in a replay, written down as it happens in plain lists, and made into tables at the end."""

from __future__ import annotations

import heapq
from array import array
from collections.abc import Mapping, Sequence
from struct import Struct
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from cede.doctrines.parts.cost import wasted
from cede.engine.drive.step import Made
from cede.model.plan import Decision
from cede.sim.allocations import Allocations, by_job
from cede.sim.tables import ATTEMPTS, DECISIONS, HOLDS, JOBS, OUTAGES, VICTIMS
from cede.sim.traces.trace import Trace

if TYPE_CHECKING:
    from cede.sim.attempt import Attempt

Row = list[Any]
NOT_YET = -(1 << 62)
HOWS = ("completed", "preempted", "node", "drained", "failed", "cancelled", "open")
PLACE = {how: place for place, how in enumerate(HOWS)}
COMPLETED = PLACE["completed"]
PACKED = Struct(f"{len(ATTEMPTS)}q").pack


def _times(times: array[int]) -> pl.Series:
    column = pl.Series(np.frombuffer(times, np.int64), dtype=pl.Int64)
    return column.set(column == NOT_YET, None)


class Records:
    """One list a column that the replay reads or writes; jobs are numbers from 0, in the order of the trace.

    With `allocations` these jobs are workloads, of which several may be one job of the result.
    """

    def __init__(
        self,
        trace: Trace,
        sizes: Sequence[Mapping[str, int]],
        main: str,
        keep: int,
        allocations: Allocations | None = None,
    ) -> None:
        jobs = trace.jobs
        self.trace = trace
        self.names: list[str] = jobs["name"].to_list()
        self.index = {name: number for number, name in enumerate(self.names)}
        self.submitted = array("q", jobs["submitted"].to_list())
        self.duration = array("q", jobs["duration"].to_list())
        self.restart_time = array("q", jobs["restart_time"].fill_null(0).to_list())
        self.checkpoint_time = array("q", jobs["checkpoint_time"].fill_null(0).to_list())
        self.checkpoint_interval = array("q", jobs["checkpoint_interval"].fill_null(0).to_list())
        self.answers: list[bool] = (jobs["checkpoint"] != "none").to_list()
        self.shape = array("l", jobs["shape"].to_list())
        self.amount = [size.get(main, 0) for size in sizes]
        count = len(self.names)
        self.kept = array("q", bytes(8 * count))
        """Work that is safe, in microseconds."""
        self.first_start = array("q", [NOT_YET]) * count
        self.ended = array("q", [NOT_YET]) * count
        self.state = ["waiting"] * count
        self.runs = [0] * count
        self.preemptions = [0] * count
        self.evictions = [0] * count
        self.reasons: dict[int, tuple[str, str]] = {}
        self.attempts = bytearray()
        """One after the other, a number for each column of `ATTEMPTS`; `how` as its place among HOWS."""
        self.decisions: list[Row] = []
        self.victims: list[Row] = []
        self.holds: list[Row] = []
        self.outages: list[Row] = []
        self.moments: dict[int, Any] = {}
        self._allocations = allocations
        self._open = None if allocations is None else array("l", allocations.counts)
        """Of each job how many of its allocations are not over, where jobs have several."""
        self.finished = 0
        """How many jobs are over."""
        self._keep = keep
        self._costs: list[tuple[int, int]] = []
        self._victim_of: dict[int, list[int]] = {}
        self._to_leave: dict[int, int] = {}
        self._out: dict[str, int] = {}
        self.holding: dict[int, int] = {}
        """Jobs for which room is held, and the row of their hold; its decision has the same row."""

    # -- attempts ----------------------------------------------------------------------------------------------

    def began(self, job: int, now: int) -> None:
        self.runs[job] += 1
        if self.first_start[job] == NOT_YET:
            self.first_start[job] = now
        self.state[job] = "running"
        if job in self.holding:
            hold = self.holding.pop(job)
            self.holds[hold][3:] = [now, "started"]
            self.decisions[hold][8] = now

    def completed(self, attempt: Attempt, now: int) -> None:
        """An attempt did all the work there was."""
        job = attempt.job
        useful = attempt.worked
        self.kept[job] += useful
        if job in self._victim_of:
            self._victims_left(attempt, now, 0)
        self.state[job], self.ended[job] = "completed", now
        self._finish(job)
        self._attempt(attempt, now, COMPLETED, useful, 0, NOT_YET)

    def left(self, attempt: Attempt, now: int, how: str) -> None:
        """An attempt's room is free though its job is not done; its time is divided."""
        job = attempt.job
        useful = attempt.kept - self.kept[job]
        self.kept[job] += useful
        lost = attempt.worked - useful
        decision = self._victims_left(attempt, now, lost) if job in self._victim_of else NOT_YET
        self.state[job] = "requeued"
        if how == "preempted":
            self.preemptions[job] += 1
        elif how in ("node", "drained"):
            self.evictions[job] += 1
        self._attempt(attempt, now, PLACE[how], useful, lost, decision)

    def _attempt(self, attempt: Attempt, now: int, how: int, useful: int, lost: int, decision: int) -> None:
        self.attempts += PACKED(
            *(attempt.job, attempt.number, attempt.start, now, how),
            *(attempt.restored, useful, lost, attempt.overhead, decision),
        )

    def _victims_left(self, attempt: Attempt, now: int, lost: int) -> int:
        """The last of the decisions that this job was a victim of."""
        decision = NOT_YET
        for row in self._victim_of.pop(attempt.job):
            self._victim_left(row, now, lost, attempt.overhead, attempt.saved)
            decision = self.victims[row][0]
        return decision

    def over(self, job: int, now: int, state: str, rule: str, why: str) -> None:
        """A job that will not run again, though it did not complete."""
        self.state[job], self.ended[job] = state, now
        self.reasons[job] = (rule, why)
        self._finish(job)

    def _finish(self, workload: int) -> None:
        if self._allocations is None or self._open is None:
            self.finished += 1
            return
        job = self._allocations.job[workload]
        self._open[job] -= 1
        self.finished += not self._open[job]

    def submitted_before(self, workload: int) -> int:
        """How many jobs the workloads before this one are of."""
        if self._allocations is None or not workload:
            return workload
        return self._allocations.job[workload - 1] + 1

    # -- decisions ---------------------------------------------------------------------------------------------

    def decided(self, made: Made, now: int) -> None:
        """A decision that preempts."""
        decision = made.decision
        claimant = None if decision.workload is None else self.index[decision.workload]
        victims = [self.index[victim.workload] for victim in decision.victims]
        row = len(self.decisions)
        self.decisions.append(
            [made.number, now, claimant, decision.action, decision.rule, decision.why, victims, None, None, None]
        )
        self._to_leave[made.number] = len(victims)
        for job, victim in zip(victims, decision.victims, strict=True):
            self._victim_of.setdefault(job, []).append(len(self.victims))
            self.victims.append(
                [made.number, job, self.runs[job], victim.rule or decision.rule, decision.why, *[None] * 4]
            )
        self.holds.append([claimant, made.number, now, None, "open"])
        if claimant is not None:
            self.holding[claimant] = row

    def hold_lost(self, job: int, now: int) -> None:
        self.holds[self.holding.pop(job)][3:] = [now, "lost"]

    def _victim_left(self, row: int, now: int, lost: int, overhead: int, saved: bool) -> None:
        self.victims[row][5:] = [now, lost, overhead, saved]
        number = self.victims[row][0]
        self._to_leave[number] -= 1
        if not self._to_leave[number]:
            del self._to_leave[number]
            self._decision(number)[7] = now

    def _decision(self, number: int) -> Row:
        """Decisions are numbered upwards, those between, without victims, are not here."""
        low, high = 0, len(self.decisions)
        while low < high:
            middle = (low + high) // 2
            if self.decisions[middle][0] < number:
                low = middle + 1
            else:
                high = middle
        return self.decisions[low]

    def wants(self, decision: Decision, running: Mapping[int, Attempt], now: int) -> bool:
        """Whether this decision may be among the costliest, whose moments are kept."""
        if not self._keep:
            return False
        cost = max((self._cost(self.index[victim.workload], running, now) for victim in decision.victims), default=0)
        if len(self._costs) < self._keep:
            heapq.heappush(self._costs, (cost, len(self.decisions)))
            return True
        if cost <= self._costs[0][0]:
            return False
        _, dropped = heapq.heapreplace(self._costs, (cost, len(self.decisions)))
        if dropped < len(self.decisions):
            self.moments.pop(self.decisions[dropped][0], None)
        return True

    def _cost(self, job: int, running: Mapping[int, Attempt], now: int) -> int:
        """What its eviction costs as far as can be told now: saving or what it cannot save, and what it spent on
        starting, for that is what its next attempt will spend."""
        attempt = running.get(job)
        if attempt is None:
            return 0
        worked = attempt.worked + max(0, now - attempt.works_from) if attempt.stopped is None else attempt.worked
        interval = self.checkpoint_interval[job]
        unsaved = min(worked % interval if interval else worked, worked - attempt.kept + self.kept[job])
        held = wasted(self.answers[job], self.checkpoint_time[job], unsaved, attempt.overhead)
        return held * self.amount[self.shape[job]]

    def node_is(self, node: str, state: str, now: int) -> None:
        """A node went out of service, or came back."""
        last = self._out.pop(node, None)
        if last is not None:
            self.outages[last][2] = now
        if state != "ready":
            self._out[node] = len(self.outages)
            self.outages.append([node, now, None, state])

    # -- tables ------------------------------------------------------------------------------------------------

    def close(self, running: Mapping[int, Attempt], end: int) -> None:
        """What is under way when the replay stops is written down as open."""
        for job in sorted(running):
            attempt = running[job]
            if attempt.stopped is None:
                unused = max(0, attempt.works_from - end)
                attempt.worked += max(0, end - attempt.works_from)
                attempt.overhead -= unused
                attempt.restored = max(0, attempt.restored - unused)
            else:
                attempt.overhead += end - attempt.stopped
            self._attempt(attempt, end, PLACE["open"], attempt.worked, 0, NOT_YET)
        for row in self.holds:
            if row[3] is None:
                row[3] = end
        for row in self.outages:
            if row[2] is None:
                row[2] = end

    def jobs_table(self) -> pl.DataFrame:
        reasons = [self.reasons.get(job, (None, None)) for job in range(len(self.names))]
        jobs = self.trace.jobs
        members = pl.Series([shape.members for shape in self.trace.shapes], dtype=pl.Int32)
        made = {
            "job": pl.Series(range(len(self.names)), dtype=pl.UInt32),
            "members": members.gather(jobs["shape"]) if len(jobs) else pl.Series([], dtype=pl.Int32),
            "first_start": _times(self.first_start),
            "ended": _times(self.ended),
            "state": pl.Series(self.state, dtype=pl.String),
            "attempts": pl.Series(self.runs, dtype=pl.Int32),
            "preemptions": pl.Series(self.preemptions, dtype=pl.Int32),
            "evictions": pl.Series(self.evictions, dtype=pl.Int32),
            "rule": pl.Series([rule for rule, _ in reasons], dtype=pl.String),
            "why": pl.Series([why for _, why in reasons], dtype=pl.String),
        }
        return pl.DataFrame({name: made.get(name, jobs[name] if name in jobs.columns else None) for name in JOBS})

    def _attempts_table(self) -> pl.DataFrame:
        rows = np.frombuffer(self.attempts, np.int64).reshape(-1, len(ATTEMPTS))
        table = pl.DataFrame(rows, [*ATTEMPTS], orient="row")
        words = pl.Series(HOWS)
        made = table.with_columns(
            how=words.gather(table["how"]) if len(table) else pl.Series([], dtype=pl.String),
            decision=pl.when(pl.col("decision") != NOT_YET).then(pl.col("decision")),
        )
        return made.cast(dict(ATTEMPTS))  # type: ignore[arg-type]

    def tables(self) -> dict[str, pl.DataFrame]:
        """Every table of a result, by its name there; told by job."""
        tables = {
            "jobs": self.jobs_table(),
            "attempts": self._attempts_table(),
            "holds": pl.DataFrame([row for row in self.holds if row[0] is not None], HOLDS, orient="row"),
            "decisions": pl.DataFrame(self.decisions, DECISIONS, orient="row"),
            "victims": pl.DataFrame(self.victims, VICTIMS, orient="row"),
            "outages": pl.DataFrame(self.outages, OUTAGES, orient="row"),
        }
        return tables if self._allocations is None else by_job(tables, self._allocations)
