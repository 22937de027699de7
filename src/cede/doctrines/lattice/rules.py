"""The rules of Lattice: its policy document, and what its library computes."""

from __future__ import annotations

from cede.doctrines.lattice.settings import CORE, POLICY
from cede.model.rules import RuleSet

RULES = RuleSet("lattice")

FITS = RULES.admits("fits", "it fits now on {nodes}")
PRIORITY = RULES.admits("priority", "its class {class_} is below the claimant's {claimant_class}; it costs {cost}")
RECLAIM = RULES.admits(
    "reclaim", "it borrows {lent} of {home}, whose claimant needs nodes back; it costs {cost}", POLICY
)
CLAIMED = RULES.admits(
    "sensitive-claim", "it stands on {nodes}, which a sensitive claim names; it costs {cost}", POLICY
)
SPARED = RULES.admits("not-needed", "it may be preempted at a cost of {cost}, but another set is preferred", POLICY)
FREED = RULES.admits(
    "enough-freed", "it may be preempted at a cost of {cost}, but cheaper ones free enough nodes", CORE
)
TOO_LITTLE = RULES.admits("not-enough", "it may be preempted at a cost of {cost}, but {enough}")

NOT_RUNNING = RULES.excludes("running-only", "it is {state}; only running work can be preempted")
ELSEWHERE = RULES.excludes("usable-nodes", "it stands on no node that the claimant may use", POLICY)
OPTED_OUT = RULES.protects("opt-out", "it asks not to be preempted (preemptible: false)")
SENSITIVE = RULES.protects("sensitive", "it is sensitive ({how}), which is never preempted")
NEAR_END = RULES.protects(
    "near-completion", "its walltime {ends}; no work is preempted within {threshold} of that", POLICY
)
NOT_LOWER = RULES.protects("lower-class-only", "its class {class_} is not below the claimant's {claimant_class}")
NO_CHECKPOINT = RULES.protects(
    "no-checkpoint", "it writes no checkpoints and has class {class_}; from class 7 on that is not preempted", POLICY
)
AT_HOME = RULES.protects("service-at-home", "it is a service and stands on {own}, which it does not borrow", POLICY)

FELL_SHORT = RULES.protects("fell-short", "it was taken for the claimant before, which did not make that fit", CORE)
SENT_HOME = RULES.protects(
    "sent-home", "it stands on nodes of a vCluster that took its nodes back from the claimant before", POLICY
)

QUEUE_ORDER = RULES.orders(
    "score", "higher score first (nine weighted factors times the budget multiplier), then earlier submission, then uid"
)
SET_ORDER = RULES.orders(
    "victim-set",
    "of the sets that cost at most a tenth more than the cheapest one: fewest victims, then least cost, lower classes, "
    "uids",
    POLICY,
)
COST_ORDER = RULES.orders(
    "cost-order", "lowest cost first, then uid, until enough nodes are freed or max_victims are taken", CORE
)
FIFO = RULES.orders("submission", "interactive and sensitive vClusters: in the order of submission", CORE)

NO_ROOM = RULES.waits("no-room", "no node has room for it ({short}), and {victims}", until=("candidate", "room"))
TOO_MANY = RULES.waits(
    "max-victims",
    "no node has room for it ({short}), and it would take {needed} victims, where {most} is the most",
    until=("candidate", "room"),
)
TOO_DEAR = RULES.waits(
    "value",
    "no node has room for it ({short}); the victims it would take cost {cost}, and it is worth {value}",
    POLICY,
    until=("candidate", "room"),
)
PATIENCE = RULES.waits(
    "patience",
    "no node has room for it ({short}), but natural ends make room in {at}, within its patience",
    POLICY,
    until=("time", "room"),
)
RESERVED = RULES.waits(
    "reservation",
    "it fits now, but would delay {head}, whose room is expected in {at} and kept for it",
    POLICY,
    until=("turn", "time"),
)
MAY_NOT = RULES.waits(
    "may-not-preempt",
    "no node has room for it ({short}), and it never preempts others (preempts: false)",
    until=("room",),
)
QUEUE_LIMIT = RULES.waits(
    "queue-limit",
    "{owner} holds {used} of at most {limit} {what}, and it asks for {asked}; no work is preempted for that",
    until=("quota",),
)
NO_NODES = RULES.waits(
    "no-usable-node", "of the nodes that match it ({matching}) none is ready and free to use", until=("room",)
)
NOT_LENT = RULES.waits("not-lent", "the nodes it could use have another home, and {why}", POLICY, until=("room",))
BEHIND = RULES.waits(
    "behind-misfit", "{head} is ahead in its interactive vCluster and found no room", CORE, until=("turn",)
)
MIXED = RULES.waits(
    "one-fingerprint",
    "sensitive work needs {asked} nodes of one fingerprint, and {most} are free",
    CORE,
    until=("room",),
)

QUOTA = RULES.refuses(
    "tenant-quota",
    "{owner} holds {used} of at most {limit} {what}, and it asks for {asked}; no work is preempted for that",
)
TOO_BIG = RULES.refuses("fits-no-node", "it fits no node even if that were empty: {short}")
NO_MATCH = RULES.refuses("matches-no-node", "no node has {wanted}")
OVER_LIMIT = RULES.refuses("over-limit", "it asks for {asked} {what}, and {owner} may never hold more than {limit}")
OUT_OF_RANGE = RULES.refuses("class-range", "class {priority} is outside {low}..{high}, the range that {owner} may use")
FIXED = RULES.refuses("class-fixed", "{owner} may not choose a class: it asks for {priority}, its own is {default}")

NO_GAIN = RULES.warns(
    "falls-short",
    "{claimant} does not fit on what is free when its victims are gone (nodes freed: {freed}): {short}",
    CORE,
)
NEEDLESS = RULES.warns("needless-victim", "{victim} is taken although {claimant} would fit without that", CORE)
BREAKS_NEAR_END = RULES.warns(
    "breaks-near-completion",
    "the policy spares work within {threshold} of its end; the walltime of {victim} {ends}",
    CORE,
)
BREAKS_NO_CHECKPOINT = RULES.warns(
    "breaks-no-checkpoint",
    "the policy spares work of class 7 and above that writes no checkpoints; {victim} has class {class_}",
    CORE,
)
BREAKS_AT_HOME = RULES.warns(
    "breaks-service-at-home",
    "the policy spares services on nodes that are not borrowed; {victim} stands on {own}",
    CORE,
)
BREAKS_SENSITIVE = RULES.warns(
    "breaks-sensitive", "the policy never preempts work of a sensitive vCluster; {victim} is of {vcluster}", CORE
)
BREAKS_VALUE = RULES.warns(
    "breaks-value",
    "the policy wants victims to cost less than the claimant is worth; they cost {cost}, it {value}",
    CORE,
)
