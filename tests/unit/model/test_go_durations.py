"""Durations as Go reads them."""

import pytest

from cede.imports.yunikorn.properties import parse_go_duration

SECOND = 10**6
HOUR = 3600 * SECOND

READ = {
    "hours, minutes and seconds": ("1h15m30.5s", HOUR + 15 * 60 * SECOND + 30 * SECOND + SECOND // 2),
    "thousandths": ("500ms", SECOND // 2),
    "a fraction of an hour": ("1.5h", HOUR + HOUR // 2),
    "millionths": ("2us", 2),
    "with the micro sign": ("2\u00b5s", 2),
    "with the Greek letter": ("2\u03bcs", 2),
    "zero needs no unit": ("0", 0),
    "nor with a sign": ("-0", 0),
    "zero with a unit": ("0s", 0),
    "a plus": ("+30s", 30 * SECOND),
    "a minus": ("-1.5s", -SECOND - SECOND // 2),
    "units in any order, and twice": ("1s1h1s", HOUR + 2 * SECOND),
    "nothing before the point": (".5s", SECOND // 2),
    "nothing after it": ("1.s", SECOND),
    "what is finer is cut off": ("1999ns", 1),
    "after a minus towards zero": ("-1999ns", -1),
    "but a positive time is never zero": ("1ns", 1),
    "nor a negative one": ("-1ns", -1),
    "parts of a microsecond add up": ("500ns500ns", 1),
    "the longest": ("2562047h47m16.854775807s", (2**63 - 1) // 1000),
    "the most negative": ("-9223372036854775808ns", -(2**63 // 1000)),
    "a fraction of very many digits": ("0.3333333333333333333333333333h", 1200 * SECOND - 1),
}


@pytest.mark.parametrize(("text", "us"), READ.values(), ids=READ.keys())
def test_a_duration_is_read_as_go_reads_it(text: str, us: int) -> None:
    assert parse_go_duration(text) == us


REFUSED = {
    "nothing": ("", "'' is no duration; write it like 30s, 1h15m or 500ms"),
    "a sign alone": ("-", "'-' is no duration; write it like 30s, 1h15m or 500ms"),
    "two signs": ("--1s", "'--1s' is no duration; write it like 30s, 1h15m or 500ms"),
    "a word": ("xxxx", "'xxxx' is no duration; write it like 30s, 1h15m or 500ms"),
    "a number without a unit": ("30", "'30' has a number without a unit; write it like 30s, 1h15m or 500ms"),
    "one at the end": ("1h30", "'1h30' has a number without a unit; write it like 30s, 1h15m or 500ms"),
    "a unit that Go lacks": ("1d", "'1d' has the unit 'd'; there are ns, us, ms, s, m and h"),
    "blanks": ("30 s", "'30 s' has the unit ' s'; there are ns, us, ms, s, m and h"),
    "a blank in front": (" 30s", "' 30s' is no duration; write it like 30s, 1h15m or 500ms"),
    "a point alone": (".s", "'.s' is no duration; write it like 30s, 1h15m or 500ms"),
    "two points": ("1.2.3s", "'1.2.3s' has a number without a unit; write it like 30s, 1h15m or 500ms"),
    "capitals": ("30S", "'30S' has the unit 'S'; there are ns, us, ms, s, m and h"),
    "digits of other scripts": ("\u0663s", "'\u0663s' is no duration; write it like 30s, 1h15m or 500ms"),
    "more than Go counts": (
        "9223372036854775808ns",
        "'9223372036854775808ns' is out of range; a duration in Go is shorter than 293 years",
    ),
    "more than anybody reads": ("9" * 5000 + "s", f"'{'9' * 57}...' is no duration; write it like 30s, 1h15m or 500ms"),
}


@pytest.mark.parametrize(("text", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_what_go_refuses_is_refused_and_the_sentence_says_why(text: str, message: str) -> None:
    with pytest.raises(ValueError) as error:  # noqa: PT011 -- the whole message is compared
        parse_go_duration(text)

    assert str(error.value) == message
