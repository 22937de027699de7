"""Points in time and lengths of time, as whole microseconds."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime, timedelta
from decimal import ROUND_HALF_EVEN, Context, Decimal

from cede.model.errors import shown

SECOND = 10**6
LIMIT_S = 10**11
LONGEST = 876_600 * 3600 * SECOND
"""The longest duration: 100 years. Any sum of a few of them, and of a time, can be counted and waited for."""

_ZERO = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_EARLIEST = (datetime.min.replace(tzinfo=UTC) - _ZERO) // _MICROSECOND
_EXACT = Context(prec=60, rounding=ROUND_HALF_EVEN)
_INSTANT = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})[Tt ]([0-9]{2}:[0-9]{2}):([0-9]{2})(\.[0-9]+)?([Zz]|[+-][0-9]{2}:[0-9]{2})"
)
_DURATION = re.compile(r"(?=[0-9])(?:([0-9]+(?:\.[0-9]+)?)h)?(?:([0-9]+(?:\.[0-9]+)?)m)?(?:([0-9]+(?:\.[0-9]+)?)s)?")
_MOST_PARSED = 20_000
_PARTS = (("d", 86400 * SECOND), ("h", 3600 * SECOND), ("m", 60 * SECOND), ("s", SECOND))

_TOO_LONG = "the longest duration is 100 years, which is 876600h"

_parsed: dict[str, int] = {}
_clamped: ContextVar[list[int] | None] = ContextVar("clamped", default=None)


class Instant(int):
    """Microseconds since 1970 of a time that was given as RFC 3339."""

    __slots__ = ()


def parse_time(raw: object) -> int:
    """The time that `raw` stands for; an Instant if it is RFC 3339. Finer than a microsecond is rounded."""
    if type(raw) is int:
        if not -LIMIT_S < raw < LIMIT_S:
            raise ValueError(f"{shown(raw)} is out of range; times lie within 10**11 seconds of zero")
        return raw * SECOND
    if isinstance(raw, str):
        return _parse_instant(raw)
    if isinstance(raw, float | Decimal):
        return _microseconds(raw, "times lie within 10**11 seconds of zero")
    raise ValueError(f"{shown(raw)} is no time; write a number of seconds or RFC 3339 like 2026-01-31T12:00:00Z")


def parse_duration(raw: object) -> int:
    """The length of time that `raw` stands for, at most LONGEST. Finer than a microsecond is rounded."""
    if type(raw) is int:
        if raw < 0:
            raise ValueError(f"{shown(raw)} is negative; a duration is 0 or more")
        return _bounded(raw * SECOND, raw)
    if isinstance(raw, str):
        us = _parsed.get(raw)
        if us is None:
            us = _bounded(length := _parse_lengths(raw), raw)
            if length > LONGEST:
                return us
            if len(_parsed) >= _MOST_PARSED:
                _parsed.clear()
            _parsed[raw] = us
        return us
    if isinstance(raw, float | Decimal):
        duration = _microseconds(raw, _TOO_LONG)
        if raw < 0:
            raise ValueError(f"{shown(raw)} is negative; a duration is 0 or more")
        return _bounded(duration, raw)
    raise ValueError(f"{shown(raw)} is no duration; write a number of seconds or a string like 30s, 10m, 1h30m")


def _bounded(duration: int, raw: object) -> int:
    if duration <= LONGEST:
        return duration
    if _clamped.get() is None:
        raise ValueError(f"{shown(raw)} is out of range; {_TOO_LONG}")
    return clamped(duration)


def clamped(duration: int) -> int:
    """The same, or the longest if it is longer; `clamping` notes that."""
    noted = _clamped.get()
    if duration > LONGEST and noted is not None:
        noted.append(duration)
    return min(duration, LONGEST)


@contextmanager
def clamping() -> Iterator[list[int]]:
    """In here durations that are too long are read as the longest, and noted: of what was stored before there was one.

    Within another of its kind it notes the same.
    """
    noted = _clamped.get()
    if noted is not None:
        yield noted
        return
    noted = []
    token = _clamped.set(noted)
    try:
        yield noted
    finally:
        _clamped.reset(token)


def _microseconds(raw: float | Decimal, bounds: str) -> int:
    number = raw if isinstance(raw, Decimal) else Decimal(repr(raw))
    if not number.is_finite():
        raise ValueError(f"{shown(raw)} is no finite number")
    if not -LIMIT_S < number < LIMIT_S:
        raise ValueError(f"{shown(raw)} is out of range; {bounds}")
    # Through the nearest float, because that is what a document can carry: so writing and reading again is exact.
    number = Decimal(repr(float(number)))
    return int(_EXACT.to_integral_value(_EXACT.multiply(number, Decimal(SECOND))))


def _parse_instant(text: str) -> Instant:
    match = _INSTANT.fullmatch(text)
    if match is None:
        raise ValueError(f"{shown(text)} is no time; write a number of seconds or RFC 3339 like 2026-01-31T12:00:00Z")
    day, minute, second, fraction, zone = match.groups()
    if zone[1:3] > "23" or zone[4:] > "59":
        raise ValueError(f"{shown(text)} is no time: no zone is {zone} from UTC")
    leap = second == "60"
    try:
        moment = datetime.fromisoformat(f"{day}T{minute}:{'59' if leap else second}{zone.upper()}")
    except ValueError as error:
        raise ValueError(f"{shown(text)} is no time: {error}") from None
    us = (moment - _ZERO) // _MICROSECOND + leap * SECOND
    if leap and us % (86400 * SECOND):
        raise ValueError(f"{shown(text)} is no time: leap seconds come at midnight UTC")
    if not _EARLIEST <= us < LIMIT_S * SECOND:
        raise ValueError(f"{shown(text)} is out of range; times lie between the years 1 and 5138")
    if fraction:
        us += int(_EXACT.to_integral_value(_EXACT.multiply(Decimal(f"0{fraction}"), Decimal(SECOND))))
    return Instant(us)


def _parse_lengths(text: str) -> int:
    match = _DURATION.fullmatch(text)
    if match is None:
        raise ValueError(f"{shown(text)} is no duration; write a number of seconds or a string like 30s, 10m, 1h30m")
    total = Decimal(0)
    for part, unit_s in zip(match.groups(), (3600, 60, 1), strict=True):
        if part:
            number = Decimal(part)
            if number >= LIMIT_S:
                raise ValueError(f"{shown(text)} is out of range; {_TOO_LONG}")
            total = _EXACT.add(total, _EXACT.multiply(number, Decimal(unit_s * SECOND)))
    return int(_EXACT.to_integral_value(total))


def format_time(us: int, instant: bool) -> int | float | str:
    """The one way to write a time in a document: RFC 3339 in UTC for an instant, else a number of seconds."""
    if not instant:
        return us // SECOND if us % SECOND == 0 else us / SECOND
    try:
        moment = _ZERO + us * _MICROSECOND
    except OverflowError:
        raise ValueError(f"{us} microseconds from 1970 is a time RFC 3339 cannot write") from None
    return moment.isoformat().replace("+00:00", "Z")


def format_duration(us: int) -> int | float | str:
    """The one way to write a duration in a document: `1h30m`, `45s`, `0.5s`."""
    hours, rest = divmod(us, 3600 * SECOND)
    minutes, rest = divmod(rest, 60 * SECOND)
    seconds, fraction = divmod(rest, SECOND)
    text = (f"{hours}h" if hours else "") + (f"{minutes}m" if minutes else "")
    if fraction:
        return f"{text}{seconds}.{fraction:06d}".rstrip("0") + "s"
    return f"{text}{seconds}s" if seconds or not text else text


def show_duration(us: int) -> str:
    """A duration for people, in its two largest units: `2h 5m`."""
    if us < 0:
        return f"-{show_duration(-us)}"
    if 0 < us < SECOND:
        return f"{us / 1000:g}ms"
    if us < 60 * SECOND:
        return f"{us / SECOND:g}s"
    counts = []
    for suffix, unit in _PARTS:
        count, us = divmod(us, unit)
        counts.append((count, suffix))
    first = next(i for i, (count, _) in enumerate(counts) if count)
    return " ".join(f"{count}{suffix}" for count, suffix in counts[first : first + 2] if count)


def about(us: int) -> str:
    """A duration that was measured, for people: no finer than they care for."""
    for step in (SECOND // 1000, SECOND // 100, SECOND // 10):
        if us < 1000 * step:
            return show_duration(round(us / step) * step)
    return show_duration(us - us % SECOND)


def to_the_second(us: int) -> str:
    """A point in time for people, as RFC 3339."""
    return str(format_time(us - us % SECOND, True))
