"""Names that the shell may complete, asked of the server for half a second at most and never with a complaint."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cede.live.client import Client

DEADLINE_S = 0.5
MOST = 1000


def workloads(ctx: Any, incomplete: str) -> list[str]:
    """Names of workloads, the newest first."""
    return _offered(ctx, incomplete, lambda client: [job["name"] for job in client.jobs(limit=MOST)])


def queues(ctx: Any, incomplete: str) -> list[str]:
    return _offered(ctx, incomplete, lambda client: [queue["name"] for queue in client.queues()])


def nodes(ctx: Any, incomplete: str) -> list[str]:
    return _offered(ctx, incomplete, lambda client: [node["name"] for node in client.nodes()])


def _offered(ctx: Any, incomplete: str, names: Callable[[Client], Iterable[str]]) -> list[str]:
    given = getattr(ctx, "params", {})
    try:
        from cede.live.client import Client

        with (
            _deadline(),
            Client(given.get("url"), given.get("token"), data=given.get("data"), timeout_s=DEADLINE_S) as client,
        ):
            return [name for name in names(client) if name.startswith(incomplete)]
    except Exception:
        # Whatever it is: somebody pressed a key, and wants no message for that.
        return []


@contextmanager
def _deadline() -> Iterator[None]:
    """A TimeoutError if the block takes too long."""

    def late(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, DEADLINE_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
