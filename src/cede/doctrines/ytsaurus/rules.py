"""The rules of the YTsaurus doctrine, each a name and a sentence."""

from __future__ import annotations

from cede.doctrines.ytsaurus.settings import DOCS, SHIPPED
from cede.model.rules import RuleSet

RULES = RuleSet("ytsaurus")

# -- what starts, and for whom others go -----------------------------------------------------------------------------

STARTS = RULES.admits(
    "starts", "fits on {nodes} now; of all operations that could start there it is the least satisfied"
)
STARVING = RULES.admits(
    "starving", "{operation} starves ({clock}), and {who} runs beyond what the fair share of its operation protects"
)
AGGRESSIVE = RULES.admits(
    "aggressive",
    "{operation} starves aggressively ({clock}), and {who} runs beyond the part of its operation's fair share that is "
    "protected even then",
)
SSD = RULES.admits(
    "ssd", "{operation} starves ({clock}) and asks for the SSD of this node, {who} is of less right there"
)
FULL_HOST = RULES.admits(
    "full-host", "{operation} waits for a whole GPU host ({clock}), and what is lost here is within the allowed penalty"
)
OVERCOMMIT = RULES.admits("overcommit", "{node} holds more than it has: {short} too much; {who} is preemptible")
ABORT = RULES.admits(
    "overcommit-abort",
    "{node} holds more than it has for {age}, longer than the {limit} allowed; {who} does not fit beside the others",
)
LIMITS = RULES.admits("limits", "{owner} holds {used} {resource}, above its limit of {limit}; {who} is preemptible")
GRACEFUL = RULES.admits(
    "graceful", "{who} belongs to {operation}, which asks for graceful preemption, and runs beyond its fair share"
)

# -- who stays -------------------------------------------------------------------------------------------------------

NOT_RUNNING = RULES.excludes("not-running", "{who} is {state}: it has not begun, or it is leaving already")
GRACEFUL_MODE = RULES.protects(
    "graceful-mode", "{operation} asks for graceful preemption: nobody takes its allocations for another"
)
NORMAL_FORBIDDEN = RULES.protects(
    "normal-forbidden",
    "a pool above {operation} has allow_normal_preemption off: only aggressive preemption reaches it",
)
STARVES_ITSELF = RULES.protects(
    "starves-itself", "{operation} is {starvation} itself, and allow_preemption_from_starving_operations is off"
)
OPTED_OUT = RULES.protects("opted-out", "{who} asks not to be preempted")
PROTECTED = RULES.protects(
    "non-preemptible",
    "before it {operation} uses {before}, which is below {part} of its fair share {fair}{threshold}: non-preemptible",
)
ONLY_AGGRESSIVE = RULES.protects(
    "aggressively-preemptible",
    "before it {operation} uses {before}, not below {low} but below {high} of its fair share {fair}: only aggressive "
    "preemption takes it",
)
AGGRESSIVE_FORBIDDEN = RULES.protects(
    "aggressive-forbidden", "{operation} may not be preempted aggressively (allow_aggressive_preemption, or a gang)"
)
SSD_SHIELD = RULES.protects("ssd-shield", "{who} holds an SSD of this node, which only SSD work may take from it")
NOT_NEEDED = RULES.orders("not-needed", "may be preempted, but enough is freed without it")
SPARED = RULES.orders("spared", "was among those taken first, but is not needed beside the others", DOCS)
TOO_LITTLE = RULES.orders("too-little", "may be preempted, but all that may be taken on {node} is not enough")

# -- who waits -------------------------------------------------------------------------------------------------------

NOT_STARVING = RULES.waits(
    "not-starving",
    "{short}, and {operation} may not preempt: it is {starvation} (usage share {usage}, fair share {fair}{clock})",
)
NO_ROOM = RULES.waits("no-room", "{short}; {operation} is {starvation}, but no node has enough to take: {victims}")
BACKOFF = RULES.waits(
    "backoff",
    "{short}; preemption was tried on {nodes} {age} ago, and preemptive_scheduling_backoff is {limit}",
)
ONE_A_HEARTBEAT = RULES.waits(
    "one-per-heartbeat", "{short}; each node preempts for one allocation in a heartbeat, and this one was not the first"
)
NODE_WAITS = RULES.waits("node-waits", "{short}; {nodes} waits for room for {who}, and starts nothing until it has it")
AT_LIMIT = RULES.waits("at-limit", "{owner} holds {used} {resource} of its limit {limit}, and this asks for {asked}")
MAY_NOT = RULES.waits("may-not-preempt", "{short}, and it asks never to preempt others")
NO_SPARE = RULES.waits(
    "min-spare", "it fits, but {nodes} has less left than min_spare_allocation_resources_on_node asks for"
)
NEXT = RULES.waits(
    "next-heartbeat", "{nodes} has room for it now, which came after its heartbeat: the next one is near"
)
TENANT = RULES.waits("tenant", "its tenant holds as much as it may")
LATER = RULES.waits("less-satisfied-first", "what was free went to operations that are less satisfied than {operation}")
NOT_RUN = RULES.waits("operation-waits", "{operation} does not run yet: {owner} has its {limit} running operations")
BEHIND_FIFO = RULES.waits(
    "fifo-limit", "{operation} is not among the first {limit} of its FIFO pool, which alone are scheduled"
)
GRACEFUL_IDLE = RULES.waits(
    "graceful-normal",
    "{operation} asks for graceful preemption and is not below its fair share: it starts nothing more",
)
NO_NODES = RULES.waits("no-nodes", "no ready node takes it: {matching} of its kind, none of them ready and unreserved")
FILTERED = RULES.waits("tag-filter", "no ready node of its kind has the tags that {operation} asks for: {filter}")
NO_CLUSTER = RULES.waits("no-cluster", "the file has no nodes, and without nodes there are no shares and no heartbeats")
SPREAD = RULES.waits("one-node", "a heartbeat starts all members of a workload on one node, and it asks to be spread")

# -- who is refused --------------------------------------------------------------------------------------------------

TOO_BIG = RULES.refuses("too-big", "fits no node even if that were empty: {short}")
NO_MATCH = RULES.refuses("no-such-node", "no node has what it asks for: {wanted}")
NEVER = RULES.refuses("above-limit", "asks for {asked} {resource}, {owner} may never have more than {limit}")
TOO_MANY = RULES.refuses("too-many-operations", "{operation} is refused: {owner} has its {limit} operations")
OUT_OF_RANGE = RULES.refuses(
    "priority-range", "priority {priority} is outside of {low} to {high}, which {owner} may use"
)
FIXED = RULES.refuses("priority-fixed", "priority {priority} is not {default}, the only one that {owner} may use")

# -- what the document promises --------------------------------------------------------------------------------------

SUPERFLUOUS = RULES.warns(
    "smallest-set", "the document takes the smallest set: {who} is preempted although {others} would be enough", SHIPPED
)
