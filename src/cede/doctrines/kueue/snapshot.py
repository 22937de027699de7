"""The cluster as one plan sees it: usage that moves as the plan goes on, and what held room when it began."""

from __future__ import annotations

from collections.abc import Hashable, Set
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from cede.doctrines.kueue.dominant_share import RoundingCheck, Shares
from cede.doctrines.kueue.node_bounds import NodeUsage, NodeUsages
from cede.doctrines.kueue.node_room import Room
from cede.doctrines.kueue.quota import Asked, Quotas, quotas_of
from cede.doctrines.kueue.running_usage import AdmittedWorkloads, RunningUsage, holders_of
from cede.doctrines.kueue.settings import Mode, Settings, mode_of
from cede.doctrines.kueue.usage import QuotaUsage, WorkloadUsage
from cede.doctrines.parts.claim import Claim, claim_of
from cede.doctrines.parts.doctrine import Cycle
from cede.doctrines.parts.orders import Rows, tie_break
from cede.model.workloads import PodSet
from cede.state.admission import asks_of
from cede.state.columns import NEVER, NONE, RUNNING, UNSET, Bools, Int64s
from cede.state.state import State

CLAIMS = "kueue.claims"
TAKES, HOLDS = "takes", "holds back"
"""What a claimant does to the usage others see."""


@dataclass(eq=False, slots=True)
class Claimant:
    """A pending workload with a queue of its own."""

    row: int
    name: str
    queue: int
    priority: int
    submitted: int
    last: tuple[str, str]
    preempts: bool
    parts: tuple[PodSet, ...]
    settings: Settings
    memo: dict[Hashable, Any] = field(default_factory=dict)
    """What follows from all that those like it ask for, worked out once for all of them."""

    @property
    def turn(self) -> tuple[int, int, tuple[str, str]]:
        """Its place among the pending work of its queue."""
        return (-self.priority, self.submitted, self.last)


@dataclass(slots=True)
class Snapshot:
    """`quota_usage` is the usage as it is now, `lasting` the same without what is held back for a pass only.

    `stamp` is a number for the changes of usage so far: where it is the same again, so is the usage.

    `holders` are the workloads that held room when the plan began, without those that left since; `pools` what
    claimants may take of them.

    A victim's usage counts until its pass ends, as its pods are still there; `victims` names its claimant. For later
    passes it has `left`. Nodes and limits are `tracked` by the trial, where the file has any, and it is `limited` where
    there are limits; what the plan did is booked there when they are asked again, and is `unbooked` till then;
    `touched` are the queues whose own usage it changed for good. `log` says which claimants changed the usage so far,
    how, and in which pairs. `uneven`: less than nothing was held back in this pass, and what a cohort uses is not what
    its children take. `silent`: no reasons are asked for; once it is `over`, no decisions either, as the rest of the
    plan is made for what is remembered of it. `followed`: the workloads that hold room are those that `running` keeps
    in line, without those that left, and without those that are set `apart`.

    Shares are compared as the release compares them, or `exact`; `rounding_check` are those where that is not the same.
    """

    cycle: Cycle
    quotas: Quotas
    workload_usage: WorkloadUsage
    mode: Mode
    exact: bool
    lasting: QuotaUsage
    quota_usage: QuotaUsage
    tracked: bool
    limited: bool
    running: RunningUsage
    victims: dict[int, str] = field(default_factory=dict)
    left: dict[int, str] = field(default_factory=dict)
    log: list[tuple[str, str, frozenset[int]]] = field(default_factory=list)
    stamp: int = 0
    pools: dict[Hashable, object] = field(default_factory=dict)
    uneven: bool = False
    silent: bool = False
    over: bool = False
    followed: bool = False
    apart: frozenset[int] = frozenset()
    rounding_check: RoundingCheck | None = None
    touched: set[int] = field(default_factory=set)
    unbooked: list[tuple[int, list[int] | None, tuple[PodSet, ...]]] = field(default_factory=list)
    _booked: list[NodeUsages] = field(default_factory=list)
    _to_tell: list[tuple[int, list[int], tuple[PodSet, ...]]] = field(default_factory=list)
    _stamps: dict[Hashable, int] = field(default_factory=lambda: {(0, 0): 0})
    _changes: int = 0
    _touched: bool = False
    _settled: bool = False
    _holders: AdmittedWorkloads | None = None
    _rooms: dict[Claim, Room] = field(default_factory=dict)
    _rooms_at: int = -1

    @property
    def state(self) -> State:
        return self.cycle.state

    @property
    def moment(self) -> tuple[int, int]:
        """The same for the same usage and the same bookings, as long as there are no victims yet."""
        return self.stamp, self.steps

    @property
    def steps(self) -> int:
        """How often the plan changed what stands on nodes so far."""
        return self.cycle.trial.mark() + len(self.unbooked)

    def evict(self, row: int) -> None:
        """The room of a victim is free on its nodes."""
        if self.tracked:
            self.unbooked.append((row, None, ()))

    def place(self, row: int, nodes: list[int], parts: tuple[PodSet, ...]) -> None:
        """A claimant's members stand on these nodes, or will."""
        if self.tracked:
            self.unbooked.append((row, nodes, parts))
            if self.silent:
                self._to_tell.append((row, nodes, parts))

    def booked(self) -> list[NodeUsages]:
        """What the plan took of nodes so far."""
        for row, nodes, parts in self._to_tell:
            vectors = self.state.vectors_of(parts, bool(self.state.work.exclusive[row]))
            self._booked.append(
                tuple(NodeUsage(node, vector, ()) for node, vector in zip(nodes, vectors, strict=False))
            )
        self._to_tell.clear()
        return self._booked

    def settle(self) -> None:
        """The columns show what the plan did so far."""
        if self.unbooked:
            if not self.followed or self.mode.fair:
                _ = self.holders  # of when the plan began
            self._settled = True
            for row, nodes, parts in self.unbooked:
                if nodes is None:
                    self.cycle.trial.evict(row)
                else:
                    self.cycle.trial.book(row, nodes, parts)
            self.unbooked.clear()

    def room(self, claim: Claim) -> Room:
        """The nodes as they stand for a claim, to be asked and not changed: the same for all heads that ask alike until
        the plan changes what stands there.
        """
        self.settle()
        steps = self.cycle.trial.mark()
        if self._rooms_at != steps:
            self._rooms, self._rooms_at = {}, steps
        room = self._rooms.get(claim)
        if room is None:
            room = self._rooms[claim] = Room(self.state, claim, self.running.places)
        return room

    @property
    def holders(self) -> AdmittedWorkloads:
        """The workloads that hold room, without the victims of this plan so far."""
        if self._holders is None:
            if self.followed and self._settled:  # the columns say what the plan did; few searches come to this
                self._holders = self.running.holders().without(self.apart)
            else:
                self._holders = holders_of(self.state, self.quotas).without(self.gone)
        return self._holders

    @property
    def gone(self) -> Set[int]:
        """Workloads that held room when the plan began, and cannot be taken any more."""
        return self.running.gone | self.apart if self.apart else self.running.gone

    @property
    def rows(self) -> Rows:
        return self.holders.rows

    @property
    def queue(self) -> Rows:
        """The queue of each holder."""
        return self.holders.queue

    @property
    def leaving(self) -> Bools:
        """Which holders are being preempted."""
        return self.holders.leaving

    def roots(self) -> Rows:
        """The root of each holder's queue."""
        return self.holders.roots

    @property
    def leaving_rows(self) -> frozenset[int]:
        """Those that were being preempted when the plan began."""
        return self.running.leaving

    def charge(self, claimant: Claimant, asked: Asked, word: str, *, lasting: bool = True) -> None:
        """A claimant's queue takes so much for the rest of the plan, or only of the pass."""
        queue = claimant.queue
        self.begin_pass()
        self.note(claimant, asked, word)
        self.uneven |= any(amount < 0 for _, amount in asked)
        self.quota_usage.add_all(queue, asked)
        self._went_through(self.stamp, queue, asked)
        self._touched = True
        if lasting:
            self.lasting.add_all(queue, asked)
            self.touched.add(queue)
            self._changes += 1

    def begin_pass(self) -> None:
        """A plan changes usage of its own, and only one that has a pass needs it."""
        if self.lasting is self.running.quota_usage:
            self.lasting = self.lasting.copy()
            self.quota_usage = self.lasting.copy()

    def note(self, claimant: Claimant, asked: Asked, word: str) -> None:
        """What the claimant does, to be told later."""
        self.log.append((claimant.name, word, frozenset([pair for pair, amount in asked if amount])))

    def _went_through(self, *what: Hashable) -> None:
        self.stamp = self._stamps.setdefault(what, len(self._stamps) + 1)

    def end_pass(self) -> None:
        """What was taken for the pass only is free again, and its victims have left."""
        if self.victims:
            for row in self.victims:
                self.let_go(self.lasting, row)
                self.touched.add(int(self.state.work.queue[row]))
            self._changes += 1
            self._touched = True
            self.pools = {}
            if self._holders is not None or not self.followed:
                self._holders = self.holders.without(self.victims)
            self.running.leave(self.victims)
            self.left |= self.victims
            self.victims = {}
        self.log.append(("", "", frozenset()))
        if self._touched:
            self.quota_usage = self.lasting.copy()
            self.uneven = False
            self._went_through(self._changes, self.steps)
            self._touched = False

    def still_there(self) -> QuotaUsage:
        """The usage with those that have left for us counted in, whose pods may be there yet."""
        quota_usage = self.quota_usage.copy()
        for row in self.left:
            quota_usage.add_all(int(self.state.work.queue[row]), self.everything(row), self.code(row))
        return quota_usage

    def empty(self) -> Snapshot:
        """The same cluster with no workloads in it."""
        quotas = self.quotas
        return replace(
            self,
            quota_usage=QuotaUsage(quotas, [[0] * quotas.size for _ in quotas.pairs]),
            pools={},
            followed=False,
            _holders=self.holders.none(),
        )

    def later(self) -> Snapshot:
        """The cluster once the victims so far are gone."""
        self.settle()  # what is done to the columns is known to both
        holders = None if self._holders is None else self._holders.without(self.victims)
        return replace(
            self, quota_usage=self.without_victims(), pools={}, apart=frozenset(self.victims), _holders=holders
        )

    def without_victims(self) -> QuotaUsage:
        """The usage once the victims so far are gone."""
        if not self.victims:
            return self.quota_usage
        quota_usage = self.quota_usage.copy()
        for row in self.victims:
            self.let_go(quota_usage, row)
        return quota_usage

    def let_go(self, quota_usage: QuotaUsage, row: int) -> None:
        """Take all that a workload holds out of this usage."""
        quota_usage.remove_all(int(self.state.work.queue[row]), self.everything(row), self.code(row))

    def shares(self, quota_usage: QuotaUsage) -> Shares:
        """The shares at this usage, compared in the way of this snapshot."""
        return Shares(quota_usage, exact=self.exact, rounding_check=self.rounding_check)

    def code(self, row: int) -> int:
        """The state that a workload had when the plan began, as far as that matters to usage."""
        return self.running.codes.get(row, RUNNING)

    def usage(self, pair: int, rows: Rows) -> Int64s:
        """What each of these workloads holds of a pair."""
        return self.workload_usage.of(pair, rows)

    def amounts(self, row: int, pairs: tuple[int, ...]) -> Asked:
        """What one workload holds of these pairs, zeros left out."""
        return self.running.amounts(row, pairs)

    def everything(self, row: int) -> Asked:
        """All that one workload holds."""
        return self.amounts(row, self.running.pairs)

    def touches(self, rows: Rows, pairs: list[int]) -> Bools:
        """Which of these hold any of the pairs; an amount of nothing counts too."""
        holds = np.zeros(len(rows), np.bool_)
        for pair in pairs:
            for column, _ in self.quotas.columns[pair]:
                holds |= self.state.work.usage[column, rows] > 0
        zeros = self.running.zeros
        if zeros:
            wanted = set(pairs)
            here = [row for row, zero in zeros.items() if zero & wanted]
            holds |= np.isin(rows, here)
        return holds

    def claim(self, row: int, parts: tuple[PodSet, ...], key: Hashable) -> Claim:
        """The claim of these members, told by their key; kept for those like it as long as nodes and units stay."""
        state, work = self.state, self.state.work
        if state.reservations or row in state.constraints or work.required_node[row] != NONE:
            return claim_of(state, row, parts)
        reshaped = state.journal.reshaped
        before, claims = self.cycle.memory.get(CLAIMS, (None, {}))
        if before != reshaped:
            claims = {}
            self.cycle.memory[CLAIMS] = (reshaped, claims)
        like = (key, int(work.partition[row]), int(work.placement[row]), bool(work.exclusive[row]))
        claim = claims.get(like)
        if not isinstance(claim, Claim):
            claim = claims[like] = claim_of(state, row, parts)
        return claim

    def reserved_at(self, rows: Rows) -> Int64s:
        """When each got its quota; what does not say so got it now."""
        started = self.state.work.started[rows]
        return np.where(started == NEVER, self.state.now, started)


def snapshot_of(cycle: Cycle, running: RunningUsage | None = None, *, silent: bool = False) -> Snapshot:
    """The state as it stands, ready to be planned on; `running` is the account of it, where one is kept."""
    state = cycle.state
    quotas = quotas_of(state)
    running = running or RunningUsage(state, quotas)
    mode = quotas.kept.get("mode")
    if not isinstance(mode, Mode):
        choice = state.static.doctrine
        mode = quotas.kept["mode"] = mode_of({} if choice is None else choice.settings)
    most = quotas.kept.get("limited")
    if most is None:
        most = quotas.kept["limited"] = bool((state.tree.max[:, : quotas.size] != UNSET).any())
    limited = bool(state.static.tenants or most)
    return Snapshot(
        cycle=cycle,
        quotas=quotas,
        workload_usage=running.workload_usage,
        mode=mode,
        exact=mode.recheck,
        lasting=running.quota_usage,
        quota_usage=running.quota_usage,
        tracked=bool(state.nodes.size or limited),
        limited=limited,
        running=running,
        silent=silent,
        followed=silent,
        rounding_check=RoundingCheck() if mode.fair and not mode.recheck and not silent else None,
    )


def claimant_of(
    snapshot: Snapshot,
    row: int,
    parts: tuple[PodSet, ...] | None = None,
    memo: dict[Hashable, Any] | None = None,
) -> Claimant:
    """A pending workload as a claimant; `parts` is what it asks for, and `memo` what follows, where that is at hand."""
    state = snapshot.state
    queue = int(state.work.queue[row])
    return Claimant(
        row=row,
        name=state.work_names[row],
        queue=queue,
        priority=int(state.work.priority[row]),
        submitted=int(state.work.submitted[row]),
        last=tie_break(state)(row),
        preempts=bool(state.work.preempts[row]),
        parts=asks_of(state, row) if parts is None else parts,
        settings=snapshot.quotas.settings(queue),
        memo={} if memo is None else memo,
    )
