"""One case for every rule: a cluster in which the rule fires, and the sentence it gives, numbers included.

`about` is who the sentence is about: the decision itself if None, else a candidate, or, for warnings, the claimant.
"""

from __future__ import annotations

from tests.builders import policy as range_of
from tests.rule_case import Case, Order
from tests.unit.lattice.small import (
    FREE,
    NONE,
    core,
    node,
    nodes,
    policy,
    tenant,
    vcluster,
    wants,
    whole,
)

N1, N2, A, B = node("n1"), node("n2"), vcluster("a", "hpc_batch"), vcluster("b", "hpc_batch")
OLD = whole("old", "n1", priority=1)
IN = wants("in", priority=8)
HALF = {"started": -1800, "walltime": "1h"}
SOON = {"started": -3400, "walltime": "1h"}
FIRM = whole("firm", "n1", priority=7, checkpoint=NONE, started=-60)
SERVICE = vcluster("a", "service")
OF_A = (node("n1", "a"), A, B)
LENT = whole("old", "n1", queue="b", priority=9)
CLAIM = wants("in", priority=3, sensitive=True, constraints={"nodes": ["n1"]})
X2Y = (*nodes("n1 n2", fingerprint="x"), node("n3", fingerprint="y"))

CASES: dict[str, Case] = {
    "fits": Case(policy(N1, A, IN), "it fits now on n1"),
    "priority": Case(
        policy(N1, A, whole("old", "n1", priority=1, **HALF), IN),
        "on n1: gpu 4 asked, 0 free; a whole node asked, others are on it; it has class 8 and preempts old "
        "(class 1, 55 min), 55 min in all, and is worth 4,608 min",
    ),
    "reclaim": Case(
        policy(*OF_A, LENT, wants("in", queue="a", priority=0)),
        "on n1: gpu 4 asked, 0 free; a whole node asked, others are on it; it has class 0 and takes nodes "
        "back from old (class 9, 5 min)",
    ),
    "sensitive-claim": Case(
        policy(N1, A, whole("old", "n1", priority=9), CLAIM),
        "on n1: gpu 4 asked, 0 free; a whole node asked, others are on it; it has class 3 and claims nodes "
        "from old (class 9, 5 min)",
    ),
    "not-needed": Case(
        policy(N1, N2, A, OLD, whole("more", "n2", priority=1, **HALF), IN),
        "it may be preempted at a cost of 55 min (checkpoint 5 + progress 50), but another set is preferred",
        "more",
    ),
    "enough-freed": Case(
        core(N1, N2, A, OLD, whole("more", "n2", priority=1, **HALF), IN),
        "it may be preempted at a cost of 55 min, but cheaper ones free enough nodes",
        "more",
    ),
    "not-enough": Case(
        policy(N1, N2, A, OLD, whole("firm", "n2", priority=9), wants("in", 2, priority=8)),
        "it may be preempted at a cost of 5 min (checkpoint 5), but preempting every candidate would not make enough "
        "room",
        "old",
    ),
    "running-only": Case(
        policy(N1, A, whole("old", "n1", priority=1, state="checkpointing"), IN),
        "it is checkpointing; only running work can be preempted",
        "old",
    ),
    "usable-nodes": Case(
        policy(N1, N2, A, OLD, whole("far", "n2"), wants("in", priority=8, constraints={"nodes": ["n1"]})),
        "it stands on no node that the claimant may use",
        "far",
    ),
    "opt-out": Case(
        policy(N1, A, whole("old", "n1", priority=1, preemptible=False), IN),
        "it asks not to be preempted (preemptible: false)",
        "old",
    ),
    "sensitive": Case(
        policy(N1, A, whole("old", "n1", priority=1, sensitive=True), IN),
        "it is sensitive (sensitive: true), which is never preempted",
        "old",
    ),
    "near-completion": Case(
        policy(N1, A, whole("old", "n1", priority=1, **SOON), IN),
        "its walltime ends in 3m 20s; no work is preempted within 5m of that",
        "old",
    ),
    "lower-class-only": Case(
        policy(N1, A, whole("old", "n1", priority=8), IN), "its class 8 is not below the claimant's 8", "old"
    ),
    "no-checkpoint": Case(
        policy(N1, A, FIRM, IN),
        "it writes no checkpoints and has class 7; from class 7 on that is not preempted",
        "firm",
    ),
    "service-at-home": Case(
        policy(node("n1", "a"), SERVICE, OLD, IN), "it is a service and stands on n1, which it does not borrow", "old"
    ),
    "sent-home": Case(
        policy(
            *(node("n1", "b"), node("n2", "b"), A, B, whole("in", "n1", queue="a", priority=9)),
            *(whole("mine", "n2", queue="b"), wants("host", queue="b", submitted=-36000)),
        ),
        "it stands on nodes of a vCluster that took its nodes back from the claimant before",
        "mine",
        second=True,
    ),
    "no-room": Case(
        policy(N1, A, whole("old", "n1", priority=9), IN),
        "no node has room for it (closest is n1: gpu 4 asked, 0 free; a whole node asked, others are on it), "
        "and nothing may be preempted for it",
    ),
    "max-victims": Case(
        policy(N1, N2, A, OLD, whole("more", "n2"), wants("in", 2, priority=8), max_victims=1),
        "no node has room for it (closest is n1: gpu 4 asked, 0 free; a whole node asked, others are on it), "
        "and it would take 2 victims, where 1 is the most",
    ),
    "value": Case(
        policy(N1, A, OLD, wants("in", priority=8, walltime="1m")),
        "no node has room for it (closest is n1: gpu 4 asked, 0 free; a whole node asked, others are on it); "
        "the victims it would take cost 5 min, and it is worth 3.2 min",
    ),
    "patience": Case(
        policy(N1, A, whole("old", "n1", priority=1, **SOON), IN, patience="5m"),
        "no node has room for it (closest is n1: gpu 4 asked, 0 free; a whole node asked, others are on it), "
        "but natural ends make room in 3m 20s, within its patience",
    ),
    "reservation": Case(
        policy(N1, N2, A, whole("old", "n1", priority=9, **HALF), wants("head", 2, priority=8), wants("in")),
        "it fits now, but would delay head, whose room is expected in 30m and kept for it",
    ),
    "may-not-preempt": Case(
        policy(N1, A, OLD, wants("in", priority=8, preempts=False)),
        "no node has room for it (closest is n1: gpu 4 asked, 0 free; a whole node asked, others are on it), "
        "and it never preempts others (preempts: false)",
    ),
    "queue-limit": Case(
        policy(N1, N2, vcluster("a", max={"gpu": 4}), OLD, IN),
        "queue a holds 4 of at most 4 gpu, and it asks for 4; no work is preempted for that",
    ),
    "no-usable-node": Case(
        policy(*nodes("n1 n2", state="cordoned"), A, IN), "of the nodes that match it (2) none is ready and free to use"
    ),
    "not-lent": Case(
        policy(node("n1", "b"), vcluster("a", "hpc_batch", allow_borrowing=False), B, wants("in", queue="a")),
        "the nodes it could use have another home, and its vCluster does not borrow",
    ),
    "behind-misfit": Case(
        core(
            *(N1, N2, vcluster("a", "interactive"), whole("old", "n1", priority=9)),
            *(wants("head", 2, submitted=-90), wants("in")),
        ),
        "head is ahead in its interactive vCluster and found no room",
    ),
    "one-fingerprint": Case(
        core(*X2Y, A, wants("in", 3, sensitive=True)), "sensitive work needs 3 nodes of one fingerprint, and 2 are free"
    ),
    "tenant-quota": Case(
        policy(
            *(N1, N2, A, tenant("t", max_nodes=1), whole("old", "n1", tenant="t", priority=1)),
            wants("in", priority=8, tenant="t"),
        ),
        "tenant t holds 1 of at most 1 nodes, and it asks for 1; no work is preempted for that",
    ),
    "fits-no-node": Case(
        policy(N1, A, wants("in", gpu=5)), "it fits no node even if that were empty: closest is n1: gpu 5 asked, 4 free"
    ),
    "matches-no-node": Case(
        policy(N1, A, wants("in", constraints={"labels": {"zone": "z"}})), "no node has label zone=z"
    ),
    "over-limit": Case(
        policy(N1, N2, A, tenant("t", max_nodes=1), wants("in", 2, tenant="t")),
        "it asks for 2 nodes, and tenant t may never hold more than 1",
    ),
    "class-range": Case(
        policy(N1, A, range_of(user="ann", max_priority=5), wants("in", priority=8, user="ann")),
        "class 8 is outside 0..5, the range that user ann may use",
    ),
    "class-fixed": Case(
        policy(N1, A, range_of(user="ann", default_priority=3, may_change=False), wants("in", priority=8, user="ann")),
        "user ann may not choose a class: it asks for 8, its own is 3",
    ),
    "falls-short": Case(
        core(
            *nodes("n1 n2"),
            node("n3", zone="z"),
            A,
            whole("old", "n1 n2", priority=1),
            whole("firm", "n3", priority=9),
            wants("in", priority=8, constraints={"labels": {"zone": "z"}}),
        ),
        "in does not fit on what is free when its victims are gone (nodes freed: 2): closest is n3: gpu 4 asked, "
        "0 free; a whole node asked, others are on it",
        "in",
    ),
    "fell-short": Case(
        core(
            *nodes("n1 n2 n3"),
            node("n4", zone="z"),
            A,
            whole("old", "n1", priority=1),
            whole("firm", "n4", priority=9),
            wants("in", priority=8, constraints={"labels": {"zone": "z"}}),
        ),
        "it was taken for the claimant before, which did not make that fit",
        "old",
        second=True,
        back=True,
    ),
    "needless-victim": Case(
        core(N1, N2, A, OLD, whole("more", "n2", priority=2), node("n3"), wants("in", 2, priority=8)),
        "old is taken although in would fit without that",
        "in",
    ),
    "breaks-near-completion": Case(
        core(N1, A, whole("old", "n1", priority=1, **SOON), IN),
        "the policy spares work within 5m of its end; the walltime of old ends in 3m 20s",
        "in",
    ),
    "breaks-no-checkpoint": Case(
        core(N1, A, FIRM, IN),
        "the policy spares work of class 7 and above that writes no checkpoints; firm has class 7",
        "in",
    ),
    "breaks-service-at-home": Case(
        core(node("n1", "a"), SERVICE, OLD, IN),
        "the policy spares services on nodes that are not borrowed; old stands on n1",
        "in",
    ),
    "breaks-sensitive": Case(
        core(N1, vcluster("a", "sensitive"), OLD, IN),
        "the policy never preempts work of a sensitive vCluster; old is of a",
        "in",
    ),
    "breaks-value": Case(
        core(N1, A, OLD, wants("in", priority=8, walltime="1m")),
        "the policy wants victims to cost less than the claimant is worth; they cost 5 min, it 3.2 min",
        "in",
    ),
}

ORDERS: dict[str, Order] = {
    "score": (
        policy(N1, A, wants("low", priority=2), wants("high", priority=5), wants("old", priority=2, submitted=-7200)),
        ["old", "high", "low"],
    ),
    "victim-set": (
        policy(
            *nodes("n1 n2 n3 n4"), A, whole("one", "n1"), whole("two", "n2"),
            whole("both", "n3 n4", checkpoint={"mode": "auto", "time": "11m"}), wants("in", 2, priority=8), **FREE,
        ),
        ["both"],
    ),
    "cost-order": (
        core(*nodes("n1 n2 n3"), A, whole("c", "n1", checkpoint=NONE, started=-60), whole("b", "n2"), whole("a", "n3"),
             wants("in", 3, priority=8)),
        ["c", "a", "b"],
    ),
    "submission": (
        core(N1, vcluster("a", "interactive"), wants("late", priority=9), wants("early", priority=1, submitted=-99)),
        ["early", "late"],
    ),
}  # fmt: skip
