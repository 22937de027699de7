from collections import UserDict
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

import cede
from cede.model.errors import InputError

DOCUMENT = {"cede": 1, "nodes": [{"name": "n"}]}


@pytest.mark.parametrize(
    ("source", "shown"),
    [(3, "3"), (None, "null"), (True, "true"), ([DOCUMENT], "a list"), (b"cluster.yaml", "b'cluster.yaml'")],
)
def test_what_is_neither_a_file_nor_a_document_is_told(source: Any, shown: str) -> None:
    with pytest.raises(InputError) as error:
        cede.load(source)

    hint = "give a file's name, '-' for standard input, or a dict"
    assert str(error.value) == f"{shown} is neither a file nor a document ({hint})"


@pytest.mark.parametrize(
    "source", [DOCUMENT, MappingProxyType(DOCUMENT), UserDict(DOCUMENT)], ids=lambda s: str(type(s))
)
def test_a_document_may_be_any_mapping(source: Any) -> None:
    assert [node.name for node in cede.load(source).document.nodes] == ["n"]


def test_a_document_may_have_tuples_for_lists() -> None:
    assert [node.name for node in cede.load({"cede": 1, "nodes": ({"name": "n"},)}).document.nodes] == ["n"]


def test_a_file_is_named_by_text_or_path(tmp_path: Path) -> None:
    path = tmp_path / "cluster.yaml"
    path.write_text("{cede: 1, nodes: [{name: n}]}")

    assert cede.load(path).to_dict() == cede.load(str(path)).to_dict() == DOCUMENT
