"""Lengths of time as programs in Go write them: `1h15m30.5s`, `500ms`, `2us`."""

from __future__ import annotations

import re

from cede.model.errors import shown

LONGEST_NS = 2**63 - 1
"""Go counts nanoseconds in 64 bits, which ends at about 292 years."""

_UNITS_NS = {
    "ns": 1,
    "us": 10**3,
    "\u00b5s": 10**3,  # the micro sign
    "\u03bcs": 10**3,  # the Greek letter, which looks the same
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}
_PART = re.compile(r"([0-9]*)(\.[0-9]*)?([^0-9.]*)")
_EXAMPLE = "write it like 30s, 1h15m or 500ms"
_MOST_CHARACTERS = 1000


def parse_go_duration(text: str) -> int:
    """The microseconds that Go reads in the text, negative after a minus.

    What is finer is cut off towards zero, but only 0 is 0: a nanosecond counts as a microsecond, for to a rule it
    matters whether a time is positive. What Go refuses is a ValueError that says why.
    """
    sign = -1 if text.startswith("-") else 1
    rest = text[1:] if text[:1] in ("+", "-") else text
    if rest == "0":
        return 0
    if not rest or len(text) > _MOST_CHARACTERS:
        raise ValueError(f"{shown(text)} is no duration; {_EXAMPLE}")
    total_ns = sum(_part_ns(part, text) for part in _parts(rest, text))
    if total_ns > LONGEST_NS + (sign < 0):
        raise ValueError(f"{shown(text)} is out of range; a duration in Go is shorter than 293 years")
    us = total_ns // 1000
    return sign * (us or int(total_ns > 0))


def _parts(rest: str, text: str) -> list[re.Match[str]]:
    """Each number with its unit."""
    found = []
    at = 0
    while at < len(rest):
        part = _PART.match(rest, at)
        if part is None or part[1] + (part[2] or ".") == ".":
            raise ValueError(f"{shown(text)} is no duration; {_EXAMPLE}")
        found.append(part)
        at = part.end()
    return found


def _part_ns(part: re.Match[str], text: str) -> int:
    whole, fraction, unit = part[1] or "0", (part[2] or ".")[1:], part[3]
    if not unit:
        raise ValueError(f"{shown(text)} has a number without a unit; {_EXAMPLE}")
    if unit not in _UNITS_NS:
        raise ValueError(f"{shown(text)} has the unit {shown(unit)}; there are ns, us, ms, s, m and h")
    scale = _UNITS_NS[unit]
    return int(whole) * scale + (int(fraction) * scale // 10 ** len(fraction) if fraction else 0)
