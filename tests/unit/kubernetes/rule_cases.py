"""One case for every rule: a cluster in which the rule fires, and the sentence it gives, numbers included."""

from __future__ import annotations

from tests.builders import group, node, pending, policy, preempting, running
from tests.rule_case import Case, Order
from tests.unit.kubernetes.small import allows, pods

N1, N2 = node("n1", cpu=4), node("n2", cpu=4)
OLD = running("old", "n1", cpu=4, priority=1, started=-60)
IN = pending("in", cpu=4, priority=9)
LIMIT = group("rg", partition="default", max={"cpu": 4})

CASES: dict[str, Case] = {
    "fits": Case(pods(N1, IN), "it fits now on n1"),
    "lower-priority": Case(pods(N1, OLD, IN), "its priority 1 is below the claimant's 9", "old"),
    "not-needed": Case(
        pods(node("n1", cpu=8), running("a", cpu=4, priority=1), running("b", cpu=4, priority=2), IN),
        "it may be preempted, but the claimant fits without that",
        "b",
    ),
    "not-enough": Case(
        pods(node("n1", cpu=8), running("low", cpu=1, priority=1), running("high", cpu=7, priority=50), IN),
        "it may be preempted, but preempting every candidate would not make enough room",
        "low",
    ),
    "running-only": Case(
        pods(N1, running("saves", cpu=4, priority=1, state="checkpointing"), IN),
        "it is checkpointing; only running work can be preempted",
        "saves",
    ),
    "usable-nodes": Case(
        pods(N1, node("n2", cpu=4, state="cordoned"), OLD, running("there", "n2", cpu=4, priority=1), IN),
        "it stands on no node that the claimant may use",
        "there",
    ),
    "opt-out": Case(
        pods(N1, running("shy", cpu=4, priority=1, preemptible=False), IN),
        "it asks not to be preempted (preemptible: false)",
        "shy",
    ),
    "lower-priority-only": Case(
        pods(N1, running("old", cpu=4, priority=9), IN), "its priority 9 is not below the claimant's 9", "old"
    ),
    "no-room": Case(
        pods(N1, running("old", cpu=4, priority=9), IN),
        "no node has room for it (closest is n1: cpu 4 asked, 0 free), and nothing may be preempted for it",
    ),
    "awaits-leaving": Case(
        pods(N1, preempting("goes", "n1", cpu=4, priority=1), IN), "its room is on n1, as soon as goes has left there"
    ),
    "may-not-preempt": Case(
        pods(N1, OLD, pending("in", cpu=4, priority=9, preempts=False)),
        "no node has room for it (closest is n1: cpu 4 asked, 0 free), and it never preempts others (preempts: false)",
    ),
    "quota": Case(
        pods(LIMIT, node("n1", cpu=8), running("old", cpu=3, priority=1), pending("in", cpu=2, priority=1)),
        "queue rg holds 3 of at most 4 cpu, and it asks for 2",
    ),
    "no-usable-node": Case(
        pods(node("n1", cpu=4, state="cordoned"), IN),
        "1 of its partition's nodes match it, and none of them is ready and free to use",
    ),
    "fits-no-node": Case(
        pods(N1, pending("in", cpu=5)),
        "it fits no node of its partition even if that were empty: closest is n1: cpu 5 asked, 4 free",
    ),
    "matches-no-node": Case(
        pods(N1, pending("in", cpu=1, constraints={"labels": {"zone": "b"}})),
        "no node of its partition has label zone=b",
    ),
    "over-limit": Case(
        pods(LIMIT, node("n1", cpu=8), pending("in", cpu=5)),
        "it asks for 5 cpu, and queue rg may never hold more than 4",
    ),
    "priority-range": Case(
        pods(policy(user="ann", max_priority=5), N1, pending("in", cpu=4, user="ann", priority=9)),
        "priority 9 is outside -2147483648..5, the range that user ann may use",
    ),
    "priority-fixed": Case(
        pods(policy(user="ann", may_change=False), N1, pending("in", cpu=4, user="ann", priority=9)),
        "user ann may not choose a priority: it asks for 9, its own is 0",
    ),
    "breaks-budget": Case(
        pods(N1, OLD, IN, budgets=allows(0, "old", name="web")),
        "old is covered by the disruption budget web, which allows 0 more",
        "in",
    ),
}

ORDERS: dict[str, Order] = {
    "queue-order": (
        pods(node("n1", cpu=9), pending("late", cpu=1, submitted=-1), pending("high", cpu=1, priority=11),
             pending("b", cpu=1, submitted=-2), pending("a", cpu=1, submitted=-2, uid="z")),
        ["high", "b", "a", "late"],
    ),
    # Were the first put where it fits best, the second would start on n2.
    "node-score": (
        pods(N1, N2, running("x", "n1", cpu=2, priority=1), pending("first", cpu=2, priority=9),
             pending("second", cpu=4, priority=5)),
        ["x"],
    ),
    # Room is for three more: c and e would break the budget, the rest stays by priority, then by start.
    "reprieve-order": (
        pods(node("n1", cpu=6), running("a", cpu=1, priority=2, started=-9),
             running("b", cpu=1, priority=2, started=-8), running("c", cpu=1, priority=1, started=-1),
             running("d", cpu=1, priority=3, started=-1), running("e", cpu=1, priority=0, started=-1),
             running("f", cpu=1, priority=2, started=-7), pending("in", cpu=2, priority=9),
             budgets=allows(0, "c", "e")),
        ["b", "f"],
    ),
    "node-choice": (
        pods(N1, N2, node("n3", cpu=4), OLD, running("two", "n2", cpu=4, priority=1, started=-30),
             running("three", "n3", cpu=4, priority=2, started=-10), IN),
        ["two"],
    ),
}  # fmt: skip
