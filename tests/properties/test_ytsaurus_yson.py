"""YSON that is written and read again is the same; whatever is read, nothing but an InputError comes of it."""

import json
import re
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from cede.imports.ytsaurus.yson import Attributed, is_yson, read_yson
from cede.model.errors import InputError
from tests.properties.ytsaurus_yson_writing import WORD, as_binary, as_text

keys = st.text(st.characters(codec="utf-8"), max_size=8) | st.from_regex(WORD, fullmatch=True)
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8"))
)


def nested(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    maps = st.dictionaries(keys, inner, max_size=4)
    return st.lists(inner, max_size=4) | maps | st.builds(Attributed, inner.filter(bare), maps)


def bare(value: Any) -> bool:
    return not isinstance(value, Attributed)


values = st.recursive(scalars, nested, max_leaves=20)


@given(values)
@example({"a": Attributed(None, {"weight": 2.0}), "": [True, 2**63, -0.0, "\x00\u00e9"]})
def test_what_is_written_as_text_is_read_again(value: Any) -> None:
    assert read_yson(as_text(value)) == value


@given(values)
@example({"a": Attributed(None, {"weight": 2.0}), "": [True, 2**63, -(2**63), "\x00\u00e9"]})
def test_what_is_written_in_binary_is_read_again(value: Any) -> None:
    assert read_yson(as_binary(value)) == value


@given(values, st.data())
def test_a_text_that_is_cut_or_changed_is_refused_or_read(value: Any, data: st.DataObject) -> None:
    text = as_text(value) if data.draw(st.booleans()) else as_binary(value)
    at = data.draw(st.integers(0, len(text)))
    changed = text[:at] + data.draw(st.binary(max_size=2)) + text[at + data.draw(st.integers(0, 3)) :]
    try:
        read_yson(changed)
    except InputError as error:
        [problem] = error.problems
        assert re.fullmatch(r"<input>:[0-9]+:[0-9]+", problem.path)


@given(st.recursive(scalars, lambda inner: st.lists(inner) | st.dictionaries(keys, inner), max_leaves=20))
def test_json_is_never_taken_for_yson(value: Any) -> None:
    assert not is_yson(json.dumps(value).encode())


@given(st.dictionaries(keys, values, min_size=1) | st.builds(Attributed, values.filter(bare), st.just({"a": 1})))
def test_a_map_and_a_value_with_attributes_are_taken_for_yson(value: Any) -> None:
    assert is_yson(as_text(value))
