"""Waiting workloads that are alike are looked at once; the plan is the one that looks at each of them."""

from __future__ import annotations

import copy
from collections.abc import Hashable
from contextlib import ExitStack
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

import cede
from cede.doctrines.backendai import kinds
from cede.doctrines.catalog import doctrine_of
from cede.doctrines.kueue import waiting_line as kueue_waiting_line
from cede.doctrines.lattice import cycle_order
from cede.doctrines.lattice import waiting_line as lattice_waiting_line
from cede.doctrines.parts import assembled
from cede.doctrines.parts.equivalence import Classes
from cede.doctrines.parts.orders import Rows
from cede.doctrines.ytsaurus import waiting_kinds
from cede.doctrines.yunikorn import waiting_line as yunikorn_waiting_line
from cede.engine.cycle import plan_state
from cede.state.state import State
from tests.properties.documents import EVERY, Document, documents
from tests.sampling import examples

WAITS = ("pending", "suspended")


def crowded(document: Document, copies: int, spread: int) -> Document:
    """So many more of everything that waits; some of them came at another time, or are worth more."""
    document = copy.deepcopy(document)
    waiting = [entry for entry in document["workloads"] if entry.get("state", "pending") in WAITS]
    for number in range(copies):
        for entry in waiting:
            more = copy.deepcopy(entry) | {"name": f"{entry['name']}-{number}"}
            more.pop("uid", None)
            if (number + spread) % 3 == 0 and not isinstance(document.get("now", 0), str):
                more["submitted"] = -spread
            if (number + spread) % 5 == 0:
                more["priority"] = spread % 5
            document["workloads"].append(more)
    return document


class Alone(Classes):
    """Nobody is like another."""

    def of(self, state: State, row: int) -> Hashable:
        return state.work_names[row]

    def of_all(self, state: State, rows: Rows) -> dict[int, Hashable]:
        return {row: state.work_names[row] for row in rows.tolist()}


def cycles(document: Document, **options: Any) -> list[object]:
    """Three cycles in a row on the same cluster, with what is remembered between them."""
    cluster = cede.load(document)
    doctrine, memory = doctrine_of(cluster.document.doctrine), dict[str, Any]()
    plans = [plan_state(cluster.state, doctrine, memory=memory, **options) for _ in range(3)]
    return [(plan.to_dict(), plan.wakes_at) for plan in plans]


@st.composite
def crowds(draw: DrawFn, edition: str) -> tuple[Document, dict[str, Any]]:
    """A crowded cluster, and what is asked of it."""
    document = crowded(draw(documents(edition)), draw(st.integers(1, 3)), draw(st.integers(0, 20)))
    names = [entry["name"] for entry in document["workloads"] if entry.get("state", "pending") in WAITS]
    options: dict[str, Any] = {"misses": draw(st.booleans())}
    if names and draw(st.sampled_from((False, False, True))):
        options["only"] = draw(st.sampled_from(names))
    return document, options


def differs(document: Document, options: dict[str, Any]) -> bool:
    decided = cycles(document, **options)
    with ExitStack() as patched:
        for module in (
            assembled,
            waiting_kinds,
            kinds,
            yunikorn_waiting_line,
            lattice_waiting_line,
            cycle_order,
            kueue_waiting_line,
        ):
            patched.enter_context(patch.object(module, "Classes", Alone))
        return cycles(document, **options) != decided


@pytest.mark.parametrize("edition", EVERY)
@examples(40)
@given(data=st.data())
def test_a_crowd_of_equals_is_decided_as_if_each_were_looked_at(edition: str, data: st.DataObject) -> None:
    assert not differs(*data.draw(crowds(edition)))
