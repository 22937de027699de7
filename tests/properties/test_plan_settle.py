"""Where plans lead, cycle by cycle: every run ends, nobody is in two places, and nobody is evicted for an equal."""

import json
from collections import Counter
from itertools import combinations_with_replacement, product
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import DataObject

import cede
from tests.builders import group, node, pending, running, shipped
from tests.properties.documents import EDITIONS, KUEUE, YTSAURUS, Document, documents, shuffled
from tests.referees.reading import read
from tests.sampling import examples

INTERVAL_S = 10
LONG = 500
"""Cycles of a run in which even a clock that is an hour ahead comes to its moment."""


def preempting_number(document: Document, edition: str) -> dict[str, int]:
    """The number that decides who preempts whom."""
    key = "priority" if edition == "bep-1014" else "job_priority"
    return {name: getattr(work, key) for name, work in read(document).works.items()}


@pytest.mark.parametrize("edition", EDITIONS)
@examples(80)
@given(data=st.data())
def test_a_run_settles_and_accounts_for_everybody(edition: str, data: DataObject) -> None:
    """Every plan on the way is checked by `settle` itself, which raises an error for an unlawful one."""
    document = data.draw(documents(edition))

    end = cede.settle(cede.load(document), interval=INTERVAL_S)

    assert (end.settled, end.loop) == (True, None)
    places = Counter([*end.running, *end.pending, *end.ended])
    assert places == Counter(workload["name"] for workload in document["workloads"])
    leaving = {workload["name"] for workload in document["workloads"] if workload.get("state") == "preempting"}
    assert set(end.ended) <= leaving | {one.victim for one in end.preemptions}


@pytest.mark.parametrize("edition", EDITIONS)
@examples(60)
@given(data=st.data())
def test_a_settled_cluster_is_settled(edition: str, data: DataObject) -> None:
    """The run goes no further when it is asked to, and the order of entries does not matter on the way."""
    document = data.draw(documents(edition))
    mixed = shuffled(document, Random(data.draw(st.integers(0, 99))))

    ends = [cede.settle(cede.load(one), interval=INTERVAL_S).to_dict() for one in (document, mixed)]
    longer = cede.settle(cede.load(document), interval=INTERVAL_S, cycles=ends[0]["cycles"] + 5)

    assert json.dumps(ends[0]) == json.dumps(ends[1])
    assert longer.to_dict() == ends[0]


@pytest.mark.parametrize("edition", EDITIONS)
@examples(80)
@given(data=st.data())
def test_nobody_is_evicted_for_an_equal_so_that_no_run_can_come_back(edition: str, data: DataObject) -> None:
    """Every eviction is for a strictly higher number. Count who runs by that number, highest first: each cycle with an
    eviction makes these counts greater, as dictionaries order words, and nothing ever makes them smaller. So no state
    of a run returns: neither edition can loop."""
    document = data.draw(documents(edition))
    number = preempting_number(document, edition)

    for one in cede.settle(cede.load(document), interval=INTERVAL_S).preemptions:
        assert one.claimant is not None
        assert number[one.victim] < number[one.claimant]


@examples(80)
@given(documents(KUEUE), st.integers(0, 99))
def test_a_run_of_kueue_settles_or_shows_its_loop_and_accounts_for_everybody(document: Document, seed: int) -> None:
    """Fair sharing can loop, and so can flavors and smaller sizes; the order of entries does not matter on the way."""
    end = cede.settle(cede.load(document), cycles=100)

    assert end.settled or end.loop
    assert Counter([*end.running, *end.pending]) == Counter(workload["name"] for workload in document["workloads"])
    mixed = cede.settle(cede.load(shuffled(document, Random(seed))), cycles=100)
    assert json.dumps(mixed.to_dict()) == json.dumps(end.to_dict())


@pytest.mark.parametrize("edition", YTSAURUS)
@examples(20)
@given(data=st.data())
def test_a_run_of_ytsaurus_settles_or_shows_its_loop_and_accounts_for_everybody(edition: str, data: DataObject) -> None:
    """Operations can take turns for ever; then a state comes back. The order of entries does not matter on the way."""
    document = data.draw(documents(edition))

    end = cede.settle(cede.load(document), interval=INTERVAL_S, cycles=LONG)

    assert end.settled or end.loop
    assert Counter([*end.running, *end.pending]) == Counter(workload["name"] for workload in document["workloads"])
    mixed = shuffled(document, Random(data.draw(st.integers(0, 99))))
    again = cede.settle(cede.load(mixed), interval=INTERVAL_S, cycles=LONG)
    assert json.dumps(again.to_dict()) == json.dumps(end.to_dict())


@pytest.mark.slow
def test_no_loop_where_queue_and_job_priority_disagree() -> None:
    """All clusters of one node and three sessions with few priorities, all victims requeued."""
    settings = group(enabled=True, preemption_mode="reschedule", victim_scope="resource-group")
    shapes = list(product((1, 2), (0, 1), (1, 2), (running, pending)))
    for three in combinations_with_replacement(shapes, 3):
        free, entries = 2, []
        for at, (priority, job_priority, cpu, wanted) in enumerate(three):
            entry = wanted if cpu <= free else pending
            free -= cpu if entry is running else 0
            entries.append(entry(f"w{at}", cpu=cpu, priority=priority, job_priority=job_priority, submitted=-at))

        end = cede.settle(shipped(settings, node("n1", cpu=2), *entries))

        assert (end.settled, end.loop) == (True, None)
