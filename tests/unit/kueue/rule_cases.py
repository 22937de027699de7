"""One case for every rule: a cluster in which the rule fires, and the sentence it gives, numbers included.

`about` is who the sentence is about: the decision itself if None, else a candidate, or, for warnings, the claimant.
Rules of order say nothing; their cases show who comes before whom.
"""

from __future__ import annotations

from tests.builders import (
    cohort,
    fair,
    kueue,
    node,
    pending,
    policy,
    preempting,
    queue,
    running,
    tenant,
)
from tests.rule_case import Case, Order

ALL = {"within": "LowerPriority", "reclaim": "Any"}
ALONE = queue("a", cpu=4, within="LowerPriority")
A, B = queue("a", "pool", cpu=4, **ALL), queue("b", "pool", cpu=4, **ALL)
TAKER, LENDER = queue("c", "pool", cpu=0), queue("d", "pool", cpu=0, **ALL)
IN = pending("in", queue="a", cpu=4, priority=5)
SHARED = cohort("pool", cpu=9)
EQUAL = {"within": "LowerOrNewerEqualPriority", "reclaim": "Any"}
LOOP = (cohort("pool", cpu=100), queue("a", "pool", cpu=0, **EQUAL), queue("b", "pool", cpu=0, **EQUAL),
        running("small", queue="a", cpu=30, submitted=-10, started=-9),
        running("rival", queue="b", cpu=70, submitted=-30, started=-30),
        pending("in", queue="a", cpu=60, submitted=-20))  # fmt: skip

LOWER = {"within": "LowerPriority", "reclaim": "LowerPriority"}
HELD = (cohort("half", "pool"), queue("a", "pool", cpu=3, **LOWER), queue("b", "half", cpu=3, **ALL),
        queue("c", "pool", cpu=3, **LOWER), queue("d", "half", cpu=3, reclaim="LowerPriority"),
        queue("e", "pool", cpu=3, **ALL),
        running("large", queue="a", cpu=6, uid="0"), running("other", queue="a", cpu=2, uid="1"),
        running("lent", queue="b", cpu=4), preempting("gone", queue="c", cpu=2), running("kept", queue="d", cpu=2),
        running("there", queue="e", cpu=2, priority=1),
        pending("first", queue="e", cpu=1, priority=2, submitted=-1),
        pending("blocked", queue="d", cpu=2, priority=2, submitted=-1),
        pending("in", queue="a", cpu=3, priority=2))  # fmt: skip

NEXT = {"whenCanBorrow": "TryNextFlavor", "whenCanPreempt": "TryNextFlavor", "preference": "PreemptionOverBorrowing"}
STUCK = (cohort("pool", cpu=1),
         queue("a", "pool", cpu=1, gpu=1, within="LowerPriority", fungibility=NEXT,
               resource_groups=[{"resources": ["cpu", "gpu"], "flavors": ["default"]}]),
         running("low", queue="a", gpu=1), pending("in", queue="a", cpu=2, gpu=1, priority=1))  # fmt: skip
LAST_BIT = (cohort("pool", cpu=17), queue("a", "pool", cpu=0, weight=10, reclaim="Any"), queue("b", "pool", cpu=0),
            running("mine", queue="a", cpu=8), running("large", queue="b", cpu=8), running("small", queue="b", cpu=1),
            pending("in", queue="a", cpu=2))  # fmt: skip
"""With `in`, a has 10 of 17 by weight 10; without `large`, b has 1 of 17: equal, but not as doubles."""

CASES: dict[str, Case] = {
    "fits": Case(kueue(A, B, pending("in", queue="a", cpu=6)),
                 "it fits now: quota of a: cpu 6 asked, 8 available; it borrows, 1 level up the tree"),
    "within-cluster-queue": Case(
        kueue(ALONE, running("old", cpu=4, priority=1), IN),
        "InClusterQueue: it is in the claimant's own queue a; withinClusterQueue LowerPriority: priority 1 is below 5",
        "old",
    ),
    "reclaim-within-cohort": Case(
        kueue(A, TAKER, running("old", queue="c", cpu=4, priority=7), IN),
        "InCohortReclamation: its queue c holds 4 of 0 cpu; common ancestor pool, advantage decided at a: the request "
        "fits the own quota of a; reclaimWithinCohort Any: priority 7 against 5, which does not matter",
        "old",
    ),
    "borrow-within-cohort": Case(
        kueue(queue("a", "pool", cpu=2, reclaim="LowerPriority",
                    borrow={"policy": "LowerPriority", "maxPriorityThreshold": 3}),
              queue("c", "pool", cpu=2), running("old", queue="c", cpu=4, priority=1),
              pending("in", queue="a", cpu=3, priority=5)),
        "InCohortReclaimWhileBorrowing: its queue c holds 4 of 2 cpu; common ancestor pool, no advantage: with the "
        "request no quota below it would be kept; borrowWithinCohort LowerPriority up to priority 3: priority 1 is "
        "below 5",
        "old",
    ),
    "fair-sharing": Case(
        fair(SHARED, queue("a", "pool", cpu=0, **ALL), TAKER, running("old", queue="c", cpu=3, started=-1),
             running("older", queue="c", cpu=6, started=-2), pending("in", queue="a", cpu=3)),
        "InCohortFairSharing: below pool, a has share 333.3‰ with the claimant; c has 1000‰, and 666.7‰ without this "
        "workload; LessThanOrEqualToFinalShare asks for a to be at most c after",
        "old",
    ),
    "not-needed": Case(
        kueue(ALONE, running("small", cpu=1, started=-1), running("big", cpu=3, started=-2),
              pending("in", cpu=3, priority=5)),
        "it may be preempted, but the claimant fits without that; InClusterQueue: it is in the claimant's own queue a; "
        "withinClusterQueue LowerPriority: priority 0 is below 5",
        "small",
    ),
    "not-reached": Case(
        kueue(ALONE, running("old", cpu=2, priority=1), running("next", cpu=2, priority=2),
              pending("in", cpu=2, priority=5)),
        "it may be preempted, but the claimant fits before its turn comes; it is in the claimant's own queue a; "
        "withinClusterQueue LowerPriority: priority 2 is below 5",
        "next",
    ),
    "not-enough": Case(
        kueue(ALONE, running("low", cpu=1, priority=1), running("high", cpu=3, priority=9), IN),
        "it may be preempted, but preempting every candidate would not make enough room; InClusterQueue: it is in the "
        "claimant's own queue a; withinClusterQueue LowerPriority: priority 1 is below 5",
        "low",
    ),
    "taken-already": Case(
        kueue(A, B, TAKER, running("old", queue="c", cpu=4), running("next", queue="c", cpu=4, priority=1),
              pending("in", queue="a", cpu=4, priority=5), pending("first", queue="b", cpu=4, priority=6)),
        "it is already a victim of first, decided earlier in this cycle",
        "old",
    ),
    "already-leaving": Case(
        kueue(ALONE, preempting("old", cpu=4), IN), "it is leaving already, and the claimant waits for that", "old"
    ),
    "not-asked": Case(
        kueue(ALONE, running("old", cpu=4), pending("in", cpu=4, priority=5, preempts=False)),
        "no rule protects it, but the claimant never preempts others (preempts: false)",
        "old",
    ),
    "contested-flavors": Case(
        kueue(queue("a", cpu=4, gpu=1, **ALL), running("old", cpu=4), running("other", gpu=1), IN),
        "it holds nothing of what is short: cpu",
        "other",
    ),
    "cohort-work": Case(
        kueue(A, running("old", queue="pool", cpu=4), IN),
        "it stands in pool, which is a cohort; only work of queues is looked at",
        "old",
    ),
    "opt-out": Case(
        kueue(ALONE, running("shy", cpu=4, preemptible=False), IN),
        "it asks not to be preempted (preemptible: false)",
        "shy",
    ),
    "within-cluster-queue-never": Case(
        kueue(queue("a", "pool", cpu=4, reclaim="Any"), running("old", queue="a", cpu=4), IN),
        "it is in the claimant's own queue a, whose withinClusterQueue is Never",
        "old",
    ),
    "reclaim-never": Case(
        kueue(queue("a", "pool", cpu=4, within="LowerPriority"), TAKER, running("old", queue="c", cpu=4), IN),
        "it is in c, and a takes nothing from other queues (reclaimWithinCohort Never)",
        "old",
    ),
    "lower-priority-only": Case(
        kueue(ALONE, running("old", cpu=4, priority=5), IN),
        "its priority 5 is not below the claimant's 5 (withinClusterQueue LowerPriority)",
        "old",
    ),
    "newer-equals-only": Case(
        kueue(queue("a", cpu=4, within="LowerOrNewerEqualPriority"), running("old", cpu=4, priority=5, submitted=-9),
              IN),
        "its priority 5 is not below the claimant's 5, nor is it equal and newer "
        "(withinClusterQueue LowerOrNewerEqualPriority)",
        "old",
    ),
    "within-nominal": Case(
        kueue(A, B, TAKER, running("mine", queue="b", cpu=4), running("old", queue="c", cpu=4), IN),
        "its queue b is within its quota: 4 of 4 cpu",
        "mine",
    ),
    "cohort-within-nominal": Case(
        kueue(A, TAKER, cohort("left", "pool", cpu=4), queue("l", "left", cpu=0), running("mine", queue="l", cpu=4),
              running("old", queue="c", cpu=4), IN),
        "its queue l is in cohort left, which is within its quota: 4 of 4 cpu",
        "mine",
    ),
    "within-nominal-by-then": Case(
        kueue(A, queue("c", "pool", cpu=3), LENDER, running("old", queue="c", cpu=1, started=-1),
              running("next", queue="c", cpu=3, started=-2), running("shy", queue="d", cpu=3, preemptible=False), IN),
        "with the others gone, c is back within its quota at its turn: 4 of 3 cpu (3 at its turn)",
        "next",
    ),
    "reclaim-without-borrowing": Case(
        kueue(A, TAKER, running("mine", queue="a", cpu=2, priority=9), running("old", queue="c", cpu=2), IN),
        "it may only be taken if a stays within its quota: borrowWithinCohort is Never",
        "old",
    ),
    "share-rule": Case(
        fair(SHARED, queue("a", "pool", cpu=0, **ALL), TAKER, running("mine", queue="a", cpu=3, priority=9),
             running("old", queue="c", cpu=6), pending("in", queue="a", cpu=3)),
        "below pool, a would have share 666.7‰ with the claimant; c has 666.7‰, and 0‰ without this workload; "
        "LessThanInitialShare asks for a to be below c before",
        "old",
    ),
    "lawful-set-only": Case(
        fair(*LOOP, recheck_final_set=True),
        "it would make room, but once needless victims are spared a has share 900‰ against 700‰ of b, 0‰ "
        "without rival",
        "rival",
    ),
    "one-a-queue": Case(
        fair(SHARED, queue("a", "pool", cpu=0, **ALL), TAKER, running("old", queue="c", cpu=4, started=-1),
             running("older", queue="c", cpu=5, started=-2), pending("in", queue="a", cpu=6)),
        "by LessThanInitialShare each queue gives one workload, and c gave another or none",
        "older",
    ),
    "no-victims": Case(
        kueue(queue("a", cpu=4), running("old", cpu=3), pending("in", cpu=2, priority=5)),
        "quota is short (cpu 2 asked, 1 available); a preempts nothing "
        "(withinClusterQueue and reclaimWithinCohort Never)",
    ),
    "may-not-preempt-while-borrowing": Case(
        kueue(A, B, running("old", queue="b", cpu=8), pending("in", queue="a", cpu=6, priority=5)),
        "quota is short (cpu: 6 asked, 0 available, quota 4); it asks for more than the quota of a, which may not "
        "preempt while it borrows (borrowWithinCohort Never)",
    ),
    "may-not-preempt": Case(
        kueue(ALONE, running("old", cpu=4), pending("in", cpu=4, priority=5, preempts=False)),
        "quota is short (cpu 4 asked, 0 available), and it never preempts others (preempts: false)",
    ),
    "lost-capacity": Case(
        kueue(cohort("pool", cpu=4), TAKER, LENDER, pending("in", queue="c", cpu=3),
              pending("first", queue="d", cpu=3, priority=1)),
        "quota is short (cpu 3 asked, 1 available); it was free before those that come first in this cycle "
        "(takes: first)",
    ),
    "deferred-fit": Case(
        kueue(A, B, TAKER, running("old", queue="c", cpu=8), pending("first", queue="b", cpu=4, priority=6), IN),
        "it fits as soon as the victims of first have left",
    ),
    "awaits-victims": Case(
        kueue(ALONE, preempting("old", cpu=4), IN),
        "quota is short (cpu 4 asked, 0 available); it fits when those that are already leaving have left: old",
    ),
    "behind-head": Case(
        kueue(ALONE, running("old", cpu=4), pending("first", cpu=4, priority=6), IN),
        "first is ahead in a and waits for its victims to leave; it stays at the head till then",
    ),
    "limit": Case(
        kueue(queue("a", cpu=9, max={"cpu": 4}), running("old", cpu=3), pending("in", cpu=2)),
        "queue a holds 3 of at most 4 cpu, and it asks for 2",
    ),
    "share-recheck": Case(
        fair(*LOOP, recheck_final_set=True),
        "quota is short (cpu 60 asked, 0 available); rival would make room, but once needless victims are spared a "
        "has share 900‰ against 700‰ of b, 0‰ without rival (recheck_final_set)",
    ),
    "exceeds-max-quota": Case(
        kueue(A, B, pending("in", queue="a", cpu=9)),
        "a can never have what it asks for: cpu: 9 asked, 8 is the most a can ever have",
    ),
    "undeclared-resource": Case(kueue(ALONE, pending("in", cpu=1, gpu=1)), "a has no quota of gpu at all"),
    "priority-range": Case(
        kueue(ALONE, policy(user="ann", min_priority=2, max_priority=5), pending("in", cpu=1, user="ann", priority=6)),
        "priority 6 is outside 2..5, the range that user ann may use",
    ),
    "priority-fixed": Case(
        kueue(ALONE, policy(project="vision", default_priority=3, may_change=False),
              pending("in", cpu=1, project="vision", priority=6)),
        "project vision may not choose a priority: it asks for 6, its own is 3",
    ),
    "no-queue": Case(kueue(A, B, pending("in", cpu=1)), "it names no queue, so nothing says what it may use"),
    "cohort-takes-no-work": Case(
        kueue(A, pending("in", queue="pool", cpu=1)),
        "pool is a cohort (other queues are below it); only queues take work",
    ),
    "fits-no-node": Case(
        kueue(ALONE, node("n1", cpu=4, occupied={"cpu": 1}), pending("in", cpu=4)),
        "it fits no node even if that were empty: flavor default: no node could hold it even if empty, closest is n1: "
        "cpu 4 asked, 3 free",
    ),
    "over-limit": Case(
        kueue(queue("a", cpu=9), tenant("t", max_workloads=0), pending("in", cpu=2, tenant="t")),
        "it asks for 1 workloads, and tenant t may never hold more than 0",
    ),
    "interactive-may-be-preempted": Case(
        kueue(A, B, pending("in", queue="a", cpu=1, kind="interactive")),
        "interactive work cannot be suspended and resumed, and in a it may be preempted: withinClusterQueue is "
        "LowerPriority; b may reclaim what it borrows",
        "in",
    ),
    "within-quota-after-all": Case(
        kueue(*HELD),
        "kept is in d, which is within its quota: 2 of 3 cpu; it only seems to be above it because room is held back "
        "there for blocked",
        "in",
    ),
    "unlawful-after-sparing": Case(
        fair(*LOOP),
        "lawful only before others were spared: without them a has share 900‰ against 700‰ of b, 0‰ without rival; as "
        "shipped this is not checked again, and it can loop (recheck_final_set: true checks it)",
        "in",
    ),
    "stuck-by-preference": Case(
        kueue(*STUCK),
        "quota is short (gpu 1 asked, 0 available); cpu fits only by borrowing, which PreemptionOverBorrowing ranks "
        "below the preemption that gpu needs: so the whole counts as fitting, nothing is preempted for it, and in "
        "every cycle it does not fit",
    ),
    "stuck-head": Case(
        kueue(*STUCK),
        "it stays at the head of a, and the rest wait behind it, until room comes by itself: set preference in "
        "flavorFungibility of a to BorrowingOverPreemption, the default",
        "in",
    ),
    "rounding-decides": Case(
        fair(*LAST_BIT, strategies=["LessThanOrEqualToFinalShare"]),
        "two shares differ by less than doubles can tell, or are equal and their doubles are not; as shipped the "
        "doubles decide: by exact fractions it would preempt large in default; where a last bit decides, a cluster can "
        "flap",
        "in",
    ),
}  # fmt: skip

ORDERS: dict[str, Order] = {
    "queue-order": (
        kueue(queue("a", cpu=9), pending("late", cpu=1, submitted=-1), pending("high", cpu=1, priority=1),
              pending("b", cpu=1, submitted=-2), pending("a", cpu=1, submitted=-2, uid="z")),
        ["high", "b", "a", "late"],
    ),
    "entry-order": (
        kueue(A, queue("c", "pool", cpu=1), LENDER, pending("borrows", queue="d", cpu=1, priority=9),
              pending("early", queue="a", cpu=1, submitted=-1), pending("high", queue="c", cpu=1, priority=1)),
        ["high", "early", "borrows"],
    ),
    "fair-order": (
        fair(SHARED, A, TAKER, LENDER, running("old", queue="c", cpu=1), pending("more", queue="c", cpu=1, priority=9),
             pending("less", queue="d", cpu=1), pending("none", queue="a", cpu=4)),
        ["none", "less", "more"],
    ),
    "victim-order": (
        kueue(queue("a", "pool", cpu=7, **ALL), TAKER, running("uid", queue="a", cpu=1, started=-9, uid="0"),
              running("own", queue="a", cpu=1, started=-9), running("new", queue="a", cpu=1, started=-1),
              running("low", queue="a", cpu=1, priority=-1, started=-9), preempting("gone", queue="a", cpu=1),
              running("other", queue="c", cpu=2, priority=3), pending("in", queue="a", cpu=7, priority=5)),
        ["gone", "other", "low", "new", "uid", "own"],
    ),
    "tournament": (
        fair(SHARED, queue("a", "pool", cpu=5, **ALL), cohort("left", "pool"), queue("l", "left", cpu=0), TAKER,
             running("big", queue="l", cpu=4), running("small", queue="l", cpu=3),
             running("rest", queue="c", cpu=5), running("mine", queue="c", cpu=2),
             pending("in", queue="a", cpu=5, priority=5)),
        ["big", "mine"],
    ),
}  # fmt: skip
