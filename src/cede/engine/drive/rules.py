"""What stands in the way of a workload, or befell it, beside what a doctrine decides."""

from __future__ import annotations

from cede.model.rules import RuleSet

RULES = RuleSet("live")

UNKNOWN = RULES.refuses("unknown", "there is no {what} called {name}")
NAME_TAKEN = RULES.refuses("name-taken", "a workload called {name} was there before; names are used once")
NOT_NOW = RULES.refuses("not-now", "{name} is {phase}: {sentence}")
IMPOSSIBLE = RULES.refuses("impossible", "{why}")
NO_CHECKPOINT = RULES.refuses(
    "would-lose-work", "{name} writes no checkpoint, so that suspending it would lose its work since {since}"
)
RUNNING_CAP = RULES.waits("running-cap", "{why}, and as many do or are next; it waits for one of them to end")
CAP = RULES.refuses("cap", "{why}")
FAULT = RULES.refuses("fault", "the scheduler cannot take it in: {why}")
UNLAWFUL = RULES.warns("unlawful-plan", "a plan broke a rule and was not carried out: {problems}")

NOBODY_ASKS = RULES.warns(
    "nobody-asks",
    "{workload} has checkpoint {mode} and no protocol, so that nothing asks for one before it is ended: {why}",
)

PARKED = RULES.waits("parked", "{by} suspended it; it waits to be resumed")
ASIDE = RULES.waits(
    "set-aside",
    "the scheduler failed because of it ({why}): nothing is decided about it until it is resumed or cancelled",
)
STILL_LEFT = RULES.waits("still-left", "its room on {nodes} is still being left by {who}")
NEXT_CYCLE = RULES.waits("next-cycle", "the next cycle decides about it once more: {why}")
BEHIND = RULES.waits("behind-the-head", "{head} waits for room ahead of it, and nobody may pass")
DELAYS = RULES.waits("would-delay", "it would delay {head}, which is to have its room in {at}")
HELD = RULES.waits("held", "its room on {nodes} is held for it until {who} left")
FREED = RULES.admits("freed", "the last one in its way has left {nodes}")
HOLD_EXPIRED = RULES.waits("hold-expired", "its victims did not leave within {limit}; the hold is given up")
HOLD_LOST = RULES.waits("hold-lost", "the room held for it is no longer there: {why}")

FOUND = RULES.admits("found", "attempt {attempt} of it was on {nodes} already, which its record did not know")
FOUND_WAITS = RULES.waits(
    "found-waits",
    "attempt {attempt} of it runs on {nodes}, which its record did not know, and by the records that room is others'; "
    "it waits until it is free, or until that attempt has ended",
)
BEGAN = RULES.admits("began", "its processes run on {nodes}")
COMPLETED = RULES.admits("completed", "it ended by itself with exit code 0")
EXIT_CODE = RULES.excludes("exit-code", "it ended with exit code {code}")
SIGNALLED = RULES.excludes("exit-signal", "it was ended by signal {signal}, which nobody here sent")
NOT_STARTED = RULES.excludes("cannot-start", "it could not be started: {why}")
START_TIMEOUT = RULES.excludes("start-timeout", "it did not begin within {limit}")
LOST = RULES.excludes("node-failure", "nobody saw how it ended: its node or its supervisor went away")
NODE_DOWN = RULES.excludes("node-down", "its node {node} went down")
WALLTIME = RULES.excludes("walltime", "it ran into its walltime of {limit}")
UNRESPONSIVE = RULES.excludes(
    "unresponsive", "it wrote no checkpoint within {limit} after it was asked, and had to be ended"
)
CHECKPOINT_FAILED = RULES.excludes("checkpoint-failed", "it could not write a checkpoint: {why}")
CANCELLED = RULES.excludes("cancelled", "{by} cancelled it")

WORTH = RULES.admits("worth-saving", "it was asked for a checkpoint, with {limit} to write it: {why}")
HINTED = RULES.admits("hint", "it was asked for a checkpoint, with {limit} to write it")
TOLD = RULES.admits("told", "it was told to go ({why}), with {limit} before it is killed")
TOLD_BEFORE = RULES.admits("told-before", "it had been told to go ({cause}), which its record did not know")
CANNOT_END = RULES.warns("cannot-end", "it was killed and is still there: {why}")
KILLED_NOW = RULES.admits("killed-now", "it is killed at once ({why})")
CLAMPED = RULES.admits("clamped", "it was submitted with more than the administrator allows now: {why}")
NOBODY_ANSWERS = RULES.admits("no-protocol", "nothing answers a request for a checkpoint")
NOT_BEGUN = RULES.admits("not-begun", "it had not begun")
SAVED = RULES.admits("saved", "it wrote its checkpoint after {took}")
SAVES = RULES.admits("checkpoint", "it wrote a checkpoint")
NO_SAVE = RULES.admits("no-checkpoint", "{why}; it goes on without a checkpoint")
EXTENDED = RULES.admits("extended", "it answers but is slow: it has {limit} more, once")
DEFERRED = RULES.admits("deferral", "it asked for {wanted} more time and was given {granted} of at most {most}")
NOT_DEFERRED = RULES.admits("no-deferral", "it asked for {wanted} more time; all of {most} was given already")
LEFT_ANYWAY = RULES.admits("left-anyway", "it left as it had been asked to, though its room was no longer needed")
WITHDRAWN = RULES.admits("withdrawn", "{claimant} no longer needs its room; it goes on once its checkpoint is written")
SUSPENDED = RULES.waits("suspended", "it left with its checkpoint of {at} and waits to resume from it")
REQUEUED = RULES.waits("requeued", "it left without a checkpoint and waits to begin anew")
AGAIN = RULES.waits("queued-again", "its policy {policy} queues it again {origin}, {count} of at most {most} times")
PREEMPTED = RULES.excludes("preempted", "it gave way to {claimant} and does not queue again: {why}")
BACKOFF = RULES.waits("backoff", "it failed {count} times; it is tried again in {wait}, and later each time")
BREAKER = RULES.waits(
    "breaker",
    "its evictions are held back for {wait}: {circle} evict each other in a circle, {turns} times back within {span}; "
    "`cede settle` of a snapshot shows the loop, and `cede lint` the setting behind it",
)
THRASHING = RULES.warns(
    "thrashing", "it was preempted {count} times: it loses more by making way than by waiting; see `cede lint`"
)
SUBMITTED = RULES.admits("submitted", "{by} submitted it")
RESUMED = RULES.admits("resumed", "{by} resumed it")
