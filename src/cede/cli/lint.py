"""`cede lint`: what a cluster file says that cannot be meant."""

from __future__ import annotations

from typing import Annotated

import typer

from cede.cli.options import DEFAULT_SIZE, File, Json, MaxSize, example

app = typer.Typer(add_completion=False, rich_markup_mode=None)

MOST_FINDINGS = 200


@app.command(epilog=example("cede lint examples/swap-own-jobs.yaml --strict"))
def lint(
    file: File,
    json: Json = False,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 1 if there is any finding.")] = False,
    max_size: MaxSize = DEFAULT_SIZE,
) -> None:
    """Find what cannot be meant.

    Limits that contradict each other, settings that can never act, work that can never run. Exits with 0, whatever is
    found, unless --strict is given.
    """
    from cede.cli.output import console, emit_json, number, text
    from cede.cli.source import load
    from cede.engine.lint import lint as look

    findings = look(load(file, max_size))
    if json:
        emit_json([finding.to_dict() for finding in findings])
    else:
        from rich.padding import Padding

        out = console()
        for finding in findings[:MOST_FINDINGS]:
            out.print(text(finding.path, "bold"), text(f"[{finding.rule}]", "dim"))
            out.print(Padding(text(finding.message), (0, 0, 0, 2)))
            out.print(Padding(text(f"hint: {finding.hint}", "cyan"), (0, 0, 1, 2)))
        if len(findings) > MOST_FINDINGS:
            out.print(text(f"{number(len(findings) - MOST_FINDINGS, 'more finding')} not shown: --json has them all"))
            out.print()
        out.print(text(number(len(findings), "finding") if findings else "No findings.", "bold"))
    if strict and findings:
        raise typer.Exit(1)
