"""Clusters under YTsaurus in a few lines, on top of the builders that every doctrine's tests use.

    docs(node("n1", cpu=4), pool("a", cpu=4, below_fair_share_since=-60), pool("b"),
         running("old", queue="b", app="b1", cpu=4), pending("in", queue="a", cpu=2))

Amounts of a pool are its strong guarantee; what is no key of a pool, an operation or a node is a setting or an amount.
"""

from __future__ import annotations

from typing import Any

import cede
from tests.builders import Entry, document_of

AMOUNTS = {"cpu", "memory", "user_slots", "gpu", "network"}
POOL_KEYS = {"parent", "partition", "max", "weight"}
APP_KEYS = {"weight", "queue"}
NODE_KEYS = {
    *("count", "occupied", "partition", "labels", "state", "reserved_for"),
    *("overcommitted_since", "last_preemptive_attempt"),
}
LONG_AGO = -1000
SHIPPED = "25.4"


def node(name: str = "n1", /, **values: Any) -> Entry:
    """A node: `node("n1", cpu=8, overcommitted_since=-20)`."""
    keys, capacity = _split(values, NODE_KEYS)
    return Entry("nodes", {"name": name, "capacity": capacity, **keys})


def pool(name: str, parent: str | None = None, /, **values: Any) -> Entry:
    """A pool: `pool("a", "root", cpu=4, max={"cpu": 6}, mode="fifo")`; amounts are its strong guarantee."""
    guaranteed, rest = _split(values, AMOUNTS)
    keys, settings = _split(rest, POOL_KEYS)
    entry = {"name": name, **({} if parent is None else {"parent": parent}), **keys}
    if guaranteed:
        entry["guaranteed"] = guaranteed
    return Entry("queues", entry | ({"settings": settings} if settings else {}))


def starving(name: str, parent: str | None = None, /, **values: Any) -> Entry:
    """A pool that has been below its fair share for long, if it is below it at all."""
    return pool(name, parent, below_fair_share_since=LONG_AGO, **values)


def op(name: str, queue: str | None = None, /, **values: Any) -> Entry:
    """An operation: `op("in", "a", is_gang=True)`."""
    keys, settings = _split(values, APP_KEYS)
    entry = {"name": name, **({} if queue is None else {"queue": queue}), **keys}
    return Entry("apps", entry | ({"settings": settings} if settings else {}))


def hungry(name: str, queue: str | None = None, /, **values: Any) -> Entry:
    """An operation that has been below its fair share for long, if it is below it at all."""
    return op(name, queue, below_fair_share_since=LONG_AGO, **values)


def document(*entries: Entry, edition: str = "docs", now: float = 0, **tree: Any) -> dict[str, Any]:
    """The cluster file; what is named besides is an option of the tree."""
    apps = [dict(entry.values) for entry in entries if entry.section == "apps"]
    rest = [entry for entry in entries if entry.section != "apps"]
    return document_of(*rest, now=now, doctrine={"name": "ytsaurus", "edition": edition, **tree}, apps=apps)


def docs(*entries: Entry, now: float = 0, **tree: Any) -> cede.Cluster:
    """A cluster under the rules as documented, which spare whom they do not need."""
    return cede.load(document(*entries, now=now, **tree))


def shipped(*entries: Entry, now: float = 0, **tree: Any) -> cede.Cluster:
    """The same as release 25.4 ships it."""
    return docs(*entries, now=now, edition=SHIPPED, **tree)


def _split(values: dict[str, Any], known: set[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    keys = {key: value for key, value in values.items() if key in known}
    return keys, {key: value for key, value in values.items() if key not in known}
