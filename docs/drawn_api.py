"""The parts of the docs that are drawn from the API: its OpenAPI document, and a page with every path."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

from cede.engine.clock import SchedulerClock
from cede.live.api.app import create_app
from cede.live.api.server import Server
from cede.live.config import ServerConfig
from cede.live.metrics import Metrics
from cede.live.store.store import Store
from docs.tables import table

INTRODUCTION = """\
# API

This page is drawn from the code by `make docs`, and so is the [OpenAPI document](openapi.json), which a server has at
`/api/v1/openapi.json`. Everything is under `/api/v1`. [Python](../guides/python.md) has a client for all of it.

Send a token with every request but those for `/health` and the OpenAPI document: `Authorization: Bearer TOKEN`. Bodies
and answers are JSON. Times are RFC 3339 in UTC, amounts as in a cluster file. An unknown key of a body or a query is an
error.

**Roles.** An admin sees and touches everything. A user sees its own workloads and those of its projects, and touches
its own. A viewer sees the workloads of its projects, or all if it has none, and touches nothing. What a caller may not
see does not exist for it: 404, and where a decision or a plan names it, a name like `hidden-3f9a0c12b47e`.
In the tables below, *any* is any token, *owner* the owner of the workload, or the holder of that
very token; an admin may do everything.

**Refusals** are problem documents (RFC 9457, `application/problem+json`): `status`, `title`, `detail` in a sentence,
`rule` with the name of a [rule](rules.md#live), and `errors` with the places of a body that are wrong, each with
`place`, `message` and perhaps a `hint`. `type` is always `about:blank`. 500 and 503 can come from every path.

**Pages.** Lists take `limit` (100 if left out, 1000 at most) and `after`, and answer with `next`: give it as `after`
for the next page. It is null on the last.

**Events** are a page, or a stream of server-sent events if the query has `follow=true` or the request accepts
`text/event-stream`. Each message has the event's number as its id; a client that comes back with `Last-Event-ID` misses
nothing. A stream ends after an hour; the client comes back by itself. A message of type `closed` ends one
early and says by which rule.

**Logs** are bytes. `Cede-Log-Next` says where to go on, `Cede-Log-Ended` whether nothing more will come. With `wait`
the answer comes when there is something, or after that many seconds.

"""

ANY, USER, OWNER, ADMIN, WIDE = "any", "user", "owner", "admin", "user, viewer of all"
ROLES = {
    "health": "no token",
    "submit": USER,
    **dict.fromkeys(("cancel", "suspend", "resume", "checkpoint"), OWNER),
    **dict.fromkeys(("drain", "undrain", "cluster", "audit", "chain", "tokens", "make", "revoke"), ADMIN),
    **dict.fromkeys(("orphans", "end_orphan", "forget_orphan", "acknowledge"), ADMIN),
    "renew": OWNER,
    "snapshot": "admin, viewer of all",
    **dict.fromkeys(("plan", "diff"), WIDE),
    **dict.fromkeys(("listed", "one", "why", "logs", "queues", "nodes", "decisions", "decision", "events"), ANY),
    **dict.fromkeys(("about", "metrics"), ANY),
}
"""Who may do what, by the name of the operation; an admin may do everything. A test asks a real server."""


def document() -> dict[str, Any]:
    """The OpenAPI document as a server has it."""
    with TemporaryDirectory() as folder:
        store = Store.open(f"sqlite:///{Path(folder)}/cede.db")
        try:
            # Nothing is asked of controller and executor: only the paths are looked at.
            nobody = cast(Any, None)
            server = Server(nobody, store, nobody, ServerConfig(), Metrics("0"), SchedulerClock())
            return create_app(server).openapi()
        finally:
            store.close()


def openapi() -> str:
    """The document as text."""
    return json.dumps(document(), indent=2, ensure_ascii=False) + "\n"


def api_page() -> str:
    """Every path, who may use it, what it takes and what it answers."""
    made = document()
    groups: dict[str, list[tuple[str, str, dict[str, Any]]]] = {}
    for path, methods in made["paths"].items():
        for method, operation in methods.items():
            groups.setdefault(operation["tags"][0], []).append((method.upper(), path, operation))
    lines: list[str] = []
    for tag, operations in groups.items():
        rows = (
            (
                f"`{method} {path.removeprefix('/api/v1')}`",
                operation["summary"],
                ROLES[operation["operationId"]],
                ", ".join(_codes(operation)),
            )
            for method, path, operation in operations
        )
        lines += [f"## {tag}", "", *table(("path", "what it does", "who", "answers"), rows), ""]
        for method, path, operation in operations:
            lines += _details(f"{method} {path.removeprefix('/api/v1')}", operation)
    lines += ["## Bodies", ""]
    for name in _bodies(made):
        lines += [f"### {name}", "", made["components"]["schemas"][name].get("description", ""), ""]
        lines += [*table(("key", "value", "meaning"), _keys(made["components"]["schemas"][name])), ""]
    return INTRODUCTION + "\n".join(lines).rstrip() + "\n"


def _codes(operation: Mapping[str, Any]) -> list[str]:
    return [code for code in operation["responses"] if code not in ("500", "503")]


def _details(title: str, operation: Mapping[str, Any]) -> Iterator[str]:
    """What the table has no place for: a description, a body, a query."""
    body = _body(operation)
    asked = [one for one in operation.get("parameters", ()) if one["in"] != "path"]
    said = [operation["description"]] if "description" in operation else []
    if body is not None:
        said.append(f"Its body is a [{body}](#{body.lower()}).")
    if not said and not asked:
        return
    yield from (f"**`{title}`**{': ' + ' '.join(' '.join(said).split()) if said else ''}", "")
    if asked:
        rows = ((f"`{one['name']}`", _value(one["schema"]), _meaning(one["schema"], one)) for one in asked)
        yield from (*table(("query or header", "value", "meaning"), rows), "")


def _body(operation: Mapping[str, Any]) -> str | None:
    content = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
    return next((one["$ref"].rpartition("/")[2] for one in (content, *content.get("anyOf", ())) if "$ref" in one), None)


def _bodies(made: Mapping[str, Any]) -> list[str]:
    """Every body, and what they hold that has keys of its own."""
    found: list[str] = []
    waiting = [body for _, methods in sorted(made["paths"].items()) for one in methods.values() if (body := _body(one))]
    while waiting:
        name = waiting.pop(0)
        if name not in found:
            found.append(name)
            waiting += _references(made["components"]["schemas"][name].get("properties", {}))
    return found


def _references(schema: Any) -> list[str]:
    if isinstance(schema, dict):
        own = [schema["$ref"].rpartition("/")[2]] if "$ref" in schema else []
        return own + [name for value in schema.values() for name in _references(value)]
    return [name for value in schema for name in _references(value)] if isinstance(schema, list) else []


def _keys(schema: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    required = schema.get("required", ())
    for name, inner in schema.get("properties", {}).items():
        meaning = _meaning(inner, inner)
        yield f"`{name}`", _value(inner), f"{'Required. ' if name in required else ''}{meaning}".strip()


def _meaning(schema: Mapping[str, Any], described: Mapping[str, Any]) -> str:
    default = schema.get("default")
    shown = "" if default in (None, [], False) else f" Default `{default}`."
    said = described.get("description", "").strip()
    return (said if "efault" in said else f"{said}{shown}").strip()


def _value(schema: Mapping[str, Any]) -> str:
    """What a value looks like, in a few words."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"a [{name}](#{name.lower()})" if name.endswith("Body") else "a state"
    if "anyOf" in schema:
        kinds = [_value(one) for one in schema["anyOf"] if one.get("type") != "null"]
        return " or ".join(dict.fromkeys(kinds))
    if "const" in schema or "enum" in schema:
        return ", ".join(f"`{one}`" for one in schema.get("enum", [schema.get("const")]))
    if schema.get("type") == "array":
        return f"list of {_value(schema['items']).removeprefix('a ')}"
    words = {"string": "text", "integer": "integer", "number": "number", "boolean": "`true` or `false`"}
    return words.get(schema.get("type", ""), "object")
