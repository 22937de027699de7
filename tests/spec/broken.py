"""Documents that no schema of the cluster file may accept, by definition and by what is wrong."""

from __future__ import annotations

from typing import Any

LATTICE_DURATIONS = (
    "near_completion_threshold",
    "checkpoint_timeout",
    "max_deferral",
    "grace_period",
    "manual_checkpoint_time",
    "patience",
)


def _doctrine(name: str, **settings: Any) -> dict[str, Any]:
    return {"doctrine": {"name": name} | settings}


def _queue(doctrine: object, settings: object) -> dict[str, Any]:
    return {"doctrine": doctrine, "queues": [{"name": "q", "settings": settings}]}


def _node(**keys: Any) -> dict[str, Any]:
    return {"nodes": [{"name": "n"} | keys]}


def _workload(**keys: Any) -> dict[str, Any]:
    return {"workloads": [{"name": "w"} | keys]}


SHIPPED = {"name": "backendai", "edition": "26.8"}
POD = {"name": "p", "count": 1, "requests": {}}

BROKEN: dict[str, dict[str, Any]] = {
    "settingsByDoctrine: of a doctrine that there is not": _doctrine("kueue", settings={"volcano": {}}),
    "settingsByDoctrine: a setting of another doctrine": _doctrine("kueue", settings={"lattice": {"preemption": "x"}}),
    "settingsByDoctrine: a setting that stands beside no name": _doctrine(
        "kueue", settings={"preemption": "Classical"}
    ),
    "settingsByDoctrine: no object": _doctrine("kueue", settings=[]),
    "kueueQueue: an unknown setting": _queue("lattice", {"kueue": {"policy": "Any"}}),
    "kueueQueue: no object": _queue("yunikorn", {"kueue": 1}),
    "yunikornQueue: an unknown key of the queue": _queue("kueue", {"yunikorn": {"parent": "root"}}),
    "backendaiQueue: a setting of no edition": _queue("kueue", {"backendai": {"preemption_order": "largest"}}),
    "kubernetesQueue: an unknown setting": _queue("kueue", {"kubernetes": {"preemptionPolicy": "Never"}}),
    "latticeQueue: an amount below nothing": _queue("kueue", {"lattice": {"guaranteed": {"cpu": -1}}}),
    "the document: an unknown key": {"node": []},
    "the document: another version": {"cede": 2},
    "the document: a version that is true": {"cede": True},
    "the document: an empty topology": {"topology": ""},
    "the document: an unknown selection": {"selection": "best"},
    "the document: workloads that are an object": {"workloads": {}},
    "the document: nodes that are null": {"nodes": None},
    "quantity: negative": _node(capacity={"cpu": -1}),
    "quantity: true": _node(capacity={"cpu": True}),
    "quantity: null": _node(capacity={"cpu": None}),
    "quantity: an unknown suffix": _node(capacity={"cpu": "5GB"}),
    "quantity: no digits": _node(capacity={"cpu": "."}),
    "quantity: negative text": _node(capacity={"cpu": "-5"}),
    "resources: a list": _node(occupied=[]),
    "resources: a name with a space": _node(occupied={"c pu": 1}),
    "resources: an empty flavor": _node(occupied={"cpu@": 1}),
    "resources: a name that ends in a dash": _node(occupied={"cpu-": 1}),
    "time: a day": {"now": "2026-01-31"},
    "time: no zone": {"now": "2026-01-31T12:00:00"},
    "time: null": {"now": None},
    "time: true": _workload(submitted=True),
    "duration: negative": _workload(walltime=-1),
    "duration: a bare number in text": _workload(walltime="30"),
    "duration: empty": _workload(walltime=""),
    "duration: days": _workload(walltime="1d"),
    "duration: the wrong order": _workload(walltime="1m1h"),
    "labels: a number": _node(labels={"a": 1}),
    "labels: a list": _node(labels=[]),
    "doctrine: an unknown name": {"doctrine": "slurm"},
    "doctrine: an unknown name in an object": _doctrine("slurm"),
    "doctrine: no name": {"doctrine": {"edition": "1.9"}},
    "doctrine: a list": {"doctrine": ["kueue"]},
    "doctrine: null": {"doctrine": None},
    "doctrine: an edition of another": _doctrine("kueue", edition="1.9"),
    "doctrine: an edition that is a number": _doctrine("backendai", edition=26.8),
    "doctrine: an edition that is null": _doctrine("ytsaurus", edition=None),
    "doctrine kueue: an unknown preemption": _doctrine("kueue", preemption="Fair"),
    "doctrine kueue: no strategies": _doctrine("kueue", strategies=[]),
    "doctrine kueue: a strategy twice": _doctrine("kueue", strategies=["LessThanInitialShare"] * 2),
    "doctrine kueue: an unknown strategy": _doctrine("kueue", strategies=["LessThan"]),
    "doctrine kueue: a check that is a number": _doctrine("kueue", recheck_final_set=1),
    "doctrine kueue: an unknown setting": _doctrine("kueue", max_victims=1),
    "doctrine yunikorn: enabled as text": _doctrine("yunikorn", **{"preemption.enabled": "true"}),
    "doctrine yunikorn: quota as a number": _doctrine("yunikorn", **{"preemption.quotapreemptionenabled": 0}),
    "doctrine yunikorn: a nested setting": _doctrine("yunikorn", preemption={"enabled": True}),
    "doctrine backendai: any setting": _doctrine("backendai", preemption_order="oldest"),
    "doctrine lattice: negative victims": _doctrine("lattice", max_victims=-1),
    "doctrine lattice: half a victim": _doctrine("lattice", max_victims=1.5),
    "doctrine lattice: a negative extension": _doctrine("lattice", timeout_extension=-0.5),
    "doctrine lattice: a rule that is text": _doctrine("lattice", value_rule="on"),
    **{f"doctrine lattice: {key}": _doctrine("lattice", **{key: "soon"}) for key in LATTICE_DURATIONS},
    "node: no name": {"nodes": [{}]},
    "node: an empty name": {"nodes": [{"name": ""}]},
    "node: an unknown key": _node(cpu=5),
    "node: none of it": _node(count=0),
    "node: half of it": _node(count=1.5),
    "node: an unknown state": _node(state="up"),
    "node: an empty partition": _node(partition=""),
    "node: a flavor that is a number": _node(flavor=1),
    "node: an empty home": _node(home=""),
    "node: reserved for null": _node(reserved_for=None),
    "node: reserved since always": _node(reserved_since="always"),
    "node: overcommitted since ever": _node(overcommitted_since="ever"),
    "node: an attempt that is a list": _node(last_preemptive_attempt=[]),
    "node: text": {"nodes": ["n"]},
    "queue: no name": {"queues": [{"parent": "p"}]},
    "queue: an unknown key": {"queues": [{"name": "q", "limit": {}}]},
    "queue: an empty parent": {"queues": [{"name": "q", "parent": ""}]},
    "queue: a guarantee that is a number": {"queues": [{"name": "q", "guaranteed": 5}]},
    "queue: a negative weight": {"queues": [{"name": "q", "weight": -1}]},
    "queue: a weight that is text": {"queues": [{"name": "q", "weight": "1"}]},
    "queue: settings that are null": {"queues": [{"name": "q", "settings": None}]},
    "queue: a limit passed at no time": {"queues": [{"name": "q", "over_limit_since": "x"}]},
    "queue: a group without flavors": {"queues": [{"name": "q", "resource_groups": [{"resources": ["cpu"]}]}]},
    "queue: a group of nothing": {
        "queues": [{"name": "q", "resource_groups": [{"resources": [], "flavors": ["a"]}]}],
    },
    "queue: a flavor twice": {
        "queues": [{"name": "q", "resource_groups": [{"resources": ["cpu"], "flavors": ["a", "a"]}]}],
    },
    "queue: an unknown key of a group": {
        "queues": [{"name": "q", "resource_groups": [{"resources": ["cpu"], "flavors": ["a"], "x": 1}]}],
    },
    "app: no name": {"apps": [{"queue": "q"}]},
    "app: an unknown key": {"apps": [{"name": "a", "project": "p"}]},
    "app: a negative weight": {"apps": [{"name": "a", "weight": -0.5}]},
    "app: settings that are a list": {"apps": [{"name": "a", "settings": []}]},
    "tenant: no name": {"tenants": [{}]},
    "tenant: a share above one": {"tenants": [{"name": "t", "share": 1.1}]},
    "tenant: a negative use": {"tenants": [{"name": "t", "used": -1}]},
    "tenant: a limit of half a node": {"tenants": [{"name": "t", "max_nodes": 0.5}]},
    "tenant: an unknown key": {"tenants": [{"name": "t", "quota": 1}]},
    "policy: for nobody": {"policies": [{"max_priority": 1}]},
    "policy: for two": {"policies": [{"user": "u", "project": "p"}]},
    "policy: a priority that is text": {"policies": [{"user": "u", "min_priority": "1"}]},
    "policy: may that is a number": {"policies": [{"user": "u", "may_change": 1}]},
    "policy: an unknown key": {"policies": [{"user": "u", "priority": 1}]},
    "podSet: no count": _workload(pod_sets=[{"name": "p", "requests": {}}]),
    "podSet: no requests": _workload(pod_sets=[{"name": "p", "count": 1}]),
    "podSet: a least count of zero": _workload(pod_sets=[POD | {"min_count": 0}]),
    "podSet: an unknown key": _workload(pod_sets=[POD | {"members": 1}]),
    "workload: no name": {"workloads": [{"queue": "q"}]},
    "workload: an unknown key": _workload(que="q"),
    "workload: an unknown kind": _workload(kind="job"),
    "workload: an unknown state": _workload(state="done"),
    "workload: a priority with a fraction": _workload(priority=1.5),
    "workload: a priority that is true": _workload(priority=True),
    "workload: a job priority that is text": _workload(job_priority="1"),
    "workload: no members": _workload(members=0),
    "workload: no pod sets": _workload(pod_sets=[]),
    "workload: pod sets and members": _workload(pod_sets=[POD], members=1),
    "workload: pod sets and requests": _workload(pod_sets=[POD], requests={}),
    "workload: an empty node": _workload(nodes=[""]),
    "workload: exclusive as text": _workload(exclusive="yes"),
    "workload: an unknown placement": _workload(placement="pack"),
    "workload: constraints that are a list": _workload(constraints=[]),
    "workload: an unknown constraint": _workload(constraints={"zone": "a"}),
    "workload: constraints with an empty node": _workload(constraints={"nodes": [""]}),
    "workload: an empty required node": _workload(required_node=""),
    "workload: an unknown checkpoint mode": _workload(checkpoint={"mode": "manually"}),
    "workload: a checkpoint of negative length": _workload(checkpoint={"time": -1}),
    "workload: an unknown key of the checkpoint": _workload(checkpoint={"interval": 5}),
    "workload: preempted less than never": _workload(preempted=-1),
    "workload: preemptible that is null": _workload(preemptible=None),
    "workload: sensitive that is a number": _workload(sensitive=1),
    "workload: an empty uid": _workload(uid=""),
    "kueueQueueSettings: an unknown key": _queue("kueue", {"within": "Never"}),
    "kueueQueueSettings: an unknown policy": _queue({"name": "kueue"}, {"reclaimWithinCohort": "All"}),
    "kueueQueueSettings: an unknown key further down": _queue("kueue", {"borrowWithinCohort": {"x": 1}}),
    "kueueQueueSettings: a threshold that is text": _queue(
        "kueue", {"borrowWithinCohort": {"maxPriorityThreshold": "1"}}
    ),
    "kueueQueueSettings: an unknown preference": _queue("kueue", {"flavorFungibility": {"preference": "x"}}),
    "kueueQueueSettings: the name in our spelling": _queue("kueue", {"queueing_strategy": "StrictFIFO"}),
    "yunikornQueueSettings: an unknown policy": _queue("yunikorn", {"preemption.policy": "off"}),
    "yunikornQueueSettings: no delay": _queue("yunikorn", {"preemption.delay": "x"}),
    "yunikornQueueSettings: a priority policy of preemption": _queue("yunikorn", {"priority.policy": "disabled"}),
    "yunikornQueueSettings: an offset with a fraction": _queue("yunikorn", {"priority.offset": "1.5"}),
    "yunikornQueueSettings: a negative quota delay": _queue("yunikorn", {"quota.preemption.delay": -1}),
    "bep1014QueueSettings: a priority above 100": _queue("backendai", {"preemptible_priority": 101}),
    "bep1014QueueSettings: a mode of the shipped edition": _queue("backendai", {"preemption_mode": "reschedule"}),
    "bep1014QueueSettings: a key of the shipped edition": _queue(
        {"name": "backendai", "edition": "bep-1014"}, {"enabled": True}
    ),
    "backendaiQueueSettings: a mode of the BEP": _queue(SHIPPED, {"preemption_mode": "suspend"}),
    "backendaiQueueSettings: enabled as text": _queue(SHIPPED, {"enabled": "true"}),
    "backendaiQueueSettings: no runtime": _queue(SHIPPED, {"preemption_min_runtime": "x"}),
    "backendaiQueueSettings: an unknown scope": _queue(SHIPPED, {"victim_scope": "group"}),
    "backendaiQueueSettings: an unknown scheduler": _queue(SHIPPED, {"scheduler": "fair"}),
    "backendaiQueueSettings: an unknown strategy": _queue(SHIPPED, {"agent_selection_strategy": "random"}),
    "latticeQueueSettings: an unknown type": _queue("lattice", {"type": "batch"}),
    "latticeQueueSettings: lending as a number": _queue("lattice", {"allow_lending": 1}),
    "latticeQueueSettings: an unknown key": _queue("lattice", {"allow": True}),
}
