import re
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cede.model.times import (
    LIMIT_S,
    LONGEST,
    SECOND,
    Instant,
    format_duration,
    format_time,
    parse_duration,
    parse_time,
    show_duration,
)

NOON = 1769860800 * SECOND

TIMES = {
    "whole seconds": (5, 5 * SECOND),
    "before zero": (-120, -120 * SECOND),
    "parts of a second": (30.2, 30_200_000),
    "a decimal": (Decimal("-0.5"), -500_000),
    "finer than a microsecond is rounded": (Decimal("0.0000014"), 1),
    "halves are rounded to even": (Decimal("0.0000025"), 2),
}

INSTANTS = {
    "UTC": ("2026-01-31T12:00:00Z", NOON),
    "small letters": ("2026-01-31t12:00:00z", NOON),
    "a space for the T": ("2026-01-31 12:00:00Z", NOON),
    "east of Greenwich": ("2026-01-31T14:00:00+02:00", NOON),
    "west of Greenwich": ("2026-01-31T06:30:00-05:30", NOON),
    "a fraction": ("2026-01-31T12:00:00.25Z", NOON + 250_000),
    "nanoseconds are rounded": ("2026-01-31T12:00:00.123456789Z", NOON + 123_457),
    "a leap second": ("2016-12-31T23:59:60Z", 1483228800 * SECOND),
    "a leap second seen from elsewhere": ("2017-01-01T00:59:60+01:00", 1483228800 * SECOND),
    "long ago": ("0001-01-01T00:00:00Z", -62135596800 * SECOND),
}

NO_TIMES: dict[str, tuple[object, str]] = {
    "true": (True, "true is no time"),
    "null": (None, "null is no time"),
    "a list": ([], "a list is no time"),
    "not a number": (float("nan"), "nan is no finite number"),
    "a signalling decimal": (Decimal("sNaN"), "sNaN is no finite number"),
    "infinite": (float("-inf"), "-inf is no finite number"),
    "too late": (LIMIT_S, "out of range"),
    "too early": (-LIMIT_S, "out of range"),
    "far too late": (Decimal("1e999999"), "out of range"),
    "five thousand digits": (10**5000, "out of range"),
    "a day without a time": ("2026-01-31", "'2026-01-31' is no time"),
    "no zone": ("2026-01-31T12:00:00", "is no time"),
    "a number in quotes": ("5", "'5' is no time"),
    "a day that is none": ("2026-02-30T12:00:00Z", "day is out of range for month"),
    "an hour that is none": ("2026-01-31T24:00:00Z", "is no time"),
    "a zone that is none": ("2026-01-31T12:00:00+24:00", "no zone is +24:00 from UTC"),
    "minutes of a zone that are none": ("2026-01-31T12:00:00+01:60", "no zone is +01:60 from UTC"),
    "a leap second in the afternoon": ("2026-01-31T12:00:60Z", "leap seconds come at midnight UTC"),
    "the year 0": ("0000-01-01T00:00:00Z", "is no time"),
    "before the year 1": ("0001-01-01T00:00:00+01:00", "out of range"),
    "the year 9999": ("9999-01-01T00:00:00Z", "out of range"),
    "a line end": ("2026-01-31T12:00:00Z\n", "is no time"),
}

DURATIONS = {
    "seconds": (90, 90 * SECOND),
    "parts of a second": (0.5, 500_000),
    "a decimal": (Decimal("1.25"), 1_250_000),
    "seconds as text": ("30s", 30 * SECOND),
    "minutes": ("10m", 600 * SECOND),
    "hours and minutes": ("1h30m", 5400 * SECOND),
    "all three": ("1h2m3s", 3723 * SECOND),
    "decimals": ("1.5h", 5400 * SECOND),
    "decimals that do not end in binary": ("0.1s", 100_000),
    "more than an hour of minutes": ("240m", 14400 * SECOND),
    "none": ("0s", 0),
}

NO_DURATIONS = {
    "true": (True, "true is no duration"),
    "null": (None, "null is no duration"),
    "negative": (-1, "-1 is negative"),
    "hardly negative": (-1e-9, "is negative"),
    "a negative decimal": (Decimal("-0.5"), "-0.5 is negative"),
    "not a number": (float("nan"), "nan is no finite number"),
    "not a number, as a decimal": (Decimal("NaN"), "NaN is no finite number"),
    "infinite": (float("inf"), "inf is no finite number"),
    "too long": (LONGEST // SECOND + 1, "the longest duration is 100 years, which is 876600h"),
    "hardly too long": ("876600h0.000001s", "the longest duration is 100 years"),
    "a number of hours that no wait can count": ("10000000h", "the longest duration is 100 years"),
    "too long as text": ("9" * 5000 + "h", "out of range"),
    "too long in sum": ("27777777h99999999999m", "out of range"),
    "a bare number in quotes": ("30", "'30' is no duration"),
    "empty": ("", "'' is no duration"),
    "the wrong order": ("5s10m", "'5s10m' is no duration"),
    "days": ("1d", "'1d' is no duration"),
    "a space": ("1h 30m", "'1h 30m' is no duration"),
    "a point without digits": ("1.h", "'1.h' is no duration"),
}

DURATION_FORMS = {
    "nothing": (0, "0s"),
    "seconds": (45 * SECOND, "45s"),
    "whole hours": (7200 * SECOND, "2h"),
    "hours and minutes": (5400 * SECOND, "1h30m"),
    "hours and seconds": (3605 * SECOND, "1h5s"),
    "half a second": (500_000, "0.5s"),
    "a microsecond": (1, "0.000001s"),
}

SHOWN = {
    "nothing": (0, "0s"),
    "milliseconds": (250_000, "250ms"),
    "seconds": (1_500_000, "1.5s"),
    "minutes and seconds": (65 * SECOND, "1m 5s"),
    "hours and minutes": (7500 * SECOND, "2h 5m"),
    "whole hours": (7200 * SECOND, "2h"),
    "what is small beside the rest is left out": (86400 * SECOND + 5 * SECOND, "1d"),
    "days and hours": (90000 * SECOND, "1d 1h"),
    "negative": (-65 * SECOND, "-1m 5s"),
}


@pytest.mark.parametrize(("raw", "us"), TIMES.values(), ids=TIMES.keys())
def test_a_number_is_seconds_on_the_files_clock(raw: object, us: int) -> None:
    assert parse_time(raw) == us
    assert not isinstance(parse_time(raw), Instant)


@pytest.mark.parametrize(("raw", "us"), INSTANTS.values(), ids=INSTANTS.keys())
def test_rfc_3339_is_an_instant(raw: str, us: int) -> None:
    assert parse_time(raw) == us
    assert isinstance(parse_time(raw), Instant)


@pytest.mark.parametrize(("raw", "message"), NO_TIMES.values(), ids=NO_TIMES.keys())
def test_what_is_no_time_is_refused_with_the_reason(raw: object, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        parse_time(raw)


@pytest.mark.parametrize(("raw", "us"), DURATIONS.values(), ids=DURATIONS.keys())
def test_a_duration_is_read_exactly(raw: object, us: int) -> None:
    assert parse_duration(raw) == us


@pytest.mark.parametrize(("raw", "message"), NO_DURATIONS.values(), ids=NO_DURATIONS.keys())
def test_what_is_no_duration_is_refused_with_the_reason(raw: object, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        parse_duration(raw)


@pytest.mark.parametrize(("us", "form"), DURATION_FORMS.values(), ids=DURATION_FORMS.keys())
def test_a_duration_has_one_form(us: int, form: str) -> None:
    assert format_duration(us) == form


@pytest.mark.parametrize(("us", "text"), SHOWN.values(), ids=SHOWN.keys())
def test_people_see_the_two_largest_units(us: int, text: str) -> None:
    assert show_duration(us) == text


def test_a_time_is_written_as_it_was_given() -> None:
    assert format_time(5 * SECOND, instant=False) == 5
    assert format_time(30_200_000, instant=False) == 30.2
    assert format_time(NOON, instant=True) == "2026-01-31T12:00:00Z"
    assert format_time(NOON + 250_000, instant=True) == "2026-01-31T12:00:00.250000Z"


def test_a_time_no_calendar_has_is_not_written_as_one() -> None:
    with pytest.raises(ValueError, match="RFC 3339 cannot write"):
        format_time(-(10**17), instant=True)


@given(st.integers(0, LONGEST))
def test_writing_and_reading_a_duration_changes_nothing(us: int) -> None:
    assert parse_duration(format_duration(us)) == us


@given(st.floats(-LIMIT_S, LIMIT_S, exclude_min=True, exclude_max=True) | st.integers(1 - LIMIT_S, LIMIT_S - 1))
def test_writing_and_reading_a_number_changes_nothing(raw: float) -> None:
    us = parse_time(raw)

    assert parse_time(format_time(us, instant=False)) == us
    assert abs(us - raw * SECOND) <= max(1, abs(raw) * 1e-9)


@given(st.integers(-62135596800 * SECOND, LIMIT_S * SECOND - 1))
def test_writing_and_reading_an_instant_changes_nothing(us: int) -> None:
    again = parse_time(format_time(us, instant=True))

    assert again == us
    assert isinstance(again, Instant)


@given(st.one_of(st.text("0123456789hms.", max_size=12), st.floats(), st.decimals(), st.booleans(), st.none()))
def test_whatever_is_given_the_answer_is_a_length_or_a_sentence(raw: object) -> None:
    try:
        assert 0 <= parse_duration(raw) <= LONGEST
    except ValueError as error:
        sentence = str(error)
    else:
        sentence = "fine"

    assert sentence
