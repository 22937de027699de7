from decimal import Decimal
from typing import Any

import pytest

from cede.doctrines.catalog import DIALECTS
from cede.doctrines.document import parse_document
from cede.model.cluster import DoctrineChoice
from cede.model.doctrine import OWN
from tests.unit.model.problems import problems_of

CHOICES: dict[str, tuple[object, tuple[str, str, dict[str, Any]]]] = {
    "a name alone": ("kueue", ("kueue", "0.20", {})),
    "an object with a name": ({"name": "yunikorn"}, ("yunikorn", "laws", {})),
    "an edition": ({"name": "yunikorn", "edition": "1.9"}, ("yunikorn", "1.9", {})),
    "settings stay as they were given": (
        {"name": "lattice", "patience": "5m", "max_victims": 2},
        ("lattice", "policy", {"patience": "5m", "max_victims": 2}),
    ),
    "settings that are objects stay so": (
        {"name": "ytsaurus", "min_spare_allocation_resources_on_node": {"cpu": "500m"}, "main_resource": "gpu"},
        ("ytsaurus", "docs", {"min_spare_allocation_resources_on_node": {"cpu": "500m"}, "main_resource": "gpu"}),
    ),
    "decimals become plain numbers": (
        {
            "name": "ytsaurus",
            "fair_share_starvation_tolerance": Decimal("0.1"),
            "preemptive_scheduling_backoff": Decimal("2.0"),
        },
        ("ytsaurus", "docs", {"fair_share_starvation_tolerance": 0.1, "preemptive_scheduling_backoff": 2}),
    ),
}

BAD: dict[str, tuple[object, list[str]]] = {
    "an unknown doctrine": (
        "kuue",
        [
            "doctrine: no doctrine is called 'kuue'; there are kueue, yunikorn, ytsaurus, backendai, lattice, "
            f"kubernetes (did you mean 'kueue'? or else {OWN})"
        ],
    ),
    "an unknown doctrine in an object": (
        {"name": "Lattice"},
        [
            "doctrine.name: no doctrine is called 'Lattice'; there are kueue, yunikorn, ytsaurus, backendai, lattice, "
            f"kubernetes (did you mean 'lattice'? or else {OWN})"
        ],
    ),
    "one that only a file has": (
        "mine",
        [
            "doctrine: no doctrine is called 'mine'; there are kueue, yunikorn, ytsaurus, backendai, lattice, "
            f"kubernetes ({OWN})"
        ],
    ),
    "no name": ({"edition": "1.9"}, ["doctrine.name: this key is required and missing"]),
    "a number": (
        5,
        ["doctrine: 5 is no doctrine; name one of kueue, yunikorn, ytsaurus, backendai, lattice, kubernetes"],
    ),
    "an unknown edition": (
        {"name": "lattice", "edition": "polcy"},
        ["doctrine.edition: lattice has no edition 'polcy'; there are policy, core (did you mean 'policy'?)"],
    ),
    "an edition that YAML made a number": (
        {"name": "backendai", "edition": Decimal("26.8")},
        ['doctrine.edition: the edition 26.8 is a number; editions are text (write it in quotes: "26.8")'],
    ),
    "an edition that lost its zero": (
        {"name": "kueue", "edition": 0.2},
        ['doctrine.edition: the edition 0.2 is a number; editions are text (write it in quotes: "0.20")'],
    ),
    "an edition that is null": (
        {"name": "kueue", "edition": None},
        ["doctrine.edition: kueue has no edition null; there are 0.20"],
    ),
    "an unknown setting": (
        {"name": "lattice", "max_victms": 3},
        ["doctrine.max_victms: there is no key 'max_victms' (did you mean 'max_victims'?)"],
    ),
    "a setting of a doctrine that has none": (
        {"name": "backendai", "enabled": True},
        ["doctrine.enabled: there is no key 'enabled'"],
    ),
    "a strategy twice": (
        {"name": "kueue", "strategies": ["LessThanInitialShare", "LessThanInitialShare"]},
        ["doctrine.strategies: 'LessThanInitialShare' stands here twice"],
    ),
    "an unknown strategy": (
        {"name": "kueue", "strategies": ["LessThanInitial"]},
        [
            "doctrine.strategies[0]: 'LessThanInitial' is none of LessThanOrEqualToFinalShare, LessThanInitialShare"
            " (did you mean 'LessThanInitialShare'?)"
        ],
    ),
    "an open setting that no file can hold": (
        {"name": "ytsaurus", "x": {"y": float("nan")}},
        ["doctrine.x.y: nan is no finite number"],
    ),
    "several things, in the order of the file": (
        {"patience": -1, "edition": "x", "name": "lattice", "value_rule": 1},
        [
            "doctrine.patience: -1 is negative; a duration is 0 or more",
            "doctrine.edition: lattice has no edition 'x'; there are policy, core",
            "doctrine.value_rule: 1 is neither true nor false",
        ],
    ),
}

QUEUES: dict[str, tuple[object, dict[str, Any], list[str]]] = {
    "Kueue's settings": (
        "kueue",
        {"reclaimWithinCohort": "Any", "borrowWithinCohort": {"policy": "LowerPriority", "maxPriorityThreshold": -3}},
        [],
    ),
    "an unknown policy of Kueue": (
        "kueue",
        {"withinClusterQueue": "LowerPrio"},
        [
            "withinClusterQueue: 'LowerPrio' is none of Never, LowerPriority, LowerOrNewerEqualPriority"
            " (did you mean 'LowerPriority'?)"
        ],
    ),
    "an unknown key within a setting of Kueue": (
        "kueue",
        {"borrowWithinCohort": {"polcy": "Never"}},
        ["borrowWithinCohort.polcy: there is no key 'polcy' (did you mean 'policy'?)"],
    ),
    "YuniKorn's settings": ("yunikorn", {"preemption.delay": "1s", "priority.offset": "+5"}, []),
    "a misspelled setting of YuniKorn": (
        "yunikorn",
        {"preemption.dealy": "1s"},
        ["[\"preemption.dealy\"]: there is no key 'preemption.dealy' (did you mean 'preemption.delay'?)"],
    ),
    "an offset that is no number": (
        "yunikorn",
        {"priority.offset": "five"},
        ["[\"priority.offset\"]: 'five' is no whole number"],
    ),
    "an offset of five thousand digits": (
        "yunikorn",
        {"priority.offset": "9" * 5000},
        [f"[\"priority.offset\"]: '{'9' * 57}...' is no whole number"],
    ),
    "what the BEP has": ("backendai", {"preemption_mode": "suspend", "preemptible_priority": 5}, []),
    "what only the shipped edition has": (
        "backendai",
        {"victim_scope": "user", "preemption_mode": "reschedule"},
        [
            "victim_scope: there is no key 'victim_scope'",
            "preemption_mode: 'reschedule' is none of terminate, suspend",
        ],
    ),
    "what the shipped edition has": (
        {"name": "backendai", "edition": "26.8"},
        {"victim_scope": "user", "preemption_mode": "reschedule", "preemption_min_runtime": "5m"},
        [],
    ),
    "what only the BEP has": (
        {"name": "backendai", "edition": "26.8"},
        {"preemption_mode": "suspend", "preemptible_priority": 101},
        [
            "preemption_mode: 'suspend' is none of terminate, reschedule",
            "preemptible_priority: 101 is too large; the most is 100",
        ],
    ),
    "Lattice's settings": ("lattice", {"type": "hpc_batch", "allow_lending": False}, []),
    "an unknown type of Lattice": (
        "lattice",
        {"type": "hpc"},
        ["type: 'hpc' is none of hpc_batch, ml_training, service, sensitive, interactive"],
    ),
    "YTsaurus's settings": ("ytsaurus", {"mode": "fifo", "integral_guarantees": {"resource_flow": {"cpu": 1}}}, []),
    "an unknown setting of YTsaurus": (
        "ytsaurus",
        {"mode": "fifo", "whatever": 1},
        ["whatever: there is no key 'whatever'"],
    ),
    "a starvation clock that is no time": (
        "ytsaurus",
        {"below_fair_share_since": "soon"},
        ["below_fair_share_since: 'soon' is no time; write a number of seconds or RFC 3339 like 2026-01-31T12:00:00Z"],
    ),
    "any settings without a doctrine": (None, {"whatever": 1}, []),
}


def test_the_editions_are_those_of_the_contract_and_the_first_is_the_default() -> None:
    assert {name: dialect.editions for name, dialect in DIALECTS.items()} == {
        "kueue": ("0.20",),
        "yunikorn": ("laws", "1.9"),
        "ytsaurus": ("docs", "25.4"),
        "backendai": ("bep-1014", "26.8"),
        "lattice": ("policy", "core"),
        "kubernetes": ("1.36",),
    }


@pytest.mark.parametrize(("raw", "choice"), CHOICES.values(), ids=CHOICES.keys())
def test_a_doctrine_is_chosen(raw: object, choice: tuple[str, str, dict[str, Any]]) -> None:
    name, edition, settings = choice

    found = parse_document({"cede": 1, "doctrine": raw}).doctrine

    assert found == DoctrineChoice(name=name, edition=edition, settings=settings, dialect=DIALECTS[name])


@pytest.mark.parametrize(("raw", "lines"), BAD.values(), ids=BAD.keys())
def test_what_is_no_choice_is_refused_with_the_reason(raw: object, lines: list[str]) -> None:
    assert problems_of({"cede": 1, "doctrine": raw}) == lines


@pytest.mark.parametrize(("doctrine", "settings", "lines"), QUEUES.values(), ids=QUEUES.keys())
def test_a_queues_settings_are_those_of_the_doctrine_and_edition(
    doctrine: object, settings: dict[str, Any], lines: list[str]
) -> None:
    chosen = {} if doctrine is None else {"doctrine": doctrine}
    data = {"cede": 1, "queues": [{"name": "p"}, {"name": "q", "settings": settings}]} | chosen

    joints = ["" if line.startswith("[") else "." for line in lines]
    assert problems_of(data) == [f"queues[1].settings{j}{line}" for j, line in zip(joints, lines, strict=True)]


@pytest.mark.parametrize(
    ("key", "setting"),
    [
        ("guaranteed", "strong_guarantee_resources"),
        ("guaranteed", "min_share_resources"),
        ("max", "resource_limits"),
    ],
)
def test_what_has_a_key_of_its_own_is_given_once_only(key: str, setting: str) -> None:
    queue = {"name": "q", key: {"cpu": 1}, "settings": {setting: {"cpu": 1}}}

    assert problems_of({"cede": 1, "doctrine": "ytsaurus", "queues": [queue]}) == [
        f"queues[0].settings.{setting}: is the same as the queue's key '{key}'; give one of them"
    ]


def test_a_weight_is_given_once_only() -> None:
    entry = {"name": "q", "weight": 1, "settings": {"weight": 2}}

    assert problems_of({"cede": 1, "doctrine": "ytsaurus", "queues": [entry], "apps": [entry]}) == [
        "queues[0].settings.weight: is the same as the queue's key 'weight'; give one of them",
        "apps[0].settings.weight: is the same as the app's key 'weight'; give one of them",
    ]
