"""Lives of two drivers that hear the same: what is drawn, made into facts about them as they are."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from hypothesis import strategies as st

from cede.engine.drive.driver import Driver
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
from cede.engine.drive.options import DriverOptions
from cede.engine.drive.terms import Terms
from cede.model.cluster import ClusterFile, Node, Queue
from cede.model.times import SECOND, Instant
from tests.properties.twins import Twins, entry, node

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
    """What is drawn, made into facts about the twins as they are. `queue` makes the entry of a queue that changes."""

    def __init__(
        self,
        twins: Twins,
        shape: dict[str, Any],
        kinds: list[dict[str, Any]],
        terms: Terms,
        queue: Callable[[int], dict[str, Any]],
    ) -> None:
        self.queue = queue
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
            return PutQueue(Queue.model_validate(self.queue(pick)))
        return Restarted()


def live(
    document: ClusterFile,
    shape: dict[str, Any],
    kinds: list[dict[str, Any]],
    terms: Terms,
    ways: DriverOptions,
    steps: list[tuple[int, Any, str]],
    queue: Callable[[int], dict[str, Any]],
    look_at: Callable[[Driver], None] = lambda _: None,
    alike: bool = True,
) -> Twins:
    """A life of several drivers; every step of it is compared. `look_at` the quick one after each."""
    twins = Twins(document, ways, alike=alike)
    life = Life(twins, shape, kinds, terms, queue)
    for after, acts, then in steps:
        facts = [fact for act in acts if (fact := life.fact(*act)) is not None]
        twins.feed(after, *facts)
        look_at(twins.quick)
        if then == "look":
            twins.look()
        elif then == "restore":
            twins.restore()
    twins.look()
    return twins


def busy(seed: int, steps: int = 60) -> tuple[list[tuple[int, list[tuple[str, int]], str]], Random]:
    """Steps of a crowded cluster: more comes than goes, who is told to go soon leaves; and the dice to draw on with."""
    dice = Random(seed)
    usual = [*["submit"] * 9, *["end"] * 5, *["leave"] * 6, "saved", "saved"]
    rare = [
        "fail",
        "lose",
        "begin",
        "save",
        "unsaved",
        "defer",
        "cancel",
        "suspend",
        "resume",
        "ask",
        "node",
        "restarted",
    ]
    found = []
    for _ in range(steps):
        acts = [
            (dice.choice(usual if dice.random() < 0.93 else rare), dice.randrange(10_000))
            for _ in range(dice.randint(0, 3))
        ]
        if dice.random() < 0.02:
            acts.append((dice.choice(["put node", "put queue"]), dice.randrange(10_000)))
        then = dice.choice(["look", "restore"]) if dice.random() < 0.05 else ""
        found.append((dice.choice([0, 1, 1, 1, 2, 3, 10]), acts, then))
    return found, dice
