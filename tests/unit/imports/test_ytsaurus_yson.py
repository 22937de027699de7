"""YSON: what is read, what is refused with its place, and how it is told from JSON and YAML."""

from typing import Any

import pytest

from cede.imports.ytsaurus.yson import Attributed, is_yson, read_yson
from cede.model.errors import InputError

READ: dict[str, tuple[bytes, Any]] = {
    "an entity": (b"#", None),
    "truth": (b"[%true;%false]", [True, False]),
    "an int64": (b"-42", -42),
    "a uint64": (b"18446744073709551615u", 2**64 - 1),
    "a double": (b"[2.;.5;-1.5e-3;1E3]", [2.0, 0.5, -0.0015, 1000.0]),
    "a word": (b"fair_share-1.x", "fair_share-1.x"),
    "a text": (b'"a b"', "a b"),
    "escapes": (rb'"\"\\\n\t\x41\101\u00e9\q"', '"\\\n\tAA\u00e9q'),
    "bytes of a character": (rb'"\xc3\xa9"', "\u00e9"),
    "a text over several lines": (b'"a\nb"', "a\nb"),
    "a list": (b" [ 1 ; 2 ; ] ", [1, 2]),
    "a map": (b'{a=1;"b c"={};}', {"a": 1, "b c": {}}),
    "attributes": (b"<a=1;b=<c=2>x>{}", Attributed({}, {"a": 1, "b": Attributed("x", {"c": 2})})),
    "attributes of an entity": (b"<a=1>#", Attributed(None, {"a": 1})),
    "no attributes": (b"<>1", Attributed(1, {})),
    "a text in binary": (b"\x01\x06abc", "abc"),
    "an empty text in binary": (b"\x01\x00", ""),
    "an int64 in binary": (b"[\x02\x54;\x02\x03]", [42, -2]),
    "a double in binary": (b"\x03\x00\x00\x00\x00\x00\x00\xf8?", 1.5),
    "truth in binary": (b"[\x05;\x04]", [True, False]),
    "a uint64 in binary": (b"\x06\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 2**64 - 1),
    "binary within text": (b"<\x01\x02w=\x02\x04>{\x01\x02p=#}", Attributed({"p": None}, {"w": 2})),
}


@pytest.mark.parametrize(("text", "value"), READ.values(), ids=READ.keys())
def test_what_is_read(text: bytes, value: Any) -> None:
    found = read_yson(text)

    assert found == value
    assert type(found) is type(value)


REFUSED = {
    "nothing": (b"", "f:1:1: the text ends where a value should stand"),
    "a value that is missing": (b"{a=1;\n b=}", "f:2:4: no value begins with '}'"),
    "attributes of nothing": (b"<a=1>", "f:1:6: the text ends where a value should stand"),
    "attributes twice": (b"<a=1><b=2>3", "f:1:6: a value has its attributes once"),
    "a map that is open": (b"{a=1", "f:1:5: a ; or } should stand here"),
    "a list that is open": (b"[1 2]", "f:1:4: a ; or ] should stand here"),
    "no =": (b"{a:1}", "f:1:3: a = should follow the key 'a'"),
    "a key that is no text": (b"{1=2}", "f:1:2: a key, which is text, or } should stand here"),
    "a key twice": (b"{a=1; a=2}", "f:1:7: the key 'a' is given twice"),
    "a text that is open": (b'{a=1;b="x}', "f:1:8: the quotes are not closed"),
    "no number": (b"[1;2x]", "f:1:4: '2x' is no number"),
    "no sign before a uint64": (b"-1u", "f:1:1: '-1u' is no number"),
    "too large": (b"9223372036854775808", "f:1:1: 9223372036854775808 is no whole number of 64 bits"),
    "much too large": (b"9" * 40, f"f:1:1: '{'9' * 40}' is no whole number of 64 bits"),
    "too large a double": (b"1e999", "f:1:1: '1e999' is no finite number, and has no place in a cluster file"),
    "nan": (b"{a=%nan}", "f:1:4: %nan is no finite number, and has no place in a cluster file"),
    "infinity": (b"%-inf", "f:1:1: %-inf is no finite number, and has no place in a cluster file"),
    "another constant": (b"%yes", "f:1:1: '%yes' is neither %true nor %false"),
    "nan in binary": (
        b"\x03\x00\x00\x00\x00\x00\x00\xf8\x7f",
        "f:1:1: this is no finite number, and has no place in a cluster file",
    ),
    "half a double": (b"\x03abc", "f:1:1: the file ends within a number"),
    "half a number": (b"\x02\xff", "f:1:1: the file ends within a number"),
    "a number without an end": (b"\x02" + b"\xff" * 11, "f:1:1: a number without an end"),
    "a text that is longer than the file": (b"\x01\x14ab", "f:1:1: a text of 10 bytes does not fit into the file"),
    "a text of less than nothing": (b"\x01\x01", "f:1:1: a text of -1 bytes does not fit into the file"),
    "no UTF-8": (rb'{a="\xff"}', "f:1:4: byte 0xff of this text is not UTF-8"),
    "half a character": (rb'"\ud800"', "f:1:1: byte 0xff of this text is not UTF-8"),
    "something else": (b"@", "f:1:1: no value begins with '@'"),
    "a strange byte": (b"\xfe", "f:1:1: no value begins with byte 0xfe"),
    "two values": (b"{} {}", "f:1:4: the value has ended, and more follows"),
    "a comment": (b"{} // all", "f:1:4: the value has ended, and more follows"),
    "depth": (b"[" * 65 + b"]" * 65, "f:1:65: nested more than 64 deep"),
    "depth of attributes": (b"<a=" * 65, "f:1:193: nested more than 64 deep"),
}


@pytest.mark.parametrize(("text", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_what_is_refused_has_its_place(text: bytes, message: str) -> None:
    with pytest.raises(InputError) as error:
        read_yson(text, name="f")

    assert str(error.value) == message


def test_columns_count_characters() -> None:
    with pytest.raises(InputError, match=r"^f:2:5: "):
        read_yson('{\n"\u00e9"=@}'.encode(), name="f")


TOLD = {
    "attributes": (b"\n <a=1>{}", True),
    "a key with =": (b'{ "a b" = 1}', True),
    "a list of maps": (b"[{a=1}]", True),
    "a list of texts": (b'[\n "a";\n]', True),
    "a list of numbers": (b"[1u;2]", True),
    "binary": (b"[\x02\x02]", True),
    "JSON": (b'{"a": 1}', False),
    "JSON with = in a text": (b'[{"a": "b=c"}, "<a=1>"]', False),
    "a list of JSON": (b'["a", "b"]', False),
    "YAML": (b"pools: {a: {weight: 2}}", False),
    "YAML in flow style": (b"{pools: {a: {weight: 2}}}", False),
    "a comment of YAML": (b"# <a=1>\npools: {}", False),
    "a merge of YAML": (b"<<: {a: 1}", False),
    "nothing": (b"", False),
}


@pytest.mark.parametrize(("text", "yes"), TOLD.values(), ids=TOLD.keys())
def test_yson_is_told_by_its_look(text: bytes, yes: bool) -> None:
    assert is_yson(text) is yes
