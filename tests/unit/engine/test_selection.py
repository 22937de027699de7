"""`selection: optimal`: those go whose leaving costs less than that of the doctrine's own choice, if there are such."""

from __future__ import annotations

from typing import Any

import pytest

import cede
from cede.doctrines.catalog import find
from cede.doctrines.parts.doctrine import Cycle
from cede.state.trial import Trial
from tests.builders import asking, document_of, group, node, path, pending, queue, running
from tests.unit.ytsaurus import small

SOON, LATE = {"mode": "auto", "time": 30}, {"mode": "auto", "time": 1800}
"""Who saves its work in half a minute, and who in half an hour."""

Document = dict[str, Any]


def backendai(edition: str, **settings: Any) -> Document:
    """The oldest goes first."""
    return document_of(
        *(node("n1", cpu=4), group(**settings)),
        running("dear", cpu=2, priority=1, started=-90, checkpoint=LATE),
        running("cheap", cpu=2, priority=1, started=-60, checkpoint=SOON),
        pending("in", cpu=2, priority=9, job_priority=9),
        edition=edition,
    )


def kueue(preemption: str) -> Document:
    """The newest goes first, be it by priority or by share."""
    return document_of(
        *(
            queue("root"),
            queue("mine", "root", cpu=2, reclaim="Any"),
            queue("theirs", "root", cpu=2, within="LowerPriority"),
        ),
        running("dear", queue="theirs", cpu=2, started=-60, checkpoint=LATE),
        running("cheap", queue="theirs", cpu=2, started=-90, checkpoint=SOON),
        pending("in", queue="mine", cpu=2),
        doctrine={"name": "kueue", "preemption": preemption},
    )


def yunikorn(edition: str) -> Document:
    """The youngest goes first."""
    return document_of(
        *(node("n1", cpu=4), path("root"), path("root.mine", cpu=2), path("root.theirs")),
        running("dear", queue="root.theirs", cpu=2, submitted=-60, started=-60, checkpoint=LATE),
        running("cheap", queue="root.theirs", cpu=2, submitted=-90, started=-60, checkpoint=SOON),
        asking("in", "root.mine", cpu=2),
        doctrine={"name": "yunikorn", "edition": edition},
    )


def ytsaurus(edition: str) -> Document:
    """The newest goes first."""
    return small.document(
        *(small.node("n1", cpu=4, user_slots=9), small.starving("mine", cpu=4), small.pool("theirs")),
        running("dear", queue="theirs", app="b", cpu=2, started=-60, checkpoint=LATE),
        running("cheap", queue="theirs", app="b", cpu=2, started=-90, checkpoint=SOON),
        *(pending("in", queue="mine", cpu=2, submitted=-9), pending("next", queue="mine", cpu=2)),
        edition=edition,
    )


CASES = {
    "bep-1014": backendai("bep-1014", preemptible_priority=5),
    "26.8": backendai("26.8", enabled=True, victim_scope="resource-group"),
    "kueue, classical": kueue("Classical"),
    "kueue, fair": kueue("FairSharing"),
    "yunikorn 1.9": yunikorn("1.9"),
    "ytsaurus docs": ytsaurus("docs"),
    "ytsaurus 25.4": ytsaurus("25.4"),
}
every_case = pytest.mark.parametrize("document", CASES.values(), ids=CASES.keys())


def victims(document: Document, selection: str = "optimal") -> list[str]:
    cluster = cede.load({**document, "selection": selection})
    plan = cede.plan(cluster)
    assert cede.verify(cluster, plan) == []
    return sorted(plan.victims)


@every_case
def test_the_cheaper_one_goes_where_the_file_asks_for_that(document: Document) -> None:
    assert (victims(document, "doctrine"), victims(document)) == (["dear"], ["cheap"])


@every_case
def test_the_reason_names_who_goes(document: Document) -> None:
    made = cede.plan(cede.load({**document, "selection": "optimal"}), explain=True).of("in")
    assert made is not None
    assert made.candidates is not None

    told = {one.workload: one.verdict for one in made.candidates}

    assert told == {"cheap": "victim", "dear": "not-needed"}
    assert "cheap" in made.why
    assert "dear" not in made.why


@every_case
def test_a_file_settles_by_its_selection_too(document: Document) -> None:
    settled = cede.settle(cede.load({**document, "selection": "optimal"}))

    assert settled.preemptions[0].victim == "cheap"


def test_the_preference_of_the_laws_is_their_own_whatever_victims_cost() -> None:
    assert victims(yunikorn("laws")) == victims(yunikorn("laws"), "doctrine") == ["dear"]


def test_costs_that_are_equal_leave_the_doctrines_own_choice() -> None:
    document = backendai("bep-1014", preemptible_priority=5)
    for workload in document["workloads"][:2]:
        workload["checkpoint"] = SOON

    assert victims(document) == ["dear"]


def test_a_cheaper_one_that_may_not_go_stays() -> None:
    document = backendai("bep-1014", preemptible_priority=5)
    document["workloads"][1]["preemptible"] = False

    assert victims(document) == ["dear"]


@pytest.mark.parametrize("preemption", ["Classical", "FairSharing"])
def test_work_of_a_queue_within_its_quota_stands_in_the_way_of_no_cheaper_set(preemption: str) -> None:
    document = kueue(preemption)
    document["queues"] += [queue("kept", "root", cpu=2).values]
    document["workloads"] += [running("safe", queue="kept", cpu=2).values]

    assert victims(document) == ["cheap"]


def test_without_effort_the_fast_path_is_asked_and_never_for_more_than_the_doctrines_own_would_cost() -> None:
    """Two small ones that are cheap together, one large one that is dearer, and nobody branches."""
    document = document_of(
        *(node("n1", cpu=8), group(preemptible_priority=5)),
        running("dear", cpu=4, priority=1, started=-90, checkpoint=LATE),
        running("half", cpu=2, priority=1, started=-60, checkpoint=SOON),
        running("other", cpu=2, priority=1, started=-60, checkpoint=SOON),
        pending("in", cpu=4, priority=9),
        selection="optimal",
    )
    state = cede.load(document).state
    with Trial(state) as trial:
        cycle = Cycle(state, trial, "bep-1014", effort=0)
        [made] = find("backendai").decide(cycle)

    assert sorted(victim.workload for victim in made.victims) == ["half", "other"]
