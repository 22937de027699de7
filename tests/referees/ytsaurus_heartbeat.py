"""One cycle of YTsaurus the slow way: a fair share update, then a heartbeat of every ready node, in exact fractions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from fractions import Fraction

from cede.model.tag_filters import parse_tag_filter
from cede.model.times import parse_duration, parse_time
from tests.referees.ytsaurus_integral import Volumes, update
from tests.referees.ytsaurus_room import Room
from tests.referees.ytsaurus_states import (
    GROUPS,
    STARVES,
    Clocks,
    aggressive_allowed,
    dominates,
    groups,
    judge,
    local_satisfaction,
    priority_of,
)
from tests.referees.ytsaurus_tree import (
    RUNS,
    WAITS,
    ZERO,
    Document,
    Element,
    Machine,
    Tree,
    Work,
    amounts_of,
    exact,
    trees,
)

LEVELS = ("ssd_non_preemptible", "ssd_aggressively_preemptible", *GROUPS)
GONE = "gone"


@dataclass
class Answer:
    """What a cycle decides: of each pending workload an action and a node, of each victim a reason and a claimant."""

    actions: dict[str, str] = field(default_factory=dict)
    nodes: dict[str, str] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    claimants: dict[str, str | None] = field(default_factory=dict)


@dataclass
class Memory:
    """What is kept from one cycle to the next: starvation, volumes, and the clocks of the nodes."""

    clocks: Clocks = field(default_factory=Clocks)
    volumes: dict[str, Volumes] = field(default_factory=dict)
    attempts: dict[str, int] = field(default_factory=dict)
    over_since: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Stage:
    """One preemptive stage: who may start, down to which level it takes victims, and what it is called."""

    word: str
    target: str
    lowest: str
    may: Callable[[Work], bool] | None = None


def plan(
    document: Document,
    memory: Memory | None = None,
    elapsed: int = 0,
    seen: Callable[[Tree], None] | None = None,
) -> Answer:
    """The cycle of all partitions; `seen` is shown each tree as the update leaves it, before anything is decided."""
    answer, memory = Answer(), memory or Memory()
    for tree in trees(document):
        memory.volumes[tree.partition] = update(tree, memory.volumes.get(tree.partition), elapsed)
        judge(tree, memory.clocks)
        if seen is not None:
            seen(tree)
        cycle = Cycle(tree, answer, memory)
        pending = [work for work in tree.works if work.state in WAITS]
        for machine in tree.machines:
            if machine.state == "ready":
                cycle.heartbeat(machine)
        for work in pending:
            if work.name not in answer.actions:
                answer.actions[work.name] = "refuse" if cycle.never(work) else "wait"
    return answer


class Cycle(Room):
    """The heartbeats of one tree, each on what the ones before it left."""

    def __init__(self, tree: Tree, answer: Answer, memory: Memory) -> None:
        super().__init__(tree)
        self.answer, self.memory = answer, memory
        self.docs = tree.option("edition", "docs") == "docs"
        self.place = {element: index for index, element in enumerate(tree.elements)}
        self.fresh: set[Work] = set()

    # -- one node ----------------------------------------------------------------------------------------------------

    def heartbeat(self, machine: Machine) -> None:
        self.fresh = set()
        asked = [work for work in self.there(machine, RUNS) if _graceful(work.operation) and self._willing(work)]
        self.leaving = [work for work in asked if self._group(work) == "preemptible"]
        for work in self.leaving:
            self.evict(work, "graceful", None)
        waits = any(True for _ in self.there(machine, ("reserved",)))
        if not (waits and self.tree.option("disable_scheduling_on_node_with_waiting_allocations", True)):
            self._regular(machine)
            if self._rested(machine):
                self.memory.attempts[machine.name] = self.tree.now
                self._preemptive(machine)
        self._overcommit(machine)

    def _regular(self, machine: Machine) -> None:
        ready = [one for one in self.tree.operations if self._active(one, machine)]
        on = self.tree.option("enable_guarantee_priority_scheduling", True)
        high = [one for one in ready if on and dominates(one, one.promised, self.tree.usage_share(one))]
        for stage in (high, [one for one in ready if one not in high]):
            active = list(stage)
            while active and self.spares(self.free(machine)):
                operation = self._neediest(active)
                free = self.free(machine)
                found = [w for w in operation.waiting if self.fits(w, machine, free) and self.allowed(w)]
                if found:
                    self.start(found[0], machine)
                    self.answer.actions[found[0].name] = "start"
                else:
                    active.remove(operation)

    def _preemptive(self, machine: Machine) -> None:
        ranks = {one: self._rank(one, machine) for one in self.tree.operations}
        stages = []
        if self._is_ssd(machine):
            stages += [Stage("ssd", "ssd_aggressive", LEVELS[1]), Stage("ssd", "ssd_normal", LEVELS[2])]
        stages += [Stage("aggressive", "aggressive", LEVELS[3]), Stage("starving", "normal", LEVELS[4])]
        for stage in stages:
            among = [one for one, rank in ranks.items() if rank == stage.target]
            if (among or stage.target == "normal") and self._stage(machine, stage, among):
                return
        whole = [one for one in self.tree.operations if self._full_host(one)]
        if whole and self._cheap(machine):
            self._stage(machine, Stage("full-host", "full-host", LEVELS[0], self._within_share), whole)

    def _overcommit(self, machine: Machine) -> None:
        """Too much for too long: the most protected and oldest stay, as many as fit."""
        slots = amounts_of(machine.entry.get("capacity")).get("user_slots")
        over = not self.holds(machine, ())
        since = machine.entry.get("overcommitted_since")
        if over and machine.name not in self.memory.over_since:
            self.memory.over_since[machine.name] = self.tree.now if since is None else parse_time(since)
        late = self.tree.duration("allowed_node_resources_overcommit_duration", 15)
        if slots == 0 or (over and self.tree.now > self.memory.over_since[machine.name] + late):
            works = [work for work in self.there(machine, RUNS) if work not in self.fresh]
            works.sort(key=lambda work: self._rank_of_victim(work, self._group(work)))
            out = set(works)
            for work in works:
                if slots == 0 or not self.holds(machine, out - {work}):
                    continue
                out.remove(work)
            for work in out:
                self.evict(work, "overcommit", None)
        if self.holds(machine, ()):
            self.memory.over_since.pop(machine.name, None)

    # -- a preemptive stage --------------------------------------------------------------------------------------------

    def _stage(self, machine: Machine, stage: Stage, among: Iterable[Element]) -> bool:
        """At most one start; victims for it or for a node or a limit that is exceeded. Whether something started."""
        victims = {work: self._group(work) for work in self.there(machine, RUNS) if self._may_go(work, machine, stage)}
        order = sorted(victims, key=lambda work: self._rank_of_victim(work, victims[work]), reverse=True)
        claimant = self._claimant(machine, stage, victims, [one for one in among if self._active(one, machine)])
        need = {} if claimant is None else {name: amount for name, amount in claimant.need.items() if amount}
        free = self.free(machine)

        def enough(gone: Collection[Work]) -> bool:
            freed = self.taken(gone, machine)
            short = any(free.get(name, ZERO) + freed.get(name, ZERO) < amount for name, amount in need.items())
            return not short and self.holds(machine, gone, set(need))

        taken: list[Work] = []
        while not enough(taken) and len(taken) < len(order):
            taken.append(order[len(taken)])
        if claimant is not None and self.docs:
            for work in sorted(taken, key=_age):
                rest = [one for one in taken if one is not work]
                taken = rest if enough(rest) else taken
        for work in taken:
            self.evict(work, "overcommit" if claimant is None else stage.word, claimant)
        if claimant is not None:
            self.start(claimant, machine)
            self.answer.actions[claimant.name] = "preempt" if taken else "start"
        for work in order:
            if work not in taken and any(self.over(one) for one in work.operation.path):
                self.evict(work, "limits", None)
        return claimant is not None

    def _claimant(
        self, machine: Machine, stage: Stage, victims: Collection[Work], among: Iterable[Element]
    ) -> Work | None:
        active = list(among)
        freed, free = self.taken(victims, machine), self.free(machine)
        room = {name: free.get(name, ZERO) + freed.get(name, ZERO) for name in free | freed}
        while active and self.spares(room):
            operation = self._neediest(active)
            for work in operation.waiting:
                willing = work.entry.get("preempts", True) and (stage.may is None or stage.may(work))
                if willing and self.fits(work, machine, room) and self.allowed(work, preemptive=True):
                    return work
            active.remove(operation)
        return None

    def _may_go(self, work: Work, machine: Machine, stage: Stage) -> bool:
        """Whether the stage may take this one: its level is high enough, and nothing shields its operation."""
        operation = work.operation
        group = self._group(work)
        if group == "aggressively_preemptible" and not aggressive_allowed(self.tree, operation):
            group = "non_preemptible"
        if group != "preemptible" and self._is_ssd(machine) and self._on_ssd(operation):
            group = f"ssd_{group}"
        starves = operation.starvation in STARVES
        shielded = (
            _graceful(operation)
            or (
                stage.target == "normal"
                and any(not one.settings.get("allow_normal_preemption", True) for one in operation.pools)
            )
            or (starves and not self.tree.option("allow_preemption_from_starving_operations", False))
        )
        high = LEVELS.index(group) >= LEVELS.index(stage.lowest)
        return high and not shielded and self._willing(work) and work not in self.fresh

    def _rank_of_victim(self, work: Work, group: str) -> tuple[object, ...]:
        """The most protected and oldest first."""
        return (GROUPS.index(group), group != "preemptible" and work.gap, *_age(work))

    # -- full host -----------------------------------------------------------------------------------------------------

    def _full_host(self, operation: Element) -> bool:
        given = self.tree.option("default_gpu_full_host_preemption") or {}
        if not given.get("enable") or operation.since is None or priority_of(self.tree, operation) is None:
            return False
        late = self.tree.now > operation.since + parse_duration(given.get("timeout", 120))
        return late and any(work.gpus == 8 for work in operation.waiting)

    def _cheap(self, machine: Machine) -> bool:
        """Whether a full host may be cleared: no lone protected full host there, and little work would be lost."""
        works = [(work, self._group(work)) for work in self.there(machine, RUNS)]
        whole = sum(work.gpus == 8 and group == "non_preemptible" for work, group in works)
        lost = sum(
            (
                Fraction(self.tree.now - (self.tree.now if work.progress is None else work.progress), 10**6) * work.gpus
                for work, group in works
                if group != "preemptible"
            ),
            ZERO,
        )
        most = (self.tree.option("default_gpu_full_host_preemption") or {}).get("max_preemption_penalty", 0)
        return whole != 1 and lost <= exact(most)

    def _within_share(self, work: Work) -> bool:
        if work.gpus != 8:
            return False
        tree, used = self.tree, work.operation.used()
        most = dict(
            zip(tree.resources, (a * b for a, b in zip(work.operation.share, tree.total, strict=True)), strict=True)
        )
        return all(used.get(name, ZERO) + amount <= most[name] for name, amount in work.need.items() if amount)

    # -- who and where -------------------------------------------------------------------------------------------------

    def _active(self, operation: Element, machine: Machine) -> bool:
        text = operation.settings.get("scheduling_tag_filter") or ""
        tags = parse_tag_filter(text).matches(machine.entry.get("labels", {}).keys())
        return operation.schedulable and tags and not (_graceful(operation) and operation.status == "normal")

    def _rank(self, operation: Element, machine: Machine) -> str | None:
        found = priority_of(self.tree, operation)
        return f"ssd_{found}" if found and self._is_ssd(machine) and self._on_ssd(operation) else found

    def _is_ssd(self, machine: Machine) -> bool:
        given = self.tree.option("ssd_priority_preemption") or {}
        if not given.get("enable"):
            return False
        return parse_tag_filter(given["node_tag_filter"]).matches(machine.entry.get("labels", {}).keys())

    def _on_ssd(self, operation: Element) -> bool:
        media = (self.tree.option("ssd_priority_preemption") or {}).get("medium_names", [])
        return (operation.settings.get("disk_request") or {}).get("medium_name") in media

    def _neediest(self, active: list[Element]) -> Element:
        return min(active, key=lambda one: (round(local_satisfaction(self.tree, one), 9), self.place[one]))

    def _willing(self, work: Work) -> bool:
        return bool(work.entry.get("preemptible", True))

    def _group(self, work: Work) -> str:
        return groups(self.tree, work.operation)[work]

    def _rested(self, machine: Machine) -> bool:
        given = machine.entry.get("last_preemptive_attempt")
        last = self.memory.attempts.get(machine.name, None if given is None else parse_time(given))
        return last is None or self.tree.now > last + self.tree.duration("preemptive_scheduling_backoff", 5)

    # -- what is done --------------------------------------------------------------------------------------------------

    def start(self, work: Work, machine: Machine) -> None:
        work.state, work.nodes = "running", [machine.name] * work.entry.get("members", 1)
        work.progress, work.order = self.tree.now, 1 + max(one.order for one in self.tree.works)
        self.fresh.add(work)
        self.answer.nodes[work.name] = machine.name

    def evict(self, work: Work, reason: str, claimant: Work | None) -> None:
        work.state = GONE
        self.answer.reasons[work.name] = reason
        self.answer.claimants[work.name] = None if claimant is None else claimant.name


def _graceful(operation: Element) -> bool:
    return operation.settings.get("preemption_mode") == "graceful"


def _age(work: Work) -> tuple[object, ...]:
    """The oldest first; what is not known to have begun is the newest."""
    return (work.progress is None, work.progress or 0, work.uid, work.name)
