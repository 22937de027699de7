import copy
from decimal import Decimal
from typing import Any

import pytest

import cede
from cede.doctrines.catalog import DIALECTS, DOCUMENTED
from cede.doctrines.document import parse_document
from cede.engine.whatif import WhatIf, changed, cluster_if
from cede.model.document import dump_document
from cede.model.errors import InputError

ONE_FILE: dict[str, Any] = {
    "cede": 1,
    "doctrine": {
        "name": "kueue",
        "settings": {
            "kueue": {"preemption": "FairSharing"},
            "ytsaurus": {"main_resource": "gpu", "preemptive_scheduling_backoff": 0},
            "lattice": {"max_victims": 8},
        },
    },
    "nodes": [{"name": "n", "count": 2, "capacity": {"gpu": 8}}],
    "queues": [
        {"name": "root"},
        {
            "name": "root.research",
            "parent": "root",
            "guaranteed": {"gpu": 8},
            "settings": {
                "kueue": {"withinClusterQueue": "LowerPriority", "reclaimWithinCohort": "Any"},
                "yunikorn": {"preemption.delay": "1s"},
                "ytsaurus": {"mode": "fifo", "guaranteed": {"gpu": 4}, "fair_share_starvation_timeout": 0},
                "backendai": {"preemptible_priority": 9},
                "lattice": {"type": "ml_training"},
            },
        },
        {
            "name": "root.prod",
            "parent": "root",
            "guaranteed": {"gpu": 8},
            "settings": {
                "kueue": {"withinClusterQueue": "LowerPriority", "reclaimWithinCohort": "Any"},
                "yunikorn": {"preemption.delay": "1s"},
                "ytsaurus": {"mode": "fifo", "guaranteed": {"gpu": 4}, "fair_share_starvation_timeout": 0},
                "backendai": {"preemptible_priority": 9},
                "lattice": {"type": "ml_training"},
            },
        },
    ],
    "workloads": [
        *(
            {
                "name": f"low-{number}",
                "queue": "root.research",
                "state": "running",
                "nodes": ["n-0" if number < 4 else "n-1"],
                "requests": {"gpu": 2},
                "priority": 1,
                "submitted": -600,
                "started": -500 + number,
                "walltime": "10h",
            }
            for number in range(8)
        ),
        {
            "name": "wanted",
            "queue": "root.prod",
            "requests": {"gpu": 2},
            "priority": 10,
            "submitted": -300,
            "walltime": "1h",
        },
    ],
}


def problems_of(data: object) -> list[str]:
    with pytest.raises(InputError) as caught:
        parse_document(data)
    return [str(problem) for problem in caught.value.problems]


def with_queue(settings: object, doctrine: object = "kueue", **keys: Any) -> dict[str, Any]:
    return {"cede": 1, "doctrine": doctrine, "queues": [{"name": "q", **keys, "settings": settings}]}


@pytest.mark.parametrize("doctrine", DOCUMENTED)
def test_one_file_is_planned_by_every_doctrine_which_preempts_by_its_own_settings(doctrine: str) -> None:
    cluster = cluster_if(ONE_FILE, WhatIf(doctrine))

    settled = cede.settle(cluster, cycles=120)

    assert cede.plan(cluster).to_dict()["doctrine"] == doctrine
    assert {one["claimant"] for one in settled.to_dict()["preemptions"]} == {"wanted"}


@pytest.mark.parametrize("doctrine", DOCUMENTED)
def test_what_stands_under_the_name_of_the_doctrine_in_force_are_its_plain_settings(doctrine: str) -> None:
    named = parse_document(changed(ONE_FILE, WhatIf(doctrine)))
    own = ONE_FILE["queues"][1]["settings"][doctrine]

    keys = {key: value for key, value in own.items() if key != "guaranteed"}
    assert named.queues[1].settings == keys
    assert (named.queues[1].guaranteed == {"gpu": 4 * 10**9}) == ("guaranteed" in own)
    assert named.doctrine is not None
    assert named.doctrine.settings == ONE_FILE["doctrine"]["settings"].get(doctrine, {})


@pytest.mark.parametrize("doctrine", DOCUMENTED)
def test_a_file_that_is_written_again_still_serves_every_doctrine(doctrine: str) -> None:
    before = changed(ONE_FILE, WhatIf(doctrine))

    written = dump_document(parse_document(before))

    assert dump_document(parse_document(written)) == written
    for other in DIALECTS:
        again = parse_document(changed(written, WhatIf(other)))
        once = parse_document(changed(ONE_FILE, WhatIf(other)))
        assert [queue.settings for queue in again.queues] == [queue.settings for queue in once.queues]
        assert [queue.guaranteed for queue in again.queues] == [queue.guaranteed for queue in once.queues]
        assert again.doctrine == once.doctrine


def test_plain_settings_stay_with_their_doctrine_when_another_is_tried() -> None:
    plain = with_queue({"withinClusterQueue": "LowerPriority"}, {"name": "kueue", "preemption": "FairSharing"})
    before = copy.deepcopy(plain)

    other = changed(plain, WhatIf("lattice"))

    assert parse_document(other).queues[0].settings == {}
    assert parse_document(changed(other, WhatIf("kueue"))) == parse_document(plain)
    assert plain == before


def test_amounts_under_a_name_are_exact() -> None:
    [queue] = parse_document(with_queue({"kueue": {"guaranteed": {"gpu": Decimal("0.123456789")}}})).queues
    assert queue.guaranteed == {"gpu": 123456789}


def test_a_value_can_be_set_under_a_name() -> None:
    what_if = WhatIf(
        set=(
            "queues[root.prod].settings.yunikorn.preemption.delay=5s",
            "queues[root.prod].settings.ytsaurus.guaranteed.gpu=2",
            "doctrine.settings.lattice.max_victims=2",
        )
    )
    data: Any = changed(ONE_FILE, what_if)

    assert data["queues"][2]["settings"]["yunikorn"] == {"preemption.delay": "5s"}
    assert data["queues"][2]["settings"]["ytsaurus"]["guaranteed"] == {"gpu": 2}
    assert data["doctrine"]["settings"]["lattice"] == {"max_victims": 2}


INSTALLED = ", ".join(DIALECTS)

WRONG = {
    "a doctrine that is not installed": (
        with_queue({"volcano": {"reclaimable": True}}),
        f"queues[0].settings.volcano: there is no key 'volcano', and no doctrine of this name is installed; "
        f"there are {INSTALLED}",
    ),
    "a doctrine with a slip in its name": (
        with_queue({"yunicorn": {"preemption.delay": 1}}),
        f"queues[0].settings.yunicorn: there is no key 'yunicorn', and no doctrine of this name is installed; "
        f"there are {INSTALLED} (did you mean 'yunikorn'?)",
    ),
    "cluster-wide settings of one that is not installed": (
        {"cede": 1, "doctrine": {"name": "kueue", "settings": {"volcano": {}}}},
        f"doctrine.settings.volcano: no doctrine called 'volcano' is installed; there are {INSTALLED}",
    ),
    "an unknown setting of another doctrine": (
        with_queue({"lattice": {"typ": "service"}}),
        "queues[0].settings.lattice.typ: there is no key 'typ' (did you mean 'type'?)",
    ),
    "an unknown setting under the name of its own": (
        with_queue({"kueue": {"withinQueue": "Never"}}),
        "queues[0].settings.kueue.withinQueue: there is no key 'withinQueue'",
    ),
    "what its own doctrine refuses beyond the schema": (
        with_queue({"kueue": {"borrowWithinCohort": {"policy": "LowerPriority"}}}),
        "queues[0].settings.kueue.borrowWithinCohort.policy: is LowerPriority, but reclaimWithinCohort is Never, "
        "and then nothing is taken from the cohort (set reclaimWithinCohort too)",
    ),
    "an amount of another doctrine": (
        with_queue({"ytsaurus": {"guaranteed": {"gpu": -1}}}),
        "queues[0].settings.ytsaurus.guaranteed.gpu: -1 is negative",
    ),
    "a setting that is given twice": (
        with_queue({"withinClusterQueue": "Never", "kueue": {"withinClusterQueue": "LowerPriority"}}),
        "queues[0].settings.kueue.withinClusterQueue: stands beside the doctrine's name too; give it once",
    ),
    "no object": (with_queue({"lattice": "service"}), "queues[0].settings.lattice: 'service' is no object of settings"),
    "a setting of an app of another doctrine": (
        {"cede": 1, "doctrine": "kueue", "apps": [{"name": "a", "settings": {"ytsaurus": {"gang": True}}}]},
        "apps[0].settings.ytsaurus.gang: there is no key 'gang'",
    ),
}


@pytest.mark.parametrize(("data", "said"), WRONG.values(), ids=WRONG.keys())
def test_what_is_wrong_under_a_name_is_told_with_its_place(data: object, said: str) -> None:
    [found] = problems_of(data)

    assert found.startswith(said)


def test_settings_of_another_doctrine_may_be_those_of_any_of_its_editions() -> None:
    for settings in ({"preemption_mode": "suspend"}, {"preemption_mode": "reschedule", "enabled": True}):
        assert parse_document(with_queue({"backendai": settings})).queues[0].settings == {}
