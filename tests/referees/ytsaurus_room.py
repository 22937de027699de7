"""What room a node of YTsaurus has, what its limits allow, and who could never start: every sum made anew."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from fractions import Fraction

from tests.referees.ytsaurus_tree import RUNS, ZERO, Amounts, Element, Machine, Tree, Work, amounts_of

SPARE = {"user_slots": 1, "cpu": 1, "memory": 256 * 2**20}


class Room:
    """The nodes of one tree as they stand at this moment; `leaving` are on their way out of the node at hand."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.leaving: list[Work] = []

    def there(self, machine: Machine, states: Collection[str]) -> list[Work]:
        return [work for work in self.tree.works if work.state in states and machine.name in work.nodes]

    def taken(self, works: Iterable[Work], machine: Machine) -> Amounts:
        """What some take of a node."""
        total: Amounts = {}
        for work in works:
            part = Fraction(work.nodes.count(machine.name), len(work.nodes))
            for name, amount in work.need.items():
                total[name] = total.get(name, ZERO) + amount * part
        return total

    def free(self, machine: Machine) -> Amounts:
        used = self.taken(self.there(machine, RUNS), machine)
        leaving = self.taken([*self.there(machine, ("preempting",)), *self.leaving], machine)
        held = self.taken(self.there(machine, ("reserved",)), machine)
        names = machine.room | used | leaving | held
        return {
            name: machine.room.get(name, ZERO)
            - used.get(name, ZERO)
            - max(leaving.get(name, ZERO), held.get(name, ZERO))
            for name in names
        }

    def holds(self, machine: Machine, gone: Collection[Work], but: Collection[str] = ()) -> bool:
        """Whether the node is large enough for all that stay there, some resources aside."""
        stays = [work for work in self.there(machine, (*RUNS, "reserved")) if work not in gone]
        used = self.taken(stays, machine)
        return all(amount <= machine.room.get(name, ZERO) for name, amount in used.items() if name not in but)

    def spares(self, room: Amounts) -> bool:
        given = self.tree.option("min_spare_allocation_resources_on_node")
        least = amounts_of(SPARE if given is None else given)
        return all(room.get(name, ZERO) >= amount for name, amount in least.items() if name in self.tree.resources)

    def fits(self, work: Work, machine: Machine, room: Amounts) -> bool:
        enough = all(room.get(name, ZERO) >= amount for name, amount in work.need.items() if amount)
        return enough and self.may_use(work, machine) and machine.entry.get("reserved_for") in (None, work.name)

    def may_use(self, work: Work, machine: Machine) -> bool:
        limits = work.entry.get("constraints") or {}
        labels = machine.entry.get("labels", {})
        return (
            work.entry.get("required_node") in (None, machine.name)
            and (not limits.get("nodes") or machine.name in limits["nodes"])
            and all(labels.get(key) == value for key, value in (limits.get("labels") or {}).items())
            and not (work.entry.get("placement") == "spread" and work.entry.get("members", 1) > 1)
        )

    def allowed(self, work: Work, *, preemptive: bool = False) -> bool:
        """Whether no limit of the operation or of a pool above it would be exceeded."""
        for one in work.operation.path:
            limit, used = one.limit, one.used()
            if preemptive and one.kind == "pool":
                if self.tree.option("enable_infinite_resource_limits_overcommit", False):
                    continue
                more = amounts_of(one.settings.get("resource_limits_overcommit_tolerance"))
                limit = {name: most + more.get(name, ZERO) for name, most in limit.items()}
            if any(used.get(name, ZERO) + work.need.get(name, ZERO) > most for name, most in limit.items()):
                return False
        return True

    def over(self, element: Element) -> bool:
        used = element.used()
        return any(used.get(name, ZERO) > most for name, most in element.limit.items())

    def never(self, work: Work) -> bool:
        """Whether the workload could not start even if it were alone."""
        if not work.operation.accepted:
            return True
        rooms = [machine.room for machine in self.tree.machines if self.may_use(work, machine)]
        if not any(
            all(room.get(name, ZERO) >= amount for name, amount in work.need.items() if amount) for room in rooms
        ):
            return True
        for one in work.operation.path:
            more = amounts_of(one.settings.get("resource_limits_overcommit_tolerance") if one.kind == "pool" else None)
            if one.kind == "pool" and self.tree.option("enable_infinite_resource_limits_overcommit", False):
                continue
            if any(work.need.get(name, ZERO) > most + more.get(name, ZERO) for name, most in one.limit.items()):
                return True
        return False
