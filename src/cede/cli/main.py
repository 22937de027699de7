"""The `cede` command: it finds the command asked for and runs it; each command is a file beside this one.

A command's file is imported when the command is used. What is heavy (numpy, pydantic, YAML, Rich) is imported inside
the commands, so that `cede --help` and completion answer at once.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, MutableMapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from cede.cli import completion
from cede.cli.failures import guarded

SECTIONS = {
    "Commands about cluster files": (
        *("plan", "shares", "diff", "settle", "lint", "show", "import", "doctrines", "schema", "bench"),
    ),
    "Commands to replay traces": ("simulate", "compare", "generate", "trace"),
    "Commands to run a scheduler": ("serve", "demo"),
    "Commands about workloads of a running server": (
        *("submit", "ps", "status", "logs", "wait", "why", "cancel", "suspend", "resume", "checkpoint"),
    ),
    "Commands about a running server": (
        *("top", "queues", "nodes", "events", "decisions", "snapshot", "export", "token", "audit", "orphans"),
    ),
}
"""In the order of the help. Each is a module here with a Typer named `app`; one that is not there is not offered."""

COMMANDS = tuple(name for names in SECTIONS.values() for name in names)
LIVE = COMMANDS[COMMANDS.index("serve") :]
"""Those that are a server or need one; `plan` and `diff` may ask one too."""

MODULES = {"import": "import_command"} | {name: f"live.{name}" for name in LIVE}
"""The modules of commands that are not called so, or live elsewhere."""

EPILOG = (
    "FILE may be `-` for standard input. Exit codes: 0 done; 1 `lint --strict` or `audit --verify` found something, or "
    "one of several workloads that were waited for did not complete; 2 what was given cannot be used; 70 an error of "
    "Cede's own; 124 `wait --timeout`; 130 a replay was interrupted. `wait` and `submit --wait` or `-f` of one "
    "workload have its exit code, and 128+N if signal N ended it."
)


class _Modules(MutableMapping[str, Any]):
    """Commands by name, each made from its module when it is looked up."""

    def __init__(self) -> None:
        self._made: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._made:
            if name not in set(self):
                raise KeyError(name)
            command = typer.main.get_command(import_module(_module(name)).app)
            command.name = name
            _let_trust(command)
            self._made[name] = command
        return self._made[name]

    def __setitem__(self, name: str, command: Any) -> None:
        self._made[name] = command

    def __delitem__(self, name: str) -> None:
        del self._made[name]

    def __iter__(self) -> Iterator[str]:
        return (name for name in COMMANDS if name in self._made or _is_there(name))

    def __len__(self) -> int:
        return len(list(iter(self)))


def _module(name: str) -> str:
    return f"cede.cli.{MODULES.get(name, name)}"


def _is_there(name: str) -> bool:
    spec = find_spec(_module(name))
    return spec is not None and spec.origin is not None


def _let_trust(command: Any) -> None:
    """Whatever asks a server can be told whose certificates to trust."""
    for one in getattr(command, "commands", {}).values():
        _let_trust(one)
    if any(option.name == "url" for option in command.params):
        from cede.cli.live.connection import trusting

        command.params += typer.main.get_command(trusting).params


class _Commands(TyperGroup):
    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.commands = _Modules()

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """The commands in sections, each with the first sentence of its help."""
        longest = max(map(len, COMMANDS))
        for title, names in SECTIONS.items():
            commands = [(name, self.get_command(ctx, name)) for name in names]
            limit = formatter.width - 6 - longest
            rows = [(name.ljust(longest), one.get_short_help_str(limit)) for name, one in commands if one is not None]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)


app = typer.Typer(
    cls=_Commands,
    add_completion=False,  # Typer's options guess the shell and cannot be told it; ours can
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=EPILOG,
)


def _version(asked: bool) -> None:
    if asked:
        from cede import __version__

        typer.echo(f"cede {__version__}")
        raise typer.Exit


@app.callback()
def cede(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
    _install: completion.Install = None,
    _show: completion.Show = None,
) -> None:
    """Decide which work is preempted for which, when, at what cost, and why.

    Start with: cede demo, or: cede plan examples/threshold.yaml --explain
    """


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `cede` with these arguments, or with those of the process; the exit code."""
    given = completion.with_shell(sys.argv[1:] if arguments is None else arguments)
    completion.prepare()
    command = typer.main.get_command(app)
    return guarded(lambda: command.main(args=given, prog_name="cede"))
