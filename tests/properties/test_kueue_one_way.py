"""Kueue's short way to what acts leads where the whole plan leads, through whatever happens."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from cede.doctrines.document import parse_document
from cede.doctrines.kueue import classical
from cede.engine.drive.facts import Cancel, Checkpointed, Exited, Fact, Restarted, Resume, SetNode, Submit, Suspend
from cede.engine.drive.options import DriverOptions
from cede.engine.drive.terms import Terms
from tests.properties.kueue_clusters import BORROW, FUNGIBILITY, Dice, Document
from tests.properties.twins import Twins, entry
from tests.sampling import examples

REPLAY = DriverOptions(at_once=True, walltimes=False)
QUEUES = ("q0", "q1", "q2", "q3")


@st.composite
def lives(draw: DrawFn) -> tuple[Document, list[tuple[str, int, int, Document]]]:
    """A cluster without work, and what happens to it: after how long, to whom, and what is submitted."""
    dice = Dice(draw)
    mode, recheck, flavors, size, depth, trees, many, usual = dice.pick(
        ("Classical", "Classical", "FairSharing"),
        (False, True),
        (["default"], ["default"], ["default"], ["spot"], ["spot", "fast"]),
        (0, 1, 2, 3, 4),
        (1, 1, 2),
        (1, 1, 2),
        range(8, 36),
        (True, True, False),
    )
    doctrine: Document = {"name": "kueue", "preemption": mode}
    if mode == "FairSharing":
        doctrine["recheck_final_set"] = recheck
    nodes = [_node(dice, number, flavors) for number in range(size)]
    queues = [_queue(dice, name, flavors, depth, trees, usual=usual) for name in QUEUES]
    if depth == 2:
        queues.append({"name": "left", "parent": "pool"})
    document = {"cede": 1, "doctrine": doctrine, "nodes": nodes, "queues": queues}
    return document, [_event(dice, flavors) for _ in range(many)]


def _node(dice: Dice, number: int, flavors: list[str]) -> Document:
    cpu, gpu = dice.pick((2, 3, 4, 6), (0, 1, 2, 4))
    made: Document = {
        "name": f"n{number}",
        "capacity": {"cpu": cpu, "gpu": gpu},
        "labels": {"group": f"g{number // 2}"},
    }
    return made if flavors == ["default"] else made | {"flavor": flavors[number % len(flavors)]}


def _queue(dice: Dice, name: str, flavors: list[str], depth: int, trees: int, *, usual: bool) -> Document:
    within, reclaim, borrow, fungibility, strict, borrowing, lending, most, together, weight = dice.pick(
        ("LowerPriority", "LowerPriority", "LowerOrNewerEqualPriority", "Never"),
        ("Any", "LowerPriority", "Never"),
        BORROW,
        FUNGIBILITY,
        (False, False, True),
        (None, None, None, 0, 2),
        (None, None, None, 0, 2),
        (None,) * 7 + (4,),
        (True, False),
        (1, 1, 3, 0.3),
    )
    rules: Document = {"withinClusterQueue": within, "reclaimWithinCohort": reclaim}
    if borrow is not None and reclaim != "Never":
        rules["borrowWithinCohort"] = borrow
    if fungibility is not None:
        rules["flavorFungibility"] = fungibility
    if strict:
        rules["queueingStrategy"] = "StrictFIFO"
    quota: Document = {}
    for flavor in flavors:
        cpu, gpu = dice.pick((0, 2, 3, 5), (0, 1, 2, 3))
        quota |= {f"cpu@{flavor}": cpu, f"gpu@{flavor}": gpu}
    groups = [["cpu", "gpu"]] if together else [["cpu"], ["gpu"]]
    made: Document = {
        "name": name,
        "parent": "other" if trees > 1 and name == "q3" else "left" if depth > 1 and name != "q0" else "pool",
        "guaranteed": quota,
        "weight": weight,
        "resource_groups": [{"resources": group, "flavors": flavors} for group in groups],
        "settings": rules,
    }
    if not usual:
        limits = {"borrowing_limit": borrowing, "lending_limit": lending}
        made |= {key: {f"cpu@{flavors[0]}": limit} for key, limit in limits.items() if limit is not None}
        made |= {} if most is None else {"max": {"cpu": most}}
    return made


def _event(dice: Dice, flavors: list[str]) -> tuple[str, int, int, Document]:
    what, pick, after = dice.pick(
        ("submit",) * 10 + ("end",) * 6 + ("leave",) * 4 + ("cancel", "node", "suspend", "resume", "restarted", "time"),
        range(40),
        (0, 1, 1, 1, 40),
    )
    queue, priority, cpu, gpu, members, placement, form, flag = dice.pick(
        QUEUES,
        (0, 0, 1, 2, 3),
        (1, 1, 1, 2, 3, "1999400u"),
        (None, None, 0, 1, "500m"),
        (1, 1, 1, 2, 3),
        ("any", "any", "any", "tight", "spread"),
        ("plain",) * 8 + ("shrinks", "parts", "pinned"),
        ("", "", "", "saves", "stays", "meek"),
    )
    requests: Document = {f"cpu@{flavors[0]}" if form == "pinned" else "cpu": cpu}
    requests |= {} if gpu is None else {"gpu": gpu}
    kind: Document = {"queue": queue, "priority": priority, "placement": placement}
    kind |= {"preemptible": flag != "stays", "preempts": flag != "meek"}
    kind["checkpoint"] = {"mode": "auto" if flag == "saves" else "none"}
    if form == "shrinks":
        kind["pod_sets"] = [{"name": "main", "count": members + 1, "requests": requests, "min_count": 1}]
    elif form == "parts":
        kind["pod_sets"] = [
            {"name": "head", "count": 1, "requests": {"cpu": 1}},
            {"name": "rest", "count": members, "requests": requests},
        ]
    else:
        kind |= {"members": members, "requests": requests}
    return what, pick, after, kind


def facts_of(twins: Twins, what: str, pick: int, kind: Document, size: int) -> list[Fact]:
    world, jobs = twins.world, sorted(twins.quick.jobs)
    match what:
        case "submit":
            terms = Terms(answers=True) if kind["checkpoint"]["mode"] == "auto" else Terms()
            return [Submit(entry(f"w{twins.at // 1_000_000:05}-{pick:02}", kind), terms)]
        case "end" if world.running:
            name = sorted(world.running)[pick % len(world.running)]
            return [Exited(name, world.running[name], 0)]
        case "leave" if world.leaving:
            name = sorted(world.leaving)[pick % len(world.leaving)]
            return [Exited(name, world.leaving[name], signal=15, told=True)]
        case "leave" if world.hinted:
            name = sorted(world.hinted)[pick % len(world.hinted)]
            return [Checkpointed(name, *world.hinted[name])]
        case "node" if size:
            return [SetNode(f"n{pick % size}", ("ready", "cordoned")[pick % 2])]
        case "restarted":
            return [Restarted()]
        case "cancel" | "suspend" | "resume" if jobs:
            asked: dict[str, Any] = {"cancel": Cancel, "suspend": Suspend, "resume": Resume}
            return [asked[what](jobs[pick % len(jobs)])]
    return []


@examples(60)
@given(lives())
def test_what_acts_is_what_the_whole_plan_decides(life: tuple[Document, list[tuple[str, int, int, Document]]]) -> None:
    _agree(life)


@examples(40)
@given(lives())
def test_a_walk_along_lines_that_is_cut_short_leads_there_too(
    life: tuple[Document, list[tuple[str, int, int, Document]]],
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(classical, "MOST_IN_LINE", 1)
        _agree(life)


def _agree(life: tuple[Document, list[tuple[str, int, int, Document]]]) -> None:
    document, events = life
    twins = Twins(parse_document(document), REPLAY)
    for what, pick, after, kind in events:
        twins.feed(after, *facts_of(twins, what, pick, kind, len(document["nodes"])))
    twins.look()
