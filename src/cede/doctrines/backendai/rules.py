"""The rules of Backend.AI: its proposal BEP-1014, and what release 26.8 ships."""

from __future__ import annotations

from cede.doctrines.backendai.settings import DOCUMENT, SHIPPED
from cede.model.rules import RuleSet

RULES = RuleSet("backendai")

FITS = RULES.admits("fits", "it fits now on {nodes}")
LOWER = RULES.admits(
    "lower-priority",
    "its priority {priority} is at most the group's threshold {threshold} and below the claimant's {claimant_priority}",
    DOCUMENT,
)
LOWER_JOB = RULES.admits(
    "lower-job-priority",
    "its job priority {job_priority} is below the claimant's {claimant_job_priority} within the scope {scope}",
    SHIPPED,
)
SPARED = RULES.admits("not-needed", "it may be preempted, but the claimant fits without that")
TOO_LITTLE = RULES.admits(
    "not-enough", "it may be preempted, but preempting every candidate would not make enough room"
)

NOT_RUNNING = RULES.excludes("running-only", "it is {state}; only running work can be preempted")
ELSEWHERE = RULES.excludes("usable-nodes", "it stands on no node that the claimant may use")
SYSTEM = RULES.excludes("no-system-work", "it is system work, which is never preempted")

OPTED_OUT = RULES.protects("opt-out", "it asks not to be preempted (preemptible: false)")
OVER_BAR = RULES.protects(
    "preemptible-priority", "its priority {priority} is above the group's threshold {threshold}", DOCUMENT
)
NOT_LOWER = RULES.protects(
    "lower-priority-only", "its priority {priority} is not below the claimant's {claimant_priority}", DOCUMENT
)
OUT_OF_SCOPE = RULES.protects(
    "victim-scope",
    "it belongs to {scope} {its_owner}; the group preempts only within the claimant's {scope}, {claimant_owner}",
    SHIPPED,
)
NOT_LOWER_JOB = RULES.protects(
    "lower-job-priority-only",
    "its job priority {job_priority} is not below the claimant's {claimant_job_priority}",
    SHIPPED,
)
ABOVE_OTHERS = RULES.protects(
    "system-beside-others",
    "its job priority {job_priority} is not below {ceiling}, the highest that waits in the claimant's {scope} beside "
    "system work",
    SHIPPED,
)
TOO_YOUNG = RULES.protects("min-runtime", "it ran {ran} of the {min_runtime} that the group grants", SHIPPED)
GIVES_NOTHING = RULES.excludes("useful-victims", "it stands on {node} but holds nothing that is short there", SHIPPED)

QUEUE_ORDER = RULES.orders("queue-order", "higher priority first, then earlier submission, then uid", DOCUMENT)
VICTIM_ORDER = RULES.orders(
    "victim-order",
    "lower priority first, then by start as preemption_order says, then uid; spared last taken first",
    DOCUMENT,
)
VICTIM_WALK = RULES.orders(
    "victim-walk",
    "on each agent lower job priority first, then as preemption_order says, what never started first, then uid",
    SHIPPED,
)
SEQUENCE = RULES.orders(
    "sequence",
    "higher priority first; within one priority as the group's scheduler says, then submission, then uid",
    SHIPPED,
)

NO_ROOM = RULES.waits(
    "no-room", "no node has room for it ({short}), and {victims}", until=("candidate", "room", "time")
)
NOT_HEAD = RULES.waits(
    "head-only",
    "no node has room for it ({short}), and only the head of the queue may preempt, which is {head}",
    DOCUMENT,
    until=("room", "turn"),
)
BEHIND = RULES.waits(
    "blocked-by-head", "{head} is ahead in the queue and found no room; nothing passes it", SHIPPED, until=("turn",)
)
OFF = RULES.waits(
    "preemption-off",
    "no node has room for it ({short}), and the group does not preempt (enabled: false)",
    SHIPPED,
    until=("room",),
)
MAY_NOT = RULES.waits(
    "may-not-preempt",
    "no node has room for it ({short}), and it never preempts others (preempts: false)",
    until=("room",),
)
SYSTEM_ALONE = RULES.waits(
    "system-alone",
    "no node has room for it ({short}), and it is system work, which preempts only while other work of its {scope} "
    "waits too",
    SHIPPED,
    until=("room", "candidate"),
)
ROLLED_BACK = RULES.waits(
    "rolled-back",
    "it was to preempt {victims} for room on {nodes}; but a pass books its reservations together, {count} here, and "
    "{node} has {capacity} {what}: {reserved} are reserved there ({unstarted} never started) and {asked} were to be",
    SHIPPED,
    until=("room",),
)
QUOTA = RULES.waits(
    "quota", "{owner} holds {used} of at most {limit} {what}, and it asks for {asked}{more}", until=("quota",)
)
NO_NODES = RULES.waits(
    "no-usable-node",
    "{matching} of its group's nodes match it, and none of them is ready and free to use",
    until=("room",),
)

TOO_BIG = RULES.refuses("fits-no-node", "it fits no node of its group even if that were empty: {short}")
NO_MATCH = RULES.refuses("matches-no-node", "no node of its group has {wanted}")
EMPTY_GROUP = RULES.refuses("empty-group", "its group {partition} has no node")
OVER_LIMIT = RULES.refuses("over-limit", "it asks for {asked} {what}, and {owner} may never hold more than {limit}")
OUT_OF_RANGE = RULES.refuses(
    "priority-range", "priority {priority} is outside {low}..{high}, the range that {owner} may use"
)
FIXED = RULES.refuses(
    "priority-fixed", "{owner} may not choose a priority: it asks for {priority}, its own is {default}"
)

BREAKS_LOWER = RULES.warns(
    "breaks-lower-priority",
    "BEP-1014 preempts only lower priority; {victim} has {priority}, the claimant {claimant_priority}",
    SHIPPED,
)
BREAKS_BAR = RULES.warns(
    "breaks-preemptible-priority",
    "BEP-1014 protects work above preemptible_priority {threshold}; {victim} has {priority} (26.8 never reads it)",
    SHIPPED,
)
BREAKS_RUNNING = RULES.warns(
    "breaks-running-only", "BEP-1055 preempts running sessions only; {victim} has not begun", SHIPPED
)
BREAKS_SINGLE = RULES.warns(
    "breaks-single-node", "BEP-1055 preempts for single-node sessions only; {claimant} has {members} members", SHIPPED
)
NEEDLESS = RULES.warns("needless-victim", "{victim} is taken although {claimant} would fit without that", SHIPPED)
BREAKS_RESERVATION = RULES.warns(
    "undone-reservation",
    "26.8 chooses victims that never started and cannot book their room, so every preemption of the pass, {count} "
    "here, is undone; every pass does it again until {unstarted} has begun or ended",
    SHIPPED,
)
CREDIT_LOST = RULES.warns(
    "credit-lost",
    "a victim is gone for those decided after it, but 26.8 counts its room for its own claimant alone; with the room "
    "of {leaving} counted this would be decided otherwise",
    SHIPPED,
)
NO_OVERLAP = RULES.warns(
    "no-overlap",
    "what is preempting makes way for what is reserved, but 26.8 counts both; if they overlapped this would be decided "
    "otherwise",
    SHIPPED,
)
