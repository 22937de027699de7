"""Certificates of random plans of every doctrine: what is taken is lawful by its question, no bound is above it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import DataObject

import cede
from cede.model.certificate import Certificate
from tests.properties.documents import EVERY, documents
from tests.sampling import examples

NEAR = 1 + 1e-6
SHORT = {"core", "1.9"}
"""Editions that copy a release with its faults: what they take need not be enough."""


def proofs(made: cede.Decision) -> list[Certificate]:
    own = made.certificate
    return [] if own is None else [one for one in (own, own.cost) if one is not None]


@pytest.mark.parametrize("edition", EVERY)
@examples(20)
@given(data=st.data())
def test_no_bound_is_above_what_was_taken(edition: str, data: DataObject) -> None:
    cluster = cede.load(data.draw(documents(edition)))
    plain = cede.plan(cluster)

    proven = cede.plan(cluster, certify=60.0)

    assert [made.victims for made in proven.decisions] == [made.victims for made in plain.decisions]
    for made in proven.decisions:
        for one in proofs(made):
            assert one.lawful or edition in SHORT, (made.workload, one)
            if one.lawful:
                assert one.bound is not None
                assert one.bound <= one.value * NEAR
                assert one.optimal == (one.gap == 0)
                assert one.best is None or one.bound <= one.best * NEAR <= one.value * NEAR
