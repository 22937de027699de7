"""What a preemption costs, in words."""

from __future__ import annotations

from collections.abc import Iterable

from cede.model.plan import Victim

SMALL = 1


def in_words(minutes: float, gpu_hours: float) -> str:
    """`375 min, 6 GPU-hours`; without GPUs only the first, and of less than a minute `1.1 s`."""
    return (seconds_in_words(minutes) or f"{amount(minutes)} min") + (
        f", {gpu_hours_in_words(gpu_hours)}" if gpu_hours else ""
    )


def seconds_in_words(minutes: float) -> str:
    """A part of a minute in seconds; nothing of more than that, or of none."""
    return f"{minutes * 60:.3g} s" if 0 < minutes < 1 else ""


def gpu_hours_in_words(hours: float) -> str:
    return f"{amount(hours)} GPU-hour{'' if hours == 1 else 's'}"


def cost_of(victims: Iterable[Victim]) -> str:
    """What they cost together, in words; nothing where it is not known, or all are leaving already."""
    known = [(one.cost, one.lost_gpu_hours or 0.0) for one in victims if one.cost is not None and not one.leaving]
    return in_words(sum(cost for cost, _ in known), sum(lost for _, lost in known)) if known else ""


def amount(value: float) -> str:
    """Two digits behind the point, of a small number three that count; no more zeros than needed."""
    text = f"{value:,.2f}" if abs(value) >= SMALL else f"{float(f'{value:.3g}'):.6f}"
    return text.rstrip("0").rstrip(".")
