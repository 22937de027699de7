import json
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cede.model.errors import InputError
from cede.model.reading import read_text

GOOD: dict[str, tuple[str | bytes, object]] = {
    "JSON": ('{"a": [1, 2.50, "x", true, null]}', {"a": [1, Decimal("2.50"), "x", True, None]}),
    "JSON after blank lines": ('\n\n  {"a": 1}', {"a": 1}),
    "JSON with a byte order mark": (b'\xef\xbb\xbf{"a": 1}', {"a": 1}),
    "JSON with escapes": ('{"a": "\\u00e9\\n"}', {"a": "é\n"}),
    "a whole number beyond 64 bits": ('{"a": 1000000000000000000000000000000}', {"a": 10**30}),
    "a list": ('["a", "b"]', ["a", "b"]),
    "an empty object": ("{}", {}),
    "YAML": ("a: 1\nb: [x, y]\n", {"a": 1, "b": ["x", "y"]}),
    "YAML that begins with a brace": ("{cede: 1, nodes: [{name: n1}]}", {"cede": 1, "nodes": [{"name": "n1"}]}),
    "a YAML list that begins as in JSON": ("[{name: x, queue: default}]", [{"name": "x", "queue": "default"}]),
    "a YAML list of lists": ("[[a, b], [c]]", [["a", "b"], ["c"]]),
    "a YAML list that begins with quoted text": ('["a", b]', ["a", "b"]),
    "a YAML object of which one key is quoted": ('{"cede": 1, nodes: []}', {"cede": 1, "nodes": []}),
    "a YAML list of empty objects": ("[{}, {a: 1}]", [{}, {"a": 1}]),
    "YAML with a byte order mark": (b"\xef\xbb\xbfa: 1", {"a": 1}),
}

BAD: dict[str, tuple[str | bytes, str]] = {
    "an empty file": ("", "f: the file is empty"),
    "blank lines": (" \n\n", "f: the file is empty"),
    "a duplicate key": ('{"a": 1,\n "a": 2}', 'f:2:6: the key "a" is given twice'),
    "not a number": ('{"a": NaN}', "f:1:7: NaN is no JSON number; JSON has finite numbers only"),
    "not a number, in small letters": ('{"a": nan}', "f:1:7: nan is no JSON number"),
    "not a number, further down": ('{"é":\n {"é": 1, "b": [NaN]}}', "f:2:17: NaN is no JSON number"),
    "an infinite number": ('{"a": Infinity}', "f:1:7: Infinity is no JSON number"),
    "a negative infinite number": ('[{"a": -Infinity}]', "f:1:8: -Infinity is no JSON number"),
    "a word that is no value": ('{"a": Nanna}', "f:1:7: expected value"),
    "a number of five thousand digits": ('{"a": ' + "9" * 5000 + "}", "the number is too large"),
    "an exponent beyond all bounds": ('{"a": 1e99999999999999999999}', "the number is too large"),
    "a hundred thousand brackets": ("[" * 100_000, "nested more than 64 deep"),
    "a hundred thousand objects": ('{"a":' * 100_000, "nested too deep"),
    "a file cut off": ('{"a": [1, 2', "f:1:11: EOF while parsing a list"),
    "text cut off": ('{"a": "x', "EOF while parsing a string"),
    "what is neither JSON nor YAML, with a quoted key": ('{"a": 1, b: [2}', "f:1:10: key must be a string"),
    "what is neither JSON nor YAML": ("[{a: 1, b: [2}]", "f:1:14: did not find expected ',' or ']'"),
    "a comma too many": ('{"a": 1,}', "f:1:9: trailing comma"),
    "a second value": ('{"a": 1} {"b": 2}', "f:1:10: trailing characters"),
    "a tab within text": ('{"a": "x\ty"}', "control character"),
    "invalid UTF-8": (b'{"a": 1,\n "b": "\xff"}', "f:2:8: byte 0xff is not UTF-8 (save the file as UTF-8)"),
    "UTF-16": ('{"a": 1}'.encode("utf-16"), "f:1:1: byte 0xff is not UTF-8"),
    "a NUL byte": (b'{"a":\n\x00}', "f:2:1: a NUL byte is not text"),
    "half a character": ('{"a": "\ud800"}', "f:1:8: half a character is not text"),
    "half a character in an escape": ('{"a": "\\ud800"}', "f:1:"),
}


@pytest.mark.parametrize(("text", "data"), GOOD.values(), ids=GOOD.keys())
def test_a_file_is_read_as_plain_data(text: str | bytes, data: object) -> None:
    assert read_text(text) == data


@pytest.mark.parametrize(("text", "message"), BAD.values(), ids=BAD.keys())
def test_what_cannot_be_read_is_refused_with_its_place(text: str | bytes, message: str) -> None:
    with pytest.raises(InputError) as error:
        read_text(text, name="f")

    assert message in str(error.value)
    assert len(str(error.value)) < 300


def test_decimals_keep_their_digits() -> None:
    assert read_text('{"a": 0.1000000000000000000001}') == {"a": Decimal("0.1000000000000000000001")}
    assert read_text("a: 0.1000000000000000000001") == {"a": Decimal("0.1000000000000000000001")}


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**20), 10**20) | st.text(st.characters(codec="utf-8"), max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", min_size=1), inner, max_size=3),
    max_leaves=12,
)


@given(st.dictionaries(st.text(st.characters(codec="utf-8"), min_size=1, max_size=5), PLAIN, max_size=4))
def test_json_comes_back_as_it_was_written(data: object) -> None:
    assert read_text(json.dumps(data)) == data
    assert read_text(json.dumps(data, ensure_ascii=False).encode(), name="f") == data


@given(st.binary(max_size=60) | st.text(max_size=60) | st.text('{}[]:,-&*a1\n "<!|>#%', max_size=60))
def test_whatever_is_given_the_answer_is_data_or_an_input_error(text: bytes | str) -> None:
    try:
        read_text(text, name="f")
    except InputError as error:
        problems = error.problems
    else:
        problems = ()

    assert all(problem.path.startswith("f") and problem.message for problem in problems)
