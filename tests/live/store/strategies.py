"""Jobs, facts, transitions and decisions of every kind, for Hypothesis."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from cede.engine.drive.facts import (
    AskCheckpoint,
    Began,
    Cancel,
    Checkpointed,
    CheckpointFailed,
    Deferral,
    Exited,
    Heard,
    PutNode,
    PutQueue,
    Restarted,
    Resume,
    SetNode,
    Stuck,
    Submit,
    Suspend,
)
from cede.engine.drive.job import Job, Leaving
from cede.engine.drive.step import Transition
from cede.engine.drive.terms import Terms
from cede.live.task import Task
from cede.model.cluster import Node, Queue, Workload
from cede.model.lifecycle import Phase, Signal
from cede.model.plan import CONDITIONS, Candidate, Decision, Miss, Until, Victim, Warning
from cede.model.times import LONGEST, Instant
from tests.strategies import draw_node, draw_queue, draw_workload

# Half a character too: an application may say anything.
TEXTS = st.text(st.characters(codec=None), max_size=12)
WHOLE_TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
"""Entries of a cluster file have whole characters only."""
NAMES = st.text("abcxyz019.-_", min_size=1, max_size=8)
TIMES = st.integers(0, 2**52)
MAYBE_TIMES = st.none() | TIMES
DURATIONS = st.integers(0, LONGEST)
NUMBERS = st.integers(0, 2**40)
SHARES = st.none() | st.floats(0, 1)
NODES = st.lists(NAMES, max_size=3).map(tuple)
FLAVORS = st.dictionaries(NAMES, st.dictionaries(NAMES, NAMES, max_size=2), max_size=2)
COUNTS = st.dictionaries(NAMES, NUMBERS, max_size=2)

TERMS = st.builds(
    Terms,
    checkpoint_timeout=DURATIONS,
    timeout_extension=st.floats(0, 10),
    hold_timeout=st.none() | DURATIONS,
    requeue=st.sampled_from(["never", "on_node_failure", "always"]),
    max_requeues=st.integers(0, 100),
    answers=st.booleans(),
)


@st.composite
def workloads(draw: DrawFn) -> Workload:
    entry = draw_workload(draw, draw(NAMES), instants=draw(st.booleans()), tidy=False)
    workload = Workload.model_validate(entry)
    given: dict[str, Any] = draw(st.fixed_dictionaries({}, optional={"priority": NUMBERS, "app": WHOLE_TEXTS}))
    # As the server sets it: to the microsecond.
    return workload.model_copy(update={"submitted": Instant(draw(TIMES)), **given})


@st.composite
def nodes(draw: DrawFn) -> Node:
    return Node.model_validate(draw_node(draw, draw(NAMES), instants=draw(st.booleans()), tidy=False))


@st.composite
def queues(draw: DrawFn) -> Queue:
    return Queue.model_validate(draw_queue(draw, draw(NAMES), None, "kueue", "0.20", draw(st.booleans())))


LEAVING = st.builds(
    Leaving,
    cause=TEXTS,
    stage=TEXTS,
    decision=st.none() | NUMBERS,
    claimant=st.none() | NAMES,
    fate=st.sampled_from(["requeued", "ended"]),
    rule=TEXTS,
    hinted=MAYBE_TIMES,
    heard=MAYBE_TIMES,
    extended=st.booleans(),
    deferred=NUMBERS,
    timed_out=st.booleans(),
    saved=st.booleans(),
)
JOBS = st.builds(
    Job,
    workload=workloads(),
    terms=TERMS,
    phase=st.sampled_from(Phase),
    version=NUMBERS,
    since=TIMES,
    deadline=MAYBE_TIMES,
    attempt=NUMBERS,
    nodes=NODES,
    flavors=FLAVORS,
    counts=COUNTS,
    started=MAYBE_TIMES,
    began=MAYBE_TIMES,
    ended=MAYBE_TIMES,
    waits_for=NODES,
    decision=st.none() | NUMBERS,
    leaving=st.none() | LEAVING,
    hint=NUMBERS,
    hinted=MAYBE_TIMES,
    checkpoint=MAYBE_TIMES,
    progress=SHARES,
    parked=TEXTS,
    preempted=NUMBERS,
    requeues=NUMBERS,
    exit_code=st.none() | st.integers(0, 255),
    exit_signal=st.none() | st.integers(1, 64),
    rule=TEXTS,
    why=TEXTS,
)
OF_ATTEMPT = {"name": NAMES, "attempt": NUMBERS}
FACTS = st.one_of(
    st.builds(Submit, workloads(), TERMS),
    st.builds(Submit, workloads()),
    st.builds(Cancel, NAMES, TEXTS),
    st.builds(Suspend, NAMES, TEXTS, st.booleans()),
    st.builds(Resume, NAMES, TEXTS),
    st.builds(AskCheckpoint, NAMES, TEXTS),
    st.builds(Began, **OF_ATTEMPT, at=st.none() | TIMES),
    st.builds(
        Exited,
        **OF_ATTEMPT,
        code=st.none() | st.integers(0, 255),
        signal=st.none() | st.integers(1, 64),
        told=st.booleans(),
        lost=st.booleans(),
        walltime=st.booleans(),
        error=TEXTS,
        cause=TEXTS,
        at=st.none() | TIMES,
    ),
    st.builds(Stuck, **OF_ATTEMPT, why=TEXTS),
    st.builds(Heard, **OF_ATTEMPT, hint=NUMBERS, progress=SHARES),
    st.builds(Checkpointed, **OF_ATTEMPT, hint=NUMBERS, leaves=st.booleans()),
    st.builds(CheckpointFailed, **OF_ATTEMPT, hint=NUMBERS, why=TEXTS),
    st.builds(Deferral, **OF_ATTEMPT, hint=NUMBERS, wanted=TIMES),
    st.builds(SetNode, NAMES, st.sampled_from(["ready", "cordoned", "down"]), TEXTS),
    st.builds(PutNode, nodes()),
    st.builds(PutQueue, queues()),
    st.builds(Restarted),
)
TRANSITIONS = st.builds(
    Transition,
    at=TIMES,
    name=NAMES,
    attempt=NUMBERS,
    signal=st.sampled_from([*Signal, "submit", "progress"]),
    before=st.none() | st.sampled_from(Phase),
    after=st.sampled_from(Phase),
    rule=TEXTS,
    why=TEXTS,
    decision=st.none() | NUMBERS,
    claimant=st.none() | NAMES,
    by=TEXTS,
)
DECISIONS = st.builds(
    Decision,
    workload=st.none() | NAMES,
    action=st.sampled_from(["start", "preempt", "wait", "refuse"]),
    rule=TEXTS,
    why=TEXTS,
    victims=st.lists(st.builds(Victim, NAMES, TEXTS, leaving=st.booleans(), rule=TEXTS), max_size=2).map(tuple),
    nodes=NODES,
    flavors=FLAVORS,
    counts=COUNTS,
    warnings=st.lists(st.builds(Warning, TEXTS, TEXTS), max_size=2).map(tuple),
    nearest_miss=st.lists(st.builds(Miss, NAMES, st.none() | TEXTS, TEXTS), max_size=2).map(tuple),
    until=st.lists(st.builds(Until, st.sampled_from(CONDITIONS), TEXTS, TEXTS), max_size=2).map(tuple),
    candidates=st.none() | st.lists(st.builds(Candidate, NAMES, TEXTS, TEXTS, TEXTS), max_size=2).map(tuple),
)
TASKS = st.builds(
    Task,
    command=st.lists(st.text(max_size=8), min_size=1, max_size=3).map(tuple),
    env=st.dictionaries(NAMES, st.text(max_size=8), max_size=2),
    cwd=st.text(max_size=8),
    owner=NAMES,
    account=st.none() | NAMES,
    protocol=st.sampled_from(["none", "signal", "shm", "grpc", "criu"]),
    cpu=st.none() | st.floats(0, 1000),
    memory=st.none() | NUMBERS,
    gpus=st.integers(0, 8),
)
