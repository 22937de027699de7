import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from cede.doctrines.document import json_schema, parse_document
from cede.model.errors import InputError
from tests.spec.broken import BROKEN
from tests.unit.model.documents import documents

HERE = Path(__file__).parent
CONTRACT = json.loads((HERE / "cluster-file.schema.json").read_text(encoding="utf-8"))
CLUSTERS = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(HERE.glob("clusters/*.json"))}

THEIRS = Draft202012Validator(CONTRACT)
OURS = Draft202012Validator(json_schema())

ODD_VALUES: list[Any] = [
    None,
    True,
    False,
    0,
    1,
    -1,
    2.0,
    1.5,
    1e300,
    "",
    "x",
    "5",
    "5m",
    "1h",
    "500m",
    "kueue",
    "26.8",
]
ODD_VALUES += [[], {}, [1], ["a"], ["a", "a"], {"a": 1}, {"name": "x"}, {"name": "lattice"}, {"cpu": 1}, {"cpu": "x"}]
ODD_KEYS = ["name", "settings", "edition", "members", "pod_sets", "user", "project", "zone", "count", "nodes", "queues"]


def accepted(data: object) -> bool:
    try:
        parse_document(data)
    except InputError:
        return False
    return True


def places(data: Any) -> list[tuple[Any, Any]]:
    """Every container in the document with every key or index it has."""
    found: list[tuple[Any, Any]] = []
    if isinstance(data, dict | list):
        for key in list(data) if isinstance(data, dict) else range(len(data)):
            found.append((data, key))
            found += places(data[key])
    return found


@st.composite
def mutated(draw: st.DrawFn) -> Any:
    """A document in which a few things were replaced, removed or added."""
    data = copy.deepcopy(draw(documents() | st.sampled_from(list(CLUSTERS.values()))))
    for _ in range(draw(st.integers(1, 3))):
        container, key = draw(st.sampled_from(places(data) or [(data, "cede")]))
        change = draw(st.sampled_from(["replace", "remove", "add"]))
        value = copy.deepcopy(draw(st.sampled_from(ODD_VALUES)))
        if change == "replace":
            container[key] = value
        elif change == "remove":
            del container[key]
        elif isinstance(container, dict):
            container[draw(st.sampled_from(ODD_KEYS))] = value
        else:
            container.append(value)
        if not data:
            break
    return data


def test_our_schema_is_a_schema_and_has_the_contracts_name() -> None:
    schema = json_schema()

    Draft202012Validator.check_schema(schema)
    assert [schema[key] for key in ("$schema", "$id", "title")] == [
        CONTRACT[key] for key in ("$schema", "$id", "title")
    ]
    assert json_schema() == schema


def test_our_schema_defines_whatever_the_contract_defines() -> None:
    assert set(CONTRACT["$defs"]) <= set(json_schema()["$defs"])


def test_our_schema_describes_the_same_keys_in_every_definition() -> None:
    def keys(schema: dict[str, Any]) -> dict[str, list[str]]:
        parts = {"": schema, **schema["$defs"]}
        return {name: sorted(parts[name].get("properties", [])) for name in ("", *CONTRACT["$defs"])}

    assert keys(json_schema()) == keys(CONTRACT)


@pytest.mark.parametrize("data", CLUSTERS.values(), ids=CLUSTERS.keys())
def test_clusters_of_every_doctrine_are_accepted_by_both_schemas_and_by_the_models(data: object) -> None:
    assert THEIRS.is_valid(data)
    assert OURS.is_valid(data)
    assert accepted(data)


def test_every_definition_of_the_contract_has_a_document_that_breaks_it() -> None:
    assert {name.partition(":")[0].partition(" ")[0] for name in BROKEN} - {"the"} == set(CONTRACT["$defs"])


@pytest.mark.parametrize("data", BROKEN.values(), ids=BROKEN.keys())
def test_broken_documents_are_refused_by_both_schemas_and_by_the_models(data: dict[str, Any]) -> None:
    document = {"cede": 1} | data

    assert not THEIRS.is_valid(document)
    assert not OURS.is_valid(document)
    assert not accepted(document)


@given(documents())
def test_sound_documents_are_accepted_by_both_schemas(data: object) -> None:
    assert THEIRS.is_valid(data)
    assert OURS.is_valid(data)


@given(mutated())
def test_both_schemas_judge_alike_whatever_was_changed(data: object) -> None:
    assert OURS.is_valid(data) == THEIRS.is_valid(data)


@given(mutated())
def test_the_models_accept_nothing_that_the_schema_refuses(data: object) -> None:
    assert not accepted(data) or THEIRS.is_valid(data)
