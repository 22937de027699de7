"""What is remembered from cycle to cycle is of workloads that are there, or will be again."""

from typing import Any

import pytest

from cede.doctrines.kueue.doctrine import DOCTRINE as KUEUE
from cede.engine.cycle import plan_acts, plan_state, wordless
from cede.engine.events import Ended, Started, apply
from cede.model.plan import Plan
from cede.state.state import State
from cede.state.trial import Trial
from tests.builders import kueue, node, pending, queue, running


def acts(state: State, memory: dict[str, Any]) -> Plan | None:
    """What one more plan decides that acts."""
    cycle = wordless(Trial(state), KUEUE, memory)
    assert cycle is not None
    return plan_acts(cycle, KUEUE)


def planned(state: State, memory: dict[str, Any], *, words: bool) -> set[str]:
    """Who is remembered as waiting for its victims after one more plan."""
    if words:
        plan_state(state, KUEUE, memory=memory)
    else:
        acts(state, memory)
    return set(memory["kueue"].sticky)


@pytest.mark.parametrize("words", [False, True])
@pytest.mark.parametrize("away", [False, True])
def test_who_waited_for_its_victims_is_forgotten_when_it_ends_and_not_while_it_is_away(words: bool, away: bool) -> None:
    big = pending("big", cpu=2, priority=3)
    state = kueue(queue("q", cpu=4, within="LowerPriority"), running("old", cpu=3), big, pending("next", cpu=2)).state
    memory: dict[str, Any] = {}

    assert planned(state, memory, words=words) == {"big"}
    apply(state, Ended("big"))
    if away:
        state.away.add("big")
    assert planned(state, memory, words=words) == ({"big"} if away else set())
    state.away.clear()
    assert planned(state, memory, words=words) == set()


@pytest.mark.parametrize(("held", "remembered"), [(True, {"big"}), (False, set())])
@pytest.mark.parametrize("words", [False, True])
def test_who_waited_for_its_victims_stands_in_front_until_it_runs(
    words: bool, held: bool, remembered: set[str]
) -> None:
    big = pending("big", cpu=2, priority=3)
    state = kueue(queue("q", cpu=4, within="LowerPriority"), running("old", cpu=3), big).state
    memory: dict[str, Any] = {}

    assert planned(state, memory, words=words) == {"big"}
    apply(state, Ended("old"))
    apply(state, Started("big", held=held))
    assert planned(state, memory, words=words) == remembered


def test_work_of_no_queue_wakes_those_that_waited_for_its_nodes_when_it_ends() -> None:
    queues = queue("q", cpu=4), queue("other", cpu=4)
    state = kueue(node("n1", cpu=4), *queues, running("stray", cpu=4), pending("next", cpu=3, queue="q")).state
    memory: dict[str, Any] = {}

    assert acts(state, memory) is None
    assert acts(state, memory) is None
    apply(state, Ended("stray"))
    made = acts(state, memory)
    assert made is not None
    assert [(decision.workload, decision.action) for decision in made.decisions] == [("next", "start")]
