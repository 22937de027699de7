"""One case for every rule: a cluster in which the rule fires, and the sentence it gives, numbers included.

`about` is who the sentence is about: the decision itself if None, else a candidate, or, for warnings, the claimant.
Rules of order say nothing; their cases show who comes before whom.
"""

from __future__ import annotations

from tests.builders import asking, laws, node, path, pending, policy, preempting, release, running, tenant
from tests.rule_case import Case, Order

N4, N6 = node("n1", cpu=4), node("n1", cpu=6)
A, B, C = path("root.a", cpu=4), path("root.b"), path("root.c", cpu=2)
OLD = running("old", queue="root.b", cpu=4)
IN, DAEMON = asking("in", "root.a", cpu=2), asking("in", "root.a", cpu=2, required_node="n1")
CUTS = {"preemption.quotapreemptionenabled": True}
CUT = path("root.a", max={"cpu": 2}, quota_delay="60s", over_limit_since=-60)
WIDE = (node("n1", cpu=2, memory=20), path("root.a", cpu=2, memory=20), B,
        running("one", queue="root.b", cpu=1, memory=10, submitted=-9),
        running("two", queue="root.b", cpu=1, memory=10), asking("in", "root.a", cpu=2, memory=5))  # fmt: skip
LIMITED = path("root.a", cpu=4, max={"cpu": 2})

CASES: dict[str, Case] = {
    "fits": Case(
        laws(N4, A, IN),
        "it fits now on n1",
    ),
    "over-guarantee": Case(
        laws(N4, A, C, running("old", queue="root.c", cpu=2), running("new", queue="root.c", cpu=2), IN),
        "its queue root.c holds 4 cpu and is guaranteed 2 cpu",
        "new",
    ),
    "law-1": Case(
        laws(N4, A, B, running("old", queue="root.b", cpu=4, preemptible=False), IN),
        "it asks not to be preempted, which is a strong suggestion and no guarantee: nothing else makes enough room",
        "old",
    ),
    "required-node": Case(
        laws(N4, A, B, OLD, DAEMON),
        "it stands on n1, the claimant's only node, and its priority 0 is not above 0",
        "old",
    ),
    "quota": Case(
        release(N6, CUT, running("one", cpu=2), running("two", cpu=2), **CUTS),
        "queue root.a is above its max; root.a gives back up to 2 cpu, and it holds 2 cpu",
        "two", None,
    ),
    "not-needed": Case(
        laws(N4, A, B, running("old", queue="root.b", cpu=2, submitted=-9), running("new", queue="root.b", cpu=2), IN),
        "it may be preempted, but the claimant fits without that",
        "old",
    ),
    "not-enough": Case(
        laws(node("n1", cpu=4), node("n2", cpu=2), A, B, running("big", "n1", queue="root.b", cpu=3, priority=9),
             running("old", "n1", queue="root.b", cpu=1), running("far", "n2", queue="root.b", cpu=2, priority=9), IN),
        "it may be preempted, but no victims that are allowed make enough room",
        "old",
    ),
    "passed-over": Case(
        release(N4, A, B, running("big", queue="root.b", cpu=3, priority=9), running("old", queue="root.b", cpu=1),
                IN),
        "it may be preempted, but the search on its node ends without it",
        "old",
    ),
    "running-only": Case(
        laws(N4, A, B, preempting("old", queue="root.b", cpu=4), IN),
        "it is preempting; only running work can be preempted",
        "old",
    ),
    "usable-nodes": Case(
        laws(N4, node("n2", cpu=4), A, B, running("old", "n1", queue="root.b", cpu=4),
             running("far", "n2", queue="root.b", cpu=4),
             asking("in", "root.a", cpu=2, constraints={"nodes": ["n1"]})),
        "it stands on no node that the claimant may use",
        "far",
    ),
    "one-node": Case(
        laws(N4, node("n2", cpu=4), A, B, running("gang", ["n1", "n2"], queue="root.b", cpu=4, members=2), IN),
        "it stands on 2 nodes; victims of one decision stand on one",
        "gang",
    ),
    "inter-queue": Case(
        laws(N4, A, B, running("old", queue="root.a", cpu=3), running("other", queue="root.b", cpu=1), IN),
        "it is in the claimant's own queue root.a; preemption is between queues",
        "old",
    ),
    "pinned-work": Case(
        laws(N4, A, B, running("agent", queue="root.b", cpu=4, required_node="n1"), IN),
        "it needs the node n1 and no other; such work is never a victim",
        "agent",
    ),
    "no-common-type": Case(
        laws(node("n1", cpu=4, gpu=1), A, B, OLD, running("other", queue="root.b", gpu=1), IN),
        "it holds nothing of what the claimant asks for (2 cpu)",
        "other",
    ),
    "scan-stopped": Case(
        release(N6, A, B, running("young", queue="root.b", cpu=5),
                running("old", queue="root.b", cpu=1, submitted=-9), IN),
        "young is larger than the 4 cpu that root.a is owed and ends the search",
        "old",
    ),
    "disabled": Case(
        laws(N4, A, path("root.b", policy="disabled"), OLD, IN),
        "its queue root.b is protected: preemption.policy of root.b is disabled",
        "old",
    ),
    "law-7": Case(
        laws(N4, path("root.t", policy="fence"), path("root.t.a", cpu=4), B, OLD, asking("in", "root.t.a", cpu=2)),
        "its queue root.b is outside root.t, where the claimant's search is fenced",
        "old",
    ),
    "law-6": Case(
        laws(N4, A, B, running("old", queue="root.b", cpu=4, priority=6), IN),
        "its priority 6 is above the claimant's 0",
        "old",
    ),
    "law-3": Case(
        laws(N4, A, B, running("old", queue="root.b", cpu=4, app="job"), asking("in", "root.a", cpu=2, app="job")),
        "it is of the claimant's own application job",
        "old",
    ),
    "law-5": Case(
        laws(N4, A, path("root.b", cpu=4), OLD, IN),
        "its queue root.b holds 4 cpu and is not over its guarantee (4 cpu) in what is asked for",
        "old",
    ),
    "law-2": Case(
        laws(N4, A, path("root.b", cpu=3), OLD, IN),
        "without it root.b would hold 0 cpu of the 3 cpu it is guaranteed",
        "old",
    ),
    "law-4": Case(
        laws(N4, path("root.a", cpu=1), B, running("mine", queue="root.a", cpu=1),
             running("old", queue="root.b", cpu=3), IN),
        "no node has room for it (closest is n1: cpu 2 asked, 0 free), and it may not preempt: its queue root.a "
        "holds 1 cpu and is not under its guarantee of 1 cpu",
    ),
    "no-lawful-set": Case(
        laws(N4, A, path("root.b", cpu=3), OLD, IN),
        "no node has room for it (closest is n1: cpu 2 asked, 0 free), and no lawful set of victims on one node "
        "makes room: nothing may be preempted",
    ),
    "no-victims": Case(
        release(N4, A, B, running("old", queue="root.b", cpu=4, priority=1), IN),
        "no node has room for it (closest is n1: cpu 2 asked, 0 free), and preemption found no victims: nothing may "
        "be preempted",
    ),
    "guarantee-check": Case(
        release(N4, path("root.a", cpu=1), B, OLD, IN),
        "no node has room for it (closest is n1: cpu 2 asked, 0 free), and the queue guarantees check failed: root.a"
        " is owed 1 cpu, it asks for 2 cpu",
    ),
    "shortfall": Case(
        release(N4, A, B, running("old", queue="root.b", cpu=3), asking("in", "root.a", cpu=4)),
        "no node has room for it (closest is n1: cpu 4 asked, 1 free), and what preemption found (3 cpu) is short of"
        " the 4 cpu asked for",
    ),
    "preemption-off": Case(
        laws(N4, A, B, OLD, IN, **{"preemption.enabled": False}),
        "no node has room for it (closest is n1: cpu 2 asked, 0 free), and preemption is off (preemption.enabled: "
        "false)",
    ),
    "may-not-preempt": Case(
        laws(N4, A, B, OLD, asking("in", "root.a", cpu=2, preempts=False)),
        "no node has room for it (closest is n1: cpu 2 asked, 0 free), and it never preempts others (preempts: "
        "false)",
    ),
    "delay": Case(
        laws(N4, A, B, OLD, pending("in", queue="root.a", cpu=2, submitted=-12)),
        "no node has room for it (closest is n1: cpu 2 asked, 0 free), and it waited 12s of the 30s after which it "
        "may preempt",
    ),
    "one-member": Case(
        laws(N4, A, B, OLD, asking("in", "root.a", cpu=1, members=2)),
        "no node has room for it (closest is n1: cpu 1 asked, 0 free), and preemption makes room for one member at a"
        " time; it has 2",
    ),
    "required-node-full": Case(
        laws(N4, A, B, running("old", queue="root.b", cpu=4, priority=1), DAEMON),
        "no node has room for it (closest is n1: cpu 2 asked, 0 free), and what may be preempted does not make enough "
        "room: nothing may be preempted",
    ),
    "required-node-headroom": Case(
        release(N4, LIMITED, running("old", cpu=1), DAEMON),
        "queue root.a holds 1 of at most 2 cpu, and it asks for 2: work that needs a certain node never preempts for"
        " a limit",
    ),
    "limit": Case(
        laws(N4, A, B, tenant("t", max_workloads=1), running("old", queue="root.b", cpu=1, tenant="t"),
             asking("in", "root.a", cpu=2, tenant="t")),
        "tenant t holds 1 of at most 1 workloads, and it asks for 1",
    ),
    "no-usable-node": Case(
        laws(node("n1", cpu=4, state="cordoned"), A, IN),
        "none of the nodes that match it (1) is ready and free to use",
    ),
    "fits-no-node": Case(
        laws(node("n1", cpu=4, occupied={"cpu": 3}), A, IN),
        "it fits no node even if that were empty: closest is n1: cpu 2 asked, 1 free",
    ),
    "matches-no-node": Case(
        laws(N4, A, asking("in", "root.a", cpu=2, constraints={"labels": {"zone": "z"}})),
        "no node has label zone=z",
    ),
    "priority-range": Case(
        laws(N4, A, policy(user="ann", min_priority=2, max_priority=5),
             asking("in", "root.a", cpu=1, user="ann", priority=6)),
        "priority 6 is outside 2..5, the range that user ann may use",
    ),
    "priority-fixed": Case(
        laws(N4, A, policy(project="vision", default_priority=3, may_change=False),
             asking("in", "root.a", cpu=1, project="vision", priority=6)),
        "project vision may not choose a priority: it asks for 6, its own is 3",
    ),
    "over-max": Case(
        laws(N4, LIMITED, asking("in", "root.a", cpu=3)),
        "it asks for 3 cpu, and queue root.a may never hold more than 2",
    ),
    "breaks-law-2": Case(
        release(N4, A, path("root.b", cpu=3), OLD, IN),
        "the design leaves no queue below its guarantee; root.b ends with 0 cpu of 3 cpu",
        "in",
    ),
    "breaks-law-3": Case(
        release(N4, A, B, running("old", queue="root.b", cpu=4, app="job"), asking("in", "root.a", cpu=2, app="job")),
        "the design spares the same application; old is of job too",
        "in",
    ),
    "breaks-law-4": Case(
        release(node("n1", cpu=4, gpu=1), path("root.a", cpu=2), B, running("mine", queue="root.a", cpu=2),
                running("old", queue="root.b", gpu=1), asking("in", "root.a", gpu=1)),
        "by the design only a queue under its guarantee preempts; root.a is not: no queue on its path guarantees a "
        "requested type",
        "in",
    ),
    "breaks-law-5": Case(
        release(N6, A, path("root.p", cpu=4), path("root.p.b", cpu=2), path("root.p.c"),
                running("new", queue="root.p.b", cpu=2), running("old", queue="root.p.c", cpu=4, submitted=-9), IN),
        "the design takes from queues over their guarantee only; root.p.b of new holds 2 cpu of 2 cpu",
        "in",
    ),
    "breaks-law-6": Case(
        release(N4, A, path("root.b", offset=-5), running("old", queue="root.b", cpu=4, priority=3), IN),
        "the design takes no higher priority; old has 3, the claimant 0",
        "in",
    ),
    "breaks-one-node": Case(
        release(node("n1", cpu=4), node("n2", cpu=4), path("root.t", max={"cpu": 4}), path("root.t.a", cpu=4),
                path("root.t.b"), running("old", "n2", queue="root.t.b", cpu=4), asking("in", "root.t.a", cpu=2)),
        "the design takes victims from one node; old stands on n2, the room is on n1",
        "in",
    ),
    "preempts-not-read": Case(
        release(N4, node("n2", cpu=2), A, B, running("old", "n1", queue="root.b", cpu=4),
                asking("in", "root.a", cpu=2, required_node="n1", preempts=False)),
        "in says preempts: false, and the release does not read that of work that needs a certain node",
        "in",
    ),
    "does-not-fit": Case(
        release(*WIDE),
        "its victims do not make enough room (n1 lacks 1 cpu), and it preempts only once",
        "in",
    ),
    "needless-victim": Case(
        release(N4, node("n2", cpu=2), A, B, running("one", "n1", queue="root.b", cpu=1),
                running("two", "n1", queue="root.b", cpu=2, submitted=-9), DAEMON),
        "two is taken although in would fit without that",
        "in",
    ),
    "check-interval": Case(
        release(N4, A, B, running("old", queue="root.b", cpu=4, priority=1), IN),
        "no node has room for it (closest is n1: cpu 2 asked, 0 free), and it was looked at 1s ago (yunikorn.no-"
        "victims); the next time is after 15s",
        second=True,
    ),
    "triggered-once": Case(
        release(*WIDE),
        "no node has room for it (closest is n1: cpu 2 asked, 1 free), and it preempted once before; an ask does so "
        "once only",
        second=True,
    ),
    "attempts": Case(
        release(N4, A, B, running("old", queue="root.b", cpu=4, priority=9),
                *(asking(f"in-{n:02}", "root.a", cpu=2) for n in range(11))),
        "no node has room for it (closest is n1: cpu 2 asked, 0 free), and the 10 attempts of queue root.a in this "
        "pass are used up",
        decided="in-10",
    ),
    "no-share": Case(
        release(node("n1", cpu=6, gpu=1), CUT, running("one", cpu=2), running("two", cpu=2), running("other", gpu=1),
                **CUTS),
        "it holds nothing of what root.a gives back for the max of root.a, which is 2 cpu",
        "other", None,
    ),
    "within-max": Case(
        release(N6, CUT, running("one", cpu=3), running("two", cpu=1), **CUTS),
        "it may go, but root.a would give back more than 2 cpu: it holds 3 cpu",
        "one", None,
    ),
    "breaks-law-1": Case(
        release(node("n1", cpu=2), node("n2", cpu=2), A, B,
                running("shy", "n1", queue="root.b", cpu=2, preemptible=False),
                running("old", "n2", queue="root.b", cpu=2), IN),
        "the design takes pods that opted out last; shy asks not to be preempted, and old would have been enough",
        "in",
    ),
}  # fmt: skip

ORDERS: dict[str, Order] = {
    "queue-order": (
        laws(N6, A, asking("late", "root.a", cpu=1, submitted=-40), asking("high", "root.a", cpu=1, priority=1),
             asking("b", "root.a", cpu=1), asking("a", "root.a", cpu=1, uid="z")),
        ["high", "b", "a", "late"],
    ),
    "tree-order": (
        release(N6, A, B, path("root.c", cpu=2, offset=3), path("root.d", cpu=4),
                running("mine", queue="root.d", cpu=1), asking("later", "root.a", cpu=1, priority=1, app="job"),
                asking("high", "root.a", cpu=1, priority=2, app="job"),
                asking("other", "root.a", cpu=1, priority=2, submitted=-50), asking("c", "root.c", cpu=1),
                asking("d", "root.d", cpu=1, priority=2)),
        ["c", "high", "other", "d", "later"],
    ),
    "victim-order": (
        laws(node("n1", cpu=9), node("n2", cpu=1), path("root.a", cpu=9), path("root.b"),
             running("shy", "n1", queue="root.b", cpu=1, preemptible=False),
             running("driver", "n1", queue="root.b", cpu=1, originator=True),
             running("old", "n1", queue="root.b", cpu=1, submitted=-9),
             running("high", "n1", queue="root.b", cpu=1, priority=1),
             running("new", "n1", queue="root.b", cpu=1, submitted=-1),
             running("low", "n1", queue="root.b", cpu=1, priority=-1, submitted=-99),
             running("uid", "n1", queue="root.b", cpu=1, submitted=-9, uid="0"),
             running("far", "n2", queue="root.b", cpu=1, submitted=-9, uid="00"),
             running("bulk", "n1", queue="root.b", cpu=2, priority=1, preemptible=False),
             *(asking(f"in-{n}", "root.a", cpu=1, priority=2) for n in range(9))),
        ["low", "new", "uid", "old", "far", "high", "driver", "shy", "bulk"],
    ),
    "victim-walk": (
        release(node("n1", cpu=5), path("root.a", cpu=5), B, running("shy", queue="root.b", cpu=1, preemptible=False),
                running("driver", queue="root.b", cpu=1, originator=True),
                running("old", queue="root.b", cpu=1, submitted=-9, priority=-5),
                running("new", queue="root.b", cpu=1, submitted=-1),
                running("uid", queue="root.b", cpu=1, submitted=-1, uid="0"), asking("in", "root.a", cpu=5)),
        ["uid", "new", "old", "driver", "shy"],
    ),
    "cut-order": (
        release(node("n1", cpu=8, gpu=1), path("root.a", max={"cpu": 1}, quota_delay="60s", over_limit_since=-60),
                running("old", cpu=1, submitted=-3601), running("new", cpu=1), running("uid", cpu=1, uid="0"),
                running("low", cpu=1, priority=-1), running("wide", cpu=1, gpu=1),
                running("driver", cpu=1, originator=True), running("shy", cpu=1, preemptible=False),
                running("high", cpu=1, priority=9), **CUTS),
        ["shy", "driver", "low", "new", "uid", "old", "high"],
    ),
}  # fmt: skip
