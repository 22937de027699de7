"""The kinds of value that the settings of YTsaurus have, beyond those of every document."""

from __future__ import annotations

from typing import Annotated, Literal

from cede.model.errors import shown
from cede.model.quantities import NANO, parse_quantity
from cede.model.resources import parse_resources
from cede.model.tag_filters import parse_tag_filter
from cede.model.times import SECOND, parse_duration
from cede.model.values import Reads, number, refers_to

LEAST_WEIGHT, MOST_WEIGHT = 2.0**-26, 2.0**26
MOST_VOLUME = 10**27


def _within(least: float, most: float | None = None, *, above: bool = False) -> Reads:
    """Reads a finite number from `least` on, or only above it, up to `most`."""

    def parse(raw: object) -> float:
        value = float(number().parse(raw))
        if above and value <= least:
            raise ValueError(f"{shown(raw)} is too small; it must be above {least:g}")
        if value < least:
            raise ValueError(f"{shown(raw)} is too small; the least is {least:g}")
        if most is not None and value > most:
            raise ValueError(f"{shown(raw)} is too large; the most is {most:g}")
        return value

    return Reads(parse, {"type": "number"})


def _parse_update_period(raw: object) -> int:
    period = parse_duration(raw)
    if not SECOND // 100 <= period <= 60 * SECOND:
        raise ValueError(f"{shown(raw)} is out of range; it lies between 10ms and 60s")
    return period


def _parse_tag_filter(raw: object) -> str:
    if not isinstance(raw, str):
        raise ValueError(f"{shown(raw)} is no text; a tag filter is a formula like 'a & (b | !c)'")
    parse_tag_filter(raw)
    return raw


def _parse_volumes(raw: object) -> dict[str, int]:
    """Amounts times seconds, in nano-units: of memory they go beyond the largest quantity."""
    if not isinstance(raw, dict):
        return parse_resources(raw)
    large = {name: item for name, item in raw.items() if type(item) is int and 0 < item <= MOST_VOLUME}
    return parse_resources({**raw, **dict.fromkeys(large, 0)}) | {name: item * NANO for name, item in large.items()}


def _parse_at_root(_raw: object) -> None:
    raise ValueError("cannot be set for the whole tree, where it is true; set it on pools")


Share = Annotated[float, _within(0, 1)]
Weight = Annotated[float, _within(LEAST_WEIGHT, MOST_WEIGHT)]
Positive = Annotated[float, _within(0, above=True)]
Multiplier = Annotated[float, _within(1)]
RelaxedMultiplier = Annotated[float, _within(1, 10)]
UpdatePeriod = Annotated[int, Reads(_parse_update_period, refers_to("duration"))]
Volumes = Annotated[dict[str, int], Reads(_parse_volumes, refers_to("resources"))]
AtRoot = Annotated[None, Reads(_parse_at_root, {"not": {}})]
TagFilter = Annotated[str, Reads(_parse_tag_filter, {"type": "string"})]
Space = Annotated[int, Reads(parse_quantity, refers_to("quantity"))]
SortKey = Literal["weight", "start_time", "pending_job_count"]
FIFO_SORT: tuple[SortKey, ...] = ("weight", "start_time")
