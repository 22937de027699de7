"""Who may pass a workload that waits for room at the head of its line, and what the others are told."""

from __future__ import annotations

from typing import Any

import pytest

from cede.doctrines.document import parse_document
from cede.engine.drive.driver import Driver
from cede.engine.drive.facts import AskWhy, Exited, Submit
from cede.engine.drive.options import Backfill, DriverOptions
from cede.engine.drive.orders import Launch
from cede.model.cluster import Workload
from cede.model.times import SECOND

DOCTRINES: dict[str, Any] = {
    "backendai": {"doctrine": "backendai"},
    "backendai 26.8": {"doctrine": {"name": "backendai", "edition": "26.8"}},
    "kueue": {"doctrine": "kueue"},
    "lattice": {"doctrine": "lattice"},
    "lattice core": {"doctrine": {"name": "lattice", "edition": "core"}},
}


def driver(doctrine: str, backfill: Backfill, reasons: bool, *, words: bool = False) -> Driver:
    quota = {"guaranteed": {"cpu": 8}} if doctrine == "kueue" else {}
    nodes: list[dict[str, Any]] = [{"name": name, "capacity": {"cpu": 4}} for name in ("n1", "n2")]
    if doctrine == "lattice core":  # in a single group a gang has a lower score than one that needs one node
        nodes = [{**node, "labels": {"group": node["name"]}} for node in nodes]
    document = parse_document(
        {
            "cede": 1,
            **DOCTRINES[doctrine],
            "nodes": nodes,
            "queues": [{"name": "q", **quota}],
        }
    )
    return Driver(
        document, 0, DriverOptions(reasons=reasons, words=words, at_once=True, walltimes=False, backfill=backfill)
    )


def submit(name: str, cpu: int, walltime: int | None, members: int = 1) -> Submit:
    length = {} if walltime is None else {"walltime": walltime}
    entry = {"name": name, "queue": "q", "members": members, "requests": {"cpu": cpu}, "priority": 5, **length}
    return Submit(Workload.model_validate(entry))


def started(made: Driver, at: int, *facts: Any) -> set[str]:
    step = made.feed(at * SECOND, facts)
    assert not step.problems
    return {order.name for order in step.orders if isinstance(order, Launch)}


@pytest.mark.parametrize("reasons", [True, False])
@pytest.mark.parametrize("doctrine", DOCTRINES)
@pytest.mark.parametrize(
    ("backfill", "pass_at_once"),
    [("strict", set()), ("easy", {"short", "beside"})],
)
def test_who_passes_a_gang_that_waits(doctrine: str, reasons: bool, backfill: Backfill, pass_at_once: set[str]) -> None:
    """Six of eight processors are taken; the head needs three on each node, and one on each stays beside it."""
    made = driver(doctrine, backfill, reasons, words=reasons)
    assert started(made, 0, submit("first", 3, 100)) == {"first"}
    assert started(made, 1, submit("gang", 3, 50, members=2), submit("other", 3, 200)) <= {"gang", "other"}
    assert started(made, 2, submit("head", 3, 50, members=2)) == set()
    later = (submit("short", 1, 50), submit("beside", 1, 500), submit("long", 2, 500))
    assert started(made, 3, *later) == (pass_at_once if backfill == "easy" else set())


@pytest.mark.parametrize("doctrine", ["backendai", "kueue"])
def test_without_walltimes_easy_holds_nobody_back(doctrine: str) -> None:
    made = driver(doctrine, "easy", reasons=True)
    assert started(made, 0, submit("first", 3, None), submit("second", 3, None)) == {"first", "second"}
    assert started(made, 1, submit("head", 4, None), submit("small", 1, None)) == {"small"}


def test_who_is_held_back_is_told_why() -> None:
    made = driver("backendai", "easy", reasons=True)
    started(made, 0, submit("first", 3, 100), submit("second", 3, 100))
    started(made, 1, submit("head", 4, 50, members=2), submit("long", 1, 500), AskWhy())
    assert made.jobs["long"].rule == "live.would-delay"
    assert "head" in made.jobs["long"].why
    assert started(made, 50, Exited("first", 1, 0), Exited("second", 1, 0)) == {"head"}


def test_nobody_passes_under_strict_and_is_told_whom() -> None:
    made = driver("backendai", "strict", reasons=True)
    started(made, 0, submit("first", 3, None), submit("second", 3, None))
    started(made, 1, submit("head", 4, None), submit("small", 1, None), AskWhy())
    assert made.jobs["small"].rule == "live.behind-the-head"
