"""Points in time on a trace's clock as people give them: a length of time from its start, or RFC 3339."""

from __future__ import annotations

import re

from cede.model.errors import shown
from cede.model.times import LONGEST, SECOND, Instant, format_duration, parse_duration, parse_time

DAY_S = 86400

_DAYS = re.compile(r"([0-9]+)d(.*)", re.DOTALL)
_NO_SPAN = "is no length of time; write a number of seconds or a string like 2d, 36h, 1d12h"


def parse_span(raw: object) -> int:
    """A length of time in microseconds; as every duration, and days may stand before the hours."""
    match = _DAYS.fullmatch(raw) if isinstance(raw, str) else None
    if match is None:
        if isinstance(raw, str) and not _is_number(raw):
            return _duration(raw)
        return parse_duration(float(raw) if isinstance(raw, str) else raw)
    days = int(match[1][:12])
    length = days * DAY_S * SECOND + (_duration(match[2]) if match[2] else 0)
    if length > LONGEST:
        raise ValueError(f"{shown(raw)} is out of range; the longest duration is 100 years, which is 36525d")
    return length


def _is_number(text: str) -> bool:
    return re.fullmatch(r"[0-9]{1,12}(\.[0-9]{1,12})?", text) is not None


def _duration(text: str) -> int:
    try:
        return parse_duration(text)
    except ValueError as error:
        raise ValueError(f"{shown(text)} {_NO_SPAN}" if "is no duration" in str(error) else str(error)) from None


def parse_moment(raw: object, begin: int, origin: int | None) -> int:
    """The time that `raw` stands for on a clock that starts at `origin`: a length of time counts from `begin`.

    RFC 3339 needs an origin; a ValueError says so where there is none.
    """
    if isinstance(raw, str) and len(raw) >= len("2026-01-31T12:00Z") and raw[4:5] == "-":
        instant = parse_time(raw)
        if origin is None:
            why = "the trace does not say when it began; give a length of time from its start, as 2d"
            raise ValueError(f"{shown(raw)} cannot be placed: {why}")
        assert isinstance(instant, Instant), "a text is RFC 3339"
        return int(instant) - origin
    return begin + parse_span(raw)


def show_span(us: int) -> str:
    """A length of time in full, as `parse_span` reads it: `2d`, `1d12h`, `0s`."""
    days, rest = divmod(us, DAY_S * SECOND)
    if not days:
        return str(format_duration(rest))
    return f"{days}d{format_duration(rest) if rest else ''}"
