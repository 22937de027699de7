"""Entries of a file under YTsaurus in a line, and what is wrong with them."""

from __future__ import annotations

from typing import Any

from cede.doctrines.document import parse_document
from cede.model.errors import InputError


def problems(
    *, queues: Any = (), apps: Any = (), workloads: Any = (), now: object = 0, edition: str = "docs", **tree: Any
) -> list[str]:
    """Everything that is wrong with a file of these entries."""
    doctrine = {"name": "ytsaurus", "edition": edition, **tree}
    data = {"cede": 1, "now": now, "doctrine": doctrine, "queues": queues, "apps": apps, "workloads": workloads}
    try:
        parse_document(data)
    except InputError as error:
        return [str(problem) for problem in error.problems]
    return []


def pool(name: str = "p", parent: str | None = None, *, guaranteed: Any = None, **settings: Any) -> dict[str, Any]:
    keys = {"parent": parent, "guaranteed": guaranteed, "settings": settings}
    return {"name": name} | {key: value for key, value in keys.items() if value}


def operation(name: str = "op", queue: str | None = None, **settings: Any) -> dict[str, Any]:
    return {"name": name, "settings": settings, **({} if queue is None else {"queue": queue})}
