"""`cede serve`: the scheduler itself, in one process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from cede.cli.options import DEFAULT_SIZE, Doctrine, MaxSize, example
from cede.model.errors import CedeError

if TYPE_CHECKING:
    from cede.live.config import ServerConfig
    from cede.live.server import Ready
    from cede.model.cluster import ClusterFile

LEVELS = ("debug", "info", "warning", "error")

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(epilog=example("cede serve --nodes 4"))
def serve(
    cluster: Annotated[
        str | None,
        typer.Argument(
            metavar="[CLUSTER]",
            help="A cluster file; its nodes are logical nodes of this machine. Else the last one, else one node.",
        ),
    ] = None,
    config: Annotated[
        str | None, typer.Option(metavar="FILE", help="Times, users, retention and the like, as YAML.")
    ] = None,
    data: Annotated[
        str | None,
        typer.Option(metavar="DIR", help="Where it keeps everything; else $CEDE_DATA, else a place of yours."),
    ] = None,
    host: Annotated[str | None, typer.Option(metavar="ADDRESS", help="Where to listen; else 127.0.0.1.")] = None,
    port: Annotated[
        int | None, typer.Option(metavar="N", min=0, max=65535, help="Its port; 0 takes a free one; else 8642.")
    ] = None,
    tls_cert: Annotated[
        str | None, typer.Option(metavar="FILE", help="Its certificate (PEM); with it the server speaks https.")
    ] = None,
    tls_key: Annotated[
        str | None, typer.Option(metavar="FILE", help="The key of the certificate; else in the same file.")
    ] = None,
    insecure: Annotated[
        bool, typer.Option("--insecure", help="Listen beyond this machine without TLS: others can read every token.")
    ] = False,
    nodes: Annotated[
        int | None, typer.Option(metavar="N", min=1, max=1000, help="Present this machine as N logical nodes.")
    ] = None,
    account: Annotated[
        list[str] | None,
        typer.Option(metavar="USER=ACCOUNT", help="As root: the unix account whose rights a user's jobs have."),
    ] = None,
    log_level: Annotated[
        str, typer.Option(metavar="LEVEL", help=f"What goes to standard error: {', '.join(LEVELS)}.")
    ] = "warning",
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object when it listens.")] = False,
    doctrine: Doctrine = None,
    max_size: MaxSize = DEFAULT_SIZE,
) -> None:
    """Run a scheduler on this machine, in one process.

    Without a file the cluster is this machine. Ctrl-C or SIGTERM ends it; jobs go on, and are taken over by the next
    start. SIGHUP makes it read its configuration again. Users are told apart by tokens: `cede token create`.
    """
    from cede.cli.live.config import folder_of, read_config
    from cede.live.server import LiveServer

    _log(log_level)
    over = {"host": host, "port": port, "data": folder_of(data), "insecure": insecure or None}
    over |= {"tls_cert": folder_of(tls_cert), "tls_key": folder_of(tls_key)}

    def read() -> ServerConfig:
        return read_config(config, account or (), **over)

    settings = read()
    document = served_document(cluster, nodes, doctrine, max_size)
    # It tells when it is up; nobody may wait for the buffer to be full.
    server = LiveServer(settings, document, nodes=nodes or 1)
    with _saying_what_lacks(settings):
        server.run(lambda ready: _tell(ready, settings, json=json), None if config is None else read)


@contextmanager
def _saying_what_lacks(settings: ServerConfig) -> Iterator[None]:
    """A server that ends because nothing can be written to its data directory says so, whatever failed by that."""
    from cede.live.data_directory import data_directory
    from cede.live.disk import why_unwritable
    from cede.live.store.errors import StoreError

    try:
        yield
    except (OSError, StoreError) as error:
        if not isinstance(error, BrokenPipeError) and (reason := why_unwritable(settings.data or data_directory())):
            raise CedeError(reason) from error
        raise


def served_document(cluster: str | None, nodes: int | None, doctrine: str | None, max_size: str) -> ClusterFile | None:
    """The cluster that options ask for; none: that of last time, or this machine."""
    from cede.cli.failures import about
    from cede.cli.source import cluster_of, name_of, read_what_if
    from cede.live.server import check_no_workloads, machine_document
    from cede.model.errors import InputError, Problem

    if cluster is None:
        if doctrine is not None:
            _know(doctrine, nodes)
        return None if nodes is None else machine_document(nodes)
    if nodes is not None:
        raise InputError([Problem("--nodes", "stands beside a cluster file, which has nodes of its own")])
    document = cluster_of(cluster, *read_what_if(cluster, max_size, doctrine, None, None, None)).document
    with about(name_of(cluster)):
        check_no_workloads(document)
    return document


def _know(doctrine: str, nodes: int | None) -> None:
    """Load the file of the doctrine by which the cluster of last time is decided; that says itself by which."""
    from cede.engine.doctrine_files import load_doctrine, split_file
    from cede.model.errors import InputError, Problem

    path, edition = split_file(doctrine)
    if path is None or edition or nodes is not None:
        raise InputError([Problem(f"--doctrine {doctrine}", "is for a cluster file", "name the file too")])
    load_doctrine(path)


def _log(level: str) -> None:
    import logging

    from cede.model.errors import InputError, Problem, did_you_mean, shown

    if level not in LEVELS:
        hint = did_you_mean(level, LEVELS) or f"one of {', '.join(LEVELS)}"
        raise InputError([Problem("--log-level", f"{shown(level)} is no level", hint)])
    form = "%(asctime)s %(levelname)s %(name)s: %(message)s"
    logging.basicConfig(level=level.upper(), format=form)


def _tell(ready: Ready, config: ServerConfig, *, json: bool) -> None:
    """Everything whoever started it must know; the first token is shown this once."""
    import sys
    from json import dumps

    from cede.cli.live.config import rights

    if json:
        told = {
            "url": ready.url,
            "data": str(ready.data),
            "token": ready.token,
            "rights": rights(config.users),
            "adopted": ready.adopted,
            "notices": list(ready.notices),
        }
        print(dumps(told), flush=True)
        return
    from cede import __version__
    from cede.cli.output import console, number, text

    out = console()

    def say(label: str, what: str, style: str = "") -> None:
        out.print(text(f"  {label:<9}", "dim") + text(what, style, most=None), soft_wrap=True)

    out.print(text(f"Cede {__version__} serves at ", "bold") + text(ready.url, "bold cyan"), soft_wrap=True)
    say("data", str(ready.data))
    say("rights", rights(config.users), "yellow" if "nobody can" in rights(config.users) else "")
    if ready.token is not None:
        say("token", f"{ready.token}", "bold")
        say("", "of the user admin; it is not shown again. Elsewhere: CEDE_URL and CEDE_TOKEN")
    say("local", f"commands of this account need no token{_how(ready)}")
    if ready.adopted:
        say("adopted", f"{number(ready.adopted, 'workload')} of the time before")
    for notice in ready.notices:
        say("notice", notice, "yellow")
    sys.stdout.flush()


def _how(ready: Ready) -> str:
    """What commands must be told to find a server that is not at the usual place."""
    from cede.live.data_directory import data_directory

    usual = data_directory()
    return "" if ready.data == usual.absolute().resolve() else f", but --data {ready.data}, or CEDE_DATA"
