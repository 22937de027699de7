"""The rules of Kueue 0.20, each with the sentence that explains it."""

from __future__ import annotations

from cede.model.rules import RuleSet

RULES = RuleSet("kueue")

# -- what starts, and what is preempted ------------------------------------------------------------------------------

FITS = RULES.admits("fits", "it fits now: {how}")
WITHIN = RULES.admits(
    "within-cluster-queue",
    "InClusterQueue: it is in the claimant's own queue {queue}; withinClusterQueue {policy}: {test}",
)
RECLAIM = RULES.admits(
    "reclaim-within-cohort",
    "InCohortReclamation: its queue {queue} holds {held}; {advantage}; reclaimWithinCohort {policy}: {test}",
)
BORROW = RULES.admits(
    "borrow-within-cohort",
    "InCohortReclaimWhileBorrowing: its queue {queue} holds {held}; {advantage}; borrowWithinCohort LowerPriority"
    "{threshold}: {test}",
)
FAIR = RULES.admits(
    "fair-sharing",
    "InCohortFairSharing: below {ancestor}, {claimant_side} has share {new} with the claimant{gone}; {side} has "
    "{before}, and {after} without this workload; {strategy} asks for {wanted}",
)
SPARED = RULES.admits("not-needed", "it may be preempted, but the claimant fits without that; {how}")
NOT_REACHED = RULES.admits("not-reached", "it may be preempted, but the claimant fits before its turn comes; {how}")
TOO_LITTLE = RULES.admits(
    "not-enough", "it may be preempted, but preempting every candidate would not make enough room; {how}"
)

TAKEN = RULES.excludes("taken-already", "it is already a victim of {other}, decided earlier in this cycle")
LEAVING = RULES.excludes("already-leaving", "it is leaving already, and the claimant waits for that")
NOT_ASKED = RULES.protects("not-asked", "no rule protects it, but the claimant {reason}")
OTHER_FLAVOR = RULES.excludes("contested-flavors", "it holds nothing of what is short: {contested}")
COHORT_WORK = RULES.excludes("cohort-work", "it stands in {queue}, which is a cohort; only work of queues is looked at")
OPTED_OUT = RULES.protects("opt-out", "it asks not to be preempted (preemptible: false)")
NEVER_OWN = RULES.protects(
    "within-cluster-queue-never", "it is in the claimant's own queue {queue}, whose withinClusterQueue is Never"
)
NEVER_COHORT = RULES.protects(
    "reclaim-never",
    "it is in {queue}, and {claimant_queue} takes nothing from other queues (reclaimWithinCohort Never)",
)
NOT_LOWER = RULES.protects(
    "lower-priority-only",
    "its priority {priority} is not below the claimant's {claimant_priority} ({setting} {policy})",
)
NOT_NEWER = RULES.protects(
    "newer-equals-only",
    "its priority {priority} is not below the claimant's {claimant_priority}, nor is it equal and newer "
    "({setting} {policy})",
)
NOMINAL = RULES.protects("within-nominal", "its queue {queue} is within its quota: {held}")
COHORT_NOMINAL = RULES.protects(
    "cohort-within-nominal", "its queue {queue} is in cohort {cohort}, which is within its quota: {held}"
)
NOMINAL_BY_THEN = RULES.protects(
    "within-nominal-by-then", "with the others gone, {queue} is back within its quota at its turn: {held}"
)
NO_BORROWING = RULES.protects(
    "reclaim-without-borrowing",
    "it may only be taken if {claimant_queue} stays within its quota: {reason}",
)
SHARE = RULES.protects(
    "share-rule",
    "below {ancestor}, {claimant_side} would have share {new} with the claimant{gone}; {side} has {before}, and "
    "{after} without this workload; {strategy} asks for {wanted}",
)
UNLAWFUL_SET = RULES.protects("lawful-set-only", "it would make room, but once needless victims are spared {breach}")
ONE_A_QUEUE = RULES.protects(
    "one-a-queue", "by LessThanInitialShare each queue gives one workload, and {queue} gave another or none"
)

# -- orders ----------------------------------------------------------------------------------------------------------

QUEUE_ORDER = RULES.orders("queue-order", "within a queue higher priority first, then earlier submission, then uid")
ENTRY_ORDER = RULES.orders(
    "entry-order",
    "Classical, between heads: lower borrowing level first, then higher priority, then earlier submission",
)
FAIR_ORDER = RULES.orders(
    "fair-order",
    "FairSharing, between heads: at each cohort first the child that borrows nothing, then the smaller share with "
    "the head added, then higher priority, then earlier submission",
)
VICTIM_ORDER = RULES.orders(
    "victim-order",
    "already leaving first; then other queues before the own; then lower priority, later quota reservation, uid; "
    "spared latest first, but never the last one taken",
)
TOURNAMENT = RULES.orders(
    "tournament", "FairSharing: from the root down the child with the largest share, until that is a queue"
)

# -- what keeps a workload waiting -----------------------------------------------------------------------------------

NO_VICTIMS = RULES.waits("no-victims", "{short}; {victims}", until=("candidate", "quota", "room"))
MAY_NOT_BORROW = RULES.waits(
    "may-not-preempt-while-borrowing",
    "quota is short ({short}); it asks for more than the quota of {queue}, which may not preempt while it borrows "
    "({settings})",
    until=("quota",),
)
MAY_NOT = RULES.waits(
    "may-not-preempt", "{short}, and it never preempts others (preempts: false)", until=("quota", "room")
)
LOST = RULES.waits(
    "lost-capacity",
    "{short}; it was free before those that come first in this cycle ({others})",
    until=("quota", "room"),
)
DEFERRED = RULES.waits("deferred-fit", "it fits as soon as the victims of {others} have left", until=("room",))
AWAITS = RULES.waits(
    "awaits-victims", "{short}; it fits when those that are already leaving have left: {victims}", until=("room",)
)
BEHIND = RULES.waits("behind-head", "{head} is ahead in {queue} and {doing}; {strategy}", until=("turn",))
LIMIT = RULES.waits(
    "limit", "{owner} holds {used} of at most {limit} {what}, and it asks for {asked}", until=("quota",)
)
UNLAWFUL = RULES.waits(
    "share-recheck",
    "{short}; {victims} would make room, but once needless victims are spared {breach} (recheck_final_set)",
    until=("candidate", "share"),
)

STUCK = RULES.waits(
    "stuck-by-preference",
    "{short}; {borrowed} fits only by borrowing, which PreemptionOverBorrowing ranks below the preemption that "
    "{needed} needs: so the whole counts as fitting, nothing is preempted for it, and in every cycle it does not fit",
    until=("quota",),
)

EXCEEDS = RULES.refuses("exceeds-max-quota", "{queue} can never have what it asks for: {reasons}")
UNDECLARED = RULES.refuses("undeclared-resource", "{queue} has no quota of {resources} at all")
NO_QUEUE = RULES.refuses("no-queue", "it names no queue, so nothing says what it may use")
COHORT = RULES.refuses("cohort-takes-no-work", "{queue} is a cohort (other queues are below it); only queues take work")
FITS_NO_NODE = RULES.refuses("fits-no-node", "it fits no node even if that were empty: {short}")
OVER_LIMIT = RULES.refuses("over-limit", "it asks for {asked} {what}, and {owner} may never hold more than {limit}")

OUT_OF_RANGE = RULES.refuses(
    "priority-range", "priority {priority} is outside {low}..{high}, the range that {owner} may use"
)
FIXED = RULES.refuses(
    "priority-fixed", "{owner} may not choose a priority: it asks for {priority}, its own is {default}"
)

# -- what a user should know -----------------------------------------------------------------------------------------

INTERACTIVE = RULES.warns(
    "interactive-may-be-preempted",
    "interactive work cannot be suspended and resumed, and in {queue} it may be preempted: {settings}",
)
HELD = RULES.warns(
    "within-quota-after-all",
    "{victim} is in {queue}, which is within its quota: {held}; it only seems to be above it because room is held back "
    "there for {head}",
)
BLOCKS = RULES.warns(
    "stuck-head",
    "it stays at the head of {queue}, and the rest wait behind it, until room comes by itself: set preference in "
    "flavorFungibility of {queue} to BorrowingOverPreemption, the default",
)
ROUNDING = RULES.warns(
    "rounding-decides",
    "two shares differ by less than doubles can tell, or are equal and their doubles are not; as shipped the doubles "
    "decide: by exact fractions {exactly}; where a last bit decides, a cluster can flap",
)
NEEDLESS = RULES.warns(
    "unlawful-after-sparing",
    "lawful only before others were spared: without them {breach}; as shipped this is not checked again, and it can "
    "loop (recheck_final_set: true checks it)",
)
