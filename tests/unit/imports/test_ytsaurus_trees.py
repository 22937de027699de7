"""The forms in which a pool tree may be written, and which of several trees is taken."""

from typing import Any

import pytest

import cede
from cede.model.reading import read_text
from tests.unit.imports.ytsaurus_files import document, imported, notes, problems

YSON = '<config={main_resource=gpu}>{p=<weight=2;enable_aggressive_starvation=%true>{q=<"mode"="fifo">{}}}'
JSON = """{
  "$attributes": {"config": {"main_resource": "gpu"}},
  "$value": {"p": {
    "$attributes": {"weight": 2, "enable_aggressive_starvation": true},
    "$value": {"q": {"$attributes": {"mode": "fifo"}, "$value": {}}}
  }}
}"""
YAML = """
config: {main_resource: gpu}
pools:
  p:
    weight: 2
    enable_aggressive_starvation: true
    pools:
      q: {mode: fifo}
"""
FORMS: dict[str, Any] = {
    "YSON": YSON,
    "YSON whose pools have nothing below": YSON.replace("{}}}", "#}}"),
    "options beside the other attributes": YSON.replace("config={main_resource=gpu}", "main_resource=gpu"),
    "JSON": read_text(JSON),
    "YAML": read_text(YAML),
    "YAML with another word for config": read_text(YAML.replace("config:", "tree:")),
    "YAML with the options beside the pools": read_text(
        YAML.replace("config: {main_resource: gpu}", "main_resource: gpu")
    ),
}


@pytest.mark.parametrize("tree", FORMS.values(), ids=FORMS.keys())
def test_a_tree_may_be_written_in_several_forms(tree: Any) -> None:
    found = imported(tree)

    assert found.document["doctrine"] == {"name": "ytsaurus", "edition": "25.4", "main_resource": "gpu"}
    assert found.document["queues"] == [
        {"name": "p", "weight": 2, "settings": {"enable_aggressive_starvation": True}},
        {"name": "q", "parent": "p", "settings": {"mode": "fifo"}},
    ]
    assert notes(found) == []


@pytest.mark.parametrize("tree", FORMS.values(), ids=FORMS.keys())
def test_what_was_made_is_a_cluster_file(tree: Any) -> None:
    made = cede.load(document(tree, edition="docs")).to_dict()

    assert made["doctrine"] == {"name": "ytsaurus", "edition": "docs", "main_resource": "gpu"}


def test_names_are_all_that_a_tree_without_attributes_has() -> None:
    assert document("{p={q={}};r={}}")["queues"] == [{"name": "p"}, {"name": "q", "parent": "p"}, {"name": "r"}]


def test_json_says_which_type_a_value_is_of() -> None:
    tree = {"p": {"$attributes": {"weight": {"$type": "double", "$value": 2.5}}, "$value": {}}}

    assert document(tree)["queues"] == [{"name": "p", "weight": 2.5}]


def test_json_doubles_a_dollar_at_the_beginning_of_a_key() -> None:
    assert document({"$$value": {}})["queues"] == [{"name": "$value"}]


TREES = {
    "by the config of a tree": "{x=<config={main_resource=gpu}>{p={}};y={q={}}}",
    "by the filter of a tree": "{x=<nodes_filter=gpu;main_resource=gpu>{p={}};y={q={}}}",
    "by the type of a tree": "{x=<type=scheduler_pool_tree;main_resource=gpu>{p={}};y={q={}}}",
    "by what //sys/pool_trees has": "<default_tree=x>{x=<main_resource=gpu>{p={}};y={q={}}}",
}


@pytest.mark.parametrize("trees", TREES.values(), ids=TREES.keys())
def test_several_trees_are_told(trees: str) -> None:
    found = imported(trees, tree="x")

    assert found.document["doctrine"]["main_resource"] == "gpu"
    assert found.document["queues"] == [{"name": "p"}]
    assert "pool tree y: a cluster file holds one pool tree; --tree takes another" in notes(found)
    assert problems(trees) == ["--tree: pools holds several pool trees, of which one must be named: x, y"]
    assert problems(trees, tree="xx") == [
        "--tree: no pool tree is called 'xx'; there are x, y (did you mean 'x'?)",
    ]


def test_trees_without_attributes_are_told_by_who_asks_for_one() -> None:
    assert document("{x={p={}};y={q={}}}", tree="y")["queues"] == [{"name": "q"}]
    assert [one["name"] for one in document("{x={p={}};y={q={}}}")["queues"]] == ["x", "p", "y", "q"]


def test_the_only_tree_is_taken() -> None:
    assert document("{x=<config={}>{p={}}}")["queues"] == [{"name": "p"}]


def test_trees_may_stand_in_a_file_written_by_hand() -> None:
    trees = {"pool_trees": {"x": {"pools": {"p": None}}, "y": {"pools": {"q": {"weight": 2}}}}}

    assert document(trees, tree="y")["queues"] == [{"name": "q", "weight": 2}]
    assert problems(trees) == ["--tree: pools holds several pool trees, of which one must be named: x, y"]
    assert problems({"pool_trees": {}})[0].startswith("pools: there is no pool tree in it")
    assert problems({"pool_trees": 3}) == ["pools: pool_trees: 3 is no object of pool trees"]


def test_a_tree_has_no_name_of_its_own() -> None:
    message = "--tree: the file holds one pool tree, which has no name (leave --tree out)"

    assert problems(YSON, tree="default") == [message]
    assert problems({"pools": {"p": None}}, tree="p") == [message]
    assert problems("{p=<weight=2>{}}", tree="p") == [message]


WRONG: dict[str, tuple[Any, str]] = {
    "a list": ("[1;2]", "pools: a list is no pool tree"),
    "a number": ("<config={}>3", "pools: 3 is no pool tree"),
    "a pool that is a number": ("{weight=2}", "pools: pool weight: 2 is no pool"),
    "a pool that is a number, in YAML": ({"pools": {"a": 2}}, "pools: pool a: 2 is no pool"),
    "pools that are a list": ({"pools": {"a": {"pools": ["b"]}}}, "pools: pool a: pools: a list is no object of pools"),
    "a pool without a name": ('{""={}}', "pools: pool: a pool has a name"),
    "a pool twice": ("{a={b={}};b={}}", "pools: pool b: 'b' is already the name of a pool in this tree"),
}


@pytest.mark.parametrize(("tree", "message"), WRONG.values(), ids=WRONG.keys())
def test_what_is_no_tree_is_refused(tree: Any, message: str) -> None:
    [found] = problems(tree)

    assert found.startswith(message)


def test_an_edition_that_there_is_not_is_an_error() -> None:
    assert problems(YSON, edition="25") == [
        "--edition: ytsaurus has no edition '25'; there are docs, 25.4 (did you mean '25.4'?)"
    ]
