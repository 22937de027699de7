"""One case for every rule: a cluster in which the rule fires, and the sentence it gives, numbers included.

`said` is what the plan must say in the words of that rule; `by` is who says it: the decision itself, a candidate, a
workload of the nearest miss, or a warning. Rules of order say nothing; their cases show who comes before whom.
"""

from __future__ import annotations

from tests.builders import (
    cluster_of,
    group,
    node,
    pending,
    policy,
    preempting,
    running,
    shipped,
    tenant,
)
from tests.rule_case import Case, Order

FULL = (node("n1", cpu=4), running("old", cpu=4, priority=1, started=-60, user="ann"))
LIMIT = group("rg", partition="default", max={"cpu": 4})

CASES: dict[str, Case] = {
    "fits": Case(cluster_of(node("n1", cpu=4), pending("in", cpu=4)), "it fits now on n1"),
    "lower-priority": Case(
        cluster_of(*FULL, pending("in", cpu=2, priority=9)),
        "its priority 1 is at most the group's threshold 5 and below the claimant's 9",
        "old",
    ),
    "lower-job-priority": Case(
        shipped(*FULL, pending("in", cpu=2, job_priority=3, user="ann")),
        "its job priority 0 is below the claimant's 3 within the scope user",
        "old",
    ),
    "not-needed": Case(
        cluster_of(node("n1", cpu=8), running("a", cpu=4, priority=1), running("b", cpu=4, priority=2),
                   pending("in", cpu=4, priority=9)),
        "it may be preempted, but the claimant fits without that",
        "b",
    ),
    "not-enough": Case(
        cluster_of(node("n1", cpu=8), running("low", cpu=1, priority=1), running("high", cpu=7, priority=50),
                   pending("in", cpu=4, priority=9)),
        "it may be preempted, but preempting every candidate would not make enough room",
        "low",
    ),
    "running-only": Case(
        cluster_of(node("n1", cpu=4), preempting("leaving", cpu=4, priority=1), pending("in", cpu=4, priority=9)),
        "it is preempting; only running work can be preempted",
        "leaving",
    ),
    "usable-nodes": Case(
        cluster_of(node("n1", cpu=4), node("n2", cpu=4, state="cordoned"), running("here", "n1", cpu=4, priority=1),
                   running("there", "n2", cpu=4, priority=1), pending("in", cpu=4, priority=9)),
        "it stands on no node that the claimant may use",
        "there",
    ),
    "no-system-work": Case(
        cluster_of(node("n1", cpu=4), running("sftp", cpu=4, priority=1, kind="system"), pending("in", cpu=4)),
        "it is system work, which is never preempted",
        "sftp",
    ),
    "opt-out": Case(
        cluster_of(node("n1", cpu=4), running("shy", cpu=4, priority=1, preemptible=False), pending("in", cpu=4)),
        "it asks not to be preempted (preemptible: false)",
        "shy",
    ),
    "preemptible-priority": Case(
        cluster_of(group(preemptible_priority=3), node("n1", cpu=4), running("old", cpu=4, priority=4),
                   pending("in", cpu=4, priority=9)),
        "its priority 4 is above the group's threshold 3",
        "old",
    ),
    "lower-priority-only": Case(
        cluster_of(node("n1", cpu=4), running("old", cpu=4, priority=2), pending("in", cpu=4, priority=2)),
        "its priority 2 is not below the claimant's 2",
        "old",
    ),
    "victim-scope": Case(
        shipped(group(enabled=True, victim_scope="project"), node("n1", cpu=4),
                running("old", cpu=4, project="vision"), pending("in", cpu=4, job_priority=3, project="speech")),
        "it belongs to project vision; the group preempts only within the claimant's project, speech",
        "old",
    ),
    "lower-job-priority-only": Case(
        shipped(node("n1", cpu=4), running("old", cpu=4, job_priority=3), pending("in", cpu=4, job_priority=3)),
        "its job priority 3 is not below the claimant's 3",
        "old",
    ),
    "min-runtime": Case(
        shipped(group(enabled=True, preemption_min_runtime="30m"), node("n1", cpu=4),
                running("old", cpu=4, started=-1799), pending("in", cpu=4, job_priority=3)),
        "it ran 29m 59s of the 30m that the group grants",
        "old",
    ),
    "useful-victims": Case(
        shipped(node("n1", cpu=8, gpu=1), running("cpus", cpu=2), running("gpus", gpu=1),
                pending("in", gpu=1, job_priority=3)),
        "it stands on n1 but holds nothing that is short there",
        "cpus",
    ),
    "no-room": Case(
        cluster_of(node("n1", cpu=4), running("old", cpu=3, priority=50), pending("in", cpu=2, priority=9)),
        "no node has room for it (closest is n1: cpu 2 asked, 1 free), and nothing may be preempted for it",
    ),
    "head-only": Case(
        cluster_of(*FULL, pending("first", cpu=2, priority=9), pending("in", cpu=3, priority=8)),
        "no node has room for it (closest is n1: cpu 3 asked, 2 free), and only the head of the queue may preempt, "
        "which is first",
    ),
    "blocked-by-head": Case(
        shipped(*FULL, pending("first", cpu=4, submitted=-9), pending("in", cpu=1)),
        "first is ahead in the queue and found no room; nothing passes it",
    ),
    "preemption-off": Case(
        shipped(group(), *FULL, pending("in", cpu=1, job_priority=3)),
        "no node has room for it (closest is n1: cpu 1 asked, 0 free), and the group does not preempt "
        "(enabled: false)",
    ),
    "may-not-preempt": Case(
        cluster_of(*FULL, pending("in", cpu=1, preempts=False)),
        "no node has room for it (closest is n1: cpu 1 asked, 0 free), and it never preempts others "
        "(preempts: false)",
    ),
    "system-alone": Case(
        shipped(*FULL, pending("in", cpu=1, priority=11, job_priority=3, user="ann", kind="system"),
                pending("x", cpu=1, user="bob")),
        "no node has room for it (closest is n1: cpu 1 asked, 0 free), and it is system work, which preempts only "
        "while other work of its user waits too",
    ),
    "system-beside-others": Case(
        shipped(node("n1", cpu=4), running("old", cpu=4, job_priority=2, started=-60),
                pending("in", cpu=1, job_priority=3, kind="system"), pending("x", cpu=1, job_priority=2)),
        "its job priority 2 is not below 2, the highest that waits in the claimant's user beside system work",
        "old",
    ),
    "rolled-back": Case(
        shipped(node("n1", cpu=4), running("never", cpu=3, started=None), running("old", cpu=1, started=-60),
                pending("in", cpu=3, job_priority=3)),
        "it was to preempt never for room on n1; but a pass books its reservations together, 1 here, and n1 has 4 cpu: "
        "3 are reserved there (never never started) and 3 were to be",
    ),
    "undone-reservation": Case(
        shipped(node("n1", cpu=4), running("never", cpu=4, started=None), pending("in", cpu=4, job_priority=3)),
        "26.8 chooses victims that never started and cannot book their room, so every preemption of the pass, 1 "
        "here, is undone; every pass does it again until never has begun or ended",
        "in",
    ),
    "credit-lost": Case(
        shipped(node("n1", cpu=4), running("old", cpu=4, started=-60), pending("first", cpu=2, job_priority=3,
                submitted=-9), pending("in", cpu=2)),
        "a victim is gone for those decided after it, but 26.8 counts its room for its own claimant alone; with the "
        "room of old counted this would be decided otherwise",
        "in",
    ),
    "no-overlap": Case(
        shipped(node("n1", cpu=4), preempting("out", cpu=2), running("next", cpu=2, state="reserved"),
                pending("in", cpu=2)),
        "what is preempting makes way for what is reserved, but 26.8 counts both; if they overlapped this would be "
        "decided otherwise",
        "in",
    ),
    "quota": Case(
        cluster_of(LIMIT, tenant("t", max_workloads=1), node("n1", cpu=8),
                   running("old", cpu=3, priority=50, tenant="t"), pending("in", cpu=2, tenant="t")),
        "queue rg holds 3 of at most 4 cpu, and it asks for 2; "
        "tenant t holds 1 of at most 1 workloads, and it asks for 1",
    ),
    "no-usable-node": Case(
        cluster_of(node("n1", cpu=4, state="cordoned"), node("n2", cpu=4, state="down"), pending("in", cpu=1)),
        "2 of its group's nodes match it, and none of them is ready and free to use",
    ),
    "fits-no-node": Case(
        cluster_of(node("n1", cpu=4, occupied={"cpu": 1}), node("n2", cpu=2), pending("in", cpu=4)),
        "it fits no node of its group even if that were empty: closest is n1: cpu 4 asked, 3 free",
    ),
    "matches-no-node": Case(
        cluster_of(node("n1", cpu=4, labels={"arch": "x86_64"}),
                   pending("in", cpu=1, constraints={"labels": {"arch": "aarch64"}})),
        "no node of its group has label arch=aarch64",
    ),
    "empty-group": Case(
        cluster_of(group("blue"), node("n1", cpu=4), pending("in", cpu=1)),
        "its group blue has no node",
    ),
    "over-limit": Case(
        cluster_of(LIMIT, node("n1", cpu=8), pending("in", cpu=5)),
        "it asks for 5 cpu, and queue rg may never hold more than 4",
    ),
    "priority-range": Case(
        cluster_of(node("n1", cpu=4), policy(user="ann", min_priority=2, max_priority=5),
                   pending("in", cpu=1, user="ann", priority=6)),
        "priority 6 is outside 2..5, the range that user ann may use",
    ),
    "priority-fixed": Case(
        cluster_of(node("n1", cpu=4), policy(project="vision", default_priority=3, may_change=False),
                   pending("in", cpu=1, project="vision", priority=6)),
        "project vision may not choose a priority: it asks for 6, its own is 3",
    ),
    "breaks-lower-priority": Case(
        shipped(node("n1", cpu=4), running("old", cpu=4, priority=20, started=-60),
                pending("in", cpu=4, priority=10, job_priority=3)),
        "BEP-1014 preempts only lower priority; old has 20, the claimant 10",
        "in",
    ),
    "breaks-preemptible-priority": Case(
        shipped(group(enabled=True, preemptible_priority=7), node("n1", cpu=4),
                running("old", cpu=4, priority=8, started=-60), pending("in", cpu=4, job_priority=3)),
        "BEP-1014 protects work above preemptible_priority 7; old has 8 (26.8 never reads it)",
        "in",
    ),
    "breaks-running-only": Case(
        shipped(node("n1", cpu=8), running("old", cpu=4, priority=1, started=None), running("busy", cpu=4, user="bob"),
                pending("in", cpu=4, job_priority=3)),
        "BEP-1055 preempts running sessions only; old has not begun",
        "in",
    ),
    "breaks-single-node": Case(
        shipped(node("n1", cpu=4), running("old", cpu=4, priority=1, started=-60),
                pending("in", cpu=2, members=2, job_priority=3)),
        "BEP-1055 preempts for single-node sessions only; in has 2 members",
        "in",
    ),
    "needless-victim": Case(
        shipped(node("n1", cpu=4), running("small", cpu=1, priority=1, started=-60),
                running("big", cpu=3, priority=1, started=-50), pending("in", cpu=3, job_priority=3)),
        "small is taken although in would fit without that",
        "in",
    ),
}  # fmt: skip

ORDERS: dict[str, Order] = {
    "queue-order": (
        cluster_of(node("n1", cpu=9), pending("late", cpu=1, submitted=-1), pending("high", cpu=1, priority=11),
                   pending("b", cpu=1, submitted=-2), pending("a", cpu=1, submitted=-2, uid="z")),
        ["high", "b", "a", "late"],
    ),
    "sequence": (
        shipped(group(scheduler="lifo"), node("n1", cpu=9), pending("early", cpu=1, submitted=-2),
                pending("late", cpu=1, submitted=-1), pending("high", cpu=1, priority=11, submitted=-9)),
        ["high", "late", "early"],
    ),
    "victim-walk": (
        shipped(node("n1", cpu=5), running("a", cpu=1, started=-9), running("b", cpu=1, job_priority=-1, started=-1),
                running("c", cpu=1, started=None), running("busy", cpu=1, user="bob"),
                running("d", cpu=1, started=-9, uid="0"), pending("in", cpu=4, job_priority=9)),
        ["b", "c", "d", "a"],
    ),
    "victim-order": (
        cluster_of(node("n1", cpu=4), running("a", cpu=1, priority=3, started=-9),
                   running("b", cpu=1, priority=2, started=-1), running("c", cpu=1, priority=3, started=-10),
                   running("d", cpu=1, priority=3, started=-9, uid="0"), pending("in", cpu=4, priority=9)),
        ["b", "c", "d", "a"],
    ),
}  # fmt: skip
