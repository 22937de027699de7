"""The naive Kueue tree and its orders, shown on the facts of tests/facts/kueue.json."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from bench.naive.candidates import Preemptor, allows, order
from bench.naive.quota import Amounts, Node, Tree, Workload
from bench.naive.shares import share_of
from bench.naive.tournament import Tournament
from tests.referees.kueue import held_back

Fact = dict[str, Any]

FILE = Path(__file__).parents[1] / "facts" / "kueue.json"
FACTS: list[Fact] = json.loads(FILE.read_text(encoding="utf-8"))["facts"]


def of(kind: str) -> list[Any]:
    """The facts of one kind that need no gate which is off as shipped."""
    facts = [fact for fact in FACTS if fact["kind"] == kind and not fact.get("feature_gates")]
    return [pytest.param(fact, id=fact["id"]) for fact in facts]


def amounts(raw: dict[str, int]) -> Amounts:
    return {(key.partition("/")[0], key.partition("/")[2]): amount for key, amount in raw.items()}


def limit(entry: Fact, key: str) -> Amounts:
    quotas = entry["quotas"]
    return {(quota["flavor"], quota["resource"]): quota[key] for quota in quotas if quota[key] is not None}


def tree_of(fact: Fact) -> Tree:
    tree = Tree(
        Node(
            entry["name"],
            entry.get("cohort", entry.get("parent")),
            limit(entry, "nominal"),
            limit(entry, "borrowing_limit"),
            limit(entry, "lending_limit"),
            Fraction(str(entry["weight"])),
        )
        for entry in [*fact["cohorts"], *fact["cluster_queues"]]
    )
    for name, used in fact.get("usage", {}).items():
        tree.use(tree.nodes[name], amounts(used))
    return tree


def workload(entry: Fact) -> Workload:
    return Workload(
        entry["name"],
        entry["cluster_queue"],
        amounts(entry.get("usage", {})),
        entry["priority"],
        reserved_at=entry["reserved_at"] or 0,
        uid=entry["uid"] or "",
        evicted=entry["evicted"],
    )


@pytest.mark.parametrize("fact", of("available"))
def test_a_queue_can_take_what_is_left_up_to_the_root(fact: Fact) -> None:
    tree = tree_of(fact)

    for name, wanted in fact["expected"]["available"].items():
        assert {fr: tree.nodes[name].available(fr) for fr in amounts(wanted)} == amounts(wanted)
    for name, wanted in fact["expected"]["potential"].items():
        assert {fr: tree.nodes[name].potential(fr) for fr in amounts(wanted)} == amounts(wanted)


@pytest.mark.parametrize("fact", of("drs"))
def test_a_share_is_the_largest_excess_of_what_can_be_lent(fact: Fact) -> None:
    tree = tree_of(fact)

    for wanted in fact["expected"]:
        share = share_of(tree.nodes[wanted["node"]], amounts(fact["extra_request"]))
        assert [share.rounded, share.dominant, share.borrowing] == [
            wanted["rounded_share"],
            wanted["dominant_resource"],
            wanted["borrowing"],
        ]


@pytest.mark.parametrize("fact", of("candidate_order"))
def test_candidates_are_sorted_by_the_page(fact: Fact) -> None:
    candidates = [workload(entry) for entry in fact["candidates"]]
    key = order(fact["preemptor_cluster_queue"])

    assert [candidate.name for candidate in sorted(candidates, key=key)] == fact["expected"]


@pytest.mark.parametrize("fact", of("policy"))
def test_a_policy_says_who_may_be_taken(fact: Fact) -> None:
    preemptor, candidate = fact["preemptor"], fact["candidate"]
    claim = Preemptor("q", {}, preemptor["priority"], preemptor["created_at"] or 0)
    held = Workload("c", "q", {}, candidate["priority"], candidate["created_at"] or 0)

    assert allows(fact["policy"], claim, held) is fact["expected"]


@pytest.mark.parametrize("fact", of("queue_order"))
def test_the_tournament_goes_towards_the_largest_share(fact: Fact) -> None:
    tree = tree_of(fact)
    running = [workload(entry) for entry in fact["admitted"]]
    for one in running:
        tree.hold(one)
    queue = tree.nodes[fact["preemptor_cluster_queue"]]
    chosen = [one for one in running if one.queue in fact["candidate_cluster_queues"]]
    tournament = Tournament(queue, sorted(chosen, key=order(queue.name)))
    actions = iter(fact["actions"])
    found = []
    while (target := tournament.next()) is not None:
        found.append(target.name)
        if next(actions, "pop") == "drop":
            tournament.drop(target)
        else:
            tournament.pop(target)

    assert found == fact["expected"]


@pytest.mark.parametrize("fact", of("reserve"))
def test_a_blocked_head_keeps_what_it_may_have(fact: Fact) -> None:
    [queue] = fact["cluster_queues"]
    node, assignment = tree_of(fact).nodes[queue["name"]], fact["assignment"]
    usage = amounts(assignment["usage"])

    kept = held_back(node, usage, assignment["borrowing_level"]) if assignment["mode"] == "Preempt" else usage

    assert kept == amounts(fact["expected"])
