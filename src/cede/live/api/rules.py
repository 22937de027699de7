"""The rules by which the API refuses, beside those of the driver and of the doctrines."""

from __future__ import annotations

from cede.model.rules import RuleSet

RULES = RuleSet("live")

NO_TOKEN = RULES.refuses("no-token", "this needs a token: send it as `Authorization: Bearer TOKEN`")
WRONG_TOKEN = RULES.refuses("wrong-token", "the token is unknown, or was revoked")
EXPIRED_TOKEN = RULES.refuses(
    "expired-token", "the token of {name} expired at {at}; an admin makes another, or renews it"
)
MANY_WRONG = RULES.refuses(
    "many-wrong-tokens", "{most} wrong tokens came from this address within {within} s; try again later"
)
MANY_LINES = RULES.refuses("many-connections", "{most} connections are open with this token, which is the most")
FULL = RULES.refuses("full", "all {most} connections for those with a token are in use; try again later")
ROLE = RULES.refuses("role", "{name} is a {role}; {what} takes {needed}")
NOT_VISIBLE = RULES.refuses("not-visible", "there is no workload called {name} that {caller} may see")
NOT_YOURS = RULES.refuses("not-yours", "{name} belongs to {owner}; only its owner and an admin may {what} it")
OTHER_PROJECT = RULES.refuses("other-project", "{caller} is not in the project {project}; its projects: {projects}")
OTHER_TENANT = RULES.refuses("other-tenant", "{caller} works for {own}; only an admin submits for the tenant {tenant}")
SENSITIVE_OUTPUT = RULES.refuses(
    "sensitive-output", "{name} is sensitive; only {owner}, who submitted it, and an admin may read what it wrote"
)
STRANGE_RESOURCE = RULES.refuses(
    "strange-resource",
    "no node here has {resource}{hint}, and {most} other names that none has were asked for since the server started, "
    "which is the most",
)
NO_ACCOUNT = RULES.refuses(
    "no-account",
    "{caller} has no unix account here, and a server that is root runs nothing without one: start it with "
    "--account {caller}=ACCOUNT, as --account root=root, or name one in its configuration",
)
RESERVED_VARIABLE = RULES.refuses("reserved-variable", "{name} is set by Cede; names that begin with CEDE_ are its own")
FIXED_PRIORITY = RULES.refuses(
    "fixed-priority", "{owner} may not choose a priority: it is {default}, and {priority} was asked for"
)
PRIORITY_RANGE = RULES.refuses("priority-range", "{owner} may use priorities from {low} to {high}, not {priority}")
ABOVE_LIMIT = RULES.refuses("above-limit", "{why}")
NO_GRANT = RULES.refuses(
    "no-grant", "{caller} may not {what}: that takes an admin, or {grant!r} among users[{caller}].limits.may"
)
NO_QUEUE = RULES.refuses("no-queue", "{why}")
NO_SUCH_PRIORITY = RULES.refuses("no-such-priority", "{why}")
INVALID = RULES.refuses("invalid", "{why}")
UNREADABLE = RULES.refuses("unreadable", "the body is no JSON that can be read: {why}")
TOO_LARGE = RULES.refuses("too-large", "the body has more than {limit} bytes, which is the most")
LONG_HEAD = RULES.refuses("long-headers", "the request has more than {limit} bytes before its body, which is the most")
TOO_SLOW_BODY = RULES.refuses("slow-body", "the body did not arrive within {limit} seconds")
NO_RECORD = RULES.refuses("unreadable-record", "{why}; an admin restores the store from a copy")
ENDED = RULES.refuses("ended", "{name} is {phase} already")
NO_PATH = RULES.refuses("no-such-path", "there is nothing at {path}")
NO_METHOD = RULES.refuses("no-such-method", "{path} takes {allowed}, not {method}")
NOTHING = RULES.refuses("unknown", "there is no {what} called {name}")
NEVER_EXPIRES = RULES.refuses("never-expires", "token {number} does not expire: there is nothing to renew")
NOTHING_TO_CERTIFY = RULES.refuses(
    "nothing-to-certify", "decision {number} has no victims: there is nothing to certify"
)
ONE_AT_A_TIME = RULES.refuses("one-at-a-time", "{caller} already has {most} of these under way")
BUSY = RULES.refuses("busy", "the server is busy: {why}")
IMPAIRED = RULES.refuses("impaired", "impaired: {why}")
ORPHANED = RULES.refuses(
    "orphan-in-the-way",
    "there are files of a workload called {name} that no record knows; an admin decides about them with `cede orphans`",
)
ORPHAN_RUNS = RULES.refuses("orphan-runs", "{name} still runs; end it first")
ORPHAN_RECORDED = RULES.refuses("orphan-recorded", "{name} has a record, and its files are kept with it")
FAILED = RULES.refuses("internal", "the server failed at this; its log says more")

NOTHING_ANSWERS = RULES.warns(
    "nothing-answers", "checkpoint is {mode}, but nothing will answer the request for one: {why}"
)
LONGEST_WALLTIME = RULES.warns(
    "longest-walltime", "it names no walltime, and has the longest there is for it: {most} ({key})"
)
NO_SUCH_RESOURCE = RULES.warns("no-such-resource", "no node here has {resource}: it waits until one does{hint}")
NO_GPU_HERE = RULES.warns(
    "no-gpu-here",
    "it asks for {resource}, and no GPU was found on this machine (through NVML): "
    "CUDA_VISIBLE_DEVICES will hold numbers of devices that are not there",
)
CLOSED_CROWDED = RULES.warns("crowded-out", "others must be let in, and whoever had the most streams lost its oldest")
CLOSED_REVOKED = RULES.warns("revoked", "the token of this stream was revoked")
CLOSED_CHANGED = RULES.warns(
    "rights-changed", "what the configuration says of the user of this stream has changed; open it again"
)
CLOSED_SLOW = RULES.warns("slow-reader", "events came faster than they were read; go on from the last one read")
