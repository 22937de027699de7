"""What `until` says could end a wait is waited for: its times wake the driver, and who leaves changes the answer."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest

import cede
from cede.doctrines.parts.doctrine import BRISK
from cede.engine.cluster import Cluster
from cede.engine.cycle import plan
from cede.engine.drive.driver import Driver
from cede.model.cluster import ClusterFile
from cede.model.times import parse_time
from tests.properties import test_one_way as lives
from tests.properties.lives import busy, live
from tests.properties.lives_lattice import allocation, vclusters
from tests.sampling import seeds

pytestmark = pytest.mark.slow

Drawn = tuple[ClusterFile, dict[str, Any], list[dict[str, Any]]]


def backendai(dice: Random, _edition: str) -> Drawn:
    document, shape, _ = lives.shipped(dice)
    return document, shape, [lives.session(dice) for _ in range(8)]


def yunikorn(dice: Random, edition: str) -> Drawn:
    document, shape = lives.tenants_tree(dice, edition, odd=False)
    return document, shape, [lives.pod(dice, odd=False) for _ in range(8)]


def ytsaurus(dice: Random, edition: str) -> Drawn:
    return *lives.pool_tree(dice, edition), [lives.job(dice) for _ in range(8)]


def lattice(dice: Random, edition: str) -> Drawn:
    document, shape = vclusters(dice, edition)
    return document, shape, [allocation(dice, tenants=bool(document.tenants)) for _ in range(8)]


def kueue(dice: Random, _edition: str) -> Drawn:
    return *lives.cohorts(dice), [lives.admitted(dice) for _ in range(8)]


DRAWS: dict[tuple[str, str], Callable[[Random, str], Drawn]] = {
    ("backendai", "26.8"): backendai,
    ("yunikorn", "laws"): yunikorn,
    ("yunikorn", "1.9"): yunikorn,
    ("ytsaurus", "docs"): ytsaurus,
    ("ytsaurus", "25.4"): ytsaurus,
    ("lattice", "policy"): lattice,
    ("lattice", "core"): lattice,
    ("kueue", "0.20"): kueue,
}


class Look:
    """Every few steps: what those that wait are told, held against what the driver does."""

    def __init__(self) -> None:
        self.steps = 0
        self.times = self.candidates = 0

    def __call__(self, driver: Driver) -> None:
        self.steps += 1
        if self.steps % 6:
            return
        document, kept = driver.moment()
        for made in self.planned(document, kept).decisions:
            if made.action != "wait" or made.workload is None:
                continue
            for one in made.until:
                if one.kind == "time":
                    self.times += 1
                    assert driver._wakes_at is not None, (made.rule, one)
                    assert driver._wakes_at <= parse_time(one.at), (made.rule, one)
            names = {miss.workload for miss in made.nearest_miss}
            if any(one.kind == "candidate" for one in made.until):
                self.candidates += 1
                left = [entry for entry in document.workloads if entry.name not in names]
                after = self.planned(document.model_copy(update={"workloads": left}), kept).of(made.workload)
                assert after != made, (made.rule, names)

    def planned(self, document: ClusterFile, kept: Any) -> cede.Plan:
        return plan(Cluster(document), effort=BRISK, kept=kept, until=True)


@seeds(2)
@pytest.mark.parametrize(("name", "edition"), DRAWS)
def test_what_is_told_is_what_the_scheduler_waits_for(name: str, edition: str, seed: int) -> None:
    steps, dice = busy(seed)
    document, shape, kinds = DRAWS[name, edition](dice, edition)
    plain = [(after, [act for act in acts if not act[0].startswith("put")], "") for after, acts, _ in steps]
    look = Look()

    live(document, shape, kinds, lives.terms(dice), lives.replays(dice), plain, lambda _: {}, look, alike=False)
    assert look.steps
