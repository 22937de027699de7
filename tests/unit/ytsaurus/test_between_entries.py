"""What must hold between pools and operations under YTsaurus, and settings that are keys of the document."""

from __future__ import annotations

from typing import Any

import pytest

from cede.doctrines.document import parse_document
from cede.model.cluster import ClusterFile
from cede.model.document import dump_document
from cede.model.quantities import NANO
from tests.unit.ytsaurus.entries import operation, pool, problems

CPU = {"cpu": 10}
FLOW = {"guarantee_type": "burst", "resource_flow": {"cpu": 4}, "burst_guarantee_resources": {"cpu": 2}}
ONLY_FIFO = {"allow_gang_operations_only_in_fifo_pools": True}
WEIGHTS = "is out of range; under ytsaurus weights go from 1.49012e-08 to 6.71089e+07"


def read(**data: Any) -> ClusterFile:
    return parse_document({"cede": 1, "doctrine": "ytsaurus", **data})


def of(queue: str, name: str = "w", app: str = "op") -> dict[str, Any]:
    return {"name": name, "queue": queue, "app": app}


CASES: dict[str, tuple[dict[str, Any], list[str]]] = {
    "children promised as much as their parent": (
        {
            "queues": [
                pool("a", guaranteed=CPU),
                pool("b", "a", guaranteed={"cpu": 6}),
                pool("c", "a", guaranteed={"cpu": 4}),
            ]
        },
        [],
    ),
    "children promised more than their parent": (
        {
            "queues": [
                pool("a", guaranteed=CPU),
                pool("b", "a", guaranteed={"cpu": 6}),
                pool("c", "a", guaranteed={"cpu": 5}),
            ]
        },
        ["queues[0].guaranteed: the sum of strong_guarantee_resources of its children is 11 cpu, but its own is 10"],
    ),
    "the same by its own names": (
        {"queues": [pool("a", strong_guarantee_resources=CPU), pool("b", "a", min_share_resources={"cpu": "10500m"})]},
        [
            "queues[0].settings.strong_guarantee_resources: the sum of strong_guarantee_resources of its children is "
            "10.5 cpu, but its own is 10"
        ],
    ),
    "children of the root, who may be promised anything": (
        {"queues": [pool("a", guaranteed=CPU), pool("b", guaranteed=CPU)]},
        [],
    ),
    "children of one who is promised nothing": (
        {"queues": [pool("a"), pool("b", "a", guaranteed=CPU), pool("c", "unlisted", guaranteed=CPU)]},
        [],
    ),
    "a resource that the parent leaves to be inferred": (
        {"queues": [pool("a", guaranteed=CPU), pool("b", "a", guaranteed={"cpu": 1, "memory": 5})]},
        [],
    ),
    "more flow and burst than the parent's": (
        {
            "queues": [
                pool("a", integral_guarantees={"resource_flow": {"cpu": 3}, "burst_guarantee_resources": {"cpu": 1}}),
                pool("b", "a", integral_guarantees=FLOW),
            ]
        },
        [
            "queues[0].settings.integral_guarantees.resource_flow: the sum of resource_flow of its children is 4 cpu, "
            "but its own is 3",
            "queues[0].settings.integral_guarantees.burst_guarantee_resources: the sum of burst_guarantee_resources "
            "of its children is 2 cpu, but its own is 1",
        ],
    ),
    "a guarantee without the main resource": (
        {
            "queues": [
                pool("a", guaranteed={"memory": 5}),
                pool("b", guaranteed={"memory": 0}),
                pool("c", guaranteed=CPU),
            ]
        },
        [
            "queues[0].guaranteed: a guarantee must set the main resource, which is 'cpu' "
            "(add cpu, or set main_resource of the doctrine)"
        ],
    ),
    "another main resource": (
        {"queues": [pool("a", guaranteed={"gpu": 8}), pool("b", guaranteed={"gpu@a100": 8})], "main_resource": "gpu"},
        [],
    ),
    "a flow without the main resource": (
        {"queues": [pool("a", integral_guarantees={"guarantee_type": "relaxed", "resource_flow": {"memory": 1}})]},
        [
            "queues[0].settings.integral_guarantees.resource_flow: a guarantee must set the main resource, which is "
            "'cpu' (add cpu, or set main_resource of the doctrine)"
        ],
    ),
    "an integral pool in an integral pool": (
        {"queues": [pool("a", integral_guarantees=FLOW), pool("b", "a", integral_guarantees=FLOW)]},
        [
            "queues[1].settings.integral_guarantees.guarantee_type: burst is for no child of 'a', which has an "
            "integral guarantee itself"
        ],
    ),
    "a subpool of a FIFO pool": (
        {"queues": [pool("b", "a"), pool("a", mode="fifo")]},
        ["queues[0].parent: 'a' is a pool of mode fifo, which has no subpools"],
    ),
    "a gang in a fair-share pool": (
        {"queues": [pool("a")], "apps": [operation(queue="a", is_gang=True)], **ONLY_FIFO},
        [
            "apps[0].settings.is_gang: the gang is in 'a', which is of mode fair_share, but "
            "allow_gang_operations_only_in_fifo_pools is on"
        ],
    ),
    "a gang in no pool": (
        {"apps": [operation(is_gang=True)], **ONLY_FIFO},
        ["apps[0].settings.is_gang: the gang is outside any pool, but allow_gang_operations_only_in_fifo_pools is on"],
    ),
    "a gang where its workloads are": (
        {
            "queues": [pool("a", mode="fifo"), pool("b"), pool("c", "d")],
            "apps": [operation(queue="b", is_gang=True), operation("other", queue="b")],
            "workloads": [of("a"), of("d", "v")],
            **ONLY_FIFO,
        },
        [
            "apps[0].settings.is_gang: the gang is in 'd', which is of mode fair_share, but "
            "allow_gang_operations_only_in_fifo_pools is on"
        ],
    ),
    "a gang in a FIFO pool": (
        {"queues": [pool("a", mode="fifo")], "apps": [operation(queue="a", is_gang=True)], **ONLY_FIFO},
        [],
    ),
    "gangs anywhere": ({"apps": [operation(is_gang=True)]}, []),
    "a gang in a pool of which nobody knows": (
        {"queues": [pool("a", mode="x")], "apps": [operation(queue="a", is_gang=True)], **ONLY_FIFO},
        ["queues[0].settings.mode: 'x' is none of fair_share, fifo"],
    ),
    "weights out of range": (
        {"queues": [{"name": "a", "weight": 0}], "apps": [{"name": "a", "weight": 1e8}]},
        [f"queues[0].weight: 0 {WEIGHTS}", f"apps[0].weight: 100000000 {WEIGHTS}"],
    ),
    "weights at the bounds": (
        {"queues": [{"name": "a", "weight": 2**-26}], "apps": [{"name": "a", "weight": 2**26}]},
        [],
    ),
    "a clock of another kind": (
        {
            "queues": [pool("a", below_fair_share_since=1)],
            "apps": [operation(below_fair_share_since=1)],
            "now": "2026-01-31T12:00:00Z",
        },
        [
            f"{place}[0].settings.below_fair_share_since: is a number of seconds, but `now` is RFC 3339; times are all "
            "of one kind"
            for place in ("queues", "apps")
        ],
    ),
    "a tree that cannot be read, beside what does not depend on it": (
        {"queues": [pool("a", mode="fifo", guaranteed={"memory": 1}), pool("b", "a")], "main_resource": 5},
        [
            "doctrine.main_resource: 5 is no text (write it in quotes)",
            "queues[1].parent: 'a' is a pool of mode fifo, which has no subpools",
        ],
    ),
}


@pytest.mark.parametrize(("data", "lines"), CASES.values(), ids=CASES.keys())
def test_what_does_not_agree_is_refused_with_its_place(data: dict[str, Any], lines: list[str]) -> None:
    assert problems(**data) == lines


def test_settings_that_have_a_key_of_their_own_stand_under_it() -> None:
    settings = {"weight": 2, "resource_limits": {"cpu": "500m"}, "strong_guarantee_resources": CPU, "mode": "fifo"}
    found = read(queues=[{"name": "a", "settings": settings}]).queues[0]

    assert (found.weight, found.max, found.guaranteed) == (2.0, {"cpu": NANO // 2}, {"cpu": 10 * NANO})
    assert found.settings == {"mode": "fifo"}


def test_the_old_name_of_a_guarantee_is_one_too() -> None:
    assert read(queues=[pool("a", min_share_resources=CPU)]).queues[0].guaranteed == {"cpu": 10 * NANO}


def test_an_operations_weight_is_a_key_and_its_limits_are_not() -> None:
    found = read(apps=[operation(weight=3, resource_limits=CPU)]).apps[0]

    assert (found.weight, found.settings) == (3.0, {"resource_limits": CPU})


def test_a_file_is_written_with_the_keys_and_read_again_as_the_same() -> None:
    found = read(queues=[pool("a", weight=2), pool("b", mode="fifo")], apps=[operation(weight=1)])
    written = dump_document(found)

    assert written["queues"] == [{"name": "a", "weight": 2}, {"name": "b", "settings": {"mode": "fifo"}}]
    assert written["apps"] == [{"name": "op", "weight": 1}]
    assert parse_document(written) == found


def test_under_another_doctrine_and_without_one_settings_stay_where_they_are() -> None:
    queue = {"name": "a", "settings": {"weight": 2}}

    assert parse_document({"cede": 1, "queues": [queue]}).queues[0].settings == {"weight": 2}
