"""Facts about Kueue's arithmetic and orders: every fact of tests/facts/kueue.json is shown here.

A cluster file states the effective priority of a workload, so that a boost is part of it; the usage of a LocalQueue
is not in a file, and the one fact about it says that it does not matter there.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cede
from cede.doctrines.kueue.candidate_order import CandidateOrder
from cede.doctrines.kueue.candidates import policy_mask
from cede.doctrines.kueue.dominant_share import Shares
from cede.doctrines.kueue.fair_sharing import Tournament
from cede.doctrines.kueue.quota import Quotas, quotas_of
from cede.doctrines.kueue.snapshot import TAKES, Snapshot, claimant_of, snapshot_of
from cede.doctrines.kueue.usage import QuotaUsage, asked_of, quota_usage_of
from cede.doctrines.parts.doctrine import Cycle
from cede.engine.cluster import Cluster
from cede.state.trial import Trial

Fact = dict[str, Any]
FILE = Path(__file__).parents[2] / "facts" / "kueue.json"
FACTS: list[Fact] = json.loads(FILE.read_text(encoding="utf-8"))["facts"]
LIMITS = {"nominal": "guaranteed", "borrowing_limit": "borrowing_limit", "lending_limit": "lending_limit"}


def facts(kind: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(
        "fact", [fact for fact in FACTS if fact["kind"] == kind], ids=lambda fact: f"{fact['id']} {fact['title']}"
    )


def test_every_kind_of_fact_is_shown() -> None:
    kinds = {"available", "drs", "candidate_order", "policy", "queue_order", "reserve"}

    assert {fact["kind"] for fact in FACTS} == kinds


# -- from a fact to a cluster ----------------------------------------------------------------------------------------


def amount(resource: str, number: int) -> str:
    """Facts count CPU in thousandths."""
    return f"{number}m" if resource == "cpu" else str(number)


def pair_of(key: str) -> tuple[str, str]:
    flavor, _, resource = key.partition("/")
    return resource, flavor


def queue_of(entry: Fact, parent: str | None) -> Fact:
    queue: Fact = {"name": entry["name"], "weight": entry["weight"], "resource_groups": []}
    if parent is not None:
        queue["parent"] = parent
    groups: dict[int, Fact] = {}
    for quota in entry["quotas"]:
        name = f"{quota['resource']}@{quota['flavor']}"
        for theirs, ours in LIMITS.items():
            if quota[theirs] is not None:
                queue.setdefault(ours, {})[name] = amount(quota["resource"], quota[theirs])
        group = groups.setdefault(quota["group"], {"resources": [], "flavors": []})
        group["resources"] += [quota["resource"]] if quota["resource"] not in group["resources"] else []
        group["flavors"] += [quota["flavor"]] if quota["flavor"] not in group["flavors"] else []
    queue["resource_groups"] = [groups[number] for number in sorted(groups)]
    return queue


def cluster_of(fact: Fact, workloads: list[Fact], **settings: Any) -> Cluster:
    queues = [queue_of(cohort, cohort["parent"]) for cohort in fact.get("cohorts", ())]
    queues += [queue_of(queue, queue["cohort"]) for queue in fact["cluster_queues"]]
    for queue in queues:
        if not queue["resource_groups"]:
            del queue["resource_groups"]
    return cede.load({"cede": 1, "doctrine": {"name": "kueue", **settings}, "queues": queues, "workloads": workloads})


def holding(name: str, queue: str, usage: dict[str, int], **more: Any) -> Fact:
    held = {
        f"{resource}@{flavor}": amount(resource, usage[key]) for key in usage for resource, flavor in [pair_of(key)]
    }
    return {"name": name, "queue": queue, "state": "running", "usage": held, **more}


def used_by(fact: Fact) -> list[Fact]:
    return [holding(f"work of {queue}", queue, usage) for queue, usage in fact["usage"].items()]


def quota_usage(cluster: Cluster) -> tuple[Quotas, QuotaUsage]:
    quotas = quotas_of(cluster.state)
    return quotas, quota_usage_of(cluster.state, quotas)


def units(quotas: Quotas, pair: int, count: int) -> int:
    """A count as a fact states it."""
    scale = 10**6 if quotas.pairs[pair][0] == "cpu" else 10**9
    assert count * quotas.nano[pair] % scale == 0
    return count * quotas.nano[pair] // scale


def counts(quotas: Quotas, key: str, number: int) -> tuple[int, int]:
    pair = quotas.index[pair_of(key)]
    scale = 10**6 if quotas.pairs[pair][0] == "cpu" else 10**9
    return pair, quotas.count(pair, number * scale)


def snapshot(cluster: Cluster) -> Snapshot:
    state = cluster.state
    return snapshot_of(Cycle(state, Trial(state), "0.20"))


# -- quotas and shares -----------------------------------------------------------------------------------------------


@facts("available")
def test_what_a_queue_can_take_now_and_ever(fact: Fact) -> None:
    quotas, usage = quota_usage(cluster_of(fact, used_by(fact)))

    for queue, amounts in fact["expected"]["available"].items():
        for key, number in amounts.items():
            pair, row = quotas.index[pair_of(key)], quotas.names.index(queue)
            assert units(quotas, pair, usage.available(pair, row)) == number
    for queue, amounts in fact["expected"]["potential"].items():
        for key, number in amounts.items():
            pair, row = quotas.index[pair_of(key)], quotas.names.index(queue)
            assert units(quotas, pair, quotas.potential[pair][row]) == number


@facts("drs")
def test_the_dominant_share_of_a_node(fact: Fact) -> None:
    quotas, usage = quota_usage(cluster_of(fact, used_by(fact)))

    for node in fact["expected"]:
        row = quotas.names.index(node["node"])
        after = usage.copy()
        for key, number in fact["extra_request"].items():
            pair, more = counts(quotas, key, number)
            after.used[pair][row] += more
        shares = Shares(after)
        assert (shares.rounded(row), shares.dominant(row), shares.borrowing(row)) == (
            node["rounded_share"],
            node["dominant_resource"],
            node["borrowing"],
        )


# -- orders ----------------------------------------------------------------------------------------------------------


def effective(entry: Fact) -> int:
    boost = entry["priority_boost"]
    return int(entry["priority"]) + (int(boost) if boost is not None and boost.lstrip("+-").isdigit() else 0)


@facts("candidate_order")
def test_the_order_of_candidates(fact: Fact) -> None:
    own = fact["preemptor_cluster_queue"]
    names = sorted({own, *(entry["cluster_queue"] or "nameless" for entry in fact["candidates"])})
    queues = [{"name": name, "parent": "cohort"} for name in names]
    workloads = [
        {
            "name": entry["name"],
            "queue": entry["cluster_queue"] or "nameless",
            "state": "preempting" if entry["evicted"] else "running",
            "priority": effective(entry),
            "usage": {"cpu": 1},
            **({} if entry["reserved_at"] is None else {"started": entry["reserved_at"]}),
            **({"uid": entry["uid"]} if entry["uid"] else {}),
        }
        for entry in fact["candidates"]
    ]
    seen = snapshot(cede.load({"cede": 1, "doctrine": "kueue", "queues": queues, "workloads": workloads}))
    standing = CandidateOrder(seen, np.arange(len(seen.rows)), seen.quotas.names.index(own))
    order = []
    while standing.queues():
        order.append(standing.pop(min(standing.queues(), key=standing.first))[0])

    assert [seen.state.work_names[row] for row in order] == fact["expected"]


@facts("policy")
def test_whom_a_policy_lets_go(fact: Fact) -> None:
    times = [-1 if fact[who]["created_at"] is None else fact[who]["created_at"] for who in ("preemptor", "candidate")]
    priorities = np.array([effective(fact["candidate"])])
    policy = "Never" if fact["policy"] is None else fact["policy"]

    allowed = policy_mask(policy, effective(fact["preemptor"]), times[0], priorities, np.array([times[1]]))

    assert bool(allowed[0]) is fact["expected"]


@facts("queue_order")
def test_which_queue_is_next(fact: Fact) -> None:
    workloads = [
        holding(
            entry["name"],
            entry["cluster_queue"],
            entry["usage"],
            priority=entry["priority"],
            started=entry["reserved_at"],
            state="preempting" if entry["evicted"] else "running",
        )
        for entry in fact["admitted"]
    ]
    seen = snapshot(cluster_of(fact, workloads, preemption="FairSharing"))
    own = seen.quotas.names.index(fact["preemptor_cluster_queue"])
    queues = [seen.quotas.names.index(name) for name in fact["candidate_cluster_queues"]]
    standing = CandidateOrder(seen, np.flatnonzero(np.isin(seen.queue, queues)), own)
    tournament = Tournament(Shares(seen.quota_usage), own, standing)
    found = []
    for turn in range(len(fact["expected"]) + 1):
        queue = tournament.next()
        if queue is None:
            break
        found.append(seen.quotas.names[queue])
        action = fact["actions"][turn] if turn < len(fact["actions"]) else "pop"
        if action == "drop":
            tournament.drop(queue)
        else:
            tournament.pop(queue)
            tournament.changed(queue)

    assert found == fact["expected"]


# -- held back -------------------------------------------------------------------------------------------------------


@facts("reserve")
def test_what_is_held_back_for_a_head(fact: Fact) -> None:
    assignment = fact["assignment"]
    (queue,) = fact["usage"]
    quotas, usage = quota_usage(cluster_of(fact, used_by(fact)))
    row = quotas.names.index(queue)
    asked = asked_of(dict(counts(quotas, key, number) for key, number in assignment["usage"].items()))
    expected = asked_of(dict(counts(quotas, key, number) for key, number in fact["expected"].items()))

    if assignment["mode"] == "Preempt":
        assert usage.held_back(row, asked, assignment["borrowing_level"]) == expected
    else:  # a head that fits is charged with all it asks for, before anybody is nominated again
        seen = snapshot(cluster_of(fact, [*used_by(fact), {"name": "in", "queue": queue}]))
        seen.charge(claimant_of(seen, seen.state.work_index["in"]), asked, TAKES)
        more = {pair: seen.quota_usage.used[pair][row] - usage.used[pair][row] for pair, _ in asked}
        assert asked_of(more) == expected
