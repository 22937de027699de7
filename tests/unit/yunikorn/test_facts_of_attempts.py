"""Facts about attempts to preempt: gates, the search for candidates, and asks that need a certain node.

How many queues an attempt copied, and how many attempts are left after it, shows in no plan.
"""

from typing import Any

import pytest

import cede
from cede.doctrines.yunikorn.doctrine import DOCTRINE as YUNIKORN
from cede.doctrines.yunikorn.memory import Checked, Memory
from cede.engine.cluster import Cluster
from cede.engine.cycle import plan_state
from cede.engine.events import Marked, apply
from cede.engine.verify import verify
from cede.model.plan import Decision
from cede.model.times import SECOND
from tests.unit.yunikorn.fact_files import (
    NOW,
    Fact,
    allocation_entries,
    expected,
    facts,
    load,
    queue_entries,
    rest_entries,
)

OPEN = ("victim", "not-needed")
"""Verdicts on a candidate that might have gone."""
LONG_AGO = {"submitted": NOW - 60}


def ask_entry(fact: Fact, **more: Any) -> Fact:
    ask = fact["ask"]
    entry = {"name": ask["key"], "app": ask["app"], "queue": ask["queue"] or "root.q", "requests": ask["resource"]}
    entry |= {key: ask[key] for key in ("priority", "required_node") if key in ask}
    return entry | more


def decided(cluster: Cluster, name: str) -> Decision:
    made = cede.plan(cluster, explain=True)
    assert verify(cluster, made) == []
    found = made.of(name)
    assert found is not None
    return found


def open_to(made: Decision) -> set[str]:
    return {found.workload for found in made.candidates or () if found.verdict in OPEN}


# -- an ask for any node ---------------------------------------------------------------------------------------------


@facts("preconditions")
def test_who_may_try(fact: Fact) -> None:
    """The ask is owed all it asks for and finds a victim, so that it preempts if it may try."""
    state = fact["ask_state"]
    delay = {"settings": {"preemption.delay": f"{state['preemption_delay_s']}s"}}
    queues: list[Fact] = [
        {"name": "root.in", "parent": "root", "guaranteed": {"cpu": 4}, **delay},
        {"name": "root.out", "parent": "root"},
    ]
    ask = {"name": "ask", "queue": "root.in", "requests": {"cpu": 4}, "submitted": NOW - state["age_s"]}
    ask |= {"preempts": state["allow_preempt_other"]}
    ask |= {"required_node": state["required_node"]} if state["required_node"] else {}
    victim = {"name": "victim", "queue": "root.out", "state": "running", "nodes": ["node1"], "requests": {"cpu": 4}}
    cluster = load(queues, [ask, victim], [{"name": "node1", "capacity": {"cpu": 4}}])
    memory = Memory(triggered={"ask"} if state["triggered"] else set())
    if state["last_check_age_s"] is not None:
        at = (NOW - state["last_check_age_s"]) * SECOND
        memory.checked["ask"] = Checked(at, cluster.state.version, "yunikorn.no-victims")

    made = plan_state(cluster.state, YUNIKORN, memory={"yunikorn": memory}).of("ask")

    assert made is not None
    assert (made.rule == "yunikorn.over-guarantee") is fact["expect"]["pass"]


@facts("victims")
def test_who_is_found_and_where_the_search_ends(fact: Fact) -> None:
    """Nothing is free, though the node has the 1000 that are the root's limit: others occupy the rest.

    A node that is closed for now has room, so that the ask is not refused for ever.
    """
    works, queues = allocation_entries(fact), queue_entries(fact)
    works += [
        {"name": f"more of {path}", "queue": f"{path}.more", "state": "running", "nodes": ["node-1"], "requests": used}
        for path, used in fact.get("queue_usage_override", {}).items()
    ]
    held = sum(work["requests"]["memory"] for work in works)
    node = {"name": "node-1", "capacity": {"memory": 1000}, "occupied": {"memory": 1000 - held}}
    closed = {"name": "closed", "capacity": {"memory": 100}, "state": "cordoned"}
    cluster = load(queues + rest_entries(works, queues), [*works, ask_entry(fact, **LONG_AGO)], [node, closed])

    made, result = decided(cluster, fact["ask"]["key"]), expected(fact)

    assert made.account is not None
    assert made.account["fence"] == result.get("fence", "root")
    assert "victims" not in result or open_to(made) == set(result["victims"])


@facts("flow")
def test_the_way_of_an_ask(fact: Fact) -> None:
    """What the fact calls no headroom is a node that others fill. Ten asks too large for what they are owed use up
    the attempts before it."""
    ask, works, queues = fact["ask"]["key"], allocation_entries(fact), queue_entries(fact)
    [node] = [{"name": node["id"], "capacity": node["capacity"], "occupied": {"first": 10}} for node in fact["nodes"]]
    large = [
        {"name": f"large {at}", "queue": fact["ask"]["queue"], "requests": {"first": 6}, "priority": 1, **LONG_AGO}
        for at in range(10)
    ]

    def step(age_s: float, *others: Fact) -> Decision:
        return decided(load(queues, [*works, *others, ask_entry(fact, submitted=NOW - age_s)], [node]), ask)

    without, young, last = fact["expect"]["steps"]
    assert (without["log"], step(60, *large).rule) == ("attempts-exhausted", "yunikorn.attempts")
    assert (young["log"], step(young["ask_age_s"], *large[:9]).rule) == ("preconditions", "yunikorn.delay")
    made = step(last["ask_age_s"], *large[:9])
    assert [victim.workload for victim in made.victims] == last["victims"]
    assert made.nodes == (node["name"],)


# -- an ask for a certain node ---------------------------------------------------------------------------------------

RULES = {
    "required_node": "yunikorn.pinned-work",
    "type_mismatch": "yunikorn.no-common-type",
    "higher_priority": "yunikorn.law-6",
    "preempted": "yunikorn.running-only",
}


def crowded(fact: Fact) -> Cluster:
    """The node is full, and the cluster is not."""
    works = allocation_entries(fact, "root.q")
    full = {"first": sum(work["resource"]["first"] for work in fact["allocations"] if not work.get("released"))}
    nodes = [{"name": "node", "capacity": full}, *({"name": name, "capacity": {"first": 100}} for name in ("node-3",))]
    return load([{"name": "root.q", "parent": "root"}], [*works, ask_entry(fact)], nodes)


@facts("required-node-filter")
def test_who_stays_on_a_node_that_another_needs(fact: Fact) -> None:
    made, counts = decided(crowded(fact), fact["ask"]["key"]), fact["expect"]["counts"]

    found = [each.rule for each in made.candidates or ()]
    assert {why: found.count(rule) for why, rule in RULES.items()} == {why: counts[why] for why in RULES}
    assert len(found) + counts["released"] == counts["total"]
    assert len(open_to(made)) == fact["expect"]["remaining"]


@facts("required-node-victims")
def test_who_goes_from_a_node_that_another_needs(fact: Fact) -> None:
    made = decided(crowded(fact), fact["ask"]["key"])

    assert [victim.workload for victim in made.victims] == fact["expect"]["victims"]


@facts("required-node-flow")
def test_an_ask_that_needs_a_node_preempts_once(fact: Fact) -> None:
    """Its reservation and its preemption are one plan. Neither queues nor the other node are in its way."""
    queues = [{"name": "root.default", "parent": "root"}]
    nodes = [{"name": name, "capacity": {"first": 20}} for name in ("node-1", "node-2")]
    cluster = load(queues, [*allocation_entries(fact), ask_entry(fact, submitted=NOW)], nodes)
    ask, memory = fact["ask"]["key"], dict[str, Any]()
    _, preempts, waits = fact["expect"]["steps"]

    first = plan_state(cluster.state, YUNIKORN, memory=memory)
    apply(cluster.state, Marked("ask-1", "preempting"))
    then = plan_state(cluster.state, YUNIKORN, memory=memory).of(ask)

    assert first.victims == set(preempts["victims"])
    assert then is not None
    assert ([victim.workload for victim in then.victims], then.rule) == (waits["victims"], "yunikorn.triggered-once")


@pytest.mark.parametrize("settings", [{}, {"preemption.enabled": False}])
def test_no_switch_keeps_an_ask_from_the_node_that_it_needs(settings: dict[str, Any]) -> None:
    works = [
        {"name": "low", "queue": "root.q", "state": "running", "nodes": ["node"], "requests": {"first": 5}},
        {"name": "in", "queue": "root.q", "required_node": "node", "requests": {"first": 5}},
    ]
    nodes = [{"name": name, "capacity": {"first": 5}} for name in ("node", "other")]

    assert cede.plan(load([{"name": "root.q", "parent": "root"}], works, nodes, **settings)).victims == {"low"}
