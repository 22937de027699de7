import re
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cede.model.quantities import LARGEST, NANO, format_quantity, parse_quantity, parse_quota, show_quantity

GOOD = {
    "a whole number": (2, 2 * NANO),
    "zero": (0, 0),
    "a float counts as it is written": (0.1, 10**8),
    "a float with an exponent": (1e-9, 1),
    "a decimal": (Decimal("1.50"), 1_500_000_000),
    "negative zero is zero": (-0.0, 0),
    "milli": ("500m", 500_000_000),
    "micro": ("7u", 7000),
    "nano": ("3n", 3),
    "kilo": ("2k", 2000 * NANO),
    "exa": ("1E", 10**18 * NANO),
    "kibi": ("1Ki", 1024 * NANO),
    "gibi": ("16Gi", 16 * 2**30 * NANO),
    "a fraction of a binary multiple": ("0.5Mi", 2**19 * NANO),
    "ten decimals that are exact in a binary multiple": ("0.0009765625Gi", 2**20 * NANO),
    "an exponent": ("1e3", 1000 * NANO),
    "an exponent with a capital letter and a sign": ("25E-1", 2_500_000_000),
    "a point at the end": ("5.", 5 * NANO),
    "a point at the start": (".5", 500_000_000),
    "leading zeros": ("007", 7 * NANO),
    "zero to any power": ("0e999999999999", 0),
    "many zeros that mean nothing": ("1." + "0" * 6000, NANO),
    "the largest": ("9223372036854775807", LARGEST),
}

BAD = {
    "true is no number": (True, "true is no quantity"),
    "null": (None, "null is no quantity"),
    "a list": ([1], "a list is no quantity"),
    "a negative number": (-1, "-1 is negative"),
    "a negative float": (-0.5, "-0.5 is negative"),
    "negative text": ("-500m", "'-500m' is negative"),
    "not a number": (float("nan"), "nan is no finite number"),
    "an infinite number": (float("inf"), "inf is no finite number"),
    "an infinite decimal": (Decimal("-Infinity"), "-Infinity is no finite number"),
    "finer than nano": ("1e-10", "finer than 10**-9"),
    "finer than nano in a suffix": ("0.5n", "finer than 10**-9"),
    "a binary multiple that is no whole number of nano": ("0.0000000001Gi", "finer than 10**-9"),
    "thousands of decimals": ("0." + "0" * 5000 + "1", "finer than 10**-9"),
    "one above the largest": (2**63, "above the largest quantity"),
    "text above the largest": ("8Ei", "above the largest quantity"),
    "a number of five thousand digits": (10**5000, "a number of very many digits is above"),
    "an exponent that would fill the memory": ("1e999999999999", "above the largest quantity"),
    "empty text": ("", "'' is no quantity"),
    "a point alone": (".", "'.' is no quantity"),
    "a suffix alone": ("Gi", "'Gi' is no quantity"),
    "an unknown suffix": ("5GB", "'5GB' is no quantity"),
    "a space": ("5 Gi", "'5 Gi' is no quantity"),
    "a line end": ("5\n", "'5\\n' is no quantity"),
    "digits of another script": ("٣", "'٣' is no quantity"),
    "a plus sign": ("+5", "'+5' is no quantity"),
}

SPELLED = {
    "64GB": "64G or 64Gi",
    "64gb": "64G or 64Gi",
    "64 GB": "64G or 64Gi",
    "64g": "64G or 64Gi",
    "1.5TB": "1.5T or 1.5Ti",
    "64K": "64k or 64Ki",
    "64KB": "64k or 64Ki",
    "512mb": "512M or 512Mi",
    "64GiB": "64Gi",
    "64gi": "64Gi",
    "5 Gi": "5Gi",
    "64 bytes": "64",
    "64B": "64",
    "64 cores": "a number or a string like 500m or 16Gi",
    "GB": "a number or a string like 500m or 16Gi",
}

FORMS = {
    "whole": (3 * NANO, 3),
    "milli": (1_500_000_000, "1500m"),
    "micro": (1_500_000, "1500u"),
    "nano": (1_500, "1500n"),
    "zero": (0, 0),
}

SHOWN = {
    "memory in binary multiples": ("memory", 16 * 2**30 * NANO, "16Gi"),
    "memory that is no larger multiple": ("memory", (2**30 + 2**20) * NANO, "1025Mi"),
    "memory that is no multiple": ("memory", 1000 * NANO, "1000"),
    "memory of a flavor": ("memory@spot", 2**30 * NANO, "1Gi"),
    "storage": ("ephemeral-storage", 2**40 * NANO, "1Ti"),
    "cpu stays as it is": ("cpu", 1024 * NANO, "1024"),
    "a part of a cpu": ("cpu", 500_000_000, "500m"),
    "no memory": ("memory", 0, "0"),
}


@pytest.mark.parametrize(("raw", "right"), SPELLED.items())
def test_a_unit_that_is_spelled_as_elsewhere_is_told_how_to_write_it(raw: str, right: str) -> None:
    with pytest.raises(ValueError, match=re.escape(f"'{raw}' is no quantity; write {right}") + "$"):
        parse_quantity(raw)
    for amount in right.split(" or ") if right[0] != "a" else ():
        parse_quantity(amount)


@pytest.mark.parametrize(("raw", "nano"), GOOD.values(), ids=GOOD.keys())
def test_a_quantity_is_read_exactly(raw: object, nano: int) -> None:
    assert parse_quantity(raw) == nano
    assert parse_quantity(raw) == nano, "the second time it comes from what is remembered"


@pytest.mark.parametrize(("raw", "message"), BAD.values(), ids=BAD.keys())
def test_what_is_no_quantity_is_refused_with_the_reason(raw: object, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        parse_quantity(raw)


@pytest.mark.parametrize(("nano", "form"), FORMS.values(), ids=FORMS.keys())
def test_a_quantity_has_one_form(nano: int, form: int | str) -> None:
    assert format_quantity(nano) == form
    assert type(format_quantity(nano)) is type(form)


@pytest.mark.parametrize(("resource", "nano", "text"), SHOWN.values(), ids=SHOWN.keys())
def test_people_see_memory_in_binary_multiples(resource: str, nano: int, text: str) -> None:
    assert show_quantity(resource, nano) == text


def test_remembering_true_does_not_make_it_one() -> None:
    assert parse_quantity("1") == parse_quantity(1) == NANO
    with pytest.raises(ValueError, match="true is no quantity"):
        parse_quantity(True)


@given(st.integers(0, LARGEST))
def test_writing_and_reading_a_quantity_changes_nothing(nano: int) -> None:
    assert parse_quantity(format_quantity(nano)) == nano
    assert parse_quantity(str(format_quantity(nano))) == nano
    assert nano == LARGEST or parse_quantity(show_quantity("memory", nano)) == nano


@pytest.mark.parametrize("raw", [2**63 - 1, 2**63, "8Ei", "10E", "1e30", "1e999999999", 1e25, "9223372036854775807.5"])
def test_a_quota_of_more_than_can_be_counted_is_unlimited(raw: object) -> None:
    assert parse_quota(raw) == LARGEST
    assert parse_quota(format_quantity(parse_quota(raw))) == LARGEST
    assert show_quantity("memory", LARGEST) == show_quantity("cpu", LARGEST) == "unlimited"
    assert parse_quota("9E") == parse_quantity("9E") == 9 * 10**18 * NANO


@pytest.mark.parametrize(("raw", "message"), [(-1, "is negative"), ("x", "no quantity"), (float("inf"), "no finite")])
def test_a_quota_is_a_quantity(raw: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_quota(raw)


@given(
    st.decimals(0, 10**9, places=9),
    st.sampled_from(["", "n", "u", "m", "k", "M", "G", "Ki", "Mi", "Gi", "e2", "E-2"]),
)
def test_a_quantity_is_the_fraction_its_text_says_or_refused(number: Decimal, suffix: str) -> None:
    factors: dict[str, Fraction | int] = {
        "": 1,
        "n": Fraction(1, 10**9),
        "u": Fraction(1, 10**6),
        "m": Fraction(1, 1000),
        "k": 10**3,
        "M": 10**6,
    }
    factors |= {"G": 10**9, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "e2": 100, "E-2": Fraction(1, 100)}
    exact = Fraction(number) * factors[suffix] * NANO

    if exact.denominator == 1 and exact <= LARGEST:
        assert parse_quantity(f"{number:f}{suffix}") == exact
    else:
        with pytest.raises(ValueError, match=r"finer than|above the largest"):
            parse_quantity(f"{number:f}{suffix}")


@given(st.one_of(st.text(), st.floats(), st.decimals(), st.integers(), st.booleans(), st.none(), st.binary()))
def test_whatever_is_given_the_answer_is_an_amount_or_a_sentence(raw: object) -> None:
    try:
        assert 0 <= parse_quantity(raw) <= LARGEST
    except ValueError as error:
        sentence = str(error)
    else:
        sentence = "fine"

    assert sentence
