"""A cluster file as it would be."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from cede.engine.whatif import WhatIf, changed, cluster_if
from cede.model.errors import InputError


def document() -> dict[str, Any]:
    return {
        "cede": 1,
        "doctrine": {"name": "backendai", "edition": "bep-1014"},
        "nodes": [
            {"name": "n", "count": 2, "capacity": {"gpu": 4}},
            {"name": "kept", "reserved_for": "in", "reserved_since": -9},
        ],
        "queues": [{"name": "q", "settings": {"preemptible_priority": 5}}, {"name": "idle"}],
        "workloads": [
            {"name": "run", "queue": "q", "state": "running", "started": -5, "requests": {"gpu": 4}, "nodes": ["n-0"]},
            {"name": "in", "queue": "q", "priority": 9, "requests": {"gpu": 1}},
        ],
    }


def after(**changes: Any) -> dict[str, Any]:
    found = changed(document(), WhatIf(**changes))
    assert isinstance(found, dict)
    return found


def wrong(data: dict[str, Any] | None = None, **changes: Any) -> list[str]:
    with pytest.raises(InputError) as caught:
        cluster_if(data or document(), WhatIf(**changes))
    return [str(problem) for problem in caught.value.problems]


def test_no_change_is_falsy_and_changes_nothing() -> None:
    assert not WhatIf()
    assert changed(document(), WhatIf()) == document()


def test_changes_leave_what_was_given_alone() -> None:
    data = document()
    before = copy.deepcopy(data)

    what_if = WhatIf("backendai/26.8", ("run", "node/n-0"), (("x", {"name": "x"}),), ("workloads[x].priority=1",))
    changed(data, what_if)

    assert data == before


@pytest.mark.parametrize(
    ("assignment", "value"),
    [
        ("workloads[in].priority=3", 3),
        ("workloads[in].priority = 3 ", 3),
        ("workloads[in].preempts=false", False),
        ("workloads[in].user=7", "7"),
        ("workloads[in].user='7'", "7"),
        ("workloads[in].user=@ann", "@ann"),
        ("workloads[in].requests={gpu: 2, cpu: 500m}", {"gpu": 2, "cpu": "500m"}),
        ('workloads[in].requests={"gpu": 2}', {"gpu": 2}),
        ("workloads[in].nodes=[n-0]", ["n-0"]),
        ("workloads[in].walltime=1h30m", "1h30m"),
    ],
)
def test_a_value_is_what_yaml_makes_of_it_but_text_where_text_is_wanted(assignment: str, value: object) -> None:
    key = assignment.partition("].")[2].partition("=")[0].strip()

    assert after(set=(assignment,))["workloads"][1][key] == value


@pytest.mark.parametrize("assignment", ["workloads[in].priority=null", "workloads[in].priority="])
def test_null_takes_the_key_away(assignment: str) -> None:
    assert "priority" not in after(set=(assignment,))["workloads"][1]


def test_an_edition_is_text() -> None:
    assert after(set=("doctrine.edition=26.8",))["doctrine"] == {"name": "backendai", "edition": "26.8"}


def test_a_name_with_an_equals_sign_can_be_addressed() -> None:
    data = {"workloads": [{"name": "a=b"}]}

    assert changed(data, WhatIf(set=("workloads[a=b].priority=1",))) == {"workloads": [{"name": "a=b", "priority": 1}]}


def test_a_workload_is_left_out_with_what_was_reserved_for_it() -> None:
    found = after(without=("in",))

    assert [work["name"] for work in found["workloads"]] == ["run"]
    assert found["nodes"][1] == {"name": "kept"}


def test_what_ran_on_a_node_that_is_left_out_is_pending_again() -> None:
    found = after(without=("node/n-0",))

    assert [node["name"] for node in found["nodes"]] == ["n-1", "kept"]
    assert found["workloads"][0] == {"name": "run", "queue": "q", "requests": {"gpu": 4}}


def test_work_that_says_only_what_it_holds_asks_for_that_when_its_node_is_left_out() -> None:
    held = {"name": "run", "state": "running", "nodes": ["n1"], "usage": {"cpu@spot": 4}}
    data = {
        "nodes": [{"name": "n1"}, {"name": "n2"}],
        "workloads": [held, {**held, "name": "x", "requests": {"cpu": 1}}],
    }

    found: Any = changed(data, WhatIf(without=("node/n1",)))
    assert found["workloads"] == [{"name": "run", "usage": {"cpu@spot": 4}}, {"name": "x", "requests": {"cpu": 1}}]


def test_all_nodes_of_a_count_are_left_out_together() -> None:
    found = after(without=("node/n",))

    assert [node["name"] for node in found["nodes"]] == ["kept"]
    assert "nodes" not in found["workloads"][0]


def test_an_empty_queue_is_left_out() -> None:
    assert [queue["name"] for queue in after(without=("queue/idle",))["queues"]] == ["q"]


def test_a_workload_whose_name_has_a_slash_is_a_workload() -> None:
    data = {"workloads": [{"name": "team/job"}, {"name": "node/x"}]}

    assert changed(data, WhatIf(without=("team/job", "workload/node/x"))) == {"workloads": []}


@pytest.mark.parametrize(
    "extra",
    [
        {"name": "x"},
        [{"name": "x"}],
        {"workloads": [{"name": "x"}]},
        {"cede": 1, "nodes": [{"name": "ignored"}], "workloads": [{"name": "x"}]},
    ],
    ids=["an entry", "a list", "a document of workloads", "a whole document"],
)
def test_workloads_are_added(extra: object) -> None:
    found = after(add=(("x.yaml", extra),))

    assert [work["name"] for work in found["workloads"]] == ["run", "in", "x"]
    assert len(found["nodes"]) == 2


def test_entries_go_before_others_come_and_values_are_set_last() -> None:
    found = after(without=("in",), add=(("x", {"name": "in", "queue": "q"}),), set=("workloads[in].priority=4",))

    assert found["workloads"][1] == {"name": "in", "queue": "q", "priority": 4}


def test_settings_stay_with_the_doctrine_that_they_are_of() -> None:
    data = {"doctrine": {"name": "kueue", "preemption": "FairSharing"}}

    assert changed(data, WhatIf("kueue/0.20")) == {
        "doctrine": {"name": "kueue", "edition": "0.20", "preemption": "FairSharing"}
    }
    assert changed(data, WhatIf("lattice")) == {
        "doctrine": {"name": "lattice", "settings": {"kueue": {"preemption": "FairSharing"}}}
    }


def test_every_change_that_cannot_be_made_is_told() -> None:
    assert wrong(
        without=("rum", "n", "node/m", "queue/q", "idle"), add=(("x.yaml", [3]), ("y", [])), set=("a", "b=1")
    ) == [
        "--without rum: no workload is called 'rum' (did you mean 'run'?)",
        "--without n: no workload is called 'n' (a node is: --without node/n)",
        "--without node/m: no node is called 'm'",
        "--without queue/q: it still has workloads: run, in "
        "(leave them out too, or move them: --set 'workloads[run].queue=OTHER')",
        "--without idle: no workload is called 'idle' (a queue is: --without queue/idle)",
        "--add x.yaml: 3 is no workload "
        "(give a workload entry, a list of them, or a document with the key 'workloads')",
        "--add y: holds no workload",
        "--set a: gives no value (write PATH=VALUE, as workloads[train-1].priority=3)",
        "--set b: there is no key 'b'",
    ]


def test_the_last_node_cannot_be_left_out() -> None:
    data = {"cede": 1, "nodes": [{"name": "n"}]}

    assert wrong(data, without=("node/n",)) == [
        "--without node/n: it is the last node; without any only quota is decided "
        "(to lose it, give --set 'nodes[n].state=down')"
    ]


@pytest.mark.parametrize("text", ["", "/26.8", "backendai/"])
def test_a_choice_of_doctrine_has_a_name(text: str) -> None:
    assert "is no choice of a doctrine" in wrong(doctrine=text)[0]


def test_what_the_other_edition_does_not_know_is_told_with_its_place() -> None:
    data = document()
    data["queues"][0]["settings"]["preemption_mode"] = "suspend"

    assert wrong(data, doctrine="backendai/26.8") == [
        "queues[q].settings.preemption_mode: 'suspend' is none of terminate, reschedule"
    ]


def test_a_wrong_value_is_told_by_the_name_of_its_entry() -> None:
    assert wrong(without=("run",), set=("workloads[in].priority=300",)) == [
        "workloads[in].priority: 300 is out of range; under backendai priorities go from 0 to 100"
    ]


def test_a_workload_is_not_left_out_by_its_owners_name() -> None:
    data = {"cede": 1, "workloads": [{"name": "a", "user": "ann"}]}

    assert wrong(data, without=("ann",)) == ["--without ann: no workload is called 'ann'"]


def test_a_name_that_is_added_twice_is_told_by_number() -> None:
    assert wrong(add=(("x", {"name": "in"}),)) == ["workloads[2].name: 'in' is already the name of workloads[1]"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("[{name: t}]", [{"name": "t"}]),
        ('[{"name": "t"}]', [{"name": "t"}]),
        ('{"name": t}', {"name": "t"}),
        ("[]", []),
    ],
)
def test_a_value_may_be_a_list_as_yaml_writes_it(text: str, value: object) -> None:
    assert changed({"cede": 1}, WhatIf(set=(f"tenants={text}",))) == {"cede": 1, "tenants": value}


def test_a_value_that_is_no_number_is_told_with_its_place() -> None:
    assert wrong(set=("workloads[in].requests.cpu=.nan", "queues[q].weight=.inf")) == [
        "queues[q].weight: Infinity is no finite number",
        "workloads[in].requests.cpu: NaN is no finite number",
    ]


def test_a_value_that_is_no_yaml_is_told() -> None:
    assert wrong(set=("workloads[in].priority=[1",))[0].startswith("--set workloads[in].priority: '[1' is no value")


@pytest.mark.parametrize(
    "data", [None, 3, [], {"cede": 1, "workloads": 5}, {"cede": 1, "workloads": [None, {"name": 3}]}]
)
def test_nonsense_is_left_to_the_reader_of_the_file(data: object) -> None:
    with pytest.raises(InputError):
        cluster_if(data, WhatIf("backendai", ("x",), (("y", {"name": "y"}),), ("now=1",)))
