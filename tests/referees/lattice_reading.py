"""A Lattice cluster read the slow way: classes, vClusters, homes and GPUs by their words, sums made anew each time."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from fractions import Fraction
from typing import Any, NamedTuple

from cede.model.quantities import parse_quantity
from cede.model.times import parse_duration, parse_time
from tests.referees.reading import HOLDS, Amounts, Board, Document, Machine, Work
from tests.referees.reading import read as read_board

MINUTE = 60 * 10**6
HOUR = 60 * MINUTE
DAY = 24 * HOUR
NANO = 10**9
WHOLE = "(the whole node)"
FULL = 10**6
"""A node as such: a member that has it to itself takes all of it, another one a bit of it."""

DEFAULTS = {"max_victims": 3, "near_completion_threshold": "5m", "manual_checkpoint_time": "10m"}
DEFAULTS |= {"value_rule": True, "patience": 0}


class End(NamedTuple):
    at: int
    name: str


class Site(Board):
    """Who stands where, with what a vCluster may use."""

    # -- words -------------------------------------------------------------------------------------------------------

    def option(self, name: str) -> Any:
        found = self.document["doctrine"].get(name)
        return DEFAULTS[name] if found is None else found

    def span(self, name: str) -> int:
        return parse_duration(self.option(name))

    def type_of(self, queue: str | None) -> str | None:
        return self.settings(queue).get("type")

    def sensitive(self, work: Work) -> bool:
        return bool(work.asks("sensitive")) or work.priority == 10 or self.type_of(work.asks("queue")) == "sensitive"

    def is_claim(self, work: Work) -> bool:
        """A sensitive claim on named nodes."""
        names = (work.asks("constraints") or {}).get("nodes")
        return self.sensitive(work) and bool(names or work.asks("required_node"))

    def walltime(self, work: Work) -> int | None:
        given = work.asks("walltime")
        return None if given is None else parse_duration(given)

    def checkpoint(self, work: Work) -> tuple[str, int | None, int | None]:
        """Its mode, the time of the last one, and how long one takes."""
        given: Document = work.asks("checkpoint") or {}
        last, time = given.get("last"), given.get("time")
        return (
            given.get("mode", "none"),
            None if last is None else parse_time(last),
            None if time is None else parse_duration(time),
        )

    def tenant(self, work: Work) -> Document:
        tenants: Iterable[Document] = self.document.get("tenants", [])
        return next((tenant for tenant in tenants if tenant["name"] == work.asks("tenant")), {})

    def size(self, work: Work) -> int:
        """How many nodes it counts for."""
        members = len(work.needs)
        stands = set(self.standing(work)) if work.state in HOLDS or work.name in self.placed else set()
        return members if work.exclusive or not stands else len(stands)

    def alike(self, work: Work) -> bool:
        """Whether its members are of one kind."""
        return len(work.asks("pod_sets") or [work]) == 1 or len(work.needs) == 1

    # -- whose nodes -------------------------------------------------------------------------------------------------

    def borrowed(self, machine: Machine, queue: str | None) -> bool:
        home = machine.entry.get("home")
        return home is not None and home != queue

    def lends(self, machine: Machine, queue: str | None) -> bool:
        """Whether a vCluster may use this node at all."""
        home = machine.entry.get("home")
        if not self.borrowed(machine, queue):
            return True
        switches = self.settings(queue).get("allow_borrowing", True), self.settings(home).get("allow_lending", True)
        return all(one is not False for one in switches) and "sensitive" not in map(self.type_of, (queue, home))

    def usable(self, work: Work) -> list[Machine]:
        ready = super().usable(work)
        if self.is_claim(work) or self.document["doctrine"].get("edition") == "core":
            return ready
        return [one for one in ready if self.lends(one, work.asks("queue"))]

    # -- GPUs --------------------------------------------------------------------------------------------------------

    def gpu_nodes(self, work: Work) -> Fraction:
        """Nodes times GPUs per node; what has none counts 1."""
        if not work.exclusive:
            asked = sum((gpus(need) for need in work.needs), Fraction()) / len(work.needs)
            return self.size(work) * (asked or Fraction(1))
        if work.state in HOLDS and work.nodes:
            held = [gpus(self.machines[name].capacity) for name in work.nodes]
            return sum((one or Fraction(1) for one in held), Fraction())
        could = [one for one in self.matching(work) if any(takes(_empty(one), need) for need in work.needs)]
        found = [gpus(machine.capacity) or Fraction(1) for machine in could]
        return self.size(work) * min(found, default=Fraction(1))

    def holders(self, without: Iterable[str] = ()) -> list[Work]:
        """All that hold room now; who was given it in this cycle can end as well."""
        gone = set(without)
        return [work for work in super().holders(gone) if work.name not in gone]

    # -- room --------------------------------------------------------------------------------------------------------

    def rooms(self, among: Iterable[Machine], without: Iterable[str] = ()) -> dict[str, Amounts]:
        gone = set(without)
        return {machine.name: self.free(machine, gone) for machine in among}

    def holds(self, work: Work, rooms: Mapping[str, Amounts], among: Collection[Machine] | None = None) -> bool:
        """Whether it fits in so much room on the nodes it may use."""
        if not self.machines:
            return True
        among = self.usable(work) if among is None else among
        if any(need != work.needs[0] for need in work.needs):
            return self._exists(work, list(among), dict(rooms), {machine.name: [] for machine in among})
        counts = {one.name: takes(rooms[one.name], work.needs[0]) for one in among}
        members, groups = len(work.needs), dict.fromkeys((self.group_of(one) for one in among), 0)
        for one in among:
            groups[self.group_of(one)] += counts[one.name]
        placement = work.asks("placement", "any")
        if placement == "tight":
            return any(count >= members for count in groups.values())
        if placement == "spread":
            most = self.most_in_a_group(work, list(among))
            return sum(min(count, most) for count in groups.values()) >= members
        return sum(counts.values()) >= members

    def fits(self, work: Work, without: Iterable[str] = ()) -> bool:
        usable = self.usable(work)
        return self.holds(work, self.rooms(usable, without), usable)

    def could_ever_fit(self, work: Work) -> bool:
        """Whether the nodes that match it would hold it if they were empty, whatever their state and home; spread also
        over those alone that it may use, where an even share is more."""
        spread = work.asks("placement", "any") == "spread"
        return any(
            self.holds(work, {one.name: _empty(one) for one in machines}, machines)
            for machines in (self.matching(work), *([self.usable(work)] if spread else []))
        )

    def could_take_more(self, work: Work, machine: Machine) -> bool:
        """Whether a node would take one member more if nobody were on it."""
        if self.alike(work):
            members, need = len(work.needs), work.needs[0]
            return min(members, takes(_empty(machine), need)) > min(members, takes(self.free(machine, set()), need))
        least = {key: min(need.get(key, 0) for need in work.needs) for key in work.needs[0]}
        return takes(_empty(machine), least) > 0

    # -- limits ------------------------------------------------------------------------------------------------------

    def over_queue(self, work: Work, *, alone: bool = False) -> bool:
        for queue in self.path(work.asks("queue")):
            for key, limit in (self.queues.get(queue, {}).get("max") or {}).items():
                used = {"reserved": 0, "preempting": 0, "other": 0}
                for other in [] if alone else self.holders():
                    if queue in self.path(other.asks("queue")):
                        used[other.state if other.state in used else "other"] += other.quota.get(key, 0)
                total = used["other"] + max(used["reserved"], used["preempting"])
                asked = work.quota.get(key, 0)
                if asked and total + asked > parse_quantity(limit):
                    return True
        return False

    def over_tenant(self, work: Work, *, alone: bool = False, on: Collection[str] | None = None) -> bool:
        """Whether its tenant would hold too much; `on`: if it stood there."""
        tenant = self.tenant(work)
        mine = [] if alone else [one for one in self.holders() if tenant and one.asks("tenant") == tenant["name"]]
        nodes, works = tenant.get("max_nodes"), tenant.get("max_workloads")
        if works is not None and len(mine) + 1 > works:
            return True
        stands = self.fewest(work) if on is None else len(set(on))
        return nodes is not None and sum(map(self.size, mine)) + stands > nodes

    def fewest(self, work: Work) -> int:
        """On how many of its nodes it must stand at least, were they empty: none has more than its capacity."""
        if work.exclusive or not self.machines:
            return len(work.needs) if work.exclusive else 1
        found = 1
        for key in set().union(*work.needs) - {WHOLE}:
            needs = [need.get(key, 0) for need in work.needs]
            even = needs[0] if len(set(needs)) == 1 else 1
            rooms = [one.capacity.get(key, 0) // max(1, even) * even for one in self.matching(work)]
            rooms.sort(reverse=True)
            enough = [count for count in range(1, len(rooms) + 1) if sum(rooms[:count]) >= sum(needs)]
            found = max([found, *enough[:1]])
        return found

    def against_policy(self, work: Work) -> bool:
        owners = [policy for key in ("user", "project") for policy in self._policies(work, key)]
        own = _own_class(owners)
        for policy in owners:
            if policy.get("may_change") is False:
                if work.priority != own:
                    return True
            elif not policy.get("min_priority", 0) <= work.priority <= policy.get("max_priority", 10):
                return True
        return False

    def _policies(self, work: Work, key: str) -> list[Document]:
        policies: list[Document] = self.document.get("policies", [])
        return [one for one in policies if key in one and one[key] == work.asks(key)]

    # -- time --------------------------------------------------------------------------------------------------------

    def ends(self) -> list[End]:
        """When those who hold room are expected to leave by themselves; who is overdue does not."""
        found = []
        for work in self.holders():
            walltime = self.walltime(work)
            started = self.now if work.name in self.placed else work.started
            if walltime is not None and started is not None and started + walltime > self.now:
                found.append(End(started + walltime, work.name))
        return sorted(found)


def gpus(amounts: Amounts) -> Fraction:
    return Fraction(sum(nano for key, nano in amounts.items() if key.endswith("gpu")), NANO)


def takes(room: Amounts, need: Amounts) -> int:
    """How many such members there is room for."""
    return max(0, min(room.get(key, 0) // amount for key, amount in need.items() if amount))


def _empty(machine: Machine) -> Amounts:
    return {key: total - machine.occupied.get(key, 0) for key, total in machine.capacity.items()}


def _own_class(owners: Iterable[Document]) -> int:
    return next((int(one["default_priority"]) for one in owners if one.get("default_priority") is not None), 0)


def read(document: Document) -> Site:
    """The site that a document describes."""
    board = read_board(document)
    site = Site(board.document, board.now, board.machines, board.works, board.queues)
    for machine in site.machines.values():
        machine.capacity[WHOLE] = FULL
    for work in site.works.values():
        if work.asks("priority") is None:
            work.priority = _own_class([one for key in ("user", "project") for one in site._policies(work, key)])
        for need in work.needs:
            need[WHOLE] = FULL if work.exclusive else 1
    return site
