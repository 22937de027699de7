"""The rules of the YTsaurus doctrine, each a name and a sentence."""

from __future__ import annotations

from cede.doctrines.ytsaurus.settings import DOCS, SHIPPED
from cede.model.rules import RuleSet

RULES = RuleSet("ytsaurus")

# -- what starts, and what is preempted ------------------------------------------------------------------------------

STARTS = RULES.admits(
    "starts", "fits on {nodes} now; of all operations that could start there its own is the least satisfied"
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
    "ssd", "{operation} starves ({clock}) and asks for the SSD of this node, {who} has a lower claim there"
)
FULL_HOST = RULES.admits(
    "full-host", "{operation} waits for a whole GPU host ({clock}), and what is lost here is within the allowed penalty"
)
OVERCOMMIT = RULES.admits(
    "overcommit", "{node} holds more than it has, {short} too much; of what is preemptible there the newest goes: {who}"
)
ABORT = RULES.admits(
    "overcommit-abort",
    "{node} holds more than it has for {age}, longer than the {limit} allowed; no room beside the others for {who}",
)
NO_SLOTS = RULES.admits("no-slots", "{node} offers no user slots: all that runs there goes ({who})")
LIMITS = RULES.admits("limits", "{owner} holds {used} {resource}, above its limit of {limit}; preemptible here: {who}")
GRACEFUL = RULES.admits(
    "graceful", "asked to leave, beyond the fair share of an operation that wants graceful preemption: {who}"
)

# -- what stays ------------------------------------------------------------------------------------------------------

NOT_RUNNING = RULES.excludes("not-running", "{who} is {state}: it has not begun, or it is leaving already")
GRACEFUL_MODE = RULES.protects(
    "graceful-mode", "{operation} asks for graceful preemption: its allocations are not taken for others"
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
    "{counted}, which is below {low} of its fair share {fair}{threshold}: non_preemptible",
)
ONLY_AGGRESSIVE = RULES.protects(
    "aggressively-preemptible",
    "{counted}, {between} its fair share {fair}: only aggressive preemption takes it",
)
AGGRESSIVE_FORBIDDEN = RULES.protects(
    "aggressive-forbidden", "{counted}, {between} its fair share {fair}, and {forbidden}"
)
SSD_SHIELD = RULES.protects(
    "ssd-shield",
    "{who} holds an SSD of this node and is {group}: of such only what is aggressively_preemptible goes, and only for "
    "SSD work that starves aggressively",
)
NOT_NEEDED = RULES.orders("not-needed", "may be preempted, but enough is freed without it")
KEPT = RULES.orders("kept", "keeps its room: it fits beside the better protected and the older ones")
SPARED = RULES.orders("spared", "was among those taken first, but is not needed beside the others", DOCS)
TOO_LITTLE = RULES.orders("too-little", "may be preempted, but all that may be taken on {node} is not enough")

# -- what waits ------------------------------------------------------------------------------------------------------

NOT_STARVING = RULES.waits(
    "not-starving",
    "no node has room for it ({short}), and {operation} may not preempt: {standing}",
    until=("share", "time", "room"),
)
NO_ROOM = RULES.waits(
    "no-room",
    "no node has room for it ({short}); {operation} may preempt ({clock}), but on no node may it take enough",
    until=("candidate", "room"),
)
BACKOFF = RULES.waits(
    "backoff",
    "no node has room for it ({short}); preemption was tried on {nodes} {age} ago, and preemptive_scheduling_backoff "
    "is {limit}",
    until=("time", "room"),
)
ONE_A_HEARTBEAT = RULES.waits(
    "one-per-heartbeat",
    "no node has room for it ({short}); a node preempts for one allocation in a heartbeat, and on {nodes} another was "
    "first",
    until=("time", "room"),
)
NODE_WAITS = RULES.waits(
    "node-waits",
    "on {nodes} room is held for {who}, which waits for it; until {who} starts, nothing else starts there",
    until=("turn",),
)
AT_LIMIT = RULES.waits(
    "at-limit", "{owner} holds {used} {resource} of its limit {limit}, and this asks for {asked}", until=("quota",)
)
MAY_NOT = RULES.waits(
    "may-not-preempt", "no node has room for it ({short}), and it asks never to preempt others", until=("room",)
)
NO_SPARE = RULES.waits(
    "min-spare",
    "it fits, but {nodes} has {free} free, less than min_spare_allocation_resources_on_node asks for: {least}",
    until=("room",),
)
NEXT = RULES.waits(
    "next-heartbeat",
    "there is room for it on {nodes} now, which came after the heartbeat: the next one may start it",
    until=("time",),
)
TENANT = RULES.waits(
    "tenant", "{owner} holds {used} of at most {limit} {what}, and it asks for {asked}", until=("quota",)
)
LATER = RULES.waits(
    "less-satisfied-first", "what was free went to operations that are less satisfied than {operation}", until=("turn",)
)
NOT_RUN = RULES.waits(
    "operation-waits",
    "{operation} does not run yet: {owner} may run {limit} at once, and others came first",
    until=("quota",),
)
BEHIND_FIFO = RULES.waits(
    "fifo-limit",
    "only the first {limit} of its FIFO pool are scheduled, and {operation} is not among them",
    until=("turn",),
)
GRACEFUL_IDLE = RULES.waits(
    "graceful-normal",
    "{operation} asks for graceful preemption and is not below its fair share: it starts nothing more",
    until=("share",),
)
NO_NODES = RULES.waits(
    "no-nodes", "none of the nodes that match it ({matching}) is ready and free to use", until=("room",)
)
FILTERED = RULES.waits(
    "tag-filter", "no node that it may use has the tags that {operation} asks for: {filter}", until=("room",)
)
NO_CLUSTER = RULES.waits(
    "no-cluster", "the file has no nodes, and without nodes there are no shares and no heartbeats", until=("room",)
)

# -- what is refused -------------------------------------------------------------------------------------------------

TOO_BIG = RULES.refuses("too-big", "fits no node even if that were empty (all its members stand on one): {short}")
SPREAD = RULES.refuses("one-node", "all members of a workload start on one node, and it asks to be spread")
NO_MATCH = RULES.refuses("no-such-node", "no node has what it asks for: {wanted}")
NEVER = RULES.refuses("above-limit", "asks for {asked} {resource}, and {owner} may never hold more than {limit}")
NEVER_TENANT = RULES.refuses(
    "above-tenant-limit", "asks for {asked} {what}, and {owner} may never hold more than {limit}"
)
TOO_MANY = RULES.refuses(
    "too-many-operations", "{operation} is refused: {owner} may have {limit} operations, and others came first"
)
OUT_OF_RANGE = RULES.refuses(
    "priority-range", "priority {priority} is outside {low}..{high}, the range that {owner} may use"
)
FIXED = RULES.refuses("priority-fixed", "priority {priority} is not {default}, the only one that {owner} may use")

# -- what the document promises --------------------------------------------------------------------------------------

SUPERFLUOUS = RULES.warns(
    "smallest-set", "the document takes the smallest set: {others} would be enough, without {who}", SHIPPED
)
