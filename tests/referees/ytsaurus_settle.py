"""Cycle after cycle of YTsaurus until nothing moves: victims leave at once, whoever was let in runs and never ends."""

from __future__ import annotations

from collections import Counter
from copy import deepcopy
from dataclasses import dataclass

from tests.referees.ytsaurus_heartbeat import Memory, plan
from tests.referees.ytsaurus_tree import RUNS, Document

SECOND = 10**6


@dataclass
class End:
    """Who runs in the end, and who was ever a victim of whom."""

    running: dict[str, list[str]]
    counts: Counter[str]
    preemptions: list[tuple[int, str, str | None]]
    document: Document


def settle(document: Document, interval: float = 1, cycles: int = 1000) -> End:
    """The state after so many cycles."""
    document, memory = deepcopy(document), Memory()
    start = document.get("now", 0)
    works = {entry["name"]: entry for entry in document["workloads"]}
    for entry in works.values():
        entry.setdefault("submitted", start)
    preemptions: list[tuple[int, str, str | None]] = []
    for cycle in range(cycles):
        now = document["now"] = start + cycle * interval
        _leave([entry for entry in works.values() if entry.get("state") == "preempting"])
        for entry in works.values():
            if entry.get("state") == "reserved":
                entry |= {"state": "running", "started": now}
        answer = plan(document, memory, int(interval * SECOND) if cycle else 0)
        _leave([works[name] for name in answer.reasons])
        preemptions += [(cycle + 1, name, answer.claimants[name]) for name in sorted(answer.reasons)]
        for name, node in answer.nodes.items():
            entry, waits = works[name], answer.actions[name] == "preempt"
            entry |= {"state": "reserved" if waits else "running", "nodes": [node] * entry.get("members", 1)}
            entry |= {} if waits else {"started": now}
    running = {name: entry["nodes"] for name, entry in works.items() if entry.get("state") in (*RUNS, "reserved")}
    counts = Counter(works[name].get("app", name) for name in running)
    return End(running, counts, preemptions, document)


def _leave(entries: list[Document]) -> None:
    for entry in entries:
        for key in ("nodes", "started"):
            entry.pop(key, None)
        entry["state"] = "pending"
