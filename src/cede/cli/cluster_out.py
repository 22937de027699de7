"""The cluster file that a command writes to start from, beside a trace that was read or made up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from cede.sim.traces.trace import Trace

ClusterOut = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="Write a cluster file to start from: the queues found, with guarantees and settings of --doctrine.",
    ),
]
Nodes = Annotated[int | None, typer.Option(metavar="N", min=1, help="Its nodes; else the trace's own.")]
Gpus = Annotated[str | None, typer.Option(metavar="N", help="GPUs of each of them.")]
Cpus = Annotated[str | None, typer.Option(metavar="N", help="CPUs of each of them.")]
Memory = Annotated[str | None, typer.Option(metavar="SIZE", help="Memory of each of them, as 512Gi.")]


def write_cluster(
    trace: Trace,
    file: str | None,
    doctrine: str | None,
    *,
    nodes: int | None,
    gpus: str | None,
    cpus: str | None,
    memory: str | None,
) -> None:
    """Write the file if one is asked for; an InputError says which option is missing or wrong."""
    from cede.cli.import_command import write
    from cede.cli.yaml_writing import as_yaml, with_units
    from cede.doctrines.catalog import DEFAULT
    from cede.engine.doctrine_files import named
    from cede.model.errors import InputError, Problem
    from cede.sim.traces.starting_cluster import starting_cluster

    capacity = _capacity({"gpu": ("--gpus", gpus), "cpu": ("--cpus", cpus), "memory": ("--memory", memory)})
    if file is None:
        if nodes is not None or capacity:
            raise InputError([Problem("--nodes", "is for a cluster file", "add --cluster-out FILE")])
        return
    name, _, edition = named(doctrine or DEFAULT).partition("/")
    choice = {"name": name} | ({"edition": edition} if edition else {})
    write(file, as_yaml(with_units(starting_cluster(trace, choice, nodes=nodes, capacity=capacity))))


def _capacity(asked: dict[str, tuple[str, str | None]]) -> dict[str, int | str]:
    """What each node is to have."""
    from cede.model.errors import InputError, Problem
    from cede.model.quantities import format_quantity, parse_quantity

    capacity = {}
    for name, (option, value) in asked.items():
        try:
            if value is not None:
                capacity[name] = format_quantity(parse_quantity(value))
        except ValueError as error:
            raise InputError([Problem(option, str(error))]) from None
    return capacity
