"""What keys of the configuration and series of the metrics mean, where the code has no sentence for it."""

from __future__ import annotations

TIMES = {
    "checkpoint_timeout": "how long it may take to write the checkpoint it was asked for",
    "timeout_extension": "how much of that again, once, for one that gave signs of life and asked for no deferral",
    "max_deferral": "how much time it may ask for before it saves, in all",
    "grace_period": "from SIGTERM to SIGKILL",
    "reclaim_grace": "the least that is, for one whose nodes are taken back by the queue they are at home in",
    "start_timeout": "how long its processes may take to begin after they were started",
    "hold_timeout": "how long its room is held while its victims leave",
    "requeue": "when it queues again after a failure: `never`, `on_node_failure` or `always`",
    "max_requeues": "how often it does so",
}

LIMITS = {
    "grace_period": "the longest grace that a submission may ask for: from SIGTERM to SIGKILL",
    "checkpoint_time": "the longest `checkpoint_timeout`, with its extension",
    "max_deferral": "the longest time that it may let its application ask for before it saves",
    "walltime": "the longest walltime, which work that names none has. Without it: none",
    "may": "what users may ask for beside: `unpreemptible`: work that is not preempted; `exclusive`: whole nodes; "
    "`priority`: another priority than their own. An admin may all of it",
}

CAPS = {
    "pending": "the most workloads that wait",
    "workloads": "the most that wait or run",
    "running": "the most that have room at once; one more waits for one of them to end. Without it: no cap",
    "requests": "the most of each resource that all of them ask for together. Without it: no cap",
}

CONFIGURATION = {
    "host": "where to listen. Anything but loopback needs TLS, or `insecure`",
    "port": "0 takes a free one",
    "data": "the data directory; else `$CEDE_DATA`, else `/var/lib/cede` for root, `$XDG_STATE_HOME/cede` or "
    "`~/.local/state/cede` for others",
    "tls_cert": "the server's certificate, and those above it, in one PEM file: with it the server speaks https",
    "tls_key": "the key of the certificate; else in the same file",
    "insecure": "listen beyond this machine without TLS: every token can be read on the way",
    "connections": "how many there may be at once, never more than half of the files that the process may open; "
    "without it 4096",
    "token_lifetime": "how long a new token stands, unless its maker says otherwise; ten years at most",
    **{f"times.{key}": meaning for key, meaning in TIMES.items()},
    **{f"queues.NAME.{key}": "the same, for the workloads of this queue" for key in TIMES},
    "users[].name": "whose tokens this is about; it counts more than what a token says",
    "users[].role": "what this user may do",
    "users[].projects": "the user's projects; the first one counts for a submission that names none",
    "users[].account": "under a server that is root: the unix account its jobs run as. Without one it cannot submit",
    "users[].tenant": "the tenant whose quota the user's workloads count to; only an admin can submit for another",
    **{f"users[].limits.{key}": "the same as `limits`, for this user, whatever queue or role say" for key in LIMITS},
    **{f"limits.{key}": meaning for key, meaning in LIMITS.items()},
    **{f"limits.queues.NAME.{key}": "the same, in this queue and those below it" for key in LIMITS},
    **{f"limits.roles.NAME.{key}": "the same, for `admin` or `user`" for key in LIMITS},
    **{f"caps.user.{key}": f"of each user: {meaning}" for key, meaning in CAPS.items()},
    **{f"caps.project.{key}": f"of each project: {meaning}" for key, meaning in CAPS.items()},
    **{f"caps.users.NAME.{key}": "the same, of this user" for key in CAPS},
    **{f"caps.projects.NAME.{key}": "the same, of this project" for key in CAPS},
    "defaults.queue": "where work goes that names no queue. Without it: to the only queue with none below it, else "
    "to the one called `default`, else it is refused",
    "defaults.requests": "what a member gets of resources that it asks for none of, where nodes have them (and, "
    "under Kueue, its queue a quota of them)",
    "retention.ended": "how long records, files and logs of workloads that ended are kept. Without it: for ever",
    "retention.events": "how long events of workloads that ended are kept. Without it: for ever",
    "retention.inputs": "how long recorded steps and the cluster files of decisions are kept. Without it: for ever",
    "max_body": "the largest body of a request, in bytes",
    "backfill": "what may pass a workload that waits for room ahead of it: as the doctrine says (off), nothing "
    "(strict), or work that does not delay it as far as walltimes tell (easy)",
    "checkpoints": "when a workload that goes on is asked for a checkpoint: on request (asked), or also when the "
    "doctrine finds one worth what it costs (worth; only Lattice does)",
    "backoff.delay": "how long a workload that failed waits before it is tried again; after each further failure twice "
    "as long",
    "backoff.max_delay": "the longest such wait",
    "breaker.enabled": "whether workloads that evict each other in a circle are slowed down",
    "breaker.turns": "how often one may be evicted back within the window before that",
    "breaker.app_turns": "the same, between apps",
    "breaker.window": "how long an eviction is remembered",
    "breaker.delay": "how long the first eviction waits that is held back; each further one twice as long",
    "breaker.max_delay": "the longest such wait",
    "thrashing": "a workload that was preempted more often than this is said to thrash; drains do not count",
    "assumed_checkpoint_age": "the age of checkpoint that a silent workload is charged for, while none is published",
    "compare_every": "how often what the store says is under way is compared with what runs",
    "log_limit": "the size at which a log file is rotated, in bytes; one older file is kept",
}

METRICS = {
    "cede_wait_seconds": "from submission, or from when it queued again",
    "cede_lost_resource_hours_total": "what was worked since the last checkpoint, times what it held",
    "cede_lost_gpu_hours_total": "what a victim could not save, or the time it took to save it, and to begin, times "
    "the GPUs it held; all those of its nodes, if it had them to itself",
    "cede_build_info": "its labels say which version runs",
}
