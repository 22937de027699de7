"""One case for every rule: a cluster in which the rule fires, and the sentence it gives, numbers included.

`about` is who the sentence is about: the decision itself if None, else a candidate, or, for warnings, the claimant.
"""

from __future__ import annotations

from typing import Any

from tests.builders import pending, policy, preempting, reserved, running, tenant
from tests.rule_case import Case, Order
from tests.unit.ytsaurus.small import docs, hungry, node, op, pool, shipped, starving

N4, N8 = node("n1", cpu=4), node("n1", cpu=8)
A, B = starving("a", cpu=4), pool("b")
FOUR = tuple(running(f"b{at}", queue="b", app="b", cpu=1, started=at - 10) for at in range(4))
SHY = tuple(running(f"b{at}", queue="b", app="b", cpu=1, preemptible=False) for at in range(4))
IN = pending("in", queue="a", cpu=2)
CROWDED = (N4, A, B, *FOUR, IN)
WIDE = (N8, starving("a", cpu=8), B, running("b0", queue="b", app="b", cpu=4, started=-9),
        running("b1", queue="b", app="b", cpu=3, started=-8), running("b2", queue="b", app="b", cpu=1, started=-7),
        pending("in", queue="a", app="job", cpu=3, submitted=-1),
        pending("next", queue="a", app="job", cpu=1))  # fmt: skip
ON_SSD: dict[str, Any] = {
    "ssd_priority_preemption": {"enable": True, "node_tag_filter": "ssd", "medium_names": ["nvme"]}
}
DISK = {"disk_request": {"medium_name": "nvme"}}
SSD = (node("n1", cpu=4, labels={"ssd": "yes"}), A, B, op("in", **DISK), op("c", **DISK), *FOUR[:3],
       running("c0", queue="b", app="c", cpu=1), pending("in", queue="a", cpu=3))  # fmt: skip
GPU = (node("n1", gpu=8), node("n2", gpu=8), pool("a", gpu=8), pool("b", gpu=8), pool("c"), hungry("in"),
       *(running(f"g{at}", "n1", queue="b", gpu=2, started=-100) for at in range(4)),
       running("big", "n2", queue="c", gpu=8), pending("in", queue="a", gpu=8))  # fmt: skip
HOSTS: dict[str, Any] = {
    "main_resource": "gpu",
    "default_gpu_full_host_preemption": {"enable": True, "max_preemption_penalty": 800},
}
GRACEFUL = op("b", preemption_mode="graceful")
STEADY = (N4, A, pool("b", cpu=4))
AGGRESSIVE = starving("a", cpu=4, enable_aggressive_starvation=True)
SOON = (reserved("soon", queue="a", cpu=1), preempting("gone", queue="b", app="b", cpu=1))

CASES: dict[str, Case] = {
    "starts": Case(
        docs(N4, A, IN),
        "fits on n1 now; of all operations that could start there its own is the least satisfied",
    ),
    "starving": Case(
        docs(*CROWDED),
        "n1 has nothing free of the cpu 2 asked for; operation in may preempt: its pool a is below its fair "
        "share for 16m 40s (usage share cpu 0%, fair share cpu 50%); it takes b3 (before it operation b uses cpu "
        "75%, fair share cpu 50%: preemptible), b2 (before it operation b uses cpu 50%, fair share cpu 50%: "
        "preemptible)",
    ),
    "aggressive": Case(
        docs(N4, AGGRESSIVE, pool("b", cpu=4), *FOUR, pending("in", queue="a", cpu=3)),
        "n1 has nothing free of the cpu 3 asked for; operation in may preempt: its pool a is below its fair "
        "share for 16m 40s (usage share cpu 0%, fair share cpu 50%); it takes b3 (before it operation b uses cpu "
        "75%, fair share cpu 50%: preemptible), b2 (before it operation b uses cpu 50%, fair share cpu 50%: "
        "preemptible), b1 (before it operation b uses cpu 25%, fair share cpu 50%: aggressively_preemptible)",
    ),
    "ssd": Case(
        docs(*SSD, **ON_SSD),
        "before it operation b uses cpu 0%, fair share cpu 12.5%: non_preemptible; taken newest first",
        "b0",
    ),
    "full-host": Case(
        docs(*GPU, **HOSTS),
        "before it operation g0 uses gpu 0%, fair share gpu 12.5%: non_preemptible; taken newest first",
        "g0",
    ),
    "overcommit": Case(
        docs(node("n1", cpu=2, overcommitted_since=-10), B, *FOUR),
        "n1 holds more than it has, cpu 2 too much; of what is preemptible there the newest goes: b3 and b2",
        None, None,
    ),
    "overcommit-abort": Case(
        docs(node("n1", cpu=3, overcommitted_since=-16), B, *(running(f"c{n}", queue="b", cpu=1) for n in range(4))),
        "n1 holds more than it has for 16s, longer than the 15s allowed; no room beside the others for c3",
        None, None,
    ),
    "no-slots": Case(
        docs(node("n1", cpu=4, user_slots=0), B, *FOUR[:2]),
        "n1 offers no user slots: all that runs there goes (b0 and b1)",
        None, None,
    ),
    "limits": Case(
        docs(N4, pool("b", max={"cpu": "1500m"}), *FOUR),
        "pool b holds 4 cpu, above its limit of 1500m; preemptible here: b3 and b2",
        None, None,
    ),
    "graceful": Case(
        docs(N4, pool("a", cpu=4), B, GRACEFUL, *FOUR, IN),
        "asked to leave, beyond the fair share of an operation that wants graceful preemption: b3 and b2",
        None, None,
    ),
    "not-running": Case(
        docs(N4, A, B, preempting("b4", queue="b", app="b", cpu=1), *FOUR[:3], IN),
        "b4 is preempting: it has not begun, or it is leaving already",
        "b4",
    ),
    "graceful-mode": Case(
        docs(N4, A, B, GRACEFUL, running("c", queue="b", cpu=2), running("b0", queue="b", app="b", cpu=2), IN),
        "operation b asks for graceful preemption: its allocations are not taken for others",
        "b0",
    ),
    "normal-forbidden": Case(
        docs(N4, A, pool("b", allow_normal_preemption=False), *FOUR, IN),
        "a pool above operation b has allow_normal_preemption off: only aggressive preemption reaches it",
        "b3",
    ),
    "starves-itself": Case(
        docs(N4, A, pool("b", cpu=4), hungry("b"), *FOUR[:1], running("c", queue="a", cpu=3, preemptible=False),
             pending("more", queue="b", app="b", cpu=3), IN),
        "operation b is starving itself, and allow_preemption_from_starving_operations is off",
        "b0",
    ),
    "opted-out": Case(
        docs(N4, A, B, *SHY, IN),
        "b0 asks not to be preempted",
        "b0",
    ),
    "non-preemptible": Case(
        docs(*CROWDED, non_preemptible_resource_usage_threshold={"cpu": 1}),
        "before it operation b uses cpu 0%, which is below 20% of its fair share cpu 50%, or below its usage "
        "threshold (cpu 1): non_preemptible",
        "b0",
    ),
    "aggressively-preemptible": Case(
        docs(*CROWDED),
        "before it operation b uses cpu 25%, not below 20% but below 100% of its fair share cpu 50%: only "
        "aggressive preemption takes it",
        "b1",
    ),
    "aggressive-forbidden": Case(
        docs(N4, AGGRESSIVE, pool("b", cpu=4, allow_aggressive_preemption=False), *FOUR,
             pending("in", queue="a", cpu=3)),
        "before it operation b uses cpu 25%, not below 20% but below 100% of its fair share cpu 50%, and its "
        "pool forbids to take it",
        "b1",
    ),
    "ssd-shield": Case(
        docs(*SSD, **ON_SSD),
        "c0 holds an SSD of this node and is non_preemptible: of such only what is aggressively_preemptible "
        "goes, and only for SSD work that starves aggressively",
        "c0",
    ),
    "not-needed": Case(
        docs(N4, A, B, *FOUR, pending("in", queue="a", app="job", cpu=1), pending("next", queue="a", app="job", cpu=1)),
        "may be preempted, but enough is freed without it (before it operation b uses cpu 50%, fair share cpu "
        "50%: preemptible)",
        "b2",
    ),
    "kept": Case(
        docs(node("n1", cpu=3, overcommitted_since=-16), B, *(running(f"c{n}", queue="b", cpu=1) for n in range(4))),
        "keeps its room: it fits beside the better protected and the older ones (before it operation c0 uses cpu 0%, "
        "fair share cpu 25%: non_preemptible)",
        "c0", None,
    ),
    "spared": Case(
        docs(*WIDE),
        "was among those taken first, but is not needed beside the others (before it operation b uses cpu 87.5%, "
        "fair share cpu 50%: preemptible)",
        "b2",
    ),
    "too-little": Case(
        docs(*STEADY, *FOUR, pending("in", queue="a", cpu=3)),
        "may be preempted, but all that may be taken on n1 is not enough",
        "b3",
    ),
    "not-starving": Case(
        docs(N4, pool("a", cpu=4), B, op("in", below_fair_share_since=-10), *FOUR, IN),
        "no node has room for it (closest is n1: cpu 2 asked, 0 free), and operation in may not preempt: its "
        "usage share cpu 0% is below its fair share cpu 50% for 10s, and it starves after 30s",
    ),
    "no-room": Case(
        docs(*STEADY, *FOUR, pending("in", queue="a", cpu=3)),
        "no node has room for it (closest is n1: cpu 3 asked, 0 free); operation in may preempt (its pool a is "
        "below its fair share for 16m 40s), but on no node may it take enough",
    ),
    "backoff": Case(
        docs(node("n1", cpu=4, last_preemptive_attempt=-3), A, B, *FOUR, IN),
        "no node has room for it (closest is n1: cpu 2 asked, 0 free); preemption was tried on n1 3s ago, and "
        "preemptive_scheduling_backoff is 5s",
    ),
    "one-per-heartbeat": Case(
        docs(N4, A, B, *FOUR, pending("in", queue="a", app="job", cpu=1),
             pending("first", queue="a", app="job", cpu=1)),
        "no node has room for it (closest is n1: cpu 1 asked, 0 free); a node preempts for one allocation in a "
        "heartbeat, and on n1 another was first",
    ),
    "node-waits": Case(
        docs(N4, A, B, *FOUR[:1], *SOON, pending("in", queue="a", cpu=1)),
        "on n1 room is held for soon, which waits for it; until soon starts, nothing else starts there",
    ),
    "at-limit": Case(
        docs(N4, pool("a", max={"cpu": 2}), running("old", queue="a", cpu=1), IN),
        "pool a holds 1 cpu of its limit 2, and this asks for 2",
    ),
    "may-not-preempt": Case(
        docs(N4, A, B, *FOUR, pending("in", queue="a", cpu=2, preempts=False)),
        "no node has room for it (closest is n1: cpu 2 asked, 0 free), and it asks never to preempt others",
    ),
    "min-spare": Case(
        docs(N4, pool("a"), B, *FOUR[:3], pending("in", queue="a", cpu=1),
             min_spare_allocation_resources_on_node={"cpu": 2}),
        "it fits, but n1 has cpu 1 free, less than min_spare_allocation_resources_on_node asks for: cpu 2",
    ),
    "next-heartbeat": Case(
        docs(N4, pool("a", cpu=4), B, GRACEFUL, *FOUR, IN),
        "there is room for it on n1 now, which came after the heartbeat: the next one may start it",
    ),
    "tenant": Case(
        docs(N4, pool("a"), tenant("t", max_workloads=1), running("old", cpu=1, tenant="t"),
             pending("in", cpu=1, tenant="t")),
        "tenant t holds 1 of at most 1 workloads, and it asks for 1",
    ),
    "less-satisfied-first": Case(
        docs(N4, pool("a"), B, running("old", queue="a", app="in", cpu=1), pending("in", queue="a", cpu=3),
             pending("other", queue="b", cpu=3)),
        "what was free went to operations that are less satisfied than operation in",
    ),
    "operation-waits": Case(
        docs(N4, pool("a", max_running_operation_count=1), running("old", queue="a", cpu=1), IN),
        "operation in does not run yet: pool a may run 1 at once, and others came first",
    ),
    "fifo-limit": Case(
        docs(N4, pool("a", mode="fifo"), pending("first", cpu=1, submitted=-5), IN,
             max_schedulable_element_count_in_fifo_pool=1),
        "only the first 1 of its FIFO pool are scheduled, and operation in is not among them",
    ),
    "graceful-normal": Case(
        docs(N4, pool("a"), B, op("in", preemption_mode="graceful"), running("old", queue="a", app="in", cpu=2),
             running("b0", queue="b", cpu=1), pending("in", queue="a", cpu=1), pending("b1", queue="b", cpu=2)),
        "operation in asks for graceful preemption and is not below its fair share: it starts nothing more",
    ),
    "no-nodes": Case(
        docs(node("n1", cpu=4, state="cordoned"), A, IN),
        "none of the nodes that match it (1) is ready and free to use",
    ),
    "tag-filter": Case(
        docs(node("n1", cpu=4, labels={"fast": "yes", "old": "yes"}), A,
             op("in", scheduling_tag_filter="fast & !old"), IN),
        "no node that it may use has the tags that operation in asks for: fast & !old",
    ),
    "no-cluster": Case(
        docs(A, IN),
        "the file has no nodes, and without nodes there are no shares and no heartbeats",
    ),
    "one-node": Case(
        docs(N4, A, pending("in", cpu=1, members=2, placement="spread")),
        "all members of a workload start on one node, and it asks to be spread",
    ),
    "too-big": Case(
        docs(node("n1", cpu=4, occupied={"cpu": 1}), A, pending("in", cpu=2, members=2)),
        "fits no node even if that were empty (all its members stand on one): closest is n1: cpu 4 asked, 3 free",
    ),
    "no-such-node": Case(
        docs(N4, A, pending("in", cpu=2, constraints={"labels": {"zone": "z"}})),
        "no node has what it asks for: label zone=z",
    ),
    "above-limit": Case(
        docs(N4, pool("a", max={"cpu": 1}, resource_limits_overcommit_tolerance={"cpu": 1}), pending("in", cpu=3)),
        "asks for 3 cpu, and pool a may never hold more than 2",
    ),
    "above-tenant-limit": Case(
        docs(N4, A, tenant("t", max_workloads=0), pending("in", cpu=1, tenant="t")),
        "asks for 1 workloads, and tenant t may never hold more than 0",
    ),
    "too-many-operations": Case(
        docs(N4, pool("a", max_operation_count=2), running("old", cpu=1), pending("early", cpu=1, submitted=-1), IN),
        "operation in is refused: pool a may have 2 operations, and others came first",
    ),
    "priority-range": Case(
        docs(N4, A, policy(user="ann", min_priority=2, max_priority=5), pending("in", cpu=1, user="ann", priority=6)),
        "priority 6 is outside 2..5, the range that user ann may use",
    ),
    "priority-fixed": Case(
        docs(N4, A, policy(project="vision", default_priority=3, may_change=False),
             pending("in", cpu=1, project="vision", priority=6)),
        "priority 6 is not 3, the only one that project vision may use",
    ),
    "smallest-set": Case(
        shipped(*WIDE),
        "the document takes the smallest set: b1 would be enough, without b2",
        "in",
    ),
}  # fmt: skip

ORDERS: dict[str, Order] = {}
