"""Completion for the shell: the script that makes it, shown or put where the shell finds it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import PurePath
from typing import Annotated

import typer

from cede.model.errors import InputError, Problem, shown

SHELLS = ("bash", "zsh", "fish")
INSTALL, SHOW = "--install-completion", "--show-completion"
PROGRAM, VARIABLE = "cede", "_CEDE_COMPLETE"


def prepare() -> None:
    """Let Typer answer, if it is a shell that asks."""
    if VARIABLE in os.environ:
        from typer.completion import completion_init  # type: ignore[attr-defined]

        completion_init()


def with_shell(arguments: Sequence[str]) -> list[str]:
    """The arguments, with the shell this runs in where one of the two options names none."""
    given = list(arguments)
    return [*given, _present()] if given and given[-1] in (INSTALL, SHOW) else given


def _present() -> str:
    from shellingham import ShellDetectionFailure, detect_shell  # type: ignore[import-untyped]

    try:
        name: str = detect_shell()[0]
    except ShellDetectionFailure:
        name = PurePath(os.environ.get("SHELL", "")).name
    return name if name in SHELLS else SHELLS[0]


def _checked(shell: str) -> str:
    if shell not in SHELLS:
        raise InputError([Problem("", f"{shown(shell)} is none of {', '.join(SHELLS)}")])
    return shell


def _show_script(shell: str | None) -> None:
    if shell is not None:
        from typer.completion import get_completion_script  # type: ignore[attr-defined]

        typer.echo(get_completion_script(prog_name=PROGRAM, complete_var=VARIABLE, shell=_checked(shell)))
        raise typer.Exit


def _install_script(shell: str | None) -> None:
    if shell is not None:
        from typer.completion import install  # type: ignore[attr-defined]

        name, path = install(shell=_checked(shell), prog_name=PROGRAM, complete_var=VARIABLE)
        typer.echo(f"{name} completes cede from its next start on: {path}")
        raise typer.Exit


Install = Annotated[
    str | None,
    typer.Option(
        INSTALL,
        metavar="[SHELL]",
        callback=_install_script,
        is_eager=True,
        expose_value=False,
        help="Let the shell complete commands, options and names: bash, zsh or fish; else the present one.",
    ),
]
Show = Annotated[
    str | None,
    typer.Option(
        SHOW,
        metavar="[SHELL]",
        callback=_show_script,
        is_eager=True,
        expose_value=False,
        help="Print the script that does it.",
    ),
]
