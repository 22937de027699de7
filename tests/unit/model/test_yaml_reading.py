from decimal import Decimal

import pytest
import yaml

from cede.model import yaml_reading
from cede.model.errors import InputError
from cede.model.reading import read_text

SCALARS: dict[str, object] = {
    "true": True,
    "False": False,
    "yes": "yes",
    "off": "off",
    "null": None,
    "~": None,
    "": None,
    "12": 12,
    "-3": -3,
    "+3": 3,
    "010": 10,
    "0o17": 15,
    "0x1F": 31,
    "0b11": "0b11",
    "1_000": "1_000",
    "1:30": "1:30",
    "1.5": Decimal("1.5"),
    ".5": Decimal("0.5"),
    "5.": Decimal(5),
    "1e3": Decimal(1000),
    "2026-01-31": "2026-01-31",
    "2026-01-31T12:00:00Z": "2026-01-31T12:00:00Z",
    "'12'": "12",
    '"true"': "true",
    ".inf": Decimal("Infinity"),
    "+.Inf": Decimal("Infinity"),
    "-.INF": Decimal("-Infinity"),
    "!!float .inf": Decimal("Infinity"),
    ".infinity": ".infinity",
    "nan": "nan",
    "500m": "500m",
    "16Gi": "16Gi",
    "1h30m": "1h30m",
    "1.9.0": "1.9.0",
    "'-'": "-",
    "!!str 12": "12",
    "! 12": "12",
    "!!int '12'": 12,
    "!!float 12": 12,
    "!!bool true": True,
    "!!null ''": None,
    "<<": "<<",
}

GOOD = {
    "an alias repeats a value": ("a: &x {b: 1}\nc: *x", {"a": {"b": 1}, "c": {"b": 1}}),
    "an anchor may be given again": ("a: &x 1\nb: &x 2\nc: *x", {"a": 1, "b": 2, "c": 2}),
    "a merge adds what is not there": (
        "a: &x {k: 1, l: 2}\nb:\n  <<: *x\n  l: 3",
        {"a": {"k": 1, "l": 2}, "b": {"k": 1, "l": 3}},
    ),
    "of several merges the first counts": ("{<<: [{a: 1}, {a: 2, b: 2}], c: 3}", {"a": 1, "b": 2, "c": 3}),
    "a quoted << is a key like any other": ("'<<': 1", {"<<": 1}),
    "a quoted number is a key": ("'1': a", {"1": "a"}),
    "a text of several lines": ("a: |\n  x\n  y\n", {"a": "x\ny\n"}),
    "one document may be marked as such": ("---\na: 1\n...\n", {"a": 1}),
    "a document may be null": ("---\n", None),
    "tags of the core are fine": ("a: !!map {}\nb: !!seq []", {"a": {}, "b": []}),
    "several documents of Kubernetes objects": (
        "{apiVersion: v1, kind: Node}\n---\n# none\n---\napiVersion: v1\nkind: Pod\n---\n",
        [{"apiVersion": "v1", "kind": "Node"}, {"apiVersion": "v1", "kind": "Pod"}],
    ),
    "such documents that are JSON": (
        '{"apiVersion": "v1", "kind": "Node"}\n---\n{"apiVersion": "v1", "kind": "Pod"}\n',
        [{"apiVersion": "v1", "kind": "Node"}, {"apiVersion": "v1", "kind": "Pod"}],
    ),
    "64 levels": ("[a, " * 64 + "]" * 64, None),
}

BAD = {
    "a duplicate key": ("a: 1\nb:\n  c: 1\n  c: 2\n", "f:4:3: the key 'c' is given twice"),
    "a duplicate key by alias": ("&k key: 1\n*k : 2\n", "f:2:1: the key 'key' is given twice"),
    "two merges": ("a: &a {}\nb: {<<: *a, <<: *a}", "f:2:13: the key '<<' is given twice"),
    "a number as key": ("a:\n  1: x", "f:2:3: the key 1 is not text (write it in quotes)"),
    "a boolean as key": ("true: x", "f:1:1: the key true is not text (write it in quotes)"),
    "a null as key": ("~: x", "f:1:1: the key null is not text"),
    "a list as key": ("? [a]\n: b", "f:1:3: a key is text, not a list or an object"),
    "a merge of a number": ("<<: 3", "f:1:5: << takes an object or a list of objects"),
    "a Python tag": ("a: !!python/object/apply:os.getcwd []", "f:1:4: the tag 'tag:yaml.org,2002:python/object/apply"),
    "a tag of one's own": ("a: !mine 5", "f:1:4: the tag '!mine' is not known"),
    "a timestamp by tag": ("a: !!timestamp 2026-01-31", "is not known; write plain values"),
    "a tag that is not true": ("a: !!int x", "f:1:4: 'x' is not what its tag"),
    "a list said to be an object": ("a: !!map []", "f:1:4: the tag"),
    "five thousand digits": ("a: " + "9" * 5000, "is a number too large to be read"),
    "an exponent beyond all bounds": ("a: 1e99999999999999999999", "is a number too large to be read"),
    "an alias of nothing": ("a: *b", "f:1:4: no anchor is called &b"),
    "an alias of what it stands in": ("a: &a [*a]", "f:1:8: *a stands within itself"),
    "an alias of what it stands in, further up": ("a: &a {b: {c: *a}}", "f:1:15: *a stands within itself"),
    "two documents": ("a: 1\n---\nb: 2\n", "f:2:1: a second document begins here; a file holds one"),
    "an empty document before a second one": ("---\n---\ncede: 1\n", "f:2:1: a second document begins here"),
    "two documents that are empty": ("---\n---\n", "f:2:1: a second document begins here; a file holds one"),
    "a document beside Kubernetes objects": (
        "{apiVersion: v1, kind: Node}\n---\n---\ncede: 1\n---\n{apiVersion: v1, kind: Pod}\n",
        "f:3:1: this document has no apiVersion and kind, as others have",
    ),
    "an anchor of another document": (
        "{apiVersion: v1, kind: &k Node}\n---\n{apiVersion: v1, kind: *k}\n",
        "f:3:24: no anchor is called &k",
    ),
    "only a comment": ("# nothing\n", "f: the file holds no document"),
    "a tab": ("a:\n\tb: 1", "f:2:1: found character"),
    "a tab, with a hint": ("a:\n\tb: 1", "(indent with spaces, not tabs)"),
    "a list cut off": ("a: [1,", "f:"),
    "a quote cut off": ("a: 'x", "f:1:"),
    "a control character": ("a: 1\nb: \x01", "f:2:4: this character may not stand in a file"),
    "65 levels": ("[a, " * 65 + "]" * 65, "nested more than 64 deep"),
    "a hundred thousand dashes": ("- " * 100_000, "f:1:129: nested more than 64 deep"),
    "a hundred thousand braces": ("{a: " * 100_000, "nested more than 64 deep"),
    "levels made by aliases": (
        "a0: &a0 [x]\n" + "".join(f"a{i}: &a{i} [*a{i - 1}]\n" for i in range(1, 100)),
        "nested more than 64 deep",
    ),
}

LAUGHS = "a: &a [x,x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{to}: &{to} [{','.join([f'*{of}'] * 10)}]\n" for of, to in zip("abcdefghi", "bcdefghij", strict=True)
)


@pytest.fixture(params=["libyaml", "pure Python"])
def _parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "pure Python":
        monkeypatch.setattr(yaml_reading, "_PARSER", yaml.SafeLoader)


@pytest.mark.parametrize(("text", "value"), SCALARS.items(), ids=SCALARS.keys())
def test_scalars_are_those_of_the_core_schema(text: str, value: object) -> None:
    found = read_text(f"- {text}\n")

    assert found == [value]
    assert isinstance(found, list)
    assert type(found[0]) is type(value)


@pytest.mark.usefixtures("_parser")
@pytest.mark.parametrize(("text", "data"), GOOD.values(), ids=GOOD.keys())
def test_a_document_is_read(text: str, data: object) -> None:
    found = read_text(text)

    assert data is None or found == data


@pytest.mark.usefixtures("_parser")
@pytest.mark.parametrize(("text", "message"), BAD.values(), ids=BAD.keys())
def test_what_is_wrong_is_said_with_line_and_column(text: str, message: str) -> None:
    with pytest.raises(InputError) as error:
        read_text(text, name="f")

    assert message in str(error.value)
    assert len(str(error.value)) < 300


@pytest.mark.parametrize("text", [".nan", ".NaN", ".NAN", "!!float .nan"])
def test_what_is_no_number_is_handed_on_as_such(text: str) -> None:
    found = read_text(f"a: {text}\n")

    assert isinstance(found, dict)
    assert isinstance(found["a"], Decimal)
    assert found["a"].is_nan()


@pytest.mark.usefixtures("_parser")
def test_all_keys_that_cannot_be_used_are_told_at_once() -> None:
    text = "a: 1\nb: {c: 1, c: 2, c: {d: 3, d: 4}}\n5: x\n5: y\na: {<<: {}, <<: {}}\n"

    with pytest.raises(InputError) as error:
        read_text(text, name="f")

    assert str(error.value).splitlines() == [
        "f:2:11: the key 'c' is given twice",
        "f:2:17: the key 'c' is given twice",
        "f:2:27: the key 'd' is given twice",
        "f:3:1: the key 5 is not text (write it in quotes)",
        "f:4:1: the key 5 is not text (write it in quotes)",
        "f:5:1: the key 'a' is given twice",
        "f:5:13: the key '<<' is given twice",
    ]


def test_keys_given_twice_are_told_even_if_the_reading_stops_later() -> None:
    with pytest.raises(InputError) as error:
        read_text("a: 1\na: 2\nb: *x\n", name="f")

    assert str(error.value).splitlines() == ["f:2:1: the key 'a' is given twice", "f:3:4: no anchor is called &x"]


@pytest.mark.usefixtures("_parser")
def test_aliases_cannot_multiply_without_end() -> None:
    with pytest.raises(InputError, match="more than 5,000,000 values, counting what aliases repeat"):
        read_text(LAUGHS)


def test_merges_cannot_multiply_without_end() -> None:
    lines = ["a0: &a0 {" + ", ".join(f"k{i}: 1" for i in range(100)) + "}"]
    lines += [f"a{i}: &a{i} {{<<: [{', '.join([f'*a{i - 1}'] * 10)}]}}" for i in range(1, 12)]

    with pytest.raises(InputError, match=r"more than 5,000,000 values"):
        read_text("\n".join(lines))


def test_keys_do_not_count_as_values(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yaml_reading, "MOST_NODES", 3)

    assert read_text("{a: 1, b: 2}") == {"a": 1, "b": 2}
    with pytest.raises(InputError, match="more than 3 values"):
        read_text("{a: 1, b: 2, c: 3}")
