"""Files whose keys are values, as a table of priorities, may have numbers as keys."""

from __future__ import annotations

import pytest

from cede.model.errors import InputError
from cede.model.reading import read_value


def test_a_key_that_looks_like_a_number_is_its_text_where_that_is_wanted() -> None:
    assert read_value("{10: a, true: {1.50: 2}, null: 3}", keys_as_text=True) == {
        "10": "a",
        "true": {"1.50": 2},
        "null": 3,
    }


def test_otherwise_it_is_an_error() -> None:
    with pytest.raises(InputError, match=r"1:2: the key 10 is not text \(write it in quotes\)"):
        read_value("{10: a}")


def test_a_key_twice_is_an_error_all_the_same() -> None:
    with pytest.raises(InputError, match="the key '10' is given twice"):
        read_value('{10: a, "10": b}', keys_as_text=True)
