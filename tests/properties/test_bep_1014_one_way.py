"""Under bep-1014 what acts without words is what the whole plan decides, through whatever happens."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cede.engine.drive.facts import PutNode, Submit
from cede.engine.drive.options import Backfill, DriverOptions
from cede.engine.drive.terms import Terms
from cede.model.cluster import Node
from tests.properties.lives import BUSY, CLUSTERS, KINDS, LINES, STEPS, TERMS, live
from tests.properties.twins import Twins, cluster, entry, node
from tests.sampling import examples

BACKFILLS: tuple[Backfill, ...] = ("off", "strict", "easy")


def queue(pick: int) -> dict[str, Any]:
    """A queue that changes."""
    made: dict[str, Any] = {"name": "abc"[pick % 3], "settings": {"preemptible_priority": pick}}
    return made | ({"max": {"gpu": 5}} if pick % 4 == 0 else {})


@examples(75)
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
    live(
        cluster(**shape),
        shape,
        kinds,
        terms,
        DriverOptions(at_once=at_once, walltimes=walltimes, backfill=backfill),
        steps,
        queue,
    )


@examples(75)
@given(CLUSTERS, LINES, TERMS, st.sampled_from(BACKFILLS), BUSY)
def test_a_line_of_plain_workloads_moves_as_the_whole_plan_moves_it(
    shape: dict[str, Any], kinds: list[dict[str, Any]], terms: Terms, backfill: Backfill, steps: list[Any]
) -> None:
    live(
        cluster(**shape),
        shape,
        kinds,
        terms,
        DriverOptions(at_once=True, walltimes=False, backfill=backfill),
        steps,
        queue,
    )


@pytest.mark.parametrize("reasons", [True, False])
def test_a_workload_that_can_never_run_is_turned_away(reasons: bool) -> None:
    twins = Twins(cluster([(2, 2)]), DriverOptions(at_once=True))
    step = twins.feed(1, Submit(entry("w", {"queue": "a", "requests": {"gpu": 4, "cpu": 1}})))
    assert [refusal.rule for refusal in step.refusals] == ["backendai.fits-no-node"]
    assert not (twins.whole if reasons else twins.quick).jobs


@pytest.mark.parametrize("reasons", [True, False])
def test_who_asks_for_a_taken_name_does_not_turn_away_the_one_who_has_it(reasons: bool) -> None:
    """Its node became too small for it meanwhile: it is told so, and stays."""
    twins = Twins(cluster([(4, 4)]), DriverOptions(at_once=True))
    twins.feed(1, Submit(entry("first", {"queue": "a", "requests": {"gpu": 4, "cpu": 1}})))
    waits = entry("w", {"queue": "a", "requests": {"gpu": 4, "cpu": 1}})
    twins.feed(1, Submit(waits))
    step = twins.feed(1, PutNode(Node.model_validate(node(0, 2, 4))), Submit(waits))
    assert [refusal.rule for refusal in step.refusals] == ["live.name-taken"]
    assert "w" in (twins.whole if reasons else twins.quick).jobs
