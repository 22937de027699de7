"""Made-up workloads with heavy tails, bursts and gangs: the same recipe and seed give the same trace, bit for bit.

Arrivals are a Poisson process whose rate follows the hour of the day and bursts. Run times are lognormal with a Pareto
tail. Users and queues are busy by a power law. Each of these draws from a stream of its own, so that another number of
one of them changes only what it is about.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import polars as pl

from cede.model.errors import InputError, Problem
from cede.model.quantities import NANO
from cede.model.times import SECOND
from cede.sim.recipes import NAMED, Recipe, parse_settings, recipe
from cede.sim.traces.trace import COLUMNS, Shape, Trace

__all__ = ["NAMED", "Recipe", "generate", "parse_settings", "recipe"]

STREAMS = (
    "arrivals",
    "bursts",
    "services",
    "sizes",
    "durations",
    "queues",
    "users",
    "priorities",
    "saving",
    "walltimes",
)
BIN_S = 60.0
MOST_BINS = 4_000_000
MOST_BURSTS = 4_000_000
DAY_S = 86400.0
HOUR_S = 3600.0
ESTIMATES_S = np.array(
    [60, 120, 300, 600, 900, 1200, 1800, 2700, 3600, 7200, 10800, 14400, 21600, 28800, 43200, 64800, 86400, 129600]
    + [days * 86400 for days in (2, 2.5, 3, 4, 5, 7, 10, 14, 21, 30, 45, 60, 90, 180, 365)]
)
"""Walltimes are what people ask for, who like round numbers."""

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Draws = np.random.Generator


def generate(recipe: Recipe) -> Trace:
    """A trace of made-up jobs, submitted from time 0 on."""
    count = recipe.jobs
    seeds = np.random.SeedSequence(recipe.seed).spawn(len(STREAMS))
    draws = {name: np.random.Generator(np.random.PCG64(seed)) for name, seed in zip(STREAMS, seeds, strict=True)}
    submitted = _arrivals(recipe, draws["arrivals"], draws["bursts"])
    serves = draws["services"].random(count) < recipe.services
    sizes = np.where(
        serves,
        _weighted(recipe.service_sizes, draws["sizes"].random(count)),
        _sizes(recipe, draws["sizes"].random((3, count))),
    )
    duration = _durations(recipe, draws["durations"], sizes, serves)
    queue, user = _owners(recipe, draws["queues"], draws["users"])
    priority = np.where(
        serves, recipe.service_priority, _weighted(recipe.priorities, draws["priorities"].random(count))
    )
    saves = (draws["saving"].random(count) < recipe.checkpointing) & ~serves
    walltime = _walltimes(recipe, draws["walltimes"], duration)
    estimated = (draws["walltimes"].random(count) < recipe.walltimes) & ~serves
    distinct, shape = np.unique(sizes, return_inverse=True)
    table = pl.DataFrame(
        {
            "name": _names(count),
            "shape": shape,
            "submitted": submitted,
            "duration": duration,
            "walltime": _where(estimated, walltime),
            "queue": queue,
            "user": user,
            "project": None,
            "kind": _where(serves, "inference"),
            "priority": priority,
            "job_priority": None,
            "preemptible": True,
            "preempts": True,
            "checkpoint": pl.select(pl.when(pl.lit(pl.Series(saves))).then(pl.lit("auto")).otherwise(pl.lit("none"))),
            "checkpoint_interval": _where(saves, recipe.checkpoint_interval),
            "checkpoint_time": _where(saves, recipe.checkpoint_time),
            "restart_time": _where(saves, recipe.restart_time),
            "outcome": None,
            "started": None,
            "evictions": None,
        },
    ).select(pl.col(name).cast(dtype) for name, dtype in COLUMNS.items())
    shapes = tuple(_shape(recipe, size) for size in distinct.tolist())
    note = f"Every job is made up: recipe {recipe.recipe}, seed {recipe.seed}{_changes(recipe)}."
    return Trace(table, shapes, "generated", (note,))


def _changes(made: Recipe) -> str:
    """What was asked for that the named recipe has otherwise."""
    named = recipe(made.recipe)
    keys = [key for key in Recipe.model_fields if key not in ("recipe", "jobs", "seed")]
    changed = [key for key in keys if getattr(made, key) != getattr(named, key)]
    return f", with another {', '.join(changed)}" if changed else ""


def _where(mask: npt.NDArray[np.bool_], value: Ints | str | int) -> pl.Series:
    """The value where the mask holds, else null."""
    given = pl.Series(value) if isinstance(value, np.ndarray) else pl.repeat(value, len(mask), eager=True)
    return given.zip_with(pl.Series(mask), pl.repeat(None, len(mask), dtype=given.dtype, eager=True))


def _names(count: int) -> pl.Series:
    numbers = pl.int_range(1, count + 1, eager=True).cast(pl.String)
    return "job-" + numbers.str.zfill(len(str(count)))


# -- when ------------------------------------------------------------------------------------------------------


def _arrivals(recipe: Recipe, draws: Draws, bursts: Draws) -> Ints:
    """When each job is submitted: as many events of a Poisson process whose rate changes from minute to minute.

    To the millisecond: the last bits of a logarithm are not the same on every machine.
    """
    wanted = np.cumsum(draws.standard_exponential(recipe.jobs))
    length_s = recipe.burst_length / SECOND
    extra = max(0.0, recipe.burst_factor - 1)
    busy = recipe.bursts_per_day * length_s / DAY_S
    rate = recipe.per_hour / HOUR_S / (1 + busy * extra)
    # Bursts only add, and a day has the mean rate: by then all have come.
    horizon_s = (math.ceil(wanted[-1] / rate / DAY_S) + 1) * DAY_S
    expected = recipe.bursts_per_day * horizon_s / DAY_S
    if expected > MOST_BURSTS:
        raise InputError(
            [Problem("bursts_per_day", f"makes about {expected:,.0f} bursts; the most is {MOST_BURSTS:,}")]
        )
    width_s = max(BIN_S, horizon_s / MOST_BINS)
    edges = np.arange(0, horizon_s + width_s, width_s)
    hours = (edges[:-1] + width_s / 2) / HOUR_S
    level = 1 + recipe.daily * np.cos(2 * np.pi * (hours - recipe.peak_hour) / 24)
    level += extra * _under_way(bursts, expected, length_s, edges)
    passed = np.concatenate(([0.0], np.cumsum(level * rate * width_s)))
    first = np.interp(wanted, passed, edges)
    return _whole((first - first[0]) * 1000) * 1000


def _under_way(draws: Draws, expected: float, length_s: float, edges: Floats) -> Floats:
    """How many bursts are under way in each bin."""
    count = int(draws.poisson(expected))
    begins = draws.random(count) * edges[-1]
    ends = begins + draws.standard_exponential(count) * length_s
    changes = np.zeros(len(edges) + 1)
    np.add.at(changes, np.searchsorted(edges, begins), 1)
    np.add.at(changes, np.searchsorted(edges, ends), -1)
    return np.asarray(np.cumsum(changes)[: len(edges) - 1])


def _whole(values: Floats) -> Ints:
    return np.rint(values).astype(np.int64)


# -- what ------------------------------------------------------------------------------------------------------


def _weighted(weights: Mapping[int, float], uniform: Floats) -> Ints:
    """One of the values for each draw, as often as its weight says."""
    values = sorted(weights)
    bounds = np.cumsum([weights[value] for value in values])
    indices = np.searchsorted(bounds, uniform * bounds[-1], side="right")
    return np.asarray(np.array(values, np.int64)[np.minimum(indices, len(values) - 1)])


def _sizes(recipe: Recipe, uniform: Floats) -> Ints:
    """Sizes of batch jobs: one of those given, or any, evenly by its logarithm."""
    given = _weighted(recipe.sizes, uniform[0])
    largest = max(recipe.sizes)
    any_size = np.floor(np.exp(uniform[1] * math.log(largest + 1))).astype(np.int64)
    return np.where(uniform[2] < recipe.odd_share, np.clip(any_size, 1, largest), given)


def _durations(recipe: Recipe, draws: Draws, sizes: Ints, serves: npt.NDArray[np.bool_]) -> Ints:
    """How long each job runs, in whole seconds from one on."""
    count = recipe.jobs
    median = np.where(serves, recipe.service_median, recipe.median) / SECOND
    sigma = np.where(serves, recipe.service_sigma, recipe.sigma)
    body = median * np.exp(sigma * draws.standard_normal(count))
    # A tail without a mean may draw what no float can hold; `longest` cuts it.
    with np.errstate(over="ignore"):
        tail = recipe.tail_from / SECOND * (1 - draws.random(count)) ** (-1 / max(recipe.tail_index, 1e-3))
        drawn = np.where(draws.random(count) < recipe.tail_share, tail, body)
        drawn *= np.where(serves, 1.0, sizes.astype(float) ** recipe.size_exponent)
    longest = max(1.0, recipe.longest / SECOND)
    return _whole(np.clip(drawn, 1.0, longest)) * SECOND


def _walltimes(recipe: Recipe, draws: Draws, duration: Ints) -> Ints:
    """What people ask for: the run time over a share of it that is drawn, up to the next round number.

    The share is even to the power that puts its median at `accuracy`.
    """
    power = math.log(max(recipe.accuracy, 1e-3)) / math.log(0.5)
    share = np.maximum(draws.random(recipe.jobs) ** power, 0.01)
    asked = np.minimum(duration / SECOND / share, ESTIMATES_S[-1])
    place = np.minimum(np.searchsorted(ESTIMATES_S, asked), len(ESTIMATES_S) - 1)
    # A job that may run longer than the last round number still asks for as long as it runs.
    return np.maximum(_whole(ESTIMATES_S[place]) * SECOND, duration)


def _owners(recipe: Recipe, of_queues: Draws, of_users: Draws) -> tuple[pl.Series, pl.Series]:
    """The queue of each job, and a user of that queue."""
    each = max(1, recipe.users // recipe.queues)
    queue = _ranked(recipe.queues, recipe.queue_skew, of_queues.random(recipe.jobs))
    user = _ranked(each, recipe.user_skew, of_users.random(recipe.jobs))
    queues = pl.Series([f"team-{number + 1}" for number in range(recipe.queues)])
    users = pl.Series([f"user-{team + 1}-{n + 1}" for team in range(recipe.queues) for n in range(each)])
    return queues.gather(pl.Series(queue)), users.gather(pl.Series(queue * each + user))


def _ranked(count: int, skew: float, uniform: Floats) -> Ints:
    """Numbers below `count`, the first the most frequent by a power law."""
    return _weighted({rank: (rank + 1.0) ** -skew for rank in range(count)}, uniform)


def _shape(recipe: Recipe, size: int) -> Shape:
    """One member, or members that fill a node each; the last may hold less than it asks for."""
    members = -(-size // recipe.node_size)
    each = -(-size // members)
    beside = {name: nano * each for name, nano in recipe.beside.items()}
    return Shape({recipe.resource: each * NANO, **beside}, members)
