"""Formulas over tags: what they mean, and what is said of those that mean nothing."""

from __future__ import annotations

import re
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cede.model.tag_filters import parse_tag_filter

TAGS = ("a", "b", "c")

MATCHES = {
    "": lambda _a, _b, _c: True,
    "  ": lambda _a, _b, _c: True,
    "a": lambda a, _b, _c: a,
    "!a": lambda a, _b, _c: not a,
    "!!a": lambda a, _b, _c: a,
    "a & b | !c": lambda a, b, c: (a and b) or not c,
    "!c|a&b": lambda a, b, c: (a and b) or not c,
    "a & (b | !c)": lambda a, b, c: a and (b or not c),
    "!(a | b) & c": lambda a, b, c: not (a or b) and c,
    "a | b & c": lambda a, b, c: a or (b and c),
    "((a))": lambda a, _b, _c: a,
    "%true": lambda _a, _b, _c: True,
    "%false | b": lambda _a, b, _c: b,
    "!%false & a": lambda a, _b, _c: a,
}

WRONG = {
    "a &": "character 4, at the end: a tag is missing",
    "& a": "character 1, at '& a': a tag is missing",
    "a b": "character 3, at 'b': the formula should end, or go on with & or |",
    "(a | b": "character 7, at the end: a ) is missing",
    "a)": "character 2, at ')': the formula should end, or go on with & or |",
    "()": "character 2, at ')': a tag is missing",
    "a && b": "character 4, at '& b': a tag is missing",
    "a, b": "character 2, at ', b': this stands for nothing; a formula has tags, & | ! ( ), %true and %false",
    "%yes": "character 1, at '%yes': this stands for nothing; a formula has tags, & | ! ( ), %true and %false",
    "%truely": "character 1, at '%truely': this stands for nothing; a formula has tags, & | ! ( ), %true and %false",
    "!" * 80 + "a": f"character 66, at '{'!' * 10}': the formula is nested more than 64 deep",
    "a" * 10_001: "a tag filter has at most 10000 characters, but this has 10001",
}


@pytest.mark.parametrize(
    ("text", "meaning"), MATCHES.items(), ids=lambda value: value if isinstance(value, str) else ""
)
def test_a_formula_holds_for_the_tags_that_it_says(text: str, meaning: object) -> None:
    found = parse_tag_filter(text)

    for truth in product((False, True), repeat=3):
        tags = {tag for tag, there in zip(TAGS, truth, strict=True) if there}
        assert callable(meaning)
        assert found.matches(tags) is meaning(*truth), tags


@pytest.mark.parametrize(("text", "message"), WRONG.items(), ids=lambda text: text[:12])
def test_what_is_no_formula_is_refused_with_the_place(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        parse_tag_filter(text)


def test_tags_are_label_keys_with_all_their_signs() -> None:
    found = parse_tag_filter("topology.example.com/zone:a_1-x & !other")

    assert found.matches({"topology.example.com/zone:a_1-x"})
    assert not found.matches({"topology.example.com/zone:a_1-x", "other"})


@given(st.text("ab &|!()%truefals", max_size=20), st.sets(st.sampled_from(TAGS)))
def test_any_text_is_a_formula_or_refused(text: str, tags: set[str]) -> None:
    try:
        found = parse_tag_filter(text)
    except ValueError:
        return
    negated = parse_tag_filter(f"!({text})") if text.strip() else parse_tag_filter("%false")

    assert negated.matches(tags) is not found.matches(tags)
