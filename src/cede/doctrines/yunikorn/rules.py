"""The rules of YuniKorn: the seven laws of its design, and what release 1.9 ships."""

from __future__ import annotations

from cede.doctrines.yunikorn.settings import LAWS, SHIPPED
from cede.model.rules import RuleSet

RULES = RuleSet("yunikorn")

FITS = RULES.admits("fits", "it fits now on {nodes}")
VICTIM = RULES.admits("over-guarantee", "its queue {queue} holds {used} and is guaranteed {guaranteed}")
LAST_RESORT = RULES.admits("law-1", "it {asks}, which is a strong suggestion and no guarantee: {resort}")
FOR_NODE = RULES.admits(
    "required-node",
    "it stands on {node}, the claimant's only node, and its priority {priority} is not above {claimant_priority}",
)
CUT_BACK = RULES.admits(
    "quota", "queue {firing} is above its max; {queue} gives back up to {share}, and it holds {held}", SHIPPED
)
SPARED = RULES.admits("not-needed", "it may be preempted, but the claimant fits without that")
TOO_LITTLE = RULES.admits("not-enough", "it may be preempted, but no victims that are allowed make enough room")
PASSED_OVER = RULES.admits("passed-over", "it may be preempted, but the search on its node ends without it", SHIPPED)

NOT_RUNNING = RULES.excludes("running-only", "it is {state}; only running work can be preempted")
ELSEWHERE = RULES.excludes("usable-nodes", "it stands on no node that the claimant may use")
SEVERAL = RULES.excludes("one-node", "it stands on {count} nodes; victims of one decision stand on one")
OWN_QUEUE = RULES.excludes("inter-queue", "it is in the claimant's own queue {queue}; preemption is between queues")
PINNED = RULES.excludes("pinned-work", "it needs the node {required} and no other; such work is never a victim")
NO_TYPE = RULES.excludes("no-common-type", "it holds nothing of what the claimant asks for ({asked})")
SKIPPED = RULES.excludes(
    "scan-stopped", "{oversized} is larger than the {owed} that {claimant_queue} is owed and ends the search", SHIPPED
)

OFF_LIMITS = RULES.protects("disabled", "its queue {queue} is protected: preemption.policy of {disabling} is disabled")
LAW_7 = RULES.protects("law-7", "its queue {queue} is outside {fence}, where the claimant's search is fenced")
LAW_6 = RULES.protects("law-6", "its priority {rank} is above the claimant's {claimant_rank}")
LAW_3 = RULES.protects("law-3", "it is of the claimant's own application {app}")
LAW_5 = RULES.protects("law-5", "{owner} holds {held} and is not over its guarantee ({promised}) in what is asked for")
LAW_2 = RULES.protects("law-2", "without it {short_queue} would hold {left} of the {guaranteed} it is guaranteed", LAWS)

QUEUE_ORDER = RULES.orders("queue-order", "higher priority first, then earlier submission, then uid", LAWS)
TREE_ORDER = RULES.orders(
    "tree-order",
    "queues by priority with offsets, then by used share of their guarantee, of their max or of the nodes, then more "
    "that waits, then name; applications by priority, then age; asks by priority, then age, then uid",
    SHIPPED,
)
VICTIM_ORDER = RULES.orders(
    "victim-order",
    "fewer that opted out, fewer originators, fewer victims, lower priorities, younger ones, node name, uids",
    LAWS,
)
VICTIM_WALK = RULES.orders(
    "victim-walk",
    "on each node those that may be preempted first, then no originators, then the youngest, then by queue and uid; "
    "priority has no part",
    SHIPPED,
)

LAW_4 = RULES.waits("law-4", "{short}, and it may not preempt: {reason}", until=("room", "share"))
NO_SET = RULES.waits(
    "no-lawful-set",
    "{short}, and no lawful set of victims on one node makes room: {victims}",
    LAWS,
    until=("candidate", "room"),
)
NO_VICTIMS = RULES.waits(
    "no-victims", "{short}, and preemption found no victims: {victims}", SHIPPED, until=("candidate", "room")
)
NOT_OWED = RULES.waits(
    "guarantee-check", "{short}, and the queue guarantees check failed: {reason}", SHIPPED, until=("room", "share")
)
SHORTFALL = RULES.waits(
    "shortfall",
    "{short}, and what preemption found ({found}) is short of the {asked} asked for",
    SHIPPED,
    until=("candidate", "room"),
)
OFF = RULES.waits("preemption-off", "{short}, and preemption is off (preemption.enabled: false)", until=("room",))
MAY_NOT = RULES.waits("may-not-preempt", "{short}, and it never preempts others (preempts: false)", until=("room",))
TOO_YOUNG = RULES.waits(
    "delay", "{short}, and it waited {age} of the {delay} after which it may preempt", until=("time", "room")
)
CHECKED = RULES.waits(
    "check-interval",
    "{short}, and it was looked at {age} ago ({found}); the next time is after 15s",
    SHIPPED,
    until=("time", "room"),
)
TRIGGERED = RULES.waits(
    "triggered-once", "{short}, and it preempted once before; an ask does so once only", SHIPPED, until=("room",)
)
USED_UP = RULES.waits(
    "attempts",
    "{short}, and the 10 attempts of queue {queue} in this pass are used up",
    SHIPPED,
    until=("time", "room"),
)
GANG = RULES.waits(
    "one-member", "{short}, and preemption makes room for one member at a time; it has {members}", until=("room",)
)
NODE_FULL = RULES.waits(
    "required-node-full",
    "{short}, and what may be preempted does not make enough room: {victims}",
    until=("candidate", "room"),
)
HEADROOM = RULES.waits(
    "required-node-headroom",
    "{short}: work that needs a certain node never preempts for a limit",
    SHIPPED,
    until=("quota",),
)
QUOTA = RULES.waits(
    "limit", "{owner} holds {used} of at most {limit} {what}, and it asks for {asked}", until=("quota",)
)
NO_NODES = RULES.waits(
    "no-usable-node", "none of the nodes that match it ({matching}) is ready and free to use", until=("room",)
)

TOO_BIG = RULES.refuses("fits-no-node", "it fits no node even if that were empty: {short}")
NO_MATCH = RULES.refuses("matches-no-node", "no node has {wanted}")
OUT_OF_RANGE = RULES.refuses(
    "priority-range", "priority {priority} is outside {low}..{high}, the range that {owner} may use"
)
FIXED = RULES.refuses(
    "priority-fixed", "{owner} may not choose a priority: it asks for {priority}, its own is {default}"
)
OVER_LIMIT = RULES.refuses("over-max", "it asks for {asked} {what}, and {owner} may never hold more than {limit}")

BREAKS_2 = RULES.warns(
    "breaks-law-2", "the design leaves no queue below its guarantee; {queue} ends with {left} of {guaranteed}", SHIPPED
)
BREAKS_3 = RULES.warns("breaks-law-3", "the design spares the same application; {victim} is of {app} too", SHIPPED)
BREAKS_4 = RULES.warns(
    "breaks-law-4", "by the design only a queue under its guarantee preempts; {queue} is not: {reason}", SHIPPED
)
BREAKS_5 = RULES.warns(
    "breaks-law-5",
    "the design takes from queues over their guarantee only; {queue} of {victim} holds {used} of {guaranteed}",
    SHIPPED,
)
BREAKS_6 = RULES.warns(
    "breaks-law-6",
    "the design takes no higher priority; {victim} has {priority}, the claimant {claimant_priority}",
    SHIPPED,
)
BREAKS_NODE = RULES.warns(
    "breaks-one-node", "the design takes victims from one node; {victim} stands on {node}, the room is on {on}", SHIPPED
)
MAY_NOT_READ = RULES.warns(
    "preempts-not-read",
    "{claimant} says preempts: false, and the release does not read that of work that needs a certain node",
    SHIPPED,
)
NO_GAIN = RULES.warns(
    "does-not-fit", "its victims do not make enough room ({short}), and it preempts only once", SHIPPED
)
NEEDLESS = RULES.warns("needless-victim", "{victim} is taken although {claimant} would fit without that", SHIPPED)

# quota
NO_SHARE = RULES.excludes(
    "no-share", "it holds nothing of what {queue} gives back for the max of {firing}, which is {share}", SHIPPED
)
KEPT = RULES.admits("within-max", "it may go, but {queue} would give back more than {share}: it holds {held}", SHIPPED)
CUT_ORDER = RULES.orders(
    "cut-order",
    "those that asked to be spared and originators first, then more types in common with what is given back, lower "
    "priority, the younger hour, the smaller share of the leaf's max, the later uid",
    SHIPPED,
)
BREAKS_1 = RULES.warns(
    "breaks-law-1",
    "the design takes pods that opted out last; {victim} {asks}, and {instead} would have been enough",
    SHIPPED,
)
