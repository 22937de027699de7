"""A driver with a pretended machine under it: processes are entries of a dict, and time is what the test says."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import cede
from cede.engine.drive.driver import Driver
from cede.engine.drive.facts import AskWhy, Began, Checkpointed, CheckpointFailed, Deferral, Exited, Fact, Heard, Submit
from cede.engine.drive.job import Job
from cede.engine.drive.options import LIVE, DriverOptions
from cede.engine.drive.orders import Hint, Kill, Launch, Order, Terminate
from cede.engine.drive.step import Step
from cede.engine.drive.terms import Terms
from cede.model.cluster import ClusterFile, Workload
from cede.model.lifecycle import Phase
from cede.model.plan import Decision
from cede.model.times import SECOND
from cede.state.columns import NODE_STATES

SIGNALS = {"term": 15, "kill": 9}


@dataclass(slots=True)
class Process:
    """One attempt of a workload as the machine has it."""

    name: str
    attempt: int
    nodes: tuple[str, ...]
    resume: bool
    began: bool = False
    hint: int = 0
    told: bool = False
    killed: bool = False


class World:
    """Feeds a driver and carries out its orders in the order they were given."""

    def __init__(self, document: ClusterFile, *, now: int = 1000, ways: DriverOptions = LIVE) -> None:
        self.document = document
        self.ways = ways
        self.seconds = float(now)
        self.driver = Driver(document, now * SECOND, ways)
        self.processes: dict[tuple[str, int], Process] = {}
        self.launched: set[tuple[str, int]] = set()
        self.steps: list[Step] = []
        self.inputs: list[tuple[int, list[Fact]]] = []
        self.ended: dict[str, Job] = {}
        self.stored: dict[str, Job] = {}
        """The records as a store would have them: of every step what it says has changed."""
        self.kept: Mapping[str, Any] = {}
        """The same for what the doctrine remembers."""
        self.restarts = 0

    def feed(self, *facts: Fact, after: float = 0) -> Step:
        """One step, so many seconds later."""
        self.seconds += after
        at = int(self.seconds * SECOND)
        self.inputs.append((at, list(facts)))
        step = self.driver.feed(at, facts)
        self.steps.append(step)
        self.stored |= {name: copy_of(job) for name, job in step.changed.items()}
        self.kept = self.kept if step.kept is None else json.loads(json.dumps(step.kept))
        self.ended |= {name: job for name, job in step.changed.items() if name not in self.driver.jobs}
        self.obey(step.orders)
        return step

    def ask_why(self) -> Step:
        """Those that wait are told why."""
        return self.feed(AskWhy())

    def wait(self, seconds: float) -> Step:
        return self.feed(after=seconds)

    def obey(self, orders: Sequence[Order]) -> None:
        for order in orders:
            key = (order.name, order.attempt)
            match order:
                case Launch():
                    if key in self.launched:
                        continue
                    alive = [name for name, _ in self.processes if name == order.name]
                    assert not alive, f"{order.name} is started while it still runs"
                    self.launched.add(key)
                    self.processes[key] = Process(order.name, order.attempt, order.nodes, order.resume)
                case Hint():
                    if key in self.processes:
                        self.processes[key].hint = order.hint
                case Terminate():
                    if key in self.processes:
                        self.processes[key].told = True
                case Kill():
                    if key in self.processes:
                        self.processes[key].told = self.processes[key].killed = True

    # -- what happens in the world -----------------------------------------------------------------------------

    def submit(self, name: str, *, terms: Terms | None = None, after: float = 0, **values: Any) -> Step:
        return self.feed(Submit(workload(self.document, name, **values), terms or Terms()), after=after)

    def begin(self, name: str, after: float = 0) -> Step:
        process = self.process(name)
        process.began = True
        return self.feed(Began(name, process.attempt), after=after)

    def run(self, name: str, *, terms: Terms | None = None, **values: Any) -> None:
        """Submit a workload that fits, and let it begin."""
        self.submit(name, terms=terms, **values)
        self.begin(name)

    def save(self, name: str, after: float = 0) -> Step:
        process = self.process(name)
        return self.feed(Checkpointed(name, process.attempt, process.hint), after=after)

    def heard(self, name: str, progress: float | None = None, after: float = 0) -> Step:
        process = self.process(name)
        return self.feed(Heard(name, process.attempt, process.hint, progress), after=after)

    def defer(self, name: str, seconds: float, after: float = 0) -> int:
        """It asks to be left alone for so long; the seconds that it was granted."""
        process = self.process(name)
        step = self.feed(Deferral(name, process.attempt, process.hint, int(seconds * SECOND)), after=after)
        return step.granted[name] // SECOND

    def cannot_save(self, name: str, why: str = "disk full", after: float = 0) -> Step:
        process = self.process(name)
        return self.feed(CheckpointFailed(name, process.attempt, process.hint, why), after=after)

    def exit(self, name: str, code: int | None = 0, after: float = 0, **values: Any) -> Step:
        """All its processes are gone: by themselves, or as they were told."""
        process = self.process(name)
        del self.processes[name, process.attempt]
        told = values.pop("told", process.told)
        signal = values.pop("signal", (9 if process.killed else 15) if told else None)
        fact = Exited(name, process.attempt, None if signal else code, signal, told=told, **values)
        return self.feed(fact, after=after)

    def retry(self, name: str) -> Step:
        """The wait after its failure is over."""
        at = self.job(name).retry_at
        assert at is not None, f"{name} does not wait for another try"
        return self.wait(at / SECOND - self.seconds)

    def restart(self) -> None:
        """The driver is lost and made again from what was stored; the orders in force come again."""
        self.restarts += 1
        jobs = [copy_of(job) for job in self.stored.values()]
        state = self.driver.state
        words = {name: NODE_STATES[state.nodes.state[row]] for name, row in state.node_index.items()}
        number = max((made.number for step in self.steps for made in step.decisions), default=0) + 1
        self.driver = Driver.restore(
            self.document,
            int(self.seconds * SECOND),
            jobs,
            next_decision=number,
            node_states=words,
            kept=self.kept,
            ways=self.ways,
        )
        self.obey(self.driver.outstanding())

    # -- questions ---------------------------------------------------------------------------------------------

    def process(self, name: str) -> Process:
        found = [process for process in self.processes.values() if process.name == name]
        assert len(found) == 1, f"{name} has {len(found)} attempts under way"
        return found[0]

    def job(self, name: str) -> Job:
        return self.driver.jobs[name] if name in self.driver.jobs else self.ended[name]

    def phase(self, name: str) -> Phase:
        return self.job(name).phase

    def phases(self) -> dict[str, str]:
        return {name: str(job.phase) for name, job in sorted(self.driver.jobs.items())}

    def orders(self, name: str) -> list[str]:
        """The kinds of all orders about a workload, in order."""
        return [type(one).__name__ for step in self.steps for one in step.orders if one.name == name]

    def told(self, name: str) -> list[str]:
        """Everything that was recorded of a workload, as signals."""
        return [str(one.signal) for step in self.steps for one in step.transitions if one.name == name]


def as_planned(decision: Decision) -> Decision:
    """A decision without what only a driver knows of its victims: how long they took to save their work."""
    return replace(decision, victims=tuple(replace(victim, saving="") for victim in decision.victims))


def copy_of(job: Job) -> Job:
    return replace(job, leaving=None if job.leaving is None else replace(job.leaving))


def workload(document: ClusterFile, name: str, **values: Any) -> Workload:
    """An entry as a submission makes it: amounts by name, everything else by its key."""
    keys = set(Workload.model_fields)
    entry = {key: value for key, value in values.items() if key in keys}
    amounts = {key: value for key, value in values.items() if key not in keys}
    queues = [{"name": queue.name} for queue in document.queues]
    if len(queues) == 1:
        entry.setdefault("queue", queues[0]["name"])
    if "pod_sets" not in entry:
        entry["requests"] = amounts
    doctrine = {"name": document.doctrine.name} if document.doctrine else None
    nodes = [{"name": node.name, "capacity": {}} for node in document.nodes]
    data = {"cede": 1, "doctrine": doctrine, "nodes": nodes, "queues": queues, "workloads": [{"name": name, **entry}]}
    return cede.load(data).document.workloads[0]
