"""One replay as a user asks for it, checked before anybody sees it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from cede.doctrines.catalog import doctrine_of
from cede.engine.cluster import Cluster
from cede.engine.whatif import WhatIf, cluster_if
from cede.sim.choices import Choices, asked
from cede.sim.measures.conservation import check
from cede.sim.measures.costliest import costliest
from cede.sim.replay import Watch
from cede.sim.result import Result
from cede.sim.simulate import UnlawfulError, prepare, replay
from cede.sim.traces.trace import Trace

STOPPED = "The replay was interrupted: nothing is known of what comes after."


class UnsoundError(Exception):
    """A replay broke a rule or does not add up: a fault of Cede's, not of what was given."""


def check_doctrine(choice: str | None) -> None:
    """An InputError if there is no such doctrine or edition, or it is not built; said before any word on settings."""
    if choice is not None:
        doctrine_of(cluster_if({"cede": 1}, WhatIf(choice)).document.doctrine)


def ready(trace: Trace, cluster: Cluster, choices: Choices) -> None:
    """Everything that can be known to be wrong before a replay begins, as an InputError."""
    document = cluster.document
    doctrine_of(document.doctrine)
    made, wishes = asked(trace, cluster, choices, {})
    prepare(made, cluster, wishes)


def run(
    trace: Trace, cluster: Cluster, choices: Choices, settings: Mapping[str, Any], watch: Watch | None = None
) -> Result:
    """The result, of which everything adds up; an UnsoundError if it does not.

    `settings` are told beside it. Of the moments those of the costliest preemptions are kept.
    """
    doctrine_of(cluster.document.doctrine)
    made, wishes = asked(trace, cluster, choices, settings)
    interrupted = False

    def looks(now: int, submitted: int, finished: int) -> bool:
        nonlocal interrupted
        interrupted = watch is not None and not watch(now, submitted, finished)
        return not interrupted

    try:
        result = replay(made, cluster, wishes, looks)
    except UnlawfulError as error:
        raise UnsoundError(str(error)) from error
    if wrong := check(result):
        raise UnsoundError(f"the replay does not add up: {wrong[0]}")
    wanted = costliest(result, choices.moments)["decision"].to_list()
    moments = {number: result.moments[number] for number in sorted(set(wanted)) if number in result.moments}
    return replace(result, moments=moments, notes=(*result.notes, STOPPED) if interrupted else result.notes)
