"""What `cede bench ytsaurus` measures: fair share updates and heartbeats beside plain ones over all operations."""

from __future__ import annotations

import gc
import random
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np

from bench.measures import Timing, timed
from bench.naive.ytsaurus import Did, Scheduler
from bench.pool_trees import LARGE, PRODUCTION, SEED, Size, pool_tree
from bench.ytsaurus_accuracy import accuracy, agree, same
from cede.doctrines.catalog import find
from cede.doctrines.document import parse_document
from cede.doctrines.parts.doctrine import Cycle
from cede.doctrines.ytsaurus import rules
from cede.doctrines.ytsaurus.decide import updated
from cede.doctrines.ytsaurus.heartbeat import HeartbeatOutcome, Heartbeats
from cede.doctrines.ytsaurus.memory import memory_of
from cede.doctrines.ytsaurus.starvation import Memory
from cede.doctrines.ytsaurus.update import Update
from cede.engine.cycle import plan_state
from cede.engine.events import Ended, Event, Started, Submitted, apply
from cede.model.cluster import Workload
from cede.model.errors import CedeError
from cede.model.garbage import collecting_no_garbage
from cede.state.build import build
from cede.state.state import State
from cede.state.trial import Trial

UPDATES, QUICK_UPDATES = 15, 5
ROUNDS, QUICK_ROUNDS = 60, 20
QUICK_PART = 0.2
BARS_MS = {"update": 1_000, "event": 20, "heartbeat": 2}
NOTHING, STARVING, AGGRESSIVE, STARTS = "nothing", "starving", "aggressive", "a start"
KINDS = (NOTHING, STARVING, AGGRESSIVE, STARTS)


@dataclass(frozen=True, slots=True)
class Beat:
    """One heartbeat: where, what it did, and its seconds."""

    node: str
    kind: str
    did: list[Did]
    seconds: float


class Standing:
    """A cluster that events keep current, and its document as it was at first."""

    def __init__(self, size: Size) -> None:
        self.size = size
        self.document = pool_tree(size)
        self.state: State = build(parse_document(self.document))
        self.running = [entry for entry in self.document["workloads"] if "nodes" in entry]

    @property
    def counts(self) -> dict[str, int]:
        waiting = len(self.document["workloads"]) - len(self.running)
        size = self.size
        counts = {"pools": size.pools, "operations": size.operations, "nodes": size.nodes}
        return counts | {"running": len(self.running), "waiting": waiting}

    def cycle(self, trial: Trial, memory: dict[str, Any]) -> Cycle:
        return Cycle(self.state, trial, "25.4", misses=False, memory=memory)

    def updates(self, rounds: int) -> list[float]:
        """Seconds of full updates, as of a cluster that was just loaded."""
        with _quiet():
            return [timed(lambda: Update(self.state, Memory())) for _ in range(rounds)]

    def beats(self, rounds: int) -> tuple[list[Beat], list[float]]:
        """Heartbeats on up to so many nodes of each sort, each the first of its cycle; and the seconds before each."""
        update = Update(self.state, Memory())
        with _quiet(), Trial(self.state) as trial:
            Heartbeats(self.cycle(trial, {}), update).cycle_usage.all_groups()
            found = [self._beat(node, update, trial) for node in self._nodes(rounds)]
        return [beat for beat, _ in found], [seconds for _, seconds in found]

    def _beat(self, node: int, update: Update, trial: Trial) -> tuple[Beat, float]:
        made: list[Heartbeats] = []
        taken: list[HeartbeatOutcome] = []
        before = timed(lambda: made.append(Heartbeats(self.cycle(trial, {}), update)))
        seconds = timed(lambda: taken.extend(made[0].beat(node, preemptive=True)))
        trial.undo()
        return Beat(self.state.node_names[node], _kind(taken), [self._did(one) for one in taken], seconds), before

    def _nodes(self, rounds: int) -> list[int]:
        """Nodes with room for somebody, nodes with GPUs and other nodes, drawn by lot."""
        draw, names = random.Random(SEED), self.state.units.index
        free, capacity = self.state.nodes.free[:, : self.size.nodes], self.state.nodes.capacity[:, : self.size.nodes]
        roomy = free[names["cpu"]] > 0
        gpus = capacity[names["gpu"]] > 0 if "gpu" in names else np.zeros_like(roomy)
        found: list[int] = []
        for mask, times in ((roomy, 1), (gpus & ~roomy, 1), (~gpus & ~roomy, 2)):
            among = np.flatnonzero(mask).tolist()
            found += draw.sample(among, min(times * rounds, len(among)))
        return found

    def _did(self, taken: HeartbeatOutcome) -> Did:
        names = self.state.work_names
        victims = [] if taken.here is None else [names[int(taken.here.rows[at])] for at in taken.victims]
        return names[taken.row], victims

    def events(self, rounds: int) -> dict[str, list[float]]:
        """Seconds of the update after one event, by kind: one ends, another comes, and starts in its place."""
        samples: dict[str, list[float]] = {}
        with _quiet(), Trial(self.state) as trial:
            cycle = self.cycle(trial, {})
            memory = memory_of(cycle)
            updated(cycle, memory)
            kept = updated(cycle, memory)
            for entry in random.Random(SEED).sample(self.running, min(rounds, len(self.running))):
                for kind, event in _life(entry):
                    apply(self.state, event)
                    samples.setdefault(kind, []).append(timed(lambda: updated(cycle, memory)))
        if memory.update is not kept:
            raise CedeError("an update after one event was made from everything")
        same(kept, Update(self.state, Memory()))
        return samples

    def plan(self) -> dict[str, Any]:
        """One whole cycle of a cluster that was just loaded: the update, a heartbeat of every node, and who waits."""
        made: list[Any] = []
        seconds = timed(lambda: made.append(plan_state(self.state, find("ytsaurus"), misses=False)))
        acts = [one.action for one in made[0].decisions]
        return {
            "seconds": seconds,
            "decisions": len(acts),
            "start": acts.count("start"),
            "preempt": acts.count("preempt"),
        }


def _quiet() -> AbstractContextManager[None]:
    """As a cycle runs: without collecting garbage."""
    gc.collect()
    return collecting_no_garbage()


def _kind(taken: list[HeartbeatOutcome]) -> str:
    if not taken:
        return NOTHING
    if any(one.rule is rules.STARTS for one in taken):
        return STARTS
    return AGGRESSIVE if taken[0].rule is rules.AGGRESSIVE else STARVING


def _life(entry: dict[str, Any]) -> Iterator[tuple[str, Event]]:
    asked = {key: entry[key] for key in ("queue", "app", "requests", "submitted")}
    other = Workload.model_validate(asked | {"name": f"{entry['name']}-again"})
    yield "an allocation ends", Ended(entry["name"])
    yield "a workload comes", Submitted(other)
    yield "a workload starts", Started(other.name, tuple(entry["nodes"]))


# -- everything --------------------------------------------------------------------------------------------------------


def measured(operations: list[int], *, quick: bool, tell: Callable[[str], object]) -> dict[str, Any]:
    """Everything that `bench ytsaurus` reports, as plain data; times in seconds."""
    *smaller, largest = (LARGE.part(count / LARGE.operations) for count in sorted(operations))
    production = PRODUCTION.part(QUICK_PART) if quick else PRODUCTION
    how = (QUICK_UPDATES, QUICK_ROUNDS) if quick else (UPDATES, ROUNDS)
    first = _tree(production, how, tell, naive=True)
    trees = [_tree(size, how, tell) for size in smaller]
    last = _tree(largest, how, tell, naive=True, plan=True)
    growth = [_growth([*trees, last], what) for what in ("update", "event", "heartbeat")]
    return {"updates": how[0], "rounds": how[1], "bars_ms": BARS_MS, "trees": [first, last], "growth": growth}


def _tree(
    size: Size, how: tuple[int, int], tell: Callable[[str], object], *, naive: bool = False, plan: bool = False
) -> dict[str, Any]:
    """All measures of one tree; `how` often updates and other things are timed; `naive`: beside plain objects."""
    updates, rounds = how
    named = f"{size.operations:,} operations"
    tell(f"{named}: the cluster")
    ours = Standing(size)
    tell(f"{named}: updates and heartbeats")
    full, (beats, starts) = ours.updates(updates), ours.beats(rounds)
    found = {**ours.counts, "update": _timing(full), "start": _timing(starts), "heartbeats": _heartbeats(beats)}
    if naive:
        tell(f"{named}: naively")
        found |= naively(ours, beats, rounds)
    if plan:
        tell(f"{named}: a whole plan")
        found["plan"] = ours.plan()
    tell(f"{named}: events")
    found["events"] = {kind: _timing(samples) for kind, samples in ours.events(rounds).items()}
    return found


def _timing(samples: list[float]) -> dict[str, Any]:
    timing = Timing.of(samples)
    return {"rounds": len(samples), "p50": timing.p50, "p99": timing.p99}


def _heartbeats(beats: list[Beat]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for kind in KINDS:
        mine = [beat for beat in beats if beat.kind == kind]
        if mine:
            victims = median(sum(len(gone) for _, gone in beat.did) for beat in mine)
            found[kind] = _timing([beat.seconds for beat in mine]) | {"victims": victims}
    return found


def naively(ours: Standing, beats: list[Beat], rounds: int) -> dict[str, Any]:
    """The same update and heartbeats over plain objects, which must give the same shares and take the same victims."""
    update = Update(ours.state, Memory())
    plain = Scheduler(ours.document)
    gc.collect()
    seconds = timed(plain.update)
    worst = agree(update, plain.forest)
    samples: dict[str, list[float]] = {}
    for beat in beats:
        samples.setdefault(beat.kind, []).append(_alike(plain, beat))
    heartbeats = {kind: median(found) for kind, found in samples.items()}
    exact = accuracy(update, ours.document, rounds)
    return {"naive": {"update": seconds, "heartbeats": heartbeats}, "accuracy": {"naive": worst, **exact}}


def _alike(plain: Scheduler, beat: Beat) -> float:
    """Seconds of the naive heartbeat of the same node, which must do the same."""
    answers: list[list[Did]] = []
    seconds = timed(lambda: answers.append(plain.heartbeat(beat.node)))
    if answers[0] != beat.did:
        raise CedeError(f"heartbeat of {beat.node}: {beat.did}, the naive one {answers[0]}")
    return seconds


def _growth(trees: list[dict[str, Any]], what: str) -> dict[str, Any]:
    """What the middle of a measure grows by from the smallest of these trees to the largest."""

    def middle(tree: dict[str, Any]) -> float:
        if what == "update":
            return float(tree["update"]["p50"])
        among = tree["events"] if what == "event" else tree["heartbeats"]
        return float(median(row["p50"] for row in among.values()))

    sizes = [{"operations": tree["operations"], "p50": middle(tree)} for tree in trees]
    first, last = sizes[0], sizes[-1]
    return {
        "what": what,
        "sizes": sizes,
        "growth": last["p50"] / first["p50"],
        "bar": last["operations"] / first["operations"],
    }
