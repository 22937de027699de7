"""Whatever happens to a driver: nothing runs twice, nothing is overfilled, nothing is forgotten."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

import cede
from cede.engine.drive.deciding import MOST_PLANS
from cede.engine.drive.driver import Driver
from cede.engine.drive.facts import (
    AskCheckpoint,
    Cancel,
    Checkpointed,
    CheckpointFailed,
    Deferral,
    Fact,
    Heard,
    Resume,
    SetNode,
    Suspend,
)
from cede.engine.drive.terms import Terms
from cede.model.document import dump_document
from cede.model.lifecycle import FINAL, PRESENT, TABLE, Phase, Signal
from cede.model.times import SECOND
from cede.state.columns import STATES
from tests.drive_world import World, as_planned
from tests.properties.drive_clusters import CLUSTERS
from tests.sampling import many

WORDS = {
    Phase.PENDING: {"pending"},
    Phase.SUSPENDED: {"suspended"},
    Phase.HELD: {"reserved"},
    Phase.STARTING: {"running", "preempting"},
    Phase.RUNNING: {"running"},
    Phase.CHECKPOINTING: {"running", "checkpointing", "preempting"},
    Phase.PREEMPTING: {"checkpointing", "preempting"},
    Phase.CANCELLING: {"checkpointing", "preempting"},
}
MOST = 10
"""Workloads at once; with more of them most only wait."""
MODES = st.sampled_from(["none", "auto", "auto", "manual"])
SAYS = ["done", "done", "dumped", "own", "failed", "heard", "defer"]
HOW = ["as it should", "well", "badly", "lost", "unseen", "never", "by its walltime", "by a stranger"]
ASKS = ["cancel", "suspend", "force", "resume", "checkpoint", "checkpoint"]


def machine_of(data: dict[str, Any]) -> type[RuleBasedStateMachine]:
    document = cede.load(data).document
    queues = [queue.name for queue in document.queues if queue.name != "pool"]
    nodes = [node.name for node in document.nodes]
    keys = {"priority", "job_priority"} if document.doctrine and document.doctrine.edition == "26.8" else {"priority"}
    quota = sum((queue.guaranteed or {}).get("cpu", 0) for queue in document.queues)
    apps = [None, *("exp" for _ in document.apps), *(app.name for app in document.apps)]

    class Drive(RuleBasedStateMachine):
        def __init__(self) -> None:
            super().__init__()
            self.world = World(document)
            self.numbers = itertools.count(1)
            self.cancelled: dict[str, int] = {}

        @initialize()
        def begin(self) -> None:
            self.world.wait(0)

        def pick(self, data: st.DataObject, names: list[str]) -> str:
            return data.draw(st.sampled_from(sorted(names)))

        def running(self, **having: bool) -> list[str]:
            found = self.world.processes.values()
            return [p.name for p in found if all(bool(getattr(p, key)) == value for key, value in having.items())]

        @precondition(lambda self: len(self.world.driver.jobs) < MOST)
        @rule(
            cpu=st.integers(1, 4),
            members=st.integers(1, 3),
            priority=st.integers(0, 9),
            mode=MODES,
            answers=st.sampled_from([True, True, False]),
            begins=st.sampled_from([True, True, False]),
            requeue=st.sampled_from(["never", "on_node_failure", "always"]),
            queue=st.sampled_from(queues),
            walltime=st.sampled_from([None, None, 50, 2000]),
            hold=st.sampled_from([None, 20]),
            app=st.sampled_from(apps),
        )
        def submit(self, cpu: int, members: int, priority: int, mode: str, begins: bool, **more: Any) -> None:
            requeue, hold, answers = more.pop("requeue"), more.pop("hold"), more.pop("answers")
            limit = None if hold is None else hold * SECOND
            terms = Terms(answers=answers, requeue=requeue, hold_timeout=limit)
            more = {key: value for key, value in more.items() if value is not None}
            self.enter(priority, terms, members=members, cpu=cpu, checkpoint={"mode": mode}, **more)
            for waiting in self.running(began=False) if begins else ():
                self.world.begin(waiting)

        def enter(self, priority: int, terms: Terms, **more: Any) -> None:
            name = f"w{next(self.numbers)}"
            self.world.submit(name, terms=terms, **dict.fromkeys(sorted(keys), priority), **more)

        @precondition(lambda self: len(self.world.driver.jobs) < MOST)
        @rule(
            queue=st.sampled_from(queues),
            size=st.sampled_from([2, 4]),
            requeue=st.sampled_from(["never", "always"]),
            walltime=st.sampled_from([None, 50]),
            app=st.sampled_from(apps),
        )
        def fills(self, queue: str, size: int, requeue: Any, walltime: int | None, app: str | None) -> None:
            """Workloads that save and make way for almost anybody take whatever is free."""
            more: dict[str, Any] = {} if walltime is None else {"walltime": walltime}
            more |= {} if app is None else {"app": app}
            for _ in range(6 // size):
                terms = Terms(answers=True, requeue=requeue)
                self.enter(1, terms, cpu=size, queue=queue, checkpoint={"mode": "auto"}, **more)
            for waiting in self.running(began=False):
                self.world.begin(waiting)

        @precondition(lambda self: len(self.world.driver.jobs) < MOST)
        @rule(queue=st.sampled_from(queues), members=st.integers(1, 2), priority=st.integers(4, 9))
        def claims(self, queue: str, members: int, priority: int) -> None:
            """One for whom others must leave."""
            terms = Terms(answers=True)
            self.enter(priority, terms, cpu=4, members=members, queue=queue, checkpoint={"mode": "auto"})

        @precondition(lambda self: self.running(began=False))
        @rule(data=st.data())
        def begins(self, data: st.DataObject) -> None:
            self.world.begin(self.pick(data, self.running(began=False)))

        @precondition(lambda self: self.world.processes)
        @rule(data=st.data(), how=st.sampled_from(HOW))
        def exits(self, data: st.DataObject, how: str) -> None:
            name = self.pick(data, self.running())
            ways: dict[str, dict[str, Any]] = {
                "as it should": {},
                "well": {"told": False, "signal": None},
                "badly": {"told": False, "signal": None, "code": 3},
                "lost": {"told": False, "signal": None, "code": None, "lost": True},
                "unseen": {"told": True, "signal": None, "code": None, "lost": True},
                "never": {"told": False, "signal": None, "code": None, "error": "no such program"},
                "by its walltime": {"told": True, "signal": 15, "code": None, "walltime": True},
                "by a stranger": {"told": True, "signal": 15, "code": None},
            }
            self.world.exit(name, **ways[how])

        @precondition(lambda self: self.running(told=True))
        @rule(data=st.data())
        def obeys(self, data: st.DataObject) -> None:
            self.world.exit(self.pick(data, self.running(told=True)))

        @precondition(lambda self: self.world.processes)
        @rule(data=st.data(), what=st.sampled_from(SAYS))
        def answers(self, data: st.DataObject, what: str) -> None:
            asked = [p.name for p in self.world.processes.values() if p.hint and not p.told]
            process = self.world.process(self.pick(data, asked or self.running()))
            name, attempt, hint = process.name, process.attempt, process.hint
            facts: dict[str, Fact] = {
                "done": Checkpointed(name, attempt, hint),
                "dumped": Checkpointed(name, attempt, hint, leaves=bool(hint)),
                "own": Checkpointed(name, attempt, 0),
                "failed": CheckpointFailed(name, attempt, hint, "disk full"),
                "heard": Heard(name, attempt, hint, 0.5),
                "defer": Deferral(name, attempt, hint, 100 * SECOND),
            }
            self.world.feed(facts[what])

        @precondition(lambda self: self.world.driver.jobs)
        @rule(data=st.data(), what=st.sampled_from(ASKS))
        def asks(self, data: st.DataObject, what: str) -> None:
            name = self.pick(data, list(self.world.driver.jobs))
            facts: dict[str, Fact] = {
                "cancel": Cancel(name, "ann"),
                "suspend": Suspend(name, "ann"),
                "force": Suspend(name, "ann", force=True),
                "resume": Resume(name, "ann"),
                "checkpoint": AskCheckpoint(name, "ann"),
            }
            self.world.feed(facts[what])
            if what == "cancel":
                self.cancelled[name] = self.world.job(name).attempt

        @precondition(lambda _: bool(nodes))
        @rule(
            node=st.sampled_from(nodes or [""]),
            word=st.sampled_from(["ready", "cordoned", "down"]),
            evict=st.booleans(),
        )
        def sets_node(self, node: str, word: str, evict: bool) -> None:
            self.world.feed(SetNode(node, word, "ann", evict))

        @rule(seconds=st.sampled_from([0.001, 1, 5, 31, 301, 700]))
        def waits(self, seconds: float) -> None:
            self.world.wait(seconds)

        @rule()
        def restarts(self) -> None:
            self.world.seconds += 0.001
            at = int(self.world.seconds * SECOND)
            before = dump_document(self.world.driver.snapshot(at))
            self.world.restart()
            assert dump_document(self.world.driver.snapshot(at)) == before

        @invariant()
        def no_node_is_overfilled(self) -> None:
            capacity = {node.name: node.capacity["cpu"] for node in document.nodes}
            for process in self.world.processes.values():
                job = self.world.driver.jobs.get(process.name)
                assert job is not None, f"{process.name} runs and nobody knows it"
                assert job.phase in PRESENT
                assert job.attempt == process.attempt
                for node in process.nodes:
                    capacity[node] -= job.workload.requests["cpu"]
            assert min(capacity.values(), default=0) >= 0

        @invariant()
        def no_quota_is_overfilled(self) -> None:
            present = [self.world.driver.jobs[process.name].workload for process in self.world.processes.values()]
            assert not quota or sum(one.requests["cpu"] * one.members for one in present) <= quota

        @invariant()
        def who_was_cancelled_never_runs_again(self) -> None:
            for process in self.world.processes.values():
                assert process.attempt <= self.cancelled.get(process.name, process.attempt)

        @invariant()
        def whatever_is_waited_for_has_an_end(self) -> None:
            wakes_at = self.world.steps[-1].wakes_at if self.world.steps else None
            for job in self.world.driver.jobs.values():
                waits = job.phase not in (Phase.PENDING, Phase.SUSPENDED, Phase.RUNNING)
                slowed = (job.retry_at, job.evicts_after) != (None, None)
                assert (job.deadline is not None) == (waits or slowed), job
                assert (job.leaving is None) or job.phase not in (Phase.PENDING, Phase.SUSPENDED, Phase.RUNNING)
                if job.deadline is not None and not self.world.restarts:
                    assert wakes_at is not None
                    assert wakes_at <= job.deadline

        @invariant()
        def columns_and_phases_agree(self) -> None:
            state = self.world.driver.state
            for name, job in self.world.driver.jobs.items():
                assert job.phase not in FINAL
                if job.out_of_line and job.phase in (Phase.PENDING, Phase.SUSPENDED):
                    assert name not in state.work_index
                else:
                    assert STATES[state.work.state[state.work_index[name]]] in WORDS[job.phase]
            assert set(state.work_index) <= set(self.world.driver.jobs)

        @invariant()
        def who_is_present_has_processes(self) -> None:
            alive = {process.name for process in self.world.processes.values()}
            assert {name for name, job in self.world.driver.jobs.items() if job.phase in PRESENT} == alive

        @invariant()
        def only_with_a_checkpoint_is_one_suspended(self) -> None:
            for job in self.world.driver.jobs.values():
                assert job.phase is not Phase.SUSPENDED or job.checkpoint is not None

        @invariant()
        def whatever_changed_is_said_to_have_changed(self) -> None:
            """A restart finds all of it. Only of what stands in one's way the latest numbers may be missing."""
            for name, job in self.world.driver.jobs.items():
                assert replace(self.world.stored[name], why="") == replace(job, why="")

        @invariant()
        def every_hold_waits_for_somebody_and_ends(self) -> None:
            for job in self.world.driver.jobs.values():
                if job.phase is Phase.HELD:
                    assert job.deadline is not None
                    assert set(job.waits_for) <= {p.name for p in self.world.processes.values()}

        @invariant()
        def every_move_is_in_the_table(self) -> None:
            step = self.world.steps[-1] if self.world.steps else None
            for one in step.transitions if step else ():
                if isinstance(one.signal, Signal) and one.before is not None:
                    assert TABLE[one.before, one.signal] is one.after
                assert one.why

        @invariant()
        def plans_are_lawful(self) -> None:
            assert not any(step.problems for step in self.world.steps[-1:])

        @precondition(lambda _: document.doctrine is not None and document.doctrine.name == "ytsaurus")
        @invariant()
        def the_file_of_a_moment_decides_the_same(self) -> None:
            """Of other doctrines a file does not say all that they remember."""
            for made in [made for step in self.world.steps[-1:] for made in step.decisions if made.decision.victims]:
                assert made.cluster is not None
                again = cede.plan(cede.load(dump_document(made.cluster)), misses=False)
                first = next(one for one in again.decisions if one.victims)
                # What becomes of a victim is for its own policy to say, which no file has.
                fates = [victim.fate for victim in made.decision.victims]
                victims = tuple(replace(one, fate=fate) for one, fate in zip(first.victims, fates, strict=True))
                assert as_planned(made.decision) == replace(first, victims=victims)

        @invariant()
        def deciding_comes_to_an_end(self) -> None:
            assert all(step.plans < MOST_PLANS for step in self.world.steps[-1:])

        @invariant()
        def nobody_is_preempted_twice_for_one_decision(self) -> None:
            taken = [
                (made.number, victim.workload)
                for step in self.world.steps
                for made in step.decisions
                for victim in made.decision.victims
            ]
            assert len(taken) == len(set(taken))

        def teardown(self) -> None:
            """What the driver was told, told again to another one, gives the same steps."""
            if any(step.plans for step in self.world.steps) and not self.restarted():
                again = Driver(document, 1000 * SECOND)
                for step, (at, facts) in zip(self.world.steps, self.world.inputs, strict=True):
                    repeated = again.feed(at, facts)
                    assert repeated.transitions == step.transitions
                    assert repeated.orders == step.orders

        def restarted(self) -> bool:
            return len(self.world.steps) != len(self.world.inputs) or self.world.restarts > 0

    return Drive


@pytest.mark.drawn
@pytest.mark.parametrize("which", sorted(CLUSTERS))
def test_nothing_runs_twice_or_is_lost_whatever_happens(which: str) -> None:
    quick = settings(max_examples=many(20), stateful_step_count=40, suppress_health_check=list(HealthCheck))
    run_state_machine_as_test(machine_of(CLUSTERS[which]), settings=quick)
