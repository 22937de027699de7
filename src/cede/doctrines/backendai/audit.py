"""What the edition promises of a preemption, re-derived one workload at a time by code that chose nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from cede.doctrines.backendai.settings import DOCUMENT, SHIPPED, Settings, settings_of
from cede.doctrines.parts.doctrine import Audit
from cede.model.plan import ENDED, REQUEUED, Decision
from cede.state.columns import KINDS, NEVER, STATES
from cede.state.state import State


def audit(state: State, edition: str) -> Audit:
    """Follows a plan; release 26.8 is held to its books too, which it keeps over the whole plan."""
    books = AgentBookings(state) if edition == SHIPPED else None

    def follow(made: Decision) -> Iterator[str]:
        yield from objections(state, edition, made)
        if books is not None and made.action in ("start", "preempt"):
            yield from books.enter(made)

    return follow


def objections(state: State, edition: str, made: Decision) -> Iterator[str]:
    """Sentences that say what is unlawful about this decision; the state is as it was before it."""
    if made.workload is None or not made.victims:
        return
    claimant = state.work_index[made.workload]
    own = state.entry(claimant)
    settings = settings_of(state.settings_of(own.queue), edition)
    if not own.preempts:
        yield f"{made.workload} never preempts, yet it has victims"
    if edition == SHIPPED and not settings.enabled:
        yield f"the group of {made.workload} does not preempt"
    highest: int | None = None
    if edition == SHIPPED and KINDS[own.kind] == "system":
        waiting = [row for row in state.pending if _beside(state, settings, claimant, row)]
        highest = max((int(state.work.job_priority[row]) for row in waiting), default=None)
        if highest is None:
            yield f"{made.workload} is system work and waits alone, yet it has victims"
    for victim in made.victims:
        row = state.work_index[victim.workload]
        taken = state.entry(row)
        for complaint in _about(state, edition, settings, claimant, row):
            yield f"{victim.workload} {complaint}"
        if highest is not None and taken.job_priority >= highest:
            yield f"{victim.workload} is not below {highest}, the highest that waits beside system work"
        resumes = settings.mode == "reschedule" or (settings.mode == "suspend" and _resumes(KINDS[taken.kind]))
        if victim.fate != (REQUEUED if resumes else ENDED):
            yield f"{victim.workload} would be {victim.fate}, against the mode {settings.mode}"


def _resumes(kind: str) -> bool:
    return kind in ("batch", "service", "system")


def _beside(state: State, settings: Settings, claimant: int, row: int) -> bool:
    """Whether this one waits in the claimant's group and scope, and is no system work."""
    work = state.work
    if KINDS[work.kind[row]] == "system" or work.partition[row] != work.partition[claimant]:
        return False
    owners = getattr(work, settings.scope) if settings.scope in ("user", "project", "domain") else work.partition
    return int(owners[row]) == int(owners[claimant])


def _about(state: State, edition: str, settings: Settings, claimant: int, row: int) -> Iterator[str]:
    own, taken = state.entry(claimant), state.entry(row)
    if STATES[taken.code] != "running":
        yield f"is {STATES[taken.code]}"
    if not taken.preemptible:
        yield "asks not to be preempted"
    if KINDS[taken.kind] == "system":
        yield "is system work"
    if taken.partition != own.partition:
        yield "is of another group"
    if edition == DOCUMENT:
        if taken.priority >= own.priority:
            yield f"has priority {taken.priority}, not below {own.priority}"
        if taken.priority > settings.threshold:
            yield f"has priority {taken.priority}, above the threshold {settings.threshold}"
        return
    if taken.job_priority >= own.job_priority:
        yield f"has job priority {taken.job_priority}, not below {own.job_priority}"
    if settings.scope in ("user", "project", "domain"):
        owners = getattr(state.work, settings.scope)
        if int(owners[row]) != int(owners[claimant]):
            yield f"is not of the claimant's {settings.scope}"
    if settings.min_runtime:
        ran = None if taken.started == NEVER else state.now - taken.started
        if ran is None or ran < settings.min_runtime:
            yield f"ran {ran} of {settings.min_runtime} microseconds"


class AgentBookings:
    """What the release books on each agent while it makes one plan.

    Room is counted once: the victims' for their own claimant and for nobody after it, and neither reserved nor
    preempting work makes way for the other. Reservations are booked without regard to what is used, but beside all that
    is reserved, and that is where whoever never started still sits.
    """

    def __init__(self, state: State) -> None:
        self.state = state
        self.free: dict[str, Counter[int]] = {}
        self.reserved: dict[str, Counter[int]] = {}
        self.to_come: dict[str, Counter[int]] = {}

    def enter(self, made: Decision) -> Iterator[str]:
        """The claimant is booked where the decision says; says what there is no room for."""
        asked: dict[str, Counter[int]] = {}
        assert made.workload is not None
        members = self.state.members_of(self.state.work_index[made.workload])
        for node, need in zip(made.nodes, members, strict=False):
            asked.setdefault(node, Counter()).update({c: int(need[c]) for c in range(len(need)) if need[c]})
        for node, amounts in asked.items():
            self._open(node)
            given = self._given(made, node)
            for column, amount in amounts.items():
                if amount > self.free[node][column] + given[column]:
                    yield f"{made.workload} takes {self._name(column)} of {node} that is counted for another session"
            self.free[node].subtract(amounts)
            (self.to_come if made.victims else self.reserved)[node].update(amounts)
            yield from self._overbooked(node)

    def _open(self, node: str) -> None:
        if node in self.free:
            return
        state, at = self.state, self.state.node_index[node]
        columns = range(len(state.units))
        free = Counter({c: int(state.nodes.capacity[c, at]) - int(state.nodes.occupied[c, at]) for c in columns})
        reserved = Counter[int]()
        for resident in state.node_residents[at]:
            row = int(state.residents.work[resident])
            amounts = {c: int(state.residents.amount[c, resident]) for c in columns}
            free.subtract(amounts)
            if STATES[state.work.state[row]] == "reserved" or state.work.started[row] == NEVER:
                reserved.update(amounts)
        self.free[node], self.reserved[node], self.to_come[node] = free, reserved, Counter()

    def _given(self, made: Decision, node: str) -> Counter[int]:
        """What this decision's own victims leave of a node."""
        state, given = self.state, Counter[int]()
        for victim in made.victims:
            for resident in state.residents_of(state.work_index[victim.workload]):
                if state.node_names[state.residents.node[resident]] == node:
                    given.update({c: int(amount) for c, amount in enumerate(state.residents.amount[:, resident])})
        return given

    def _overbooked(self, node: str) -> Iterator[str]:
        for column, amount in self.to_come[node].items():
            capacity = int(self.state.nodes.capacity[column, self.state.node_index[node]])
            if amount and self.reserved[node][column] + amount > capacity:
                yield f"{node} cannot book its reservations of {self._name(column)} beside what is reserved there"

    def _name(self, column: int) -> str:
        return self.state.units.names[column] or "whole nodes"
