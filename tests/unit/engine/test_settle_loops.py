"""Loops: a state that comes back is found and named, whoever made it."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from cede.doctrines.backendai.doctrine import DOCTRINE as BACKENDAI
from cede.doctrines.parts.doctrine import Cycle, Traits
from cede.engine.settle import settle_state
from cede.model.plan import Decision, Victim
from cede.state.build import build
from tests.builders import cluster_of, node, pending, running

RULE = "backendai.by-turns"


def by_turns(cycle: Cycle) -> Iterator[Decision]:
    """A doctrine without shame: whoever waits evicts whoever runs."""
    state = cycle.state
    waiting = sorted(state.work_names[row] for row in state.pending)
    holding = sorted(set(state.work_index) - set(waiting))
    for name, victim in zip(waiting, holding, strict=False):
        yield Decision(name, "preempt", RULE, "it is its turn", (Victim(victim, RULE),), ("n1",))


SHAMELESS = replace(BACKENDAI, decide=by_turns, audit=lambda *_: lambda _: (), traits=Traits())


def test_two_that_evict_each_other_are_named_with_the_rules_they_used() -> None:
    cluster = cluster_of(node("n1", cpu=4), running("a", cpu=4), pending("b", cpu=4))

    ended = settle_state(build(cluster.document), SHAMELESS, cycles=100, step=1_000_000)

    assert not ended.settled
    assert ended.cycles == 2
    assert [(one.victim, one.claimant, one.rule) for one in ended.loop or ()] == [("a", "b", RULE), ("b", "a", RULE)]
    assert ended.to_dict()["loop"][0] == {"at": 1, "victim": "a", "claimant": "b", "rule": RULE}


def test_what_happened_before_the_loop_is_no_part_of_it() -> None:
    cluster = cluster_of(node("n1", cpu=4), running("c", cpu=4), pending("a", cpu=4), pending("b", cpu=4))

    ended = settle_state(build(cluster.document), SHAMELESS, cycles=100, step=1_000_000)

    assert ended.loop is not None
    assert len(ended.loop) < len(ended.preemptions)
    assert {one.victim for one in ended.loop} == {one.claimant for one in ended.loop} == {"a", "b"}


def test_a_run_that_is_cut_short_is_neither_settled_nor_a_loop() -> None:
    cluster = cluster_of(node("n1", cpu=4), running("a", cpu=4), pending("b", cpu=4))

    ended = settle_state(build(cluster.document), SHAMELESS, cycles=1, step=1_000_000)

    assert (ended.settled, ended.loop, ended.pending) == (False, None, {"a": RULE})


def test_an_unlawful_plan_is_a_fault_of_cede_s_own_and_nothing_is_done() -> None:
    cluster = cluster_of(node("n1", cpu=4), running("a", cpu=4), pending("b", cpu=4))
    suspicious = replace(BACKENDAI, decide=by_turns, audit=lambda *_: lambda _: ("that is not lawful",))

    with pytest.raises(RuntimeError, match="cycle 1 made an unlawful plan: b: that is not lawful"):
        settle_state(build(cluster.document), suspicious, cycles=100, step=1_000_000)
