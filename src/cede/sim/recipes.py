"""Recipes of made-up workloads: every number that `generate` draws by, and the named sets of them.

The numbers of the named ones follow what was published of real systems, or can be counted in their traces:
`philly-like` the analysis of Microsoft's Philly clusters (Jeon et al., USENIX ATC 2019) and its trace; `hpc-like` logs
of the Parallel Workloads Archive, foremost KTH SP2 (1996), and what is known of users' estimates (Mu'alem and
Feitelson, 2001); `inference-mix` Alibaba's cluster-trace-gpu-v2023, in which a good half of the pods are
latency-sensitive.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError

from cede.model.errors import InputError, Problem, did_you_mean
from cede.model.quantities import show_quantity
from cede.model.reading import read_value
from cede.model.reports import Hints, findings_of
from cede.model.resources import parse_resources
from cede.model.times import LIMIT_S
from cede.model.values import Amount, Count, Number, Part, Reads, Resources, number, whole
from cede.model.yaml_reading import plain_scalar
from cede.sim.durations import parse_span, show_span

Span = Annotated[int, Reads(parse_span, {"type": "string"})]
Share = Annotated[float, number(most=1)]
Jobs = Annotated[int, whole(least=1, most=10_000_000)]
Several = Annotated[int, whole(least=1, most=100_000)]


def _weights(least: int | None = None) -> Reads:
    """Reads whole numbers and how often each shall come."""
    value, weight = whole(least).parse, number().parse

    def parse(raw: object) -> dict[int, float]:
        if not isinstance(raw, Mapping) or not raw:
            raise ValueError("is no object of values and weights, as {1: 0.9, 8: 0.1}")
        # Keys are text where they were typed.
        weights = {value(plain_scalar(key) if isinstance(key, str) else key): weight(one) for key, one in raw.items()}
        if not sum(weights.values()) > 0:
            raise ValueError("gives no value a chance")
        return weights

    return Reads(parse, {"type": "object"})


Weights = Annotated[dict[int, float], _weights()]
Sizes = Annotated[dict[int, float], _weights(least=1)]
Exponent = Annotated[float, number(most=10)]
Rate = Annotated[float, number(most=1000)]


class Recipe(Part):
    """What jobs are like, and how they come. Shares are from 0 to 1, weights need not add up to anything."""

    recipe: str = Field("philly-like", description="The named set that was begun from.")
    jobs: Jobs = Field(10_000, description="How many jobs.")
    seed: Amount = Field(0, description="Of everything drawn.")

    per_hour: Number = Field(40.0, description="Jobs an hour on average, bursts included.")
    daily: Share = Field(0.25, description="How much the hour of the day matters: 0 not at all, 1 quiet nights.")
    peak_hour: Annotated[float, number(most=24)] = Field(14.0, description="The busiest hour of the day.")
    bursts_per_day: Rate = Field(3.0, description="How often a burst begins.")
    burst_length: Span = Field(5_400_000_000, description="How long one lasts on average.")
    burst_factor: Rate = Field(10.0, description="How many times as many jobs come in a burst.")

    resource: Literal["gpu", "cpu"] = Field("gpu", description="What sizes are counted in.")
    sizes: Sizes = Field(default_factory=lambda: {1: 1.0}, description="Sizes of jobs and how often each comes.")
    odd_share: Share = Field(0.0, description="Jobs of any size up to the largest, small ones more often.")
    node_size: Count = Field(8, description="A larger job is a gang of members that fill a node each.")
    beside: Resources = Field(default_factory=dict, description="What each unit of size asks for as well.")

    median: Span = Field(850_000_000, description="Half of the jobs of size 1, but for the tail, run shorter.")
    sigma: Exponent = Field(1.6, description="Of the logarithm of run times.")
    tail_share: Share = Field(0.06, description="Jobs whose run time is from the heavy tail.")
    tail_from: Span = Field(28_800_000_000, description="Where the tail begins.")
    tail_index: Exponent = Field(1.1, description="The tail's exponent: the lower, the heavier.")
    size_exponent: Exponent = Field(0.0, description="Larger jobs run longer: times size to this power.")
    longest: Span = Field(5_184_000_000_000, description="No job runs longer.")

    queues: Several = Field(1, description="How many queues, team-1 the busiest.")
    queue_skew: Exponent = Field(1.5, description="Queue k gets a share like 1/k to this power.")
    users: Several = Field(300, description="How many users, about equally many in each queue.")
    user_skew: Exponent = Field(1.0, description="The same for the users of a queue.")
    priorities: Weights = Field(default_factory=lambda: {10: 0.7, 50: 0.2, 90: 0.1}, description="Of batch jobs.")

    checkpointing: Share = Field(0.0, description="Batch jobs that checkpoint by themselves.")
    checkpoint_interval: Span = Field(1_800_000_000, description="How often those do.")
    checkpoint_time: Span = Field(30_000_000, description="How long one takes to write.")
    restart_time: Span = Field(60_000_000, description="How long it takes to start from one.")

    walltimes: Share = Field(0.0, description="Batch jobs with a walltime.")
    accuracy: Share = Field(0.4, description="Half of those run shorter than this share of it.")

    services: Share = Field(0.0, description="Jobs that are inference.")
    service_sizes: Sizes = Field(default_factory=lambda: {1: 1.0}, description="The sizes of those.")
    service_priority: Annotated[int, whole()] = Field(90, description="Their priority.")
    service_median: Span = Field(780_000_000, description="Their run time, as `median`.")
    service_sigma: Exponent = Field(1.8, description="And as `sigma`.")


NAMED: Mapping[str, Mapping[str, Any]] = {
    "philly-like": {
        "sizes": {1: 0.932, 2: 0.022, 4: 0.023, 8: 0.02, 16: 0.0024, 32: 0.0004, 64: 0.0001, 128: 0.0001},
        "size_exponent": 0.8,
        "queues": 15,
        "checkpointing": 0.5,
        "beside": {"cpu": 4, "memory": "32Gi"},
    },
    "hpc-like": {
        "per_hour": 3.6,
        "daily": 0.7,
        "bursts_per_day": 0.5,
        "burst_length": "1h",
        "burst_factor": 8,
        "resource": "cpu",
        "sizes": {1: 0.35, 2: 0.16, 4: 0.13, 8: 0.12, 16: 0.07, 32: 0.04, 64: 0.02},
        "odd_share": 0.26,
        "node_size": 1,
        "median": "14m",
        "sigma": 2.4,
        "tail_share": 0,
        "size_exponent": 0.05,
        "longest": "24h",
        "users": 214,
        "user_skew": 0.8,
        "priorities": {10: 1.0},
        "walltimes": 1,
        "accuracy": 0.55,
    },
    "inference-mix": {
        "per_hour": 60,
        "daily": 0.6,
        "bursts_per_day": 4,
        "burst_length": "45m",
        "burst_factor": 6,
        "sizes": {1: 0.6, 2: 0.15, 4: 0.12, 8: 0.1, 16: 0.02, 32: 0.01},
        "size_exponent": 0.4,
        "median": "10m",
        "sigma": 1.9,
        "tail_share": 0.05,
        "queues": 4,
        "queue_skew": 0.7,
        "users": 60,
        "priorities": {10: 0.6, 30: 0.4},
        "checkpointing": 0.6,
        "services": 0.55,
        "service_sizes": {1: 0.92, 2: 0.05, 4: 0.03},
        "beside": {"cpu": 8, "memory": "64Gi"},
    },
}
"""What each recipe says that the defaults do not."""


def recipe(name: str, **given: Any) -> Recipe:
    """The recipe of this name with these numbers instead of its own; an InputError names what is wrong."""
    if name not in NAMED:
        hint = did_you_mean(name, NAMED) or f"there are {', '.join(NAMED)}"
        raise InputError([Problem("recipe", f"there is no recipe {name!r}", hint)])
    try:
        made = Recipe.model_validate({**NAMED[name], **given, "recipe": name})
    except ValidationError as error:
        raise InputError(one.problem() for one in findings_of(error, Recipe, Hints())) from None
    # Bursts may come late: as much room is left as times have.
    if made.jobs * 3600 > made.per_hour * LIMIT_S / 10:
        raise InputError(
            [Problem("per_hour", f"{made.per_hour:g} is too small: {made.jobs:,} jobs would take too long")]
        )
    return made


def parse_settings(texts: list[str]) -> dict[str, Any]:
    """What `--set key=value` says, as plain data; `{...}` and lists as in YAML."""
    settings: dict[str, Any] = {}
    for text in texts:
        key, is_set, value = text.partition("=")
        if not is_set:
            raise InputError([Problem(f"--set {text}", "gives no value; write key=value")])
        settings[key.strip()] = read_value(value, name=f"--set {key.strip()}", keys_as_text=True)
    return settings


def shown_value(key: str, value: Any) -> Any:
    """A number of a recipe as one would write it."""
    parse = next((mark.parse for mark in Recipe.model_fields[key].metadata if isinstance(mark, Reads)), None)
    if parse is parse_span:
        return show_span(value)
    if parse is parse_resources:
        return {name: show_quantity(name, nano) for name, nano in value.items()}
    return value
