"""Quotas that nobody can use up: `10E` is how people write that there is none."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import cede
from cede.doctrines.document import parse_document
from cede.engine.verify import verify
from cede.model.document import dump_document
from cede.state.build import build
from cede.state.snapshot import snapshot
from cede.state.tree import LIMITS
from tests.properties.documents import DOCTRINES, documents
from tests.sampling import examples

Document = dict[str, Any]
PLENTY = 10**9
"""More than any of these clusters has, in cores, GPUs and bytes alike, were it multiplied by a thousand."""
UNLIMITED: tuple[int | str, ...] = ("10E", 2**63 - 1, "8Ei", "1e40")


def with_quotas(document: Document, keys: set[str], amount: int | str) -> Document:
    """The same with so much of everything that these keys of its queues name."""
    found = copy.deepcopy(document)
    for queue in found.get("queues", []):
        for key in keys & queue.keys():
            queue[key] = {name: amount * 2**30 if _bytes(name, amount) else amount for name in queue[key]}
    return found


def _bytes(name: str, amount: int | str) -> bool:
    return amount == PLENTY and name.startswith("memory")


def decided(document: Document) -> list[tuple[Any, ...]]:
    cluster = cede.load(document)
    plan = cede.plan(cluster)
    assert verify(cluster, plan) == []
    return [(one.workload, one.action, one.rule, plan_victims(one), one.nodes, one.flavors) for one in plan.decisions]


def plan_victims(one: cede.Decision) -> list[tuple[str, str]]:
    return sorted((victim.workload, victim.reason) for victim in one.victims)


@pytest.mark.parametrize("edition", sorted(DOCTRINES))
@examples(40)
@given(st.data())
def test_an_unlimited_quota_decides_like_one_that_is_large_enough(edition: str, data: st.DataObject) -> None:
    document = data.draw(documents(edition))
    keys = {data.draw(st.sampled_from(LIMITS))}
    amount = data.draw(st.sampled_from(UNLIMITED))
    try:
        expected = decided(with_quotas(document, keys, PLENTY))
    except cede.CedeError:
        assume(False)

    assert decided(with_quotas(document, keys, amount)) == expected


@pytest.mark.parametrize("edition", sorted(DOCTRINES))
@examples(15)
@given(st.data())
def test_an_unlimited_quota_is_written_as_it_is_read(edition: str, data: st.DataObject) -> None:
    document = with_quotas(data.draw(documents(edition)), set(LIMITS), "10E")
    try:
        state = build(parse_document(document))
    except cede.CedeError:
        assume(False)

    once = dump_document(snapshot(state))
    assert dump_document(snapshot(build(parse_document(once)))) == once
    queues: Any = once.get("queues", [])
    amounts = {value for queue in queues for key in LIMITS for value in queue.get(key, {}).values()}
    assert amounts <= {2**63 - 1}
