"""The conditions that Kueue's question puts on quota against the book that decisions are made by."""

from __future__ import annotations

import random
from itertools import combinations

import numpy as np

import cede
from cede.doctrines.kueue.question import question
from cede.doctrines.kueue.quota import quotas_of
from cede.doctrines.kueue.usage import quota_usage_of
from cede.doctrines.parts.exact import solve
from cede.doctrines.parts.exact.check import keeps
from cede.engine.certify import AHEAD
from cede.model.plan import Decision, Victim
from tests.builders import Entry, cohort, decided, kueue, pending, queue, running


def _limits(draw: random.Random, quota: int) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    if draw.random() < 0.5:
        found["borrowing_limit"] = {"cpu": draw.randint(0, 6)}
    if draw.random() < 0.6:
        found["lending_limit"] = {"cpu": draw.randint(0, quota)}
    return found


def _tree(draw: random.Random) -> list[Entry]:
    """Two cohorts below one, two queues in each; some keep part of their quota to themselves."""
    entries: list[Entry] = [cohort("root", cpu=draw.randint(0, 3))]
    for side in ("x", "y"):
        quota = draw.randint(0, 4)
        entries.append(cohort(side, "root", cpu=quota, **_limits(draw, quota)))
        for name in ("1", "2"):
            quota = draw.randint(1, 8)
            entries.append(
                queue(side + name, side, cpu=quota, within="LowerPriority", reclaim="Any", **_limits(draw, quota))
            )
    for number in range(7):
        home = draw.choice(("x1", "x2", "y1", "y2"))
        entries.append(running(f"r{number}", queue=home, cpu=draw.randint(1, 4), priority=0, started=-number))
    return [*entries, pending("in", queue="x1", cpu=draw.randint(2, 9), priority=5)]


def test_the_conditions_hold_for_just_those_sets_that_leave_enough_quota() -> None:
    held = {True: 0, False: 0}
    for seed in range(60):
        state = kueue(*_tree(random.Random(seed))).state
        made = Decision("in", "preempt", "kueue.reclaim", "because", (Victim("r0", "InCohortReclamation"),))
        asked = question(state, "0.20", made)
        assert asked is not None
        quotas = quotas_of(state)
        row = state.work_index["in"]
        pair = quotas.index["cpu", "default"]
        wanted = sum(int(state.work.usage[column, row]) * factor for column, factor in quotas.columns[pair])
        for size in range(len(asked.rows) + 1):
            for gone in combinations(asked.rows.tolist(), size):
                quota_usage = quota_usage_of(state, quotas)
                for victim in gone:
                    used = sum(int(state.work.usage[c, victim]) * f for c, f in quotas.columns[pair])
                    quota_usage.remove(pair, int(state.work.queue[victim]), used)
                fits = quota_usage.fits(int(state.work.queue[row]), ((pair, wanted),))
                held[fits] += 1
                assert keeps(asked, np.array(gone, np.intp)) == fits, (seed, gone)
    assert min(held.values()) > 100


def test_no_plan_is_better_than_its_bound() -> None:
    preempted = 0
    for seed in range(150):
        cluster = kueue(*_tree(random.Random(seed)))
        made = decided(cluster, "in")
        if not made.victims:
            continue
        preempted += 1
        asked = question(cluster.state, "0.20", made)
        assert asked is not None
        rows = np.array([cluster.state.work_index[victim.workload] for victim in made.victims])
        last = float(asked.weights[np.isin(asked.rows, rows)].max())
        found = solve(cluster.state, asked)
        assert keeps(asked, rows), seed
        assert found.bound <= last, seed
    assert preempted > 5


def test_a_bound_does_not_depend_on_the_unit_that_quota_is_counted_in() -> None:
    """Memory is counted in bytes: amounts are large where those of cores are small."""
    checked = 0
    for seed in range(40):
        proofs = []
        for unit in (1, 2**30 + 1, 2**40 + 1):
            entries = _tree(random.Random(seed))
            made = cede.plan(kueue(*(_in_memory(entry, unit) for entry in entries)), certify=20).of("in")
            assert made is not None
            proofs.append(None if made.certificate is None else made.certificate.to_dict())
        checked += proofs[0] is not None
        assert proofs == proofs[:1] * 3, seed
    assert checked > 5


def _in_memory(entry: Entry, unit: int) -> Entry:
    """The same entry with so many bytes for every core."""
    amounts = ("guaranteed", "borrowing_limit", "lending_limit", "requests")
    changed = {
        key: {"memory": entry.values[key]["cpu"] * unit} for key in amounts if "cpu" in entry.values.get(key, {})
    }
    return Entry(entry.section, {**entry.values, **changed})


def test_a_set_that_leaves_a_byte_too_little_is_not_called_better() -> None:
    size = 2**40
    works = [
        running("old", queue="a", memory=size, priority=1, started=-6_000_000),
        running("large", queue="a", memory=size - 1, priority=2, started=-60),
        running("byte", queue="a", memory=1, priority=2, started=-60_000),
        pending("in", queue="a", memory=size, priority=5),
    ]
    made = cede.plan(kueue(queue("a", memory=2 * size, within="LowerPriority"), *works), certify=20).of("in")
    assert made is not None
    assert made.certificate is not None
    cost = made.certificate.cost

    assert cost is not None
    assert cost.better == ("byte", "large")
    assert cost.bound == cost.best == 1001


def test_who_waits_for_those_who_are_leaving_lets_them_go_for_whoever_comes_after_it() -> None:
    """Without `leaves`, which is as good as gone, `in` needs no more than `first`."""
    cluster = kueue(
        cohort("root"),
        queue("a", "root", cpu=4, reclaim="Any", lending_limit={"cpu": 0}),
        queue("b", "root", cpu=4, reclaim="Any"),
        queue("c", "root", cpu=0),
        running("leaves", queue="c", cpu=4, priority=0, started=-10, state="preempting"),
        running("first", queue="c", cpu=4, priority=0, started=-20),
        pending("waits", queue="a", cpu=4, priority=9),
        pending("in", queue="b", cpu=4, priority=5),
    )
    plan = cede.plan(cluster, certify=20)
    waits, made = plan.of("waits"), plan.of("in")
    assert waits is not None
    assert made is not None
    assert waits.rule == "kueue.awaits-victims"
    assert [victim.workload for victim in made.victims] == ["first"]

    found = made.certificate

    assert found is not None
    assert found.lawful
    assert (found.value, found.bound) == (1, 1)
    assert AHEAD in found.relaxed
