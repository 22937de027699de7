"""What makes two waiting workloads alike, and what tells them apart."""

from __future__ import annotations

from collections.abc import Set
from typing import Any

import numpy as np
import pytest

import cede
from cede.doctrines.parts.doctrine import Cycle
from cede.doctrines.parts.equivalence import OWN, Answers, Classes, Memo
from cede.model.plan import Decision
from cede.state.columns import WorkloadColumns
from cede.state.trial import Trial

PARTS = [{"name": "one", "count": 2, "requests": {"cpu": 1}}]

# A difference that a decision reads of a claimant, whatever the doctrine.
APART: dict[str, dict[str, Any]] = {
    "priority": {"priority": 4},
    "what it asks for": {"requests": {"cpu": 2}},
    "how many members it has": {"members": 2},
    "where its members may stand": {"placement": "tight"},
    "the node it wants": {"required_node": "n1"},
    "labels it wants": {"constraints": {"labels": {"zone": "a"}}},
    "nodes it names": {"constraints": {"nodes": ["n1"]}},
    "a node to itself": {"exclusive": True},
    "a flavor it names": {"requests": {"cpu@spot": 1}},
    "nothing, said of a resource": {"requests": {"cpu": 1, "gpu": 0}},
    "its pod sets": {"pod_sets": PARTS},
    "the usage it gives": {"usage": {"cpu": 3}},
    "nothing, said of its usage": {"usage": {"cpu": 1, "gpu": 0}},
    "whether it preempts": {"preempts": False},
    "whether it is preempted": {"preemptible": False},
    "its kind": {"kind": "interactive"},
    "its queue": {"queue": "other"},
    "its user": {"user": "ann"},
    "its project": {"project": "web"},
    "its tenant": {"tenant": "t"},
    "a node that is kept for it": {"name": "kept"},
    "a checkpoint to resume from": {"state": "suspended"},
}
ALIKE: dict[str, dict[str, Any]] = {
    "the time it came": {"submitted": -9},
    "its uid": {"uid": "0"},
    "how long it may run": {"walltime": 60},
    "how often it was preempted": {"preempted": 3},
    "its checkpoints": {"checkpoint": {"mode": "auto", "last": -5, "time": 3}},
}


def are_alike(first: dict[str, Any], second: dict[str, Any], *unread: Set[str], **document: Any) -> bool:
    """Whether two waiting workloads that are given so are of one class; whatever else they say is the same."""
    plain: dict[str, Any] = {"queue": "q", "requests": {"cpu": 1}}
    pair = [{"name": "one", **plain, **first}, {"name": "two", **plain, **second}]
    for workload in pair:
        if "pod_sets" in workload:
            del workload["requests"]
    document = {
        **document,
        "cede": 1,
        "nodes": [{"name": "n1", "capacity": {"cpu": 4}, "flavor": "spot"}, {"name": "n2", "capacity": {"cpu": 4}}],
        "queues": [{"name": "q"}, {"name": "other"}],
        "tenants": [{"name": "t"}],
        "workloads": pair,
    }
    if any(workload["name"] == "kept" for workload in pair):
        document["nodes"].append({"name": "n3", "capacity": {"cpu": 4}, "reserved_for": "kept"})
    state = cede.load(document).state
    rows = [state.work_index[workload["name"]] for workload in pair]
    classes = Classes(state, *unread)
    one, two = rows
    at_once = classes.of_all(state, np.array(rows))
    assert at_once == {row: classes.of(state, row) for row in rows}
    return at_once[one] == at_once[two]


@pytest.mark.parametrize("what", APART)
def test_two_are_told_apart_by(what: str) -> None:
    assert not are_alike({}, APART[what])


@pytest.mark.parametrize("what", sorted(APART.keys() - {"a node that is kept for it"}))
def test_two_that_share_it_are_alike(what: str) -> None:
    assert are_alike(dict(APART[what]), dict(APART[what]))


@pytest.mark.parametrize("what", ALIKE)
def test_two_are_not_told_apart_by(what: str) -> None:
    assert are_alike({}, ALIKE[what])


def test_a_doctrine_may_name_what_it_does_not_read() -> None:
    assert are_alike({}, {"user": "ann"}, {"user"})


def test_what_is_read_for_policies_counts_where_there_are_some() -> None:
    policy = {"user": "bob", "max_priority": 1}

    assert are_alike({}, {"user": "ann"}, frozenset(), {"user"})
    assert not are_alike({}, {"user": "ann"}, frozenset(), {"user"}, policies=[policy])


def test_every_column_left_out_is_a_column() -> None:
    assert set(WorkloadColumns.scalars) >= OWN


def test_nobody_waits() -> None:
    state = cede.load({"cede": 1}).state
    assert Classes(state).of_all(state, np.zeros(0, np.intp)) == {}


def test_what_was_found_holds_until_the_mark_moves() -> None:
    marks = [1]
    found = Memo[str](lambda: marks[-1])

    assert "a" not in found.holds()
    found.keep("a", "one")
    assert found.holds()["a"] == "one"
    marks.append(2)
    assert "a" not in found.holds()
    marks.append(1)
    assert "a" not in found.holds()


def test_what_moves_the_mark_itself_is_kept_for_nobody() -> None:
    marks = [1]
    found = Memo[str](lambda: marks[-1])

    assert "a" not in found.holds()
    marks.append(2)
    found.keep("a", "one")
    assert "a" not in found.holds()


def test_those_of_a_class_are_told_the_same_until_something_is_booked() -> None:
    node = {"name": "n1", "capacity": {"cpu": 4}}
    work = [{"name": name, "queue": "q", "requests": {"cpu": 1}} for name in ("one", "two")]
    state = cede.load({"cede": 1, "nodes": [node], "queues": [{"name": "q"}], "workloads": work}).state
    one, two = (state.work_index[name] for name in ("one", "two"))
    with Trial(state) as trial:
        answers = Answers(Cycle(state, trial, "bep-1014"))
        assert answers.answer(one, "like") is None
        answers.keep("like", Decision("one", "wait", "no-room", "there is none"))
        answers.keep("acts", Decision("one", "start", "fits", "there is some"))

        assert answers.answer(two, "other", "like") == Decision("two", "wait", "no-room", "there is none")
        assert answers.answer(two, "acts") is None
        trial.book(one, [0])
        assert answers.answer(two, "like") is None
