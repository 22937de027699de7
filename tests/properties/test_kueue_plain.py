"""The search that sums up whole stretches finds the victims of the one that walks from candidate to candidate."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from random import Random
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import cede
from cede.doctrines.kueue import classical
from cede.doctrines.kueue.candidate_order import FEW, in_order
from cede.doctrines.kueue.candidates import pool_of
from cede.doctrines.kueue.classical import HIERARCHY, PRIORITY, CandidateBatch, CandidateIterator, ReclaimableBranches
from cede.doctrines.kueue.quota import Asked
from cede.doctrines.kueue.search import Search
from cede.doctrines.kueue.snapshot import Claimant, Snapshot, claimant_of, snapshot_of
from cede.doctrines.parts.doctrine import Cycle
from cede.state.trial import Trial
from tests.sampling import examples

Document = dict[str, Any]

BORROW = (None, {"policy": "LowerPriority"}, {"policy": "LowerPriority", "maxPriorityThreshold": 1})


def large_tree(random: Random) -> Document:
    """Three levels of cohorts with 50 to 300 workloads, most queues above their quota, a few cohorts barely so."""
    resources = ["cpu", "gpu"] if random.random() < 0.4 else ["cpu"]
    cohorts: list[Document] = [{"name": "root"}]
    for number in range(random.randint(1, 4)):
        cohorts.append({"name": f"m{number}", "parent": "root"})
        cohorts += [{"name": f"m{number}l{at}", "parent": f"m{number}"} for at in range(random.randint(0, 2))]
    queues = []
    for number in range(random.randint(3, 25)):
        settings: Document = {"withinClusterQueue": random.choice(["LowerPriority", "Never"])}
        settings["reclaimWithinCohort"] = random.choice(["Any", "Any", "LowerPriority"])
        if borrow := random.choice(BORROW):
            settings["borrowWithinCohort"] = borrow
        queues.append({"name": f"q{number}", "parent": random.choice(cohorts)["name"], "settings": settings})
    names = [queue["name"] for queue in queues]
    workloads = [_running(random, at, names, resources) for at in range(random.randint(50, 300))]
    _give_quota(random, cohorts, queues, workloads, resources)
    asks = {name: random.choice([0, 1, 3, 10, 40]) for name in resources}
    claimant: Document = {"name": "in", "queue": names[0], "priority": random.randint(1, 5), "requests": asks}
    return {"cede": 1, "doctrine": "kueue", "queues": cohorts + queues, "workloads": [*workloads, claimant]}


def _running(random: Random, number: int, names: list[str], resources: list[str]) -> Document:
    """Most of them in a few queues, many alike."""
    usage = {name: random.choice([0, 1, 1, 2, 3, 5]) for name in resources}
    return {
        "name": f"w{number}",
        "uid": f"{random.randint(0, 9)}-{number}",
        "queue": random.choice(names[: random.choice([3, len(names)])]),
        "priority": random.randint(0, 4),
        "started": -random.randint(0, 9),
        "submitted": -random.randint(0, 9),
        "state": "preempting" if random.random() < 0.05 else "running",
        "usage": usage,
    }


def _give_quota(
    random: Random, cohorts: list[Document], queues: list[Document], workloads: list[Document], resources: list[str]
) -> None:
    """Some of what each queue holds; cohorts get a little, so that they come back within it before their queues do."""
    for queue in queues:
        held = {
            name: sum(work["usage"][name] for work in workloads if work["queue"] == queue["name"]) for name in resources
        }
        part = random.choice([0, 0, 0.3, 0.9, 1, 1.2])
        queue["guaranteed"] = {name: int(amount * part) for name, amount in held.items()}
    for cohort in cohorts:
        if random.random() < 0.7:
            cohort["guaranteed"] = {name: random.choice([0, 5, 20, 60]) for name in resources}


def pieces(iterator: Iterable[CandidateBatch], size: int) -> list[CandidateBatch]:
    """The same way in shorter stretches, as a larger cluster has them."""
    return [
        CandidateBatch(
            stretch.positions[at : at + size],
            stretch.rows[at : at + size],
            stretch.queues[at : at + size],
            None if stretch.usable is None else stretch.usable[at : at + size],
            stretch.own,
        )
        for stretch in iterator
        for at in range(0, len(stretch.rows), size)
    ]


def searches(snapshot: Snapshot, claimant: Claimant) -> Iterator[tuple[Asked, list[int]]]:
    """What the claimant asks for, with all or some of it contested."""
    requests = claimant.parts[0].requests
    quotas = snapshot.quotas
    pairs = {quotas.index[name, "default"]: nano for name, nano in requests.items()}
    asked = tuple(sorted((pair, quotas.count(pair, nano)) for pair, nano in pairs.items()))
    wanted = [pair for pair, amount in asked if amount]
    yield asked, wanted
    for pair in wanted[1:]:
        yield asked, [pair]


def attempt(search: Search, borrowing: bool, size: int, *, sums: bool) -> list[tuple[int, str, Asked]]:
    """Row, reason and amounts of the victims, in the order of taking."""
    pool, reclaimable = pool_of(search), ReclaimableBranches(search)
    kind = reclaimable.kind[search.snapshot.queue[pool.others]]
    iterator = CandidateIterator(search, pool.others[kind == HIERARCHY], pool.others[kind == PRIORITY], pool.own)
    if sums:
        taken = classical.attempt_by_sums(search, reclaimable, pieces(iterator, size), borrowing)  # type: ignore[arg-type]
    else:
        taken = classical._attempt(search, reclaimable, iterator, borrowing)
    return [(victim.row, victim.reason, victim.amounts) for victim in taken]


@examples(100)
@given(st.integers(0, 2**32), st.sampled_from([1000, 40, 7]), st.booleans())
def test_sums_find_the_victims_that_walking_finds(seed: int, size: int, borrowing: bool) -> None:
    cluster = cede.load(large_tree(Random(seed)))
    with Trial(cluster.state) as trial:
        snapshot = snapshot_of(Cycle(cluster.state, trial, "0.20", None, False, False, {}))
        claimant = claimant_of(snapshot, cluster.state.work_index["in"])
        for asked, contested in searches(snapshot, claimant):
            one, other = (Search(snapshot, claimant, asked, contested, None) for _ in range(2))
            assert classical.is_plain(one)
            before = [row[:] for row in one.quota_usage.used]

            found = attempt(one, borrowing, size, sums=True)

            assert found == attempt(other, borrowing, size, sums=False)
            assert one.quota_usage.used == before


@examples(20)
@given(st.integers(0, 2**32), st.integers(FEW, 3 * FEW), st.integers(1, 4))
def test_candidates_sorted_as_far_as_needed_are_in_the_order_of_all(seed: int, many: int, apart: int) -> None:
    """Leaving first, lower priority, later reserved, uid; with few values of each, so that most are equal."""
    random = Random(seed)
    workloads = [_running(random, at, ["q"], ["cpu"]) for at in range(many)]
    for work in workloads:
        work |= {"priority": random.randint(0, apart), "started": -random.randint(0, apart)}
    cluster = cede.load({"cede": 1, "doctrine": "kueue", "queues": [{"name": "q"}], "workloads": workloads})
    with Trial(cluster.state) as trial:
        snapshot = snapshot_of(Cycle(cluster.state, trial, "0.20", None, False, False, {}))
        stretches = list(in_order(snapshot, np.arange(len(snapshot.rows))))
        names = [cluster.state.work_names[row] for part in stretches for row in snapshot.rows[part].tolist()]

    wanted = sorted(workloads, key=lambda w: (w["state"] == "running", w["priority"], -w["started"], w["uid"]))
    assert names == [work["name"] for work in wanted]
    assert len(stretches) > 1 or many <= FEW
