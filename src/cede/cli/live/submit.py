"""`cede submit`: give a command to the scheduler."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from cede.cli.live.completion import queues
from cede.cli.live.connection import Data, Token, Url, connected
from cede.cli.options import Json, example

if TYPE_CHECKING:
    from cede.live.client import Client
    from cede.live.documents import Workload

app = typer.Typer(add_completion=False, rich_markup_mode=None)


def _choices(*known: str) -> Any:
    return lambda incomplete: [one for one in known if one.startswith(incomplete)]


KINDS = ("batch", "interactive", "inference", "service", "system")
PLACEMENTS = ("any", "tight", "spread")
REQUEUES = ("never", "on_node_failure", "always")
PROTOCOLS = ("signal", "shm", "grpc", "criu")
MODES = ("none", "auto", "manual", *(f"{mode}:{one}" for mode in ("auto", "manual") for one in PROTOCOLS))


class _Submit(TyperCommand):
    """Remembers whether a `--` parted the options from the command: whoever wrote it knows what is whose."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        given = list(args)
        rest = super().parse_args(ctx, args)
        command = ctx.params.get("command") or []
        ctx.obj = "--" in given[: len(given) - len(command)]
        return rest


@app.command(
    cls=_Submit,
    epilog=example("cede submit --cpu 2 --checkpoint auto:signal -- python train.py --epochs 10"),
    context_settings={"allow_interspersed_args": False},
)
def submit(
    ctx: typer.Context,
    command: Annotated[list[str], typer.Argument(metavar="COMMAND", help="What to run, with its arguments.")],
    name: Annotated[
        str | None, typer.Option(metavar="NAME", help="What to call it; else after the command, with a number.")
    ] = None,
    queue: Annotated[
        str | None, typer.Option(metavar="NAME", help="Its queue; else the server's default.", autocompletion=queues)
    ] = None,
    priority: Annotated[int | None, typer.Option(metavar="N", help="Its priority or preemption class.")] = None,
    cpu: Annotated[str | None, typer.Option(metavar="N", help="Cores of a member; as 2 or 500m; else 1.")] = None,
    memory: Annotated[str | None, typer.Option(metavar="SIZE", help="Memory of a member; as 512Mi or 4Gi.")] = None,
    gpu: Annotated[str | None, typer.Option(metavar="N", help="GPUs of a member.")] = None,
    request: Annotated[
        list[str] | None, typer.Option(metavar="NAME=AMOUNT", help="Another resource of a member.")
    ] = None,
    members: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="How many processes, started together or not at all.")
    ] = None,
    walltime: Annotated[str | None, typer.Option(metavar="TIME", help="It is ended after this; as 2h30m.")] = None,
    checkpoint: Annotated[
        str | None,
        typer.Option(
            metavar="MODE[:PROTOCOL]",
            help="How it saves its progress: none, auto or manual, and by signal, shm, grpc or criu.",
            autocompletion=_choices(*MODES),
        ),
    ] = None,
    env: Annotated[list[str] | None, typer.Option(metavar="NAME=VALUE", help="A variable of its environment.")] = None,
    cwd: Annotated[str | None, typer.Option(metavar="DIR", help="Where it runs; else here.")] = None,
    project: Annotated[str | None, typer.Option(metavar="NAME", help="The project it is for.")] = None,
    tenant: Annotated[
        str | None, typer.Option(metavar="NAME", help="The tenant whose quota it counts to; else your own.")
    ] = None,
    of_app: Annotated[
        str | None, typer.Option("--app", metavar="NAME", help="What it is a part of; under YTsaurus its operation.")
    ] = None,
    node: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="A node it may run on; give it again for more.")
    ] = None,
    kind: Annotated[
        str | None,
        typer.Option(metavar="KIND", help=f"One of {', '.join(KINDS)}.", autocompletion=_choices(*KINDS)),
    ] = None,
    placement: Annotated[
        str | None,
        typer.Option(
            metavar="HOW",
            help="Where its members go: any, tight or spread.",
            autocompletion=_choices(*PLACEMENTS),
        ),
    ] = None,
    requeue: Annotated[
        str | None,
        typer.Option(
            metavar="WHEN",
            help="Whether it queues again after a failure: never, on_node_failure, always.",
            autocompletion=_choices(*REQUEUES),
        ),
    ] = None,
    max_requeues: Annotated[int | None, typer.Option(metavar="N", min=0, help="How often at most.")] = None,
    preemptible: Annotated[
        bool | None, typer.Option("--preemptible/--no-preemptible", help="Whether it may be preempted.")
    ] = None,
    preempts: Annotated[
        bool | None, typer.Option("--preempts/--no-preempts", help="Whether others may be preempted for it.")
    ] = None,
    exclusive: Annotated[
        bool | None, typer.Option("--exclusive/--shared", help="Whether each member takes a whole node.")
    ] = None,
    sensitive: Annotated[
        bool | None, typer.Option("--sensitive", help="It is sensitive: every step of it is in the audit trail.")
    ] = None,
    checkpoint_timeout: Annotated[
        str | None, typer.Option(metavar="TIME", help="How long it may take to write a checkpoint.")
    ] = None,
    grace: Annotated[str | None, typer.Option(metavar="TIME", help="From SIGTERM to SIGKILL.")] = None,
    max_deferral: Annotated[
        str | None, typer.Option(metavar="TIME", help="How much time it may ask for before it saves.")
    ] = None,
    hold_timeout: Annotated[
        str | None, typer.Option(metavar="TIME", help="How long room is held while victims leave.")
    ] = None,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until it ended; exit codes as `cede wait`.")] = False,
    follow: Annotated[
        bool,
        typer.Option("--follow", "-f", help="The same, and print what it writes meanwhile; with --json on stderr."),
    ] = False,
    json: Json = False,
    url: Url = None,
    token: Token = None,
    data: Data = None,
) -> None:
    """Submit a command: it runs when there is room for it.

    Others may have to make way for it. It is durable when this returns. Standard error tells what will not go as it
    seems to be meant. A job reads nothing from standard input: what is piped here is refused.
    """
    from cede.cli.live.option_values import duration, pairs
    from cede.cli.live.submission import check_stdin, checkpoint_of, folder, misplaced, option_of, requests_of

    options = {name for one in ctx.command.params for name in (*one.opts, *one.secondary_opts) if name[:2] == "--"}
    hints = [check_stdin(), misplaced(command, options, parted=bool(ctx.obj))]

    times = {
        "checkpoint_timeout": checkpoint_timeout,
        "grace_period": grace,
        "max_deferral": max_deferral,
        "hold_timeout": hold_timeout,
    }
    more: dict[str, Any] = {
        "kind": kind,
        "placement": placement,
        "requeue": requeue,
        "max_requeues": max_requeues,
        "preemptible": preemptible,
        "preempts": preempts,
        "tenant": tenant,
        "app": of_app,
        "constraints": {"nodes": node} if node else None,
        "exclusive": exclusive,
        "sensitive": sensitive,
        "times": {key: duration(value) for key, value in times.items() if value is not None} or None,
    }
    with connected(url, token, data, option_of) as client:
        job = client.submit(
            command,
            name=name,
            queue=queue,
            priority=priority,
            project=project,
            requests=requests_of(cpu, memory, gpu, request or ()),
            members=members,
            walltime=None if walltime is None else duration(walltime),
            checkpoint=checkpoint_of(checkpoint),
            env=pairs("--env", env, "NAME=VALUE") if env else None,
            cwd=folder(cwd),
            **more,
        )
        _tell(job, [hint for hint in hints if hint], json=json and not (wait or follow), quietly=json)
        if wait or follow:
            raise typer.Exit(_until_ended(client, job, follow=follow, json=json))


def _tell(job: Workload, hints: Sequence[str], *, json: bool, quietly: bool) -> None:
    """What became of it at once; warnings and hints go to standard error."""
    import sys

    from cede.cli.failures import printable
    from cede.cli.live.workload_commands import line
    from cede.cli.output import console, emit_json

    if json:
        emit_json(job)
    elif not quietly:
        console().print(line(job))
    sys.stdout.flush()
    for warning in job["warnings"]:
        print(f"warning: {printable(warning)}", file=sys.stderr)
    for hint in hints:
        print(f"hint: {printable(hint)}", file=sys.stderr)


def _until_ended(client: Client, job: Workload, *, follow: bool, json: bool) -> int:
    from cede.cli.live.submission import print_all
    from cede.cli.live.wait import code_of
    from cede.cli.live.workload_commands import line
    from cede.cli.output import console, emit_json

    if follow:
        print_all(client, job, aside=json)
    ended = client.wait(job["name"])
    if json:
        emit_json(ended)
    else:
        console().print(line(ended))
    return code_of([ended])
