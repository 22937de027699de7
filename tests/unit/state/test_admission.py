"""A workload is admitted in flavors or with fewer members, and asks again for what it first asked for."""

from __future__ import annotations

from typing import Any

import pytest

import cede
from cede.doctrines.document import parse_document
from cede.engine.events import Ended, Marked, NodePut, Requeued, Started, Submitted, apply
from cede.model.cluster import Node, PodSet, Workload
from cede.model.document import dump_document
from cede.model.errors import CedeError
from cede.state.admission import admitted_parts, asks_of
from cede.state.build import build
from cede.state.snapshot import snapshot
from cede.state.state import State
from cede.state.trial import Trial
from tests.state_views import bits, unsound, view

CPU, GIB = 10**9, 2**30 * 10**9
CLUSTER: dict[str, Any] = {
    "cede": 1,
    "doctrine": "kueue",
    "nodes": [
        {"name": "s1", "flavor": "spot", "capacity": {"cpu": 8, "memory": "8Gi"}},
        {"name": "d1", "capacity": {"cpu": 8, "memory": "8Gi"}},
    ],
    "queues": [{"name": "q", "parent": "root", "guaranteed": {"cpu@spot": 8, "cpu": 8}}],
}
GANG = {"name": "w", "queue": "q", "members": 3, "requests": {"cpu": 1}}
SETS = [
    {"name": "driver", "count": 1, "requests": {"cpu": 1, "memory": 2**30}},
    {"name": "worker", "count": 4, "min_count": 1, "requests": {"cpu": 1}},
]
TRAIN = {"name": "w", "queue": "q", "pod_sets": SETS}
HOLDS = {"name": "w", "queue": "q", "state": "running", "usage": {"cpu@spot": 2, "cpu@old": 1, "memory@spot": "1Gi"}}


def state_of(*workloads: dict[str, Any], **sections: Any) -> State:
    return build(parse_document(CLUSTER | sections | {"workloads": list(workloads)}))


def row_of(state: State) -> int:
    return state.work_index["w"]


def asked(parts: tuple[PodSet, ...] | None) -> list[tuple[str, int, dict[str, int]]]:
    return [(part.name, part.count, part.requests) for part in parts or ()]


def usage(state: State) -> dict[str, int]:
    return state.units.amounts(state.work.usage[:, row_of(state)].tolist())


# -- what flavors and counts make of a workload --------------------------------------------------------------------


PARTS: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, int], list[tuple[str, int, dict[str, int]]]]] = {
    "a flavor for a workload without pod sets": (GANG, {"cpu": "spot"}, {}, [("main", 3, {"cpu@spot": CPU})]),
    "fewer members of it": (GANG, {}, {"main": 2}, [("main", 2, {"cpu": CPU})]),
    "the default flavor, which nodes offer": (GANG, {"cpu": "default"}, {}, [("main", 3, {"cpu@default": CPU})]),
    "one flavor for all pod sets": (
        TRAIN,
        {"cpu": "spot", "memory": "spot"},
        {},
        [("driver", 1, {"cpu@spot": CPU, "memory@spot": GIB}), ("worker", 4, {"cpu@spot": CPU})],
    ),
    "a flavor for each pod set, and fewer of one": (
        TRAIN,
        {"driver": {"cpu": "default"}, "worker": {"cpu": "spot"}},
        {"worker": 2},
        [("driver", 1, {"cpu@default": CPU, "memory": GIB}), ("worker", 2, {"cpu@spot": CPU})],
    ),
    "a request that names its flavor itself": (
        GANG | {"requests": {"cpu@old": 1, "cpu": 2}},
        {"cpu": "spot"},
        {},
        [("main", 3, {"cpu@old": CPU, "cpu@spot": 2 * CPU})],
    ),
    "a flavor that a part of the request names": (
        GANG | {"requests": {"cpu@spot": 1, "cpu": 2}},
        {"cpu": "spot"},
        {},
        [("main", 3, {"cpu@spot": 3 * CPU})],
    ),
    "nothing of something, in a flavor": (
        GANG | {"requests": {"cpu": 0}},
        {"cpu": "spot"},
        {},
        [("main", 3, {"cpu@spot": 0})],
    ),
}


@pytest.mark.parametrize("case", PARTS)
def test_a_workload_is_given(case: str) -> None:
    entry, flavors, counts, parts = PARTS[case]
    state = state_of(entry)

    assert asked(admitted_parts(state, row_of(state), flavors, counts)) == parts


def test_the_default_flavor_is_the_plain_name_where_there_are_no_nodes() -> None:
    state = state_of(GANG, nodes=[], queues=[{"name": "q", "guaranteed": {"cpu": 8}}])

    assert asked(admitted_parts(state, row_of(state), {"cpu": "default"}, {})) == [("main", 3, {"cpu": CPU})]


def test_flavors_are_no_admission_where_quota_is_not_in_flavors() -> None:
    state = state_of(GANG, doctrine="backendai")

    assert admitted_parts(state, row_of(state), {"cpu": "spot"}, {}) is None
    apply(state, Started("w", ("d1", "d1", "d1"), {"cpu": "spot"}))
    assert state.admitted == {}


# -- admitted, and not any more -------------------------------------------------------------------------------------


@pytest.mark.parametrize("entry", [GANG, TRAIN, GANG | {"requests": {"cpu@spot": 1}}, GANG | {"usage": {"cpu@old": 0}}])
def test_what_is_admitted_asks_again_for_the_same_after_amounts_became_finer(entry: dict[str, Any]) -> None:
    state, other = state_of(entry), state_of(entry)
    row = row_of(state)
    before = asks_of(state, row)
    parts = admitted_parts(state, row, {"cpu": "spot"}, {before[-1].name: 1})
    assert parts is not None

    state.admit(row, parts)
    assert asks_of(state, row) == before
    assert len(state.members_of(row)) == state.work.members[row] == sum(part.count for part in parts)
    for each in (state, other):
        apply(each, Submitted(Workload.model_validate({"name": "x", "requests": {"cpu": "1m", "tpu": 1}})))
    state.unadmit(row)
    assert view(state) == view(other)
    assert (state.admitted, unsound(state)) == ({}, [])


def test_a_start_takes_the_flavors_and_the_members_it_is_given() -> None:
    state = state_of(TRAIN)

    apply(
        state,
        Started("w", ("d1", "s1", "s1"), {"driver": {"cpu": "default"}, "worker": {"cpu": "spot"}}, {"worker": 2}),
    )
    assert usage(state) == {"cpu@default": CPU, "cpu@spot": 2 * CPU, "memory": GIB}
    assert state.nodes_of(row_of(state)) == ["d1", "s1", "s1"]
    free = {name: state.units.amounts(state.nodes.free[:, at].tolist()) for name, at in state.node_index.items()}
    assert (free["d1"]["cpu@default"], free["s1"]["cpu@spot"]) == (7 * CPU, 6 * CPU)
    assert state.units.amounts(state.tree.usage[:, state.tree.index["root"]].tolist()) == usage(state)


@pytest.mark.parametrize("entry", [GANG, TRAIN])
def test_what_is_requeued_asks_again_for_all_of_it_in_any_flavor(entry: dict[str, Any]) -> None:
    state, other = state_of(entry), state_of(entry)

    apply(state, Started("w", ("s1",) * 2, {"cpu": "spot"}, {"main": 2, "worker": 1}))
    apply(state, Requeued("w", preempted=False))
    assert view(state)["workloads"] == view(other)["workloads"]
    assert view(state)["total"] == view(other)["total"]


def test_what_ended_leaves_nothing_behind() -> None:
    state, other = state_of(TRAIN), state_of()

    apply(state, Started("w", ("s1",) * 5, {"cpu": "spot"}))
    apply(state, Ended("w"))
    assert (state.admitted, unsound(state)) == ({}, [])
    assert view(state)["nodes"] == view(other)["nodes"]


def test_work_that_says_only_what_it_holds_asks_for_that_as_one_member_in_any_flavor() -> None:
    state = state_of(HOLDS)
    wanted = [("main", 1, {"cpu": 3 * CPU, "memory": GIB})]
    assert asked(asks_of(state, row_of(state))) == wanted

    apply(state, Requeued("w"))
    assert asked(asks_of(state, row_of(state))) == wanted
    assert usage(state) == {"cpu": 3 * CPU, "memory": GIB}
    apply(state, Started("w", ("s1",), {"cpu": "spot", "memory": "spot"}))
    assert usage(state) == {"cpu@spot": 3 * CPU, "memory@spot": GIB}
    assert unsound(state) == []


def test_work_that_is_requeued_asks_for_its_requests_whatever_it_held() -> None:
    state = state_of(GANG | {"state": "running", "usage": {"cpu@spot": 2}})

    apply(state, Requeued("w"))
    assert usage(state) == {"cpu": 3 * CPU}
    assert unsound(state) == []


# -- what cannot be -------------------------------------------------------------------------------------------------


MAIN = PodSet(name="main", count=2, requests={"cpu@spot": 1})
WRONG: dict[str, tuple[dict[str, Any], tuple[PodSet, ...], int, str]] = {
    "too few nodes": (GANG, (MAIN,), 1, "w has 2 members and is placed on 1"),
    "as many nodes as it asked for": (GANG, (MAIN,), 3, "w has 2 members and is placed on 3"),
    "pod sets it does not have": (GANG, (MAIN, MAIN), 4, "w has the pod sets main, and main, main are admitted"),
    "not all of its pod sets": (TRAIN, (MAIN,), 2, "w has the pod sets driver, worker, and main are admitted"),
    "members that hold room already": (GANG | {"state": "running"}, (MAIN,), 2, "w is not waiting"),
    "more than can be counted": (
        GANG,
        (PodSet.model_validate({"name": "main", "count": 2, "requests": {"memory@spot": 2**62, "tpu@x": "1n"}}),),
        2,
        "too much to count exactly",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_start_is_refused_and_changes_nothing_with(case: str) -> None:
    entry, parts, places, words = WRONG[case]
    state = state_of(entry)
    before = bits(state)

    with pytest.raises(CedeError, match=words):
        state.start(row_of(state), [0] * places, parts=parts)

    assert bits(state) == before


def test_only_what_is_admitted_and_waits_is_not_admitted_any_more() -> None:
    state = state_of(GANG)
    with pytest.raises(CedeError, match="w is not admitted"):
        state.unadmit(row_of(state))

    apply(state, Started("w", ("s1",) * 3, {"cpu": "spot"}))
    with pytest.raises(CedeError, match="w is not admitted, or holds room"):
        state.unadmit(row_of(state))


def test_a_trial_books_nothing_that_nobody_names() -> None:
    state = state_of(GANG)
    before = bits(state)

    with Trial(state) as trial, pytest.raises(CedeError, match="nobody offers or limits cpu@new"):
        trial.book(row_of(state), [0], (PodSet(name="main", count=1, requests={"cpu@new": 1}),))

    assert bits(state) == before


def test_a_trial_books_members_as_admitted_and_leaves_no_bit_behind() -> None:
    state = state_of(TRAIN)
    before = bits(state)
    parts = admitted_parts(state, row_of(state), {"cpu": "spot"}, {"worker": 2})

    with Trial(state) as trial:
        trial.book(row_of(state), [0, 0, 0], parts)
        assert usage(state) == {"cpu@spot": 3 * CPU, "memory": GIB}
        assert asked(asks_of(state, row_of(state))) == asked(asks_of(state_of(TRAIN), 0))

    assert bits(state) == before


# -- saved ------------------------------------------------------------------------------------------------------------


def saved(state: State) -> dict[str, Any]:
    document: dict[str, Any] = dump_document(snapshot(state))
    found = document["workloads"][0]
    return {key: found[key] for key in ("members", "requests", "pod_sets", "usage") if key in found}


def test_what_runs_is_saved_with_its_flavors_and_its_members() -> None:
    state = state_of(TRAIN)
    apply(
        state,
        Started("w", ("d1", "s1", "s1"), {"driver": {"cpu": "default"}, "worker": {"cpu": "spot"}}, {"worker": 2}),
    )

    assert saved(state) == {
        "pod_sets": [SETS[0], {**SETS[1], "count": 2}],
        "usage": {"cpu@default": 1, "cpu@spot": 2, "memory": 2**30},
    }
    again = build(parse_document(dump_document(snapshot(state))))
    assert usage(again) == usage(state)
    for each in (state, again):
        apply(each, Marked("w", "preempting"))
        apply(each, Requeued("w"))
    assert saved(again) == {"pod_sets": [SETS[0], {**SETS[1], "count": 2}]}
    assert saved(state) == {"pod_sets": SETS}


def test_what_runs_where_a_resource_has_several_flavors_is_saved_as_pinned() -> None:
    state = state_of(GANG)
    apply(state, NodePut(Node.model_validate({"name": "m1", "capacity": {"cpu@spot": 3, "cpu@old": 3}})))
    apply(state, Started("w", ("m1",) * 3, {"cpu": "spot"}))

    assert saved(state) == {"members": 3, "requests": {"cpu@spot": 1}}
    assert view(build(snapshot(state)))["nodes"] == view(state)["nodes"]


def test_what_waits_is_saved_as_it_asks() -> None:
    state = state_of(GANG)
    state.admit(row_of(state), (MAIN,))

    assert saved(state) == {"members": 3, "requests": {"cpu": 1}}


def test_a_saved_admission_loads() -> None:
    state = state_of(TRAIN)
    apply(state, Started("w", ("s1",) * 2, {"cpu": "spot"}, {"worker": 1}))

    assert cede.load(dump_document(snapshot(state))).document.workloads[0].size == 2
