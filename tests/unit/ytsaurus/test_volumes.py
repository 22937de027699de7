"""What pools of integral guarantees save, spend and hand on from one update to the next."""

from __future__ import annotations

from typing import Any

import pytest

from cede.doctrines.ytsaurus.starvation import Memory
from tests.builders import Entry, pending
from tests.unit.ytsaurus.fact_files import run
from tests.unit.ytsaurus.small import document, node, pool

DAY = 86400


def relaxed(name: str, parent: str | None = None, *, volume: float = 0, flow: float = 1, **more: Any) -> Entry:
    guarantees = {"guarantee_type": "relaxed", "resource_flow": {"cpu": flow}, **more}
    return pool(name, parent, integral_guarantees=guarantees, accumulated_resource_volume={"cpu": volume})


def after(seconds: float, *entries: Entry, **tree: Any) -> dict[str, float]:
    """The volumes of cpu after two updates, so far apart."""
    memory = Memory()
    for now in (0, seconds):
        run(document(node(cpu=100), *entries, now=now, **tree), memory)
    return {name: volume[0] for name, volume in memory.volumes.items()}


def handed_on(*entries: Entry) -> dict[str, float]:
    """After ten seconds in which `full`, of flow 10, could save nothing."""
    full = relaxed("full", "p", volume=10 * DAY, flow=10)
    return after(10, pool("p"), full, *entries, should_distribute_free_volume_among_children=True)


def test_what_is_too_much_for_one_sibling_goes_to_the_others() -> None:
    found = handed_on(relaxed("empty", "p"), relaxed("nearly", "p", volume=DAY - 30))

    assert found == pytest.approx({"empty": 90, "nearly": DAY, "full": 10 * DAY})


def test_what_overflows_is_shared_in_proportion_to_flow() -> None:
    found = handed_on(relaxed("small", "p"), relaxed("large", "p", flow=3))

    assert found == pytest.approx({"small": 10 + 25, "large": 30 + 75, "full": 10 * DAY})


def test_the_little_that_overflows_a_huge_volume_is_handed_on_to_the_last_digit() -> None:
    full, empty = relaxed("full", "p", volume=10**10, flow=10), relaxed("empty", "p")

    found = after(0.001, pool("p"), full, empty, should_distribute_free_volume_among_children=True)

    assert found == pytest.approx({"full": 10**10, "empty": 0.001 + 0.01}, rel=1e-12)


def test_what_no_sibling_takes_goes_to_the_pools_beside_the_parent() -> None:
    closed = relaxed("closed", "p", can_accept_free_volume=False)

    assert handed_on(closed, pool("q"), relaxed("cousin", "q"))["cousin"] == pytest.approx(10 + 100)


def test_volume_above_what_a_pool_may_hold_is_spent_only_beyond_its_flow() -> None:
    """Of flow 10 and 2 days of it, it uses 5 cpu: what flows in pays for that."""
    found = after(10, relaxed("a", volume=20 * DAY, flow=10), pending("x", queue="a", cpu=5))

    assert found == pytest.approx({"a": 20 * DAY})


def test_a_pool_that_spends_more_than_it_has_pays_from_what_flows_in() -> None:
    """60 cpu seconds pay for 1 cpu of integral share; over 100 seconds it spends 100 and gets 50 at flow 0.5."""
    found = after(100, relaxed("a", volume=60, flow=0.5), pending("x", queue="a", cpu=50))

    assert found == pytest.approx({"a": 60 + 50 - 100})
