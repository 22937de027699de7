"""Where the work of a random cluster document stands: drawn node by node, with the room that is left kept in mind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from cede.model.quantities import parse_quantity
from tests.strategy_values import Draw

Document = dict[str, Any]

HOLDING = ("reserved", "running", "running", "running", "checkpointing", "preempting")


@dataclass
class Room:
    """A node while a document is drawn: what is left of it, in nano-units, and who may use it."""

    entry: Document
    name: str
    free: dict[str, int]
    leaving: dict[str, int] = field(default_factory=dict)
    held: dict[str, int] = field(default_factory=dict)
    members: int = 0
    taken_whole: bool = False

    def room(self, name: str, state: str) -> int:
        """How much more a member in this state could take: who leaves and who comes share the room."""
        mine, other = (self.held, self.leaving) if state == "reserved" else (self.leaving, self.held)
        base = self.free.get(name, 0)
        if state in ("reserved", "preempting"):
            return base - mine.get(name, 0)
        return base - max(mine.get(name, 0), other.get(name, 0))

    def take(self, amounts: Mapping[str, int], state: str, exclusive: bool) -> None:
        self.members += 1
        self.taken_whole |= exclusive
        for name, nano in amounts.items():
            if state in ("reserved", "preempting"):
                bucket = self.held if state == "reserved" else self.leaving
                bucket[name] = bucket.get(name, 0) + nano
            else:
                self.free[name] = self.free.get(name, 0) - nano


def members_of(workload: Document) -> list[dict[str, int]]:
    """What each member takes of a node, by plain name in nano-units."""
    sets = workload.get("pod_sets") or [{"count": workload.get("members", 1), "requests": workload["requests"]}]
    result: list[dict[str, int]] = []
    for part in sets:
        plain: dict[str, int] = {}
        for name, value in part["requests"].items():
            base = name.partition("@")[0]
            plain[base] = plain.get(base, 0) + parse_quantity(value)
        result += [plain] * part["count"]
    return result


def flavor_of(workload: Document) -> str | None:
    """The flavor that the workload pins, if it pins one."""
    sets = workload.get("pod_sets") or [{"requests": workload["requests"]}]
    return next((key.partition("@")[2] for part in sets for key in part["requests"] if "@" in key), None)


def node_names(document: Document) -> list[str]:
    """The names of the nodes, each `count` counted out."""
    found: list[str] = []
    for entry in document.get("nodes", []):
        found += [f"{entry['name']}-{n}" for n in range(entry["count"])] if "count" in entry else [entry["name"]]
    return found


def rooms_of(document: Document) -> list[Room]:
    found: list[Room] = []
    for entry in document["nodes"]:
        capacity = {key: parse_quantity(value) for key, value in entry["capacity"].items()}
        for key, value in entry.get("occupied", {}).items():
            capacity[key] = capacity.get(key, 0) - parse_quantity(value)
        found += [Room(entry, name, dict(capacity)) for name in node_names({"nodes": [entry]})]
    return found


def _usable(room: Room, workload: Document, partition: str) -> bool:
    """Whether the workload may stand on this node at all."""
    entry = room.entry
    constraints = workload.get("constraints", {})
    return (
        entry.get("partition", "default") == partition
        and entry.get("state", "ready") != "down"
        and entry.get("reserved_for", workload["name"]) == workload["name"]
        and flavor_of(workload) in (None, entry.get("flavor"))
        and workload.get("required_node", room.name) == room.name
        and room.name in constraints.get("nodes", [room.name])
        and constraints.get("labels", {}).items() <= entry.get("labels", {}).items()
    )


def _fits(room: Room, need: Mapping[str, int], state: str, exclusive: bool) -> bool:
    if room.taken_whole or (exclusive and room.members):
        return False
    return all(room.room(key, state) >= nano for key, nano in need.items() if nano)


def _as_asked(workload: Document, chosen: Sequence[Room], usable: Sequence[Room]) -> bool:
    """Whether members that stand on these nodes are placed as the workload asks."""
    word = workload.get("placement", "any")
    groups = [room.entry.get("labels", {}).get("group", "") for room in chosen]
    if word == "tight":
        return len(set(groups)) == 1
    among = {room.entry.get("labels", {}).get("group", "") for room in usable if room.entry.get("state") != "cordoned"}
    most = -(-len(chosen) // max(1, len(among)))
    return word == "any" or all(groups.count(group) <= most for group in groups)


def put(draw: Draw, workload: Document, partition: str, rooms: Sequence[Room], tidy: bool) -> None:
    """Give the workload a state; if it holds room and there is some, also the nodes."""
    state = draw(st.sampled_from(HOLDING))
    exclusive = workload.get("exclusive", False)
    usable = [room for room in rooms if not tidy or _usable(room, workload, partition)]
    chosen: list[Room] = []
    for need in members_of(workload):
        open_rooms = [
            room
            for room in usable
            if not tidy or (_fits(room, need, state, exclusive) and not (exclusive and room in chosen))
        ]
        if not open_rooms:
            return
        chosen.append(draw(st.sampled_from(open_rooms)))
        # Members of one workload are counted against each other only after the last: a small chance lost.
    if tidy and not _together(chosen, members_of(workload), state):
        return
    if tidy and not _as_asked(workload, chosen, usable):
        return
    workload["state"] = state
    workload["nodes"] = [room.name for room in chosen]
    for room, need in zip(chosen, members_of(workload), strict=True):
        room.take(need, state, exclusive)


def _together(chosen: Sequence[Room], needs: Sequence[Mapping[str, int]], state: str) -> bool:
    """Whether all members fit at once."""
    sums: dict[str, dict[str, int]] = {}
    for room, need in zip(chosen, needs, strict=True):
        taken = sums.setdefault(room.name, {})
        for key, nano in need.items():
            taken[key] = taken.get(key, 0) + nano
    by_name = {room.name: room for room in chosen}
    return all(
        by_name[name].room(key, state) >= nano for name, taken in sums.items() for key, nano in taken.items() if nano
    )
