"""The page of every limit of a server, drawn from the numbers that it goes by."""

from __future__ import annotations

from collections.abc import Iterable

from cede.engine.drive.leaving import KILL_AGAIN
from cede.engine.drive.terms import Terms
from cede.live.api import (
    bodies,
    body_limits,
    connections,
    deadlines,
    event_streams,
    events,
    logs,
    paging,
    stories,
    submission_checks,
    submissions,
    values,
    whatif,
    wrong_tokens,
)
from cede.live.broker import calls, listener, service
from cede.live.config import ServerConfig
from cede.model.quantities import format_quantity
from cede.model.times import LONGEST, SECOND, format_duration, show_duration
from docs.drawn_live import config_keys
from docs.meanings import CONFIGURATION
from docs.tables import table

INTRODUCTION = """\
# Limits of a server

This page is drawn from the code by `make docs`: every limit, its default, and the key
of the [configuration](config.md) that sets it. What has no key is fixed. What is above a limit is refused, with the
number and the key.
"""

OWNERS = """\
## What owners may ask for

These bound how long work may delay a preemption or a cancel. What `users[].limits` says of a user counts first. Else
what `limits.queues` says of the queue (or of the nearest one above it) or `limits.roles` of the role; where both say
something, the smaller; else `limits` itself. Grants (`may`) of all levels add up. A request for no more than `times`
gives anyway is not refused.

A limit that becomes smaller, at a start or with SIGHUP, holds for what is under way too: it goes on, and has no more
time than that when it is told to go. Its story says so (`live.clamped`), the log, and at a start the notices. Its
walltime stays.

Minimum runtimes are no key of a submission: they are a setting of a queue in the cluster file, which is the
administrator's. Which priorities a user may choose is a policy of the cluster file.
"""

CAPS = """\
## How much owners may have under way

Counted where submissions are taken in, one after the other: however many come at once, no cap is passed. A gang is
one workload; what is suspended counts as pending. What `caps.users` and `caps.projects` say by name counts more.
"""

DEFAULTS = """\
## What work gets that does not say

No work is outside of the queues, where there are any, and none is for nothing: so limits hold for all of it.
"""

TIMES = """\
## Times

Those of one workload come from its submission, its queue (`queues`), the server (`times`) or the doctrine; see [the
preemption sequence](../concepts/preemption-sequence.md).
"""

STORMS = """\
## Failures and evictions that repeat
"""

EDGE = """\
## Connections, tokens and requests

[Serving](../guides/serving.md#connections) says how connections are shared among addresses and tokens.
"""

SUBMISSIONS = """\
## What a request may hold
"""

APPLICATIONS = """\
## Applications, logs and the store
"""


def limits_page() -> str:
    """Every limit of a server."""
    parts = (
        (OWNERS, _configured("limits.", without=("limits.queues.", "limits.roles."))),
        (CAPS, _configured("caps.user.", "caps.project.")),
        (DEFAULTS, _configured("defaults.")),
        (TIMES, [_row("the longest time that anything may have", format_duration(LONGEST)), *_times()]),
        (STORMS, _storms()),
        (EDGE, _edge()),
        (SUBMISSIONS, _submissions()),
        (APPLICATIONS, _applications()),
    )
    heads = ("limit", "default", "key")
    return "\n".join([INTRODUCTION, *("\n".join([text, *table(heads, rows), ""]) for text, rows in parts)])


def _row(what: str, value: object, key: str = "") -> tuple[str, str, str]:
    return what, f"`{value}`", f"`{key}`" if key else ""


def _configured(*starts: str, without: tuple[str, ...] = ()) -> list[tuple[str, str, str]]:
    """The keys of the configuration that begin so."""
    return [
        (CONFIGURATION[key], shown or "none", f"`{key}`")
        for key, _, shown in config_keys(ServerConfig)
        if key.startswith(starts) and not (without and key.startswith(without))
    ]


def _times() -> Iterable[tuple[str, str, str]]:
    yield from (row for row in _configured("times.") if not row[2].endswith(("requeue`", "requeues`")))
    yield _row(
        "how long a killed workload may take to be gone before it is killed once more", show_duration(KILL_AGAIN)
    )


def _storms() -> Iterable[tuple[str, str, str]]:
    yield _row("how often a workload that failed queues again", Terms().max_requeues, "times.max_requeues")
    yield _row("the most that a submission may ask for of that", bodies.MOST_REQUEUES)
    yield from _configured("backoff.", "breaker.", "thrashing")


def _edge() -> Iterable[tuple[str, str, str]]:
    config = ServerConfig()
    yield _row("connections at once, and never more than half of the open files", connections.MOST, "connections")
    yield _row("from the beginning of a connection to the end of its headers", _seconds(connections.HEAD_WITHIN_S))
    yield _row("bytes of a request's line and headers", connections.MOST_HEAD)
    yield _row("between two requests over one connection", _seconds(connections.KEPT_FOR_S))
    yield _row("for the handshake of TLS", _seconds(connections.HANDSHAKE_WITHIN_S))
    yield _row("bytes of what came over TLS that a connection holds", connections.TLS_BUFFER)
    yield _row("until a peer that takes nothing is dropped", _seconds(connections.UNREAD_FOR_MS / 1000))
    yield _row("bytes of a body", config.max_body, "max_body")
    yield _row("for a body to arrive", _seconds(body_limits.ARRIVES_WITHIN_S))
    yield _row("bodies in hand at once", body_limits.MOST_BODIES)
    yield _row("bodies in hand at once, of one token", body_limits.MOST_OF_ONE)
    yield _row("until a question that the scheduler has not answered is given up", _seconds(deadlines.ANSWERS_WITHIN_S))
    yield _row("plans, diffs and certificates under way at once", deadlines.MOST_AT_ONCE)
    yield _row("plans, diffs and certificates that wait for that", deadlines.MOST_WAITING)
    yield _row("event streams at once", event_streams.MOST_READERS)
    yield _row("event streams at once, of one user", event_streams.MOST_OF_ONE)
    yield _row("events that wait for one reader", event_streams.MOST_UNREAD)
    yield _row("for one event stream; readers come back by themselves", _seconds(events.LONGEST_S))
    yield from _configured("token_lifetime")
    yield _row(
        "wrong tokens of one address within a minute, before only those are looked at that a server made",
        wrong_tokens.MOST,
    )
    yield _row("records of wrong tokens in the audit trail within a minute", wrong_tokens.MOST_WRITTEN)


def _submissions() -> Iterable[tuple[str, str, str]]:
    yield _row("arguments of a command", bodies.MOST_ARGUMENTS)
    yield _row("characters of an argument, or of the value of a variable", values.MOST_CHARACTERS)
    yield _row("variables of an environment", values.MOST_VARIABLES)
    yield _row("characters of a path", values.MOST_PATH)
    yield _row("characters of a name, a label or the value of one; all of them can be printed", values.MOST_NAME)
    yield _row("characters of the name of a workload or a user", values.MOST_OF_OWN_NAME)
    yield _row("resources that a member asks for", values.MOST_RESOURCES)
    yield _row("labels that its node must have", values.MOST_LABELS)
    yield _row("nodes that it may name", bodies.MOST_NODES)
    yield _row("parts of a workload whose members differ", bodies.MOST_PARTS)
    yield _row("the least cpu of a member that asks for any", format_quantity(submission_checks.LEAST_CPU))
    yield _row(
        "names of resources that no node has and that are asked for all the same, while a server runs",
        submissions.MOST_STRANGE,
    )
    yield _row("entries of one page of a list", paging.MOST_LISTED)
    yield _row("events of one story", stories.MOST_TOLD)
    yield _row("members of one workload", bodies.MOST_MEMBERS)
    yield _row("workloads that a plan or a diff may add, or take away", bodies.MOST_WORKLOADS)
    yield _row("values that it may set", bodies.MOST_SET)
    yield _row("nodes and members that it may add", whatif.MOST_ADDED)
    yield _row("names of resources that it may bring along", submissions.MOST_STRANGE)
    yield _row("bytes of a log in one answer", logs.MOST_BYTES)
    yield _row("to wait for more of a log in one request", _seconds(logs.LONGEST_WAIT_S))


def _applications() -> Iterable[tuple[str, str, str]]:
    config = ServerConfig()
    yield _row("connections of applications to the broker at once", listener.MOST)
    yield _row("streams and calls at once, of one of these", service.MOST_STREAMS)
    yield _row("bytes of one message of an application", service.MOST_BYTES)
    yield _row("characters of the reason that an application gives", calls.MOST_WHY)
    yield _row("bytes of a log file before it is rotated; one older file is kept", config.log_limit, "log_limit")
    yield from _configured("compare_every", "retention.")


def _seconds(count: float) -> str:
    return show_duration(round(count * SECOND))
