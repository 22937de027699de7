"""The short way to what acts leads where the whole plan leads, through whatever happens."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cede.engine.drive.facts import (
    AskCheckpoint,
    Began,
    Cancel,
    Checkpointed,
    CheckpointFailed,
    Deferral,
    Estimated,
    Exited,
    Fact,
    Heard,
    PutNode,
    PutQueue,
    Restarted,
    Resume,
    SetNode,
    Submit,
    Suspend,
)
from cede.engine.drive.terms import Terms
from cede.engine.drive.ways import Backfill, Ways
from cede.model.cluster import Node, Queue
from cede.model.times import SECOND, Instant
from tests.properties.twins import Twins, cluster, entry, node

BACKFILLS: tuple[Backfill, ...] = ("off", "strict", "easy")
PRIORITIES = st.sampled_from([0, 5, 10, 20, None])
SHAPES = {
    "gpu": st.sampled_from([1, 1, 2, 2, 3, 4]),
    "cpu": st.sampled_from([0, 1, 2, 4]),
    "members": st.sampled_from([1, 1, 1, 1, 2, 3]),
    "walltime": st.sampled_from([None, 2, 5, 20]),
}


def _kind(drawn: dict[str, Any]) -> dict[str, Any]:
    requests = {"gpu": drawn.pop("gpu"), "cpu": drawn.pop("cpu"), **drawn.pop("more", {})}
    flags = drawn.pop("flags")
    parts = drawn.pop("parts", False)
    made = {
        **drawn,
        "requests": requests,
        "preemptible": flags != "stays",
        "preempts": flags != "meek",
        "kind": "system" if flags == "system" else "batch",
        "checkpoint": {"mode": "auto"} if flags == "saves" else None,
    }
    if parts:
        del made["members"]
        made["pod_sets"] = [
            {"name": "one", "count": 1, "requests": made.pop("requests")},
            {"name": "two", "count": 2, "requests": {"cpu": 1}},
        ]
    return made


FLAGS = st.sampled_from(["", "", "", "saves", "saves", "stays", "meek", "system"])
PLAIN = st.fixed_dictionaries(
    {**SHAPES, "queue": st.sampled_from(["a", "b", "b", "c"]), "flags": FLAGS, "priority": PRIORITIES}
).map(_kind)
ODD = st.fixed_dictionaries(
    {**SHAPES, "queue": st.sampled_from(["a", "b", "c"]), "flags": FLAGS, "priority": PRIORITIES},
    optional={
        "placement": st.sampled_from(["tight", "spread"]),
        "exclusive": st.just(True),
        "required_node": st.sampled_from(["n0", "n1"]),
        "constraints": st.sampled_from([{"labels": {"kind": "k0"}}, {"nodes": ["n0"]}]),
        "more": st.sampled_from([{"gpu": "0.5"}, {"disk": 1}, {"cpu": "250m"}]),
        "parts": st.just(True),
        "user": st.just("ann"),
    },
).map(_kind)
KINDS = st.lists(st.one_of(PLAIN, PLAIN, PLAIN, ODD), min_size=1, max_size=5)
TERMS = st.builds(
    Terms,
    checkpoint_timeout=st.sampled_from([3 * SECOND, 600 * SECOND]),
    grace_period=st.sampled_from([1 * SECOND, 30 * SECOND]),
    hold_timeout=st.sampled_from([None, None, 2 * SECOND]),
    max_deferral=st.just(4 * SECOND),
    requeue=st.sampled_from(["never", "on_node_failure", "always"]),
    answers=st.booleans(),
)
WHAT = st.sampled_from(
    [
        *["submit"] * 10,
        *["end"] * 6,
        *["leave"] * 3,
        *("fail", "lose", "begin", "save", "saved", "unsaved", "defer", "heard", "takes", "cancel", "cancel"),
        *("suspend", "resume", "ask", "node", "node", "put node", "put queue", "restarted"),
    ]
)
ACTS = st.lists(st.tuples(WHAT, st.integers(0, 60)), min_size=0, max_size=4)
STEPS = st.lists(
    st.tuples(st.sampled_from([0, 1, 1, 1, 2, 3, 10, 100]), ACTS, st.sampled_from(["", "", "", "look", "restore"])),
    min_size=3,
    max_size=25,
)
BUSY = st.lists(
    st.tuples(
        st.sampled_from([0, 1, 1, 2, 3]),
        st.lists(
            st.tuples(
                st.sampled_from([*["submit"] * 7, *["end"] * 4, "leave", "saved", "fail", "cancel", "node"]),
                st.integers(0, 60),
            ),
            min_size=1,
            max_size=5,
        ),
        st.sampled_from([""] * 5 + ["look"]),
    ),
    min_size=3,
    max_size=15,
)
LINE = st.fixed_dictionaries(
    {
        "gpu": st.integers(1, 4),
        "cpu": st.sampled_from([0, 0, 1]),
        "members": st.sampled_from([1, 1, 1, 2]),
        "walltime": st.sampled_from([2, 4, 7, 20, None]),
        "queue": st.sampled_from(["a", "b", "b", "c"]),
        "flags": st.sampled_from(["", "", "saves", "stays"]),
        "priority": st.sampled_from([5, 5, 5, 5, 8]),
    },
).map(_kind)
LINES = st.lists(LINE, min_size=2, max_size=6)
CLUSTERS = st.fixed_dictionaries(
    {
        "nodes": st.lists(st.tuples(st.integers(1, 4), st.integers(1, 8)), min_size=1, max_size=4),
        "threshold": st.sampled_from([3, 10, 100]),
        "order": st.sampled_from(["oldest", "newest"]),
        "limit": st.sampled_from([None, None, None, 6]),
        "mode": st.sampled_from([None, "suspend", "terminate"]),
        "partitions": st.sampled_from([1, 1, 1, 2]),
    }
)


class Life:
    """What is drawn, made into facts about the twins as they are."""

    def __init__(self, twins: Twins, shape: dict[str, Any], kinds: list[dict[str, Any]], terms: Terms) -> None:
        self.twins = twins
        self.shape = shape
        self.kinds = kinds
        self.terms = terms
        self.names = 0

    def fact(self, what: str, pick: int) -> Fact | None:
        world, jobs = self.twins.world, sorted(self.twins.quick.jobs)
        known = {"end": world.running, "fail": world.running, "lose": world.running | world.leaving}
        known |= {"begin": world.running, "leave": world.leaving, "save": world.running, "takes": world.running}
        if what == "submit":
            return self.submit(pick)
        if what in known:
            names = sorted(known[what])
            return self.of_attempt(what, names[pick % len(names)], known[what]) if names else None
        if what in ("saved", "unsaved", "defer", "heard"):
            names = sorted(world.hinted)
            return self.answer(what, names[pick % len(names)], pick) if names else None
        if what in ("cancel", "suspend", "resume", "ask"):
            return self.asked(what, jobs[pick % len(jobs)], pick) if jobs else None
        return self.of_cluster(what, pick)

    def submit(self, pick: int) -> Fact:
        """Names are sometimes those of jobs that were there before, and sometimes of some that still are."""
        kind = dict(self.kinds[pick % len(self.kinds)])
        self.names += 1
        name = f"w{self.names:03}" if pick % 4 else f"w{pick % 3:03}"
        if pick % 5 == 1:
            kind["uid"] = f"u{pick:03}"
        made = entry(name, kind)
        return Submit(made if pick % 7 else made.model_copy(update={"submitted": Instant(0)}), self.terms)

    def of_attempt(self, what: str, name: str, known: dict[str, int]) -> Fact:
        attempt = known[name]
        made: dict[str, Fact] = {
            "end": Exited(name, attempt, 0),
            "fail": Exited(name, attempt, 1),
            "lose": Exited(name, attempt, lost=True),
            "leave": Exited(name, attempt, signal=15, told=True),
            "begin": Began(name, attempt),
            "save": Checkpointed(name, attempt),
            "takes": Estimated(name, attempt, 7),
        }
        return made[what]

    def answer(self, what: str, name: str, pick: int) -> Fact:
        attempt, hint = self.twins.world.hinted[name]
        made: dict[str, Fact] = {
            "saved": Checkpointed(name, attempt, hint, leaves=pick % 3 == 0),
            "unsaved": CheckpointFailed(name, attempt, hint),
            "defer": Deferral(name, attempt, hint, 3 * SECOND),
            "heard": Heard(name, attempt, hint, 0.5),
        }
        return made[what]

    def asked(self, what: str, name: str, pick: int) -> Fact:
        if what == "suspend":
            return Suspend(name, force=bool(pick % 2))
        made: dict[str, Fact] = {"cancel": Cancel(name), "resume": Resume(name), "ask": AskCheckpoint(name)}
        return made[what]

    def of_cluster(self, what: str, pick: int) -> Fact:
        number = pick % len(self.shape["nodes"])
        gpu, cpu = self.shape["nodes"][number]
        if what == "node":
            word = ("ready", "ready", "cordoned", "down")[pick % 4]
            return SetNode(f"n{number}", word, evict=pick % 3 == 0)
        if what == "put node":
            made = node(number + pick % 2, 1 + (gpu + pick) % 4, cpu, partitions=self.shape["partitions"])
            return PutNode(Node.model_validate(made))
        if what == "put queue":
            made = {"name": "abc"[pick % 3], "settings": {"preemptible_priority": pick}}
            if pick % 4 == 0:
                made["max"] = {"gpu": 5}
            return PutQueue(Queue.model_validate(made))
        return Restarted()


def live(
    shape: dict[str, Any], kinds: list[dict[str, Any]], terms: Terms, ways: Ways, steps: list[tuple[int, Any, str]]
) -> None:
    """A life of two drivers; every step of it is compared."""
    twins = Twins(cluster(**shape), ways)
    life = Life(twins, shape, kinds, terms)
    for after, acts, then in steps:
        facts = [fact for act in acts if (fact := life.fact(*act)) is not None]
        twins.feed(after, *facts)
        if then == "look":
            twins.look()
        elif then == "restore":
            twins.restore()
    twins.look()


@pytest.mark.slow
@settings(max_examples=150)
@given(CLUSTERS, KINDS, TERMS, st.sampled_from(BACKFILLS), st.sampled_from([True, True, False]), st.booleans(), STEPS)
def test_what_acts_is_what_the_whole_plan_decides(
    shape: dict[str, Any],
    kinds: list[dict[str, Any]],
    terms: Terms,
    backfill: Backfill,
    at_once: bool,
    walltimes: bool,
    steps: list[tuple[int, Any, str]],
) -> None:
    live(shape, kinds, terms, Ways(at_once=at_once, walltimes=walltimes, backfill=backfill), steps)


@pytest.mark.slow
@settings(max_examples=150)
@given(CLUSTERS, LINES, TERMS, st.sampled_from(BACKFILLS), BUSY)
def test_a_line_of_plain_workloads_moves_as_the_whole_plan_moves_it(
    shape: dict[str, Any], kinds: list[dict[str, Any]], terms: Terms, backfill: Backfill, steps: list[Any]
) -> None:
    live(shape, kinds, terms, Ways(at_once=True, walltimes=False, backfill=backfill), steps)


@pytest.mark.parametrize("reasons", [True, False])
def test_a_workload_that_can_never_run_is_turned_away(reasons: bool) -> None:
    twins = Twins(cluster([(2, 2)]), Ways(at_once=True))
    step = twins.feed(1, Submit(entry("w", {"queue": "a", "requests": {"gpu": 4, "cpu": 1}})))
    assert [refusal.rule for refusal in step.refusals] == ["backendai.fits-no-node"]
    assert not (twins.whole if reasons else twins.quick).jobs
