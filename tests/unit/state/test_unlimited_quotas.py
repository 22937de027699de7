"""Quotas beyond what can be counted: they bind nobody, and no sum of them wraps around."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cede
from cede.doctrines.document import parse_document
from cede.doctrines.kueue.quota import quotas_of
from cede.engine.events import QueuePut, Submitted, apply
from cede.engine.lint import lint
from cede.model.cluster import Queue, Workload
from cede.model.errors import InputError
from cede.model.quantities import LARGEST
from cede.state.build import build
from cede.state.columns import UNLIMITED, limits_added
from cede.state.state import State

ANY_DOCTRINE = ("backendai", "kueue", "lattice", "yunikorn", "ytsaurus")


def document(*queues: dict[str, Any], doctrine: Any = "kueue", **sections: Any) -> dict[str, Any]:
    return {"cede": 1, "doctrine": doctrine, "queues": list(queues), **sections}


def state_of(*queues: dict[str, Any], **sections: Any) -> State:
    return build(parse_document(document(*queues, **sections)))


def test_a_quota_that_cannot_be_counted_in_its_unit_is_unlimited_in_whatever_order_units_become_known() -> None:
    """A quintillion cores are counted in cores, and are too many in thousandths."""
    queue = {"name": "q", "max": {"cpu": "1E"}}
    fine: dict[str, Any] = {"name": "w", "queue": "q", "requests": {"cpu": "500m"}}
    at_once, later, last = state_of(queue, workloads=[fine]), state_of(queue), state_of({"name": "q"}, workloads=[fine])
    column = later.units.index["cpu"]
    assert later.tree.max[column, 0] == 10**18

    apply(later, Submitted(Workload.model_validate(fine)))
    apply(last, QueuePut(Queue.model_validate(queue)))
    for state in (at_once, later, last):
        assert state.tree.max[state.units.index["cpu"], 0] == UNLIMITED
        assert state.units.limit(state.units.index["cpu"], UNLIMITED) == LARGEST


def test_sums_of_limits_end_at_unlimited() -> None:
    one = np.array([UNLIMITED, UNLIMITED, UNLIMITED - 1, 3])

    assert limits_added(one, np.array([UNLIMITED, 0, 1, 4])).tolist() == [UNLIMITED, UNLIMITED, UNLIMITED, 7]


@pytest.mark.parametrize("name", ANY_DOCTRINE)
def test_many_queues_with_unlimited_quotas_are_planned_linted_and_shown(name: str) -> None:
    resource = "vcore" if name == "yunikorn" else "cpu"
    top: dict[str, Any] = {"name": "root"} | ({} if name == "yunikorn" else {"max": {resource: "10E"}})
    queues: list[dict[str, Any]] = [
        {"name": f"root.{at}", "parent": "root", "max": {resource: "10E"}} for at in range(5)
    ]
    guaranteed: dict[str, Any] = {} if name == "ytsaurus" else {"guaranteed": {resource: 2**63}}
    work = {"name": "in", "queue": "root.0", "requests": {resource: 1}}
    cluster = cede.load(
        document(
            *(queue | guaranteed for queue in (top, *queues)),
            doctrine=name,
            nodes=[{"name": "n", "capacity": {resource: 4}}],
            workloads=[work],
        )
    )

    plan = cede.plan(cluster, explain=True, shares=True)
    assert [made.action for made in plan.decisions] == ["start"]
    assert cede.verify(cluster, plan) == []
    assert not [finding for finding in lint(cluster) if finding.rule.endswith("over-max")]


@pytest.mark.parametrize("section", ["capacity", "occupied", "requests", "usage"])
def test_what_is_there_or_asked_for_is_never_unlimited(section: str) -> None:
    node: dict[str, Any] = {"name": "n", "capacity": {"cpu": 1}}
    work: dict[str, Any] = {"name": "w", "requests": {"cpu": 1}}
    (node if section in ("capacity", "occupied") else work)[section] = {"cpu": "10E"}

    with pytest.raises(InputError, match="'10E' is above the largest quantity, 2\\*\\*63 - 1"):
        parse_document(document(nodes=[node], workloads=[work]))


# -- Kueue's arithmetic ------------------------------------------------------------------------------------------------


def quotas(**child: Any) -> tuple[int, ...]:
    """What a child is promised, keeps and may have, and what its cohort has, beside one with 5; in thousandths."""
    other = {"name": "other", "parent": "top", "guaranteed": {"cpu": 5}}
    state = state_of({"name": "child", "parent": "top", **child}, other, {"name": "top", "guaranteed": {"cpu": "1m"}})
    found, at = quotas_of(state), state.tree.index
    tables = (found.subtree, found.local, found.potential)
    return (*(table[0][at["child"]] for table in tables), found.subtree[0][at["top"]])


def test_an_unlimited_quota_absorbs_what_is_added_and_all_of_it_is_kept_or_lent() -> None:
    most = 2**63 - 1

    assert quotas(guaranteed={"cpu": "10E"}) == (most, 0, most, most)
    assert quotas(guaranteed={"cpu": "10E"}, lending_limit={"cpu": "10E"}) == (most, 0, most, most)
    assert quotas(guaranteed={"cpu": "10E"}, lending_limit={"cpu": 3}) == (most, most, most, 5001)
    assert quotas(guaranteed={"cpu": 4}, lending_limit={"cpu": "10E"}) == (4000, 0, 9001, 9001)
    assert quotas(guaranteed={"cpu": 4}, borrowing_limit={"cpu": "10E"}) == (4000, 0, 9001, 9001)
