"""Amounts of a resource, exact, as whole numbers of 10**-9 units."""

from __future__ import annotations

import re
from decimal import Decimal

from cede.model.errors import shown

NANO = 10**9
LARGEST = (2**63 - 1) * NANO
"""The most of what there is or is asked for. As a quota or limit it means that there is none: unlimited."""
LIKE = "a number or a string like 500m or 16Gi"

_QUANTITY = re.compile(r"([0-9]*)(?:\.([0-9]*))?(n|u|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei|[eE]([+-]?[0-9]+))?")
_POWERS_OF_TEN = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_POWERS_OF_TWO = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_SPELLED = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*(?:([kmgtpe])(i?))?b?(?:ytes?)?\s*", re.IGNORECASE)
"""Amounts of bytes as other programs write them."""
_MOST_DIGITS = 80
_MOST_PARSED = 20_000
_BINARY = re.compile(r"memory|storage|hugepages|bytes|disk|^mem$|^ram$", re.IGNORECASE)

_parsed: dict[str, int] = {}


def parse_quantity(raw: object) -> int:
    """The amount that `raw` stands for, in 10**-9 units; what is no amount is a ValueError that says why."""
    amount = _amount(raw)
    if amount > LARGEST:
        raise ValueError(f"{shown(raw)} is above the largest quantity, 2**63 - 1")
    return amount


def parse_quota(raw: object) -> int:
    """The same of a quota or a limit, where `LARGEST` and all above it are one: unlimited."""
    return min(_amount(raw), LARGEST)


def _amount(raw: object) -> int:
    """What is above `LARGEST` may be less than it should be, and stays above."""
    if type(raw) is int:
        if raw < 0:
            raise ValueError(f"{shown(raw)} is negative; a quantity is 0 or more")
        return raw * NANO
    if isinstance(raw, str):
        amount = _parsed.get(raw)
        if amount is None:
            amount = _parse_text(raw, raw)
            if len(_parsed) >= _MOST_PARSED:
                _parsed.clear()
            _parsed[raw] = amount
        return amount
    if isinstance(raw, float | Decimal):
        return _parse_number(raw)
    raise ValueError(f"{shown(raw)} is no quantity; write {LIKE}")


def _parse_number(raw: float | Decimal) -> int:
    number = raw if isinstance(raw, Decimal) else Decimal(repr(raw))
    if not number.is_finite():
        raise ValueError(f"{shown(raw)} is no finite number")
    if not number:
        return 0
    if number < 0:
        raise ValueError(f"{shown(raw)} is negative; a quantity is 0 or more")
    return _parse_text(str(number), raw)


def _parse_text(text: str, raw: object) -> int:
    match = _QUANTITY.fullmatch(text)
    if match is None or not (match[1] or match[2]):
        negative = text.startswith("-") and _QUANTITY.fullmatch(text[1:])
        if negative:
            raise ValueError(f"{shown(raw)} is negative; a quantity is 0 or more")
        raise ValueError(
            f"{shown(raw)} is no quantity; write {_meant(text) or 'a number or a string like 500m or 16Gi'}"
        )
    whole, fraction, suffix, exponent = match[1], match[2] or "", match[3] or "", match[4]
    digits = (whole + fraction).lstrip("0")
    if not digits:
        return 0
    significant = digits.rstrip("0")
    ten = len(digits) - len(significant) - len(fraction) + 9
    two = _POWERS_OF_TWO.get(suffix, 0)
    if exponent is not None:
        ten += _bounded(exponent)
    elif not two:
        ten += _POWERS_OF_TEN[suffix]
    return _exact(significant, ten, two, raw)


def _meant(text: str) -> str | None:
    """How to write an amount whose unit is spelled as elsewhere: 64GB, 64 gib, 64K; none if it is no such thing.

    GB may be meant as powers of ten or of two, so both are offered; GiB is not in doubt.
    """
    match = _SPELLED.fullmatch(text)
    if match is None or len(text) > _MOST_DIGITS:
        return None
    amount, letter, binary = match[1], (match[2] or "").upper(), match[3]
    if not letter:
        return amount
    if binary:
        return f"{amount}{letter}i"
    return f"{amount}{'k' if letter == 'K' else letter} or {amount}{letter}i"


def _bounded(exponent: str) -> int:
    """The exponent, or one that is as much out of range: 1e999999999 must cost nothing."""
    size = exponent.lstrip("+-0")
    power = int(size or "0") if len(size) < 7 else 10**6
    return -power if exponent.startswith("-") else power


def _exact(significant: str, ten: int, two: int, raw: object) -> int:
    """significant * 10**ten * 2**two, if that is a whole number; of what is too large, something that is."""
    # 2**two < 10**19: beyond this length the number is too large, or has a digit that no whole number of nano has.
    if len(significant) + ten > 30:
        return LARGEST + 1
    if len(significant) > _MOST_DIGITS or ten < -_MOST_DIGITS:
        raise ValueError(f"{shown(raw)} is finer than 10**-9, the smallest step of a quantity")
    scaled = int(significant) << two
    power: int = 10 ** abs(ten)
    if ten >= 0:
        nano = scaled * power
    else:
        nano, rest = divmod(scaled, power)
        if rest:
            raise ValueError(f"{shown(raw)} is finer than 10**-9, the smallest step of a quantity")
    return nano


def format_quantity(nano: int) -> int | str:
    """The one way to write an amount in a document: a whole number, or the coarsest of m, u and n that is exact."""
    if nano % NANO == 0:
        return nano // NANO
    if nano % 10**6 == 0:
        return f"{nano // 10**6}m"
    if nano % 10**3 == 0:
        return f"{nano // 10**3}u"
    return f"{nano}n"


def show_quantity(resource: str, nano: int) -> str:
    """An amount for people: memory in binary multiples where they are exact, everything else as in a document."""
    if nano < 0:
        return f"-{show_quantity(resource, -nano)}"
    if nano >= LARGEST:
        return "unlimited"
    if nano > 0 and nano % NANO == 0 and _BINARY.search(resource.partition("@")[0].rpartition("/")[2]):
        units = nano // NANO
        for suffix, power in reversed(_POWERS_OF_TWO.items()):
            if units % 2**power == 0:
                return f"{units >> power}{suffix}"
    return str(format_quantity(nano))


def say_quantity(resource: str, nano: int) -> str:
    """An amount in a sentence: as it is shown, but more than one with thousandths as a decimal."""
    if nano > NANO and nano % NANO and nano % 10**6 == 0:
        whole, rest = divmod(nano // 10**6, 1000)
        return f"{whole}.{rest:03d}".rstrip("0")
    return show_quantity(resource, nano)
