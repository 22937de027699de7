"""Places as people write them."""

from __future__ import annotations

from typing import Any

import pytest

from cede.engine.whatif import GONE, put
from cede.model.errors import InputError


def document() -> dict[str, Any]:
    return {
        "cede": 1,
        "doctrine": "yunikorn",
        "nodes": [{"name": "n1", "capacity": {"nvidia.com/gpu": 4}}, {"name": "m", "count": 3}],
        "queues": [{"name": "root.a", "settings": {"preemption.delay": "5s"}}, {"name": "7"}],
        "policies": [{"user": "ann", "max_priority": 8}, {"project": "vision"}],
        "workloads": [
            {"name": "w", "requests": {"cpu": 1}, "nodes": ["n1"], "pod_sets": [{"name": "driver", "count": 1}]},
            {"name": "other"},
        ],
    }


def at(place: str, value: object) -> dict[str, Any]:
    found = put(document(), place, lambda _: value)
    assert isinstance(found, dict)
    return found


def wrong(place: str) -> str:
    with pytest.raises(InputError) as caught:
        put(document(), place, lambda _: 1)
    return str(caught.value)


def test_a_top_level_key_is_set() -> None:
    assert at("now", 5)["now"] == 5


def test_an_entry_is_addressed_by_name_or_by_number() -> None:
    assert at("workloads[other].priority", 3)["workloads"][1] == {"name": "other", "priority": 3}
    assert at("workloads[1].priority", 3)["workloads"][1] == {"name": "other", "priority": 3}


def test_a_name_that_is_a_number_goes_before_the_number() -> None:
    data = put({"queues": [{"name": "1"}, {"name": "0"}]}, "queues[0].weight", lambda _: 2)

    assert data == {"queues": [{"name": "1"}, {"name": "0", "weight": 2}]}


def test_a_policy_is_addressed_by_whom_it_is_for() -> None:
    assert at("policies[vision].may_change", False)["policies"][1] == {"project": "vision", "may_change": False}


def test_an_entry_is_not_called_by_its_owner() -> None:
    with pytest.raises(InputError, match="no workload is called 'ann'"):
        put({"workloads": [{"name": "a", "user": "ann"}]}, "workloads[ann].priority", lambda _: 1)


def test_entries_below_entries_have_names_too() -> None:
    assert at("workloads[w].pod_sets[driver].count", 2)["workloads"][0]["pod_sets"][0]["count"] == 2


def test_a_known_key_with_dots_is_one_key() -> None:
    settings = at("queues[root.a].settings.preemption.policy", "fence")["queues"][0]["settings"]

    assert settings == {"preemption.delay": "5s", "preemption.policy": "fence"}


def test_a_resource_with_dots_and_slashes_is_one_key() -> None:
    assert at("nodes[n1].capacity.nvidia.com/gpu", 8)["nodes"][0]["capacity"] == {"nvidia.com/gpu": 8}
    assert at("workloads[w].requests.amd.com/gpu", 8)["workloads"][0]["requests"] == {"cpu": 1, "amd.com/gpu": 8}


def test_a_key_may_stand_in_quotes_as_errors_write_it() -> None:
    assert at('nodes[n1].capacity["nvidia.com/gpu"]', 8)["nodes"][0]["capacity"] == {"nvidia.com/gpu": 8}


def test_objects_on_the_way_are_made() -> None:
    assert at("workloads[other].checkpoint.mode", "auto")["workloads"][1]["checkpoint"] == {"mode": "auto"}


def test_a_doctrine_by_name_becomes_an_object() -> None:
    assert at("doctrine.edition", "1.9")["doctrine"] == {"name": "yunikorn", "edition": "1.9"}
    assert at("doctrine.preemption.enabled", False)["doctrine"] == {"name": "yunikorn", "preemption.enabled": False}


def test_one_of_many_alike_nodes_is_told_apart() -> None:
    nodes = at("nodes[m-1].state", "down")["nodes"]

    assert nodes[1:] == [{"name": "m-0"}, {"name": "m-1", "state": "down"}, {"name": "m-2"}]


def test_an_item_of_a_plain_list_has_a_number() -> None:
    assert at("workloads[w].nodes[0]", "m-0")["workloads"][0]["nodes"] == ["m-0"]


def test_a_value_that_is_gone_takes_its_key_away() -> None:
    assert "requests" not in at("workloads[w].requests", GONE)["workloads"][0]
    assert len(at("workloads[w]", GONE)["workloads"]) == 1


def test_nothing_that_was_given_is_changed() -> None:
    shared = {"cpu": 1}
    data = {"workloads": [{"name": "a", "requests": shared}, {"name": "b", "requests": shared}]}

    after = put(data, "workloads[a].requests.cpu", lambda _: 2)

    assert data == {"workloads": [{"name": "a", "requests": {"cpu": 1}}, {"name": "b", "requests": {"cpu": 1}}]}
    assert after == {"workloads": [{"name": "a", "requests": {"cpu": 2}}, {"name": "b", "requests": {"cpu": 1}}]}


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ("doctrine.edition", True),
        ("workloads[w].name", True),
        ("workloads[w].placement", True),
        ("workloads[w].nodes[0]", True),
        ("nodes[n1].labels.zone", True),
        ("queues[root.a].settings.preemption.policy", True),
        ("workloads[w].priority", False),
        ("workloads[w].requests.cpu", False),
        ("now", False),
        ("queues[root.a].settings.preemption.delay", False),
    ],
)
def test_the_format_says_where_text_is_wanted(place: str, text: bool) -> None:
    marker = {True: "TEXT", False: "ANY"}

    assert marker[text] in str(put(document(), place, marker.__getitem__))


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("workload[w].priority", "there is no key 'workload' (did you mean 'workloads'?)"),
        ("workloads[w].priorty", "there is no key 'priorty' in workloads[w] (did you mean 'priority'?)"),
        ("workloads[othr].priority", "no workload is called 'othr' (did you mean 'other'?)"),
        ("workloads[9].priority", "there is no workload '9'; workloads has 2 entries, numbered 0 to 1"),
        ("policies[an].may_change", "no policy is called 'an' (did you mean 'ann'?)"),
        ("workloads[w].pod_sets[drver].count", "no pod set is called 'drver' (did you mean 'driver'?)"),
        ("queues[root.a].settings.preemption.delya", "did you mean 'preemption.delay'?"),
        ("doctrine.editon", "there is no key 'editon' in doctrine (did you mean 'edition'?)"),
        ("workloads[w", "a bracket is not closed"),
        ("workloads.w.priority", "workloads is a list, which has nothing below it"),
        ("workloads[w].name.first", "workloads[w].name is 'w', which has nothing below it"),
        ("workloads[w].name[0]", "workloads[w].name is 'w', not a list"),
        ("apps[x].weight", "apps has no entries yet"),
        ("workloads[other].nodes[0]", "workloads[other].nodes has no entries yet"),
        ("workloads[w].", "ends in a dot"),
        ("workloads[w]..priority", "there is no key between the dots"),
        ("nodes[m-3].state", "no node is called 'm-3'"),
        ("nodes[m-01].state", "no node is called 'm-01'"),
        ("", "names no place"),
    ],
)
def test_a_place_that_is_not_there_is_told_with_what_is_near(place: str, words: str) -> None:
    assert words in wrong(place)
