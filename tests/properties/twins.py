"""Drivers that hear the same facts, with the short ways, with whole plans, and with nothing kept; one world for all."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, field, fields, replace
from typing import Any

from cede.doctrines.document import parse_document
from cede.doctrines.parts.doctrine import BRISK
from cede.engine.cycle import choice_of, plan_state
from cede.engine.drive.driver import Driver
from cede.engine.drive.facts import AskWhy, Checkpointed, Exited, Fact
from cede.engine.drive.job import Job
from cede.engine.drive.options import DriverOptions
from cede.engine.drive.orders import Hint, Launch
from cede.engine.drive.rules import NEXT_CYCLE, STILL_LEFT
from cede.engine.drive.step import Step, Transition
from cede.model.cluster import ClusterFile, Workload
from cede.model.lifecycle import WAITING
from cede.model.plan import Victim
from cede.model.times import SECOND
from cede.state.snapshot import snapshot

WORDS = {"rule", "why"}
"""What only whole plans put in a job's record."""
RECORD = [each.name for each in fields(Job) if each.name not in WORDS]


def cluster(
    nodes: list[tuple[int, int]],
    *,
    threshold: int = 10,
    order: str = "oldest",
    limit: int | None = None,
    mode: str | None = None,
    partitions: int = 1,
) -> ClusterFile:
    """Queues a (perhaps with a limit) and b on nodes n0, n1, ...; c in a partition of its own, if there are two."""
    settings = {"preemptible_priority": threshold, "preemption_order": order}
    if mode is not None:
        settings["preemption_mode"] = mode
    other = {"partition": "other"} if partitions > 1 else {}
    return parse_document(
        {
            "cede": 1,
            "doctrine": "backendai",
            "nodes": [node(n, gpu, cpu, partitions=partitions) for n, (gpu, cpu) in enumerate(nodes)],
            "queues": [
                {"name": "a", "settings": settings, **({} if limit is None else {"max": {"gpu": limit}})},
                {"name": "b", "settings": settings},
                {"name": "c", "settings": settings, **other},
            ],
        }
    )


def node(number: int, gpu: int, cpu: int, *, partitions: int = 1) -> dict[str, Any]:
    """An entry of a node; every third is in the other partition, if there are two."""
    other = {"partition": "other"} if partitions > 1 and number % 3 == 1 else {}
    labels = {"group": f"g{number % 2}", "kind": f"k{number % 2}"}
    return {"name": f"n{number}", "capacity": {"gpu": gpu, "cpu": cpu}, "labels": labels, **other}


def entry(name: str, kind: dict[str, Any]) -> Workload:
    """A workload of this kind."""
    return Workload.model_validate({"name": name, **{key: value for key, value in kind.items() if value is not None}})


@dataclass
class World:
    """The processes that orders started, as far as facts about them can be made up."""

    running: dict[str, int] = field(default_factory=dict)
    leaving: dict[str, int] = field(default_factory=dict)
    hinted: dict[str, tuple[int, int]] = field(default_factory=dict)

    def obey(self, step: Step) -> None:
        for order in step.orders:
            if isinstance(order, Launch):
                self.running[order.name] = order.attempt
                self.leaving.pop(order.name, None)
                self.hinted.pop(order.name, None)
            elif isinstance(order, Hint):
                self.hinted[order.name] = (order.attempt, order.hint)
            elif order.name in self.running:
                self.leaving[order.name] = self.running.pop(order.name)

    def hear(self, facts: list[Fact]) -> None:
        for fact in facts:
            if isinstance(fact, Exited):
                for known in (self.running, self.leaving, self.hinted):
                    known.pop(fact.name, None)
            elif isinstance(fact, Checkpointed):
                self.hinted.pop(fact.name, None)


class Twins:
    """`quick` goes the short ways, `whole` makes whole plans, and so does `anew`, which works everything out again from
    the state as it is, in every step. `told` goes the short ways, tells reasons as a server does,
    and is asked now and then why those wait that do. Whatever they do is compared."""

    def __init__(self, document: ClusterFile, ways: DriverOptions, *, alike: bool = True) -> None:
        self.alike = alike
        words, live = replace(ways, reasons=True, words=True), replace(ways, reasons=True)
        self.ways = (replace(ways, reasons=False), words, words, live)
        self.quick, self.whole, self.anew, self.told = (Driver(document, 0, each) for each in self.ways)
        self.steps = 0
        self.world = World()
        self.at = 0

    def feed(self, after: int, *facts: Fact) -> Step:
        """All hear of this so many seconds later; what follows is the same."""
        self.at += after * SECOND
        self.world.hear(list(facts))
        # As if nodes or queues had changed: nobody may go on from what it worked out before.
        self.anew.state.journal.reshaped += 1
        quick, whole, anew = (driver.feed(self.at, facts) for driver in (self.quick, self.whole, self.anew))
        assert quick.problems == whole.problems == anew.problems == []
        assert acted(quick) == acted(whole) == acted(anew)
        assert quick.wakes_at == whole.wakes_at
        assert records(self.quick) == records(self.whole) == records(self.anew)
        if self.alike:
            assert anew.wakes_at == whole.wakes_at
        self.tell(facts, whole)
        self.world.obey(quick)
        return quick

    def tell(self, facts: tuple[Fact, ...], whole: Step) -> None:
        """The one that is asked did the same, with the same decisions and reasons for all that moved."""
        self.steps += 1
        asks = self.steps % 3 == 0
        step = self.told.feed(self.at, [*facts, AskWhy()] if asks else facts)
        assert step.problems == []
        assert step.decisions == whole.decisions
        assert (step.orders, step.refusals, step.granted) == (whole.orders, whole.refusals, whole.granted)
        assert step.wakes_at == whole.wakes_at
        assert moves(step) == moves(whole)
        assert records(self.told) == records(self.whole)
        if asks and step.plans and self.ways[0].backfill == "off":
            assert not self.told.untold
            assert reasons(self.told) == now_waits(self.whole)
            self.look()

    def look(self) -> None:
        """The moment is the same as a document; looking brings the columns of the quick one up to date."""
        quick, whole, anew = (document_of(driver) for driver in (self.quick, self.whole, self.anew))
        assert quick == whole
        assert anew == whole or not self.alike
        roll = self.told._roll
        assert snapshot(roll.state, roll.entries) == snapshot(roll.state)

    def restore(self) -> None:
        """All are made again from what is kept of them."""
        drivers = []
        for driver, ways in zip((self.quick, self.whole, self.anew, self.told), self.ways, strict=True):
            moment = driver.snapshot()
            states: dict[str, str] = {each.name: each.state for each in moment.nodes}
            drivers.append(
                Driver.restore(
                    moment.model_copy(update={"workloads": []}),
                    self.at,
                    deepcopy(list(driver.jobs.values())),
                    next_decision=driver._roll.next_decision,
                    node_states=states,
                    ways=ways,
                )
            )
        self.quick, self.whole, self.anew, self.told = drivers


def acted(step: Step) -> tuple[Any, ...]:
    """All that a step did: preemptions with their reasons, orders, refusals, time that was granted.

    What victims cost is told to those alone who ask for reasons.
    """
    made = [
        (made.number, each.workload, each.action, each.nodes, [unpriced(victim) for victim in each.victims], each.why)
        for made in step.decisions
        if (each := made.decision).victims
    ]
    return made, step.orders, [(refusal.fact, refusal.rule, refusal.why) for refusal in step.refusals], step.granted


def unpriced(victim: Victim) -> Victim:
    return replace(victim, cost=None, lost_gpu_hours=None, saving="")


def moves(step: Step) -> list[Transition]:
    """All that was told but why those wait that do."""
    return [told for told in step.transitions if told.signal not in ("wait", "refuse")]


def reasons(driver: Driver) -> dict[str, tuple[str, str]]:
    """Why those wait that a plan decides about, by name."""
    waits = (job for job in driver.jobs.values() if job.phase in WAITING and not job.out_of_line)
    return {job.name: (job.rule, job.why) for job in waits if job.evicts_after is None}


def now_waits(driver: Driver) -> dict[str, tuple[str, str]]:
    """The same, as a whole plan of this moment has it."""
    roll, found = driver._roll, reasons(driver)
    memory = roll.doctrine.copied(roll.memory)
    whole = choice_of(roll.state).edition in roll.doctrine.traits.transactional
    journal, roll.state.journal = roll.state.journal, roll.state.journal.aside()
    made = plan_state(roll.state, roll.doctrine, misses=False, memory=memory, effort=BRISK, carried_out=whole)
    roll.state.journal = journal
    for one in made.decisions:
        if one.workload not in found:
            continue
        if one.action in ("wait", "refuse"):
            found[one.workload] = one.rule, one.why
        elif found[one.workload][0] != STILL_LEFT.id:  # it would act, and nobody asked for another plan
            found[one.workload] = NEXT_CYCLE.id, NEXT_CYCLE.because(why=one.why)
    return found


def records(driver: Driver) -> dict[str, dict[str, Any]]:
    """The jobs under way with all that is kept of them but the reason why they wait."""
    return {name: {key: getattr(job, key) for key in RECORD} for name, job in driver.jobs.items()}


def document_of(driver: Driver) -> dict[str, Any]:
    """The moment as a document, whose workloads may stand in any order."""
    made = driver.snapshot().model_dump()
    made["workloads"] = {entry["name"]: entry for entry in made["workloads"]}
    return made
