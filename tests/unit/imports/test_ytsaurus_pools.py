"""Options of the tree and of its pools: carried over with their units, named if they are not, refused if wrong."""

import math

import pytest

from cede.doctrines.ytsaurus.options import BatchScheduling, OperationSettings, PoolSettings, TreeSettings
from cede.imports.ytsaurus.options import OF_POOLS, OF_TREES, OLD
from cede.model.values import Reads, refers_to
from tests.unit.imports.ytsaurus_files import GI, document, imported, notes, options, pool, problems

FIELDS = TreeSettings.model_fields

DURATIONS: dict[str, tuple[str, str]] = {
    "a number is milliseconds": ("30000", "30s"),
    "part of a second": ("100", "0.1s"),
    "a uint64": ("120000u", "2m"),
    "a double": ("1500.", "1.5s"),
    "a text has its unit": ('"30s"', "30s"),
    "several units": ('"1h30m"', "1h30m"),
    "milliseconds as text": ('"250ms"', "0.25s"),
    "days": ('"1d"', "24h"),
    "nothing": ("0", "0s"),
}


@pytest.mark.parametrize(("given", "made"), DURATIONS.values(), ids=DURATIONS.keys())
def test_durations_get_their_unit(given: str, made: str) -> None:
    assert options(f"preemptive_scheduling_backoff={given}") == {"preemptive_scheduling_backoff": made}
    assert pool(f"fair_share_starvation_timeout={given}")["settings"] == {"fair_share_starvation_timeout": made}


def test_durations_within_other_options_get_it_too() -> None:
    found = options(
        "integral_guarantees={smooth_period=30000};"
        "default_gpu_full_host_preemption={enable=%true;timeout=5000;max_preemption_penalty=10}"
    )

    assert found == {
        "integral_guarantees": {"smooth_period": "30s"},
        "default_gpu_full_host_preemption": {"enable": True, "timeout": "5s", "max_preemption_penalty": 10},
    }


@pytest.mark.parametrize("given", ["%true", "-5", '"soon"', "[1]", "1e300"])
def test_what_is_no_duration_is_refused(given: str) -> None:
    [found] = problems(f"<config={{preemptive_scheduling_backoff={given}}}>{{}}")

    assert found.startswith("pools: pool tree: config.preemptive_scheduling_backoff: ")


def test_a_pool_is_a_queue() -> None:
    found = pool(
        f"strong_guarantee_resources={{cpu=16.5;memory={GI};gpu=0}};resource_limits={{cpu=20;network=#}};weight=2.5;"
        "mode=fifo;fifo_sort_parameters=[start_time];max_operation_count=10;allow_normal_preemption=%false;"
        "resource_limits_overcommit_tolerance={cpu=.5}"
    )

    assert found == {
        "name": "a",
        "guaranteed": {"cpu": "16500m", "memory": GI, "gpu": 0},
        "max": {"cpu": 20},
        "weight": 2.5,
        "settings": {
            "mode": "fifo",
            "fifo_sort_parameters": ["start_time"],
            "max_operation_count": 10,
            "allow_normal_preemption": False,
            "resource_limits_overcommit_tolerance": {"cpu": "500m"},
        },
    }


def test_an_empty_threshold_is_not_the_same_as_none() -> None:
    assert pool("non_preemptible_resource_usage_threshold={}")["settings"] == {
        "non_preemptible_resource_usage_threshold": {}
    }
    assert pool("resource_limits={};strong_guarantee_resources={};mode=#") == {"name": "a"}


def test_old_names_become_those_of_today() -> None:
    assert options("fair_share_preemption_timeout=1000;job_interrupt_timeout=2000") == {
        "fair_share_starvation_timeout": "1s",
        "allocation_preemption_timeout": "2s",
    }
    assert options("prioritized_regular_scheduling={medium_priority_operation_count_limit=5}") == {
        "batch_operation_scheduling": {"batch_size": 5}
    }
    assert pool("min_share_resources={cpu=1};allow_aggressive_starvation_preemption=%false") == {
        "name": "a",
        "guaranteed": {"cpu": 1},
        "settings": {"allow_aggressive_preemption": False},
    }


def test_an_old_name_beside_that_of_today_must_say_the_same() -> None:
    assert pool("min_share_resources={cpu=1};strong_guarantee_resources={cpu=1.}")["guaranteed"] == {"cpu": 1}
    assert problems("{a=<min_share_resources={cpu=1};strong_guarantee_resources={cpu=2}>{}}") == [
        "pools: pool a: strong_guarantee_resources: min_share_resources is another name of it, and says something else "
        "(give one of them)"
    ]


def test_a_number_that_equals_nothing_is_refused_and_not_taken_for_two_names() -> None:
    assert problems({"pools": {"a": {"weight": math.nan}}}) == ["pools: pool a: weight: nan is no finite number"]
    assert problems({"config": {"fair_share_starvation_tolerance": math.nan}, "pools": {}}) == [
        "pools: pool tree: fair_share_starvation_tolerance: nan is no finite number"
    ]


def test_every_old_name_leads_to_a_setting() -> None:
    models = (TreeSettings, PoolSettings, OperationSettings, BatchScheduling)

    assert {new for new in OLD.values() if not any(new in model.model_fields for model in models)} == set()


def test_no_setting_is_among_those_that_are_left_out() -> None:
    assert OF_TREES.keys() & TreeSettings.model_fields.keys() == set()
    assert OF_POOLS.keys() & PoolSettings.model_fields.keys() == set()


def test_config_counts_before_what_stands_beside_it() -> None:
    found = imported("<config={main_resource=gpu;nodes_filter=a};main_resource=cpu;enable_pool_starvation=%false>{}")

    assert found.document["doctrine"] == {
        "name": "ytsaurus",
        "edition": "25.4",
        "main_resource": "gpu",
        "enable_pool_starvation": False,
    }
    assert "pool tree: main_resource: config says otherwise, and counts" in notes(found)


LEFT_OUT: dict[str, tuple[str, str]] = {
    "rights": ("acl=[{action=allow}]", "acl: who may use and change it is not checked here"),
    "owner": ("owner=root", "owner: who may use and change it is not checked here"),
    "billing": ("folder_id=f1", "folder_id: whom it is charged to is not carried over"),
    "ephemeral pools": (
        "create_ephemeral_subpools=%true",
        "create_ephemeral_subpools: pools that are made on the fly are not carried over; an operation names its pool",
    ),
    "offloading": (
        "offloading_settings={b={pool=x}}",
        "offloading_settings: work is not handed to other trees and clusters here",
    ),
    "priority": (
        "enable_priority_strong_guarantee_adjustment=%true",
        "enable_priority_strong_guarantee_adjustment: "
        "guarantees that do not fit are cut alike here, without priority and donors",
    ),
    "a share": (
        "max_share_ratio=.5",
        "max_share_ratio: a limit in shares is not carried over; resource_limits, in amounts, are",
    ),
    "an attribute of a user": ("team=data", "team: Cede does not know this field"),
    "within another": (
        "integral_guarantees={guarantee_type=none;colour=red}",
        "integral_guarantees.colour: Cede does not know this field",
    ),
    "an attribute of an attribute": ("weight=<x=1>2", "weight: attributes of an attribute are not carried over"),
    "another resource": (
        "resource_limits={disk=5}",
        "resource_limits.disk: pools share cpu, user_slots, memory, gpu and network only",
    ),
}


@pytest.mark.parametrize(("attribute", "note"), LEFT_OUT.values(), ids=LEFT_OUT.keys())
def test_what_is_not_carried_over_is_named(attribute: str, note: str) -> None:
    assert notes(imported(f"{{a=<{attribute}>{{}}}}")) == [f"pool a: {note}"]


def test_what_every_node_has_and_what_is_off_is_not_worth_a_note() -> None:
    found = imported('{a=<id="1-2";type=scheduler_pool;name=a;create_ephemeral_subpools=%false;abc=#;acl=[]>{}}')

    assert (found.document["queues"], notes(found)) == ([{"name": "a"}], [])


def test_what_of_the_tree_is_not_carried_over_is_named() -> None:
    found = imported("<config={default_parent_pool=a;packing={enable=%true};colour=red};acl=[1]>{a={}}")

    assert notes(found) == [
        "pool tree: config.default_parent_pool: an operation names its pool",
        "pool tree: config.packing: packing is off here",
        "pool tree: config.colour: Cede does not know this field",
        "pool tree: acl: who may use and change it is not checked here",
    ]


def test_a_file_without_nodes_says_so() -> None:
    found = imported("<config={nodes_filter=gpu}>{a={}}")

    assert [str(note) for note in found.notes] == [
        "pool tree: there are no nodes in the file, without which nothing can start; give them with --nodes",
        "pool tree: nodes_filter: it says which nodes are the tree's; it is applied to what --nodes gives, "
        "which is nothing",
    ]


REFUSED: dict[str, tuple[str, str]] = {
    "a word": ("{a=<mode=fair>{}}", "pool a: mode: "),
    "a weight of nothing": ("{a=<weight=0>{}}", "pool a: weight: "),
    "too large a weight": ("{a=<weight=1e9>{}}", "pool a: weight: "),
    "a negative amount": ("{a=<resource_limits={cpu=-1}>{}}", "pool a: resource_limits.cpu: -1 is negative"),
    "amounts that are a list": ("{a=<resource_limits=[1]>{}}", "pool a: resource_limits: a list is no object"),
    "a tolerance": ("<config={fair_share_starvation_tolerance=1.5}>{}", "pool tree: fair_share_starvation_tolerance: "),
    "a filter": ('<config={nodes_filter="a &"}>{}', "pool tree: config.nodes_filter: "),
    "promises beyond those above": (
        "{a=<strong_guarantee_resources={cpu=1}>{b=<strong_guarantee_resources={cpu=2}>{}}}",
        "pool a: strong_guarantee_resources: ",
    ),
    "no main resource": ("{a=<strong_guarantee_resources={memory=1}>{}}", "pool a: strong_guarantee_resources: "),
    "pools below a fifo pool": ("{a=<mode=fifo>{b={}}}", "pool b: parent: "),
    "pools made on the fly in a fifo pool": (
        "{a=<mode=fifo;create_ephemeral_subpools=%true>{}}",
        "pool a: create_ephemeral_subpools: a pool of mode fifo makes no pools on the fly",
    ),
    "a burst of a relaxed pool": (
        "{a=<integral_guarantees={guarantee_type=relaxed;burst_guarantee_resources={cpu=1}}>{}}",
        "pool a: integral_guarantees",
    ),
}


@pytest.mark.parametrize(("tree", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_what_ytsaurus_would_refuse_is_refused(tree: str, message: str) -> None:
    [found] = problems(tree)

    assert found.startswith(f"pools: {message}")


def test_all_that_is_wrong_is_told_at_once() -> None:
    assert len(problems("<config={min_spare_job_resources_on_node=5}>{a=<weight=[];resource_limits={cpu=x}>{}}")) == 2
    assert len(problems("{a=<weight=0>{};b=<mode=lifo>{}}")) == 2


def test_every_duration_that_a_tree_may_have_is_in_milliseconds() -> None:
    kinds = {name: [mark for mark in info.metadata if isinstance(mark, Reads)] for name, info in FIELDS.items()}
    names = [name for name, marks in kinds.items() if any(mark.schema == refers_to("duration") for mark in marks)]
    found = document({"pools": {}, "config": dict.fromkeys(names, 45000)})["doctrine"]

    assert "preemptive_scheduling_backoff" in names
    assert {found[OLD.get(name, name)] for name in names} == {"45s"}
