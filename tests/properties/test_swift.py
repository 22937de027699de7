"""The short way to what acts leads where the whole plan leads, through whatever happens."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cede.engine.drive.driver import Driver
from cede.engine.drive.facts import Cancel, Checkpointed, Exited, Fact, SetNode, Submit
from cede.engine.drive.orders import Hint, Launch
from cede.engine.drive.step import Step
from cede.engine.drive.terms import Terms
from cede.engine.drive.ways import Backfill, Ways
from cede.model.cluster import Workload
from cede.model.document import parse_document
from cede.model.times import SECOND

QUICK = Ways(reasons=False, at_once=True, walltimes=False)
WHOLE = Ways(reasons=True, at_once=True, walltimes=False)
BACKFILLS: tuple[Backfill, ...] = ("off", "strict", "easy")


def cluster(nodes: list[tuple[int, int]], threshold: int, order: str, limit: int | None) -> Any:
    keys: dict[str, Any] = {"settings": {"preemptible_priority": threshold, "preemption_order": order}}
    if limit is not None:
        keys["max"] = {"gpu": limit}
    return parse_document(
        {
            "cede": 1,
            "doctrine": "backendai",
            "nodes": [
                {"name": f"n{n}", "capacity": {"gpu": gpu, "cpu": cpu}, "labels": {"group": f"g{n % 2}"}}
                for n, (gpu, cpu) in enumerate(nodes)
            ],
            "queues": [{"name": "a", **keys}, {"name": "b", "settings": keys["settings"]}],
        }
    )


def job(number: int, drawn: tuple[Any, ...]) -> Workload:
    queue, priority, gpu, cpu, members, placement, walltime, flags = drawn
    return Workload.model_validate(
        {
            **({} if walltime is None else {"walltime": walltime}),
            "name": f"w{number:03}",
            "queue": queue,
            "priority": priority,
            "requests": {"gpu": gpu, "cpu": cpu},
            "members": members,
            "placement": placement,
            "preemptible": flags != "stays",
            "preempts": flags != "meek",
            "checkpoint": {"mode": "auto" if flags == "saves" else "none"},
        }
    )


JOBS = st.tuples(
    st.sampled_from("ab"),
    st.sampled_from([0, 5, 10, 20]),
    st.integers(1, 4),
    st.integers(0, 4),
    st.sampled_from([1, 1, 1, 2, 3]),
    st.sampled_from(["any", "any", "any", "tight", "spread"]),
    st.sampled_from([None, 2, 5, 20]),
    st.sampled_from(["", "", "saves", "stays", "meek"]),
)
EVENTS = st.lists(
    st.tuples(
        st.sampled_from(["submit", "submit", "submit", "end", "end", "leave", "cancel", "node"]),
        st.integers(0, 40),
        JOBS,
    ),
    min_size=4,
    max_size=40,
)


class Twin:
    """One driver and the processes that its orders started."""

    def __init__(self, document: Any, ways: Ways) -> None:
        self.driver = Driver(document, 0, ways)
        self.running: dict[str, int] = {}
        self.leaving: dict[str, int] = {}
        self.hinted: dict[str, tuple[int, int]] = {}

    def feed(self, at: int, facts: list[Fact]) -> Step:
        step = self.driver.feed(at * SECOND, facts)
        assert not step.problems
        for order in step.orders:
            if isinstance(order, Launch):
                self.running[order.name] = order.attempt
            elif isinstance(order, Hint):
                self.hinted[order.name] = (order.attempt, order.hint)
            elif order.name in self.running:
                self.leaving[order.name] = self.running.pop(order.name)
        return step


def acted(step: Step) -> tuple[Any, ...]:
    """All that a step did: preemptions with their reasons, orders, refusals."""
    made = [
        (made.decision.workload, made.decision.action, made.decision.nodes, made.decision.victims, made.decision.why)
        for made in step.decisions
        if made.decision.victims
    ]
    return made, step.orders, [(refusal.fact, refusal.rule) for refusal in step.refusals]


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 4), st.integers(1, 8)), min_size=1, max_size=4),
    st.sampled_from([3, 10, 100]),
    st.sampled_from(["oldest", "newest"]),
    st.sampled_from([None, None, 6]),
    st.sampled_from(BACKFILLS),
    EVENTS,
)
def test_what_acts_is_what_the_whole_plan_decides(
    nodes: list[tuple[int, int]], threshold: int, order: str, limit: int | None, backfill: Backfill, events: list[Any]
) -> None:
    document = cluster(nodes, threshold, order, limit)
    twins = [Twin(document, replace(ways, backfill=backfill)) for ways in (QUICK, WHOLE)]
    terms = Terms(answers=True)
    for at, (what, pick, drawn) in enumerate(events, start=1):
        one = twins[0]
        facts: list[Fact] = []
        if what == "submit":
            facts.append(Submit(job(at, drawn), terms if drawn[-1] == "saves" else Terms()))
        elif what == "end" and one.running:
            name = sorted(one.running)[pick % len(one.running)]
            facts.append(Exited(name, one.running[name], 0))
        elif what == "leave" and (one.leaving or one.hinted):
            names = sorted(one.leaving) or sorted(one.hinted)
            name = names[pick % len(names)]
            if name in one.leaving:
                facts.append(Exited(name, one.leaving[name], signal=15, told=True))
            else:
                facts.append(Checkpointed(name, *one.hinted[name]))
        elif what == "cancel" and one.driver.jobs:
            facts.append(Cancel(sorted(one.driver.jobs)[pick % len(one.driver.jobs)]))
        elif what == "node":
            facts.append(SetNode(f"n{pick % len(nodes)}", ("ready", "cordoned")[pick % 2]))
        steps = [twin.feed(at, facts) for twin in twins]
        assert acted(steps[0]) == acted(steps[1])
        for twin in twins:
            for fact in facts:
                if isinstance(fact, Exited):
                    twin.running.pop(fact.name, None)
                    twin.leaving.pop(fact.name, None)
                    twin.hinted.pop(fact.name, None)
                elif isinstance(fact, Checkpointed):
                    twin.hinted.pop(fact.name, None)
            for order_ in steps[0].orders:
                if isinstance(order_, Launch):
                    twin.running[order_.name] = order_.attempt


@pytest.mark.parametrize("ways", [QUICK, WHOLE])
def test_a_workload_that_can_never_run_is_turned_away(ways: Ways) -> None:
    twin = Twin(cluster([(2, 2)], 10, "oldest", None), ways)
    step = twin.feed(1, [Submit(job(1, ("a", 5, 4, 1, 1, "any", None, "")))])
    assert [refusal.rule for refusal in step.refusals] == ["backendai.fits-no-node"] or step.refusals
    assert not twin.driver.jobs
