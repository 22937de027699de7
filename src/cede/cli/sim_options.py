"""The options of commands that replay traces, and what they stand for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cede.cli.options import DEFAULT_SIZE
from cede.model.errors import InputError, Problem

if TYPE_CHECKING:
    from cede.engine.cluster import Cluster as Loaded
    from cede.engine.whatif import WhatIf
    from cede.sim.compare import Variant
    from cede.sim.measures.measure import Yard
    from cede.sim.traces.trace import Trace


Cluster = Annotated[
    str,
    typer.Option(
        metavar="FILE",
        help="The cluster to replay on; its workloads are there when the replay begins. `-` is standard input.",
    ),
]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="PATH=VALUE",
        help="Give a value in the cluster file, as 'queues[a].settings.preemptible_priority=7'; null takes the key "
        "away.",
    ),
]
Queue = Annotated[str | None, typer.Option(metavar="NAME", help="The queue of all jobs, whatever the trace says.")]
Until = Annotated[
    str | None, typer.Option(metavar="TIME", help="Stop then: a length of time from the first submission, or RFC 3339.")
]
Seed = Annotated[int, typer.Option(metavar="N", min=0, help="Of what is drawn: faults and shaken arrivals.")]
ShakeBy = Annotated[
    str | None, typer.Option(metavar="TIME", help="Move every arrival by up to this, drawn with the seed.")
]
Faults = Annotated[str | None, typer.Option(metavar="FILE", help="Nodes fail and are drained as this file says.")]
Mtbf = Annotated[
    str | None, typer.Option(metavar="TIME", help="Nodes fail at random: each is well for so long on average.")
]
Breaker = Annotated[
    bool,
    typer.Option(
        "--breaker",
        help="Slow down workloads that fail again and again or evict each other in a circle, as a server does.",
    ),
]
Mttr = Annotated[str | None, typer.Option(metavar="TIME", help="And then down for so long on average.")]
Backfill = Annotated[
    str,
    typer.Option(
        metavar="HOW",
        help="Which jobs may pass one that waits at the head: those that do not delay it (easy), none (strict), as the "
        "doctrine lets (off); auto is easy where jobs have walltimes.",
    ),
]
Overrun = Annotated[
    str,
    typer.Option(
        metavar="HOW",
        help="Walltimes that jobs ran beyond: keep them, so that EASY reckons with an end that does not come, or "
        "extend them to the run time.",
    ),
]
Checkpoint = Annotated[
    str | None,
    typer.Option(metavar="MODE", help="Where the trace does not say: auto, jobs save when asked; none, they do not."),
]
CheckpointInterval = Annotated[
    str | None, typer.Option(metavar="TIME", help="Jobs that do not say save by themselves so often.")
]
CheckpointTime = Annotated[str | None, typer.Option(metavar="TIME", help="Writing a checkpoint takes them so long.")]
RestartTime = Annotated[str | None, typer.Option(metavar="TIME", help="Going on from one takes them so long.")]
Grace = Annotated[str | None, typer.Option(metavar="TIME", help="From SIGTERM to SIGKILL; 30s by default.")]
StopTime = Annotated[
    str | None, typer.Option(metavar="TIME", help="From SIGTERM until a job's room is free, within the grace period.")
]
StartDelay = Annotated[str | None, typer.Option(metavar="TIME", help="From a decision until a job works.")]
WarmUp = Annotated[
    float, typer.Option(metavar="SHARE", min=0, help="Do not count the first jobs, this share of all: 0.01 is 1 %.")
]
Target = Annotated[
    list[str] | None,
    typer.Option(
        metavar="PRIORITY=TIME",
        help="Jobs of this priority should start within this time; those that do not are counted.",
    ),
]
Price = Annotated[
    list[str] | None,
    typer.Option(metavar="RESOURCE=PRICE", help="Price of one unit for an hour, as gpu=2.5."),
]
Force = Annotated[bool, typer.Option("--force", help="Replace what an earlier replay left there.")]
NoProgress = Annotated[bool, typer.Option("--no-progress", help="Show no progress bar.")]


def read_cluster(file: str, doctrine: str | None, set_: list[str] | None) -> tuple[object, WhatIf]:
    """The plain data of the cluster file, and the changes asked for."""
    from cede.cli.source import read_what_if

    return read_what_if(file, DEFAULT_SIZE, None if doctrine is None else doctrine_text(doctrine), None, set_, None)


def doctrine_text(text: str) -> str:
    """A doctrine as NAME or NAME/EDITION; a colon will do as well. One in a file is loaded, and named."""
    from cede.engine.doctrine_files import named

    name, colon, edition = text.strip().partition(":")
    return named(f"{name}/{edition}" if colon else name)


def check_warm_up(share: float) -> None:
    """An InputError if nothing would be left to count."""
    from cede.model.errors import InputError, Problem

    if not 0 <= share < 1:
        message = f"{share:g} is no share of the jobs that leaves any"
        raise InputError([Problem("--warm-up", message, "write 0.01 for the first 1 %")])


def yard_of(target: list[str] | None, price: list[str] | None) -> Yard:
    """The target waits and prices that were given; an InputError says what is wrong with one."""
    from cede.model.errors import InputError, Problem
    from cede.sim.durations import parse_span
    from cede.sim.measures.measure import Yard

    targets: dict[int, int] = {}
    prices: dict[str, float] = {}
    for text in target or ():
        priority, _, time = text.partition("=")
        try:
            targets[int(priority)] = parse_span(time)
        except ValueError as error:
            message = str(error) if time and "literal" not in str(error) else "is no PRIORITY=TIME"
            raise InputError([Problem(f"--target {text}", message, "write --target 90=5m")]) from None
    for text in price or ():
        resource, _, amount = text.partition("=")
        try:
            prices[resource.strip()] = float(amount)
        except ValueError:
            raise InputError([Problem(f"--price {text}", "is no RESOURCE=PRICE", "write --price gpu=2.5")]) from None
        if not resource.strip() or not 0 <= prices[resource.strip()] < float("inf"):
            raise InputError([Problem(f"--price {text}", "is no price of 0 or more")])
    return Yard(targets, prices)


def check_yard(yard: Yard, trace: Trace, cluster: Loaded) -> None:
    """An InputError if a target or a price is for what there is not: it would be counted as met, or as free."""
    from cede.model.errors import InputError, Problem, did_you_mean

    # A job without a priority counts as 0.
    ranks = set(trace.jobs["priority"].fill_null(0).to_list()) | {w.priority or 0 for w in cluster.document.workloads}
    resources = {name for shape in trace.shapes for name in shape.requests}
    resources.update(name for node in cluster.document.nodes for name in node.capacity)
    problems = [
        Problem(f"--target {rank}", "no job has this priority", f"there are {_listed(ranks)}")
        for rank in yard.targets
        if rank not in ranks
    ]
    problems += [
        Problem(
            f"--price {name}",
            "no node has it, and no job asks for it",
            did_you_mean(name, resources) or f"there are {_listed(resources)}",
        )
        for name in yard.prices
        if name not in resources
    ]
    if problems:
        raise InputError(problems)


def _listed(names: Iterable[Any]) -> str:
    return ", ".join(map(str, sorted(names)))


def given(**values: Any) -> dict[str, Any]:
    """Those that were said."""
    return {name: value for name, value in values.items() if value not in (None, [], ())}


def command_of(name: str, settings: Mapping[str, Any]) -> str:
    """The command that asks for the same again."""
    import shlex

    words = ["cede", name, str(settings["trace"])]
    for key, value in settings.items():
        if key != "trace":
            for one in value if isinstance(value, list) else [value]:
                words += [f"--{key.replace('_', '-')}", str(one)]
    return shlex.join(words)


def digest_of(file: str) -> str | None:
    """The SHA-256 of a file's bytes; none of standard input."""
    import hashlib
    from pathlib import Path

    if file == "-":
        return None
    digest = hashlib.sha256()
    with Path(file).open("rb") as stream:
        while block := stream.read(2**20):
            digest.update(block)
    return digest.hexdigest()


AS_IT_IS = "as it is"
EVERY = "all"
DOCTRINE = "doctrine"
FILE = "@"
HINT = "write LABEL:PATH=VALUE, as 'low bar:queues[a].settings.preemptible_priority=3', or LABEL:@FILE"
OPENS, CLOSES = "[{(", "]})"


def variants_of(doctrines: str | None, vary: Sequence[str], base: WhatIf) -> list[Variant]:
    """One for each doctrine and one for each variation; without doctrines the file as it is comes first."""
    from cede.doctrines.catalog import DOCUMENTED
    from cede.engine.whatif import WhatIf
    from cede.sim.compare import Variant

    if doctrines is None and not vary:
        raise InputError([Problem("--doctrines", "is missing", "name what to compare, as --doctrines all")])
    variants = [Variant(AS_IT_IS, base)] if doctrines is None else []
    for text in () if doctrines is None else doctrines.split(","):
        name = doctrine_text(text)
        if not name:
            raise InputError([Problem(f"--doctrines {doctrines}", "one of the names is empty")])
        names = DOCUMENTED if name == EVERY else (name,)
        variants += [Variant(one, WhatIf(one, set=base.set)) for one in names]
    return [*variants, *map(partial(_variant, base), vary)]


def _variant(base: WhatIf, text: str) -> Variant:
    """The cluster file, or another one, with the doctrine and the values that the text names."""
    from cede.engine.whatif import WhatIf
    from cede.sim.compare import Variant

    label, colon, rest = text.partition(":")
    if not colon or "=" in label or not label.strip():
        raise InputError([Problem(f"--vary {text}", "has no label", HINT)])
    doctrine = file = None
    values = []
    for part in _parts(rest):
        path, _, value = part.partition("=")
        if part.startswith(FILE):
            file = part.removeprefix(FILE)
        elif path.strip() == DOCTRINE:
            doctrine = doctrine_text(value)
        else:
            values.append(part)
    if doctrine is None and file is None and not values:
        raise InputError([Problem(f"--vary {text}", "changes nothing", HINT)])
    plain = None if file is None else read_cluster(file, None, None)[0]
    return Variant(label.strip(), WhatIf(doctrine, set=(*base.set, *values)), plain, file)


def _parts(text: str) -> Iterator[str]:
    """What stands between commas that are in no brackets."""
    depth = begin = 0
    for at, character in enumerate(text):
        depth += (character in OPENS) - (character in CLOSES)
        if character == "," and depth <= 0:
            yield text[begin:at].strip()
            begin = at + 1
    if text[begin:].strip():
        yield text[begin:].strip()
