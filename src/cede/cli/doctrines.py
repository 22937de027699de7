"""`cede doctrines`: the rules Cede can decide by."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cede.cli.options import Json, example

if TYPE_CHECKING:
    from rich.console import Console

    from cede.doctrines.parts.doctrine import Doctrine

app = typer.Typer(add_completion=False, rich_markup_mode=None)


def _names(incomplete: str) -> Iterator[str]:
    from cede.doctrines.catalog import known

    return (name for name in known() if name.startswith(incomplete))


@app.command(epilog=example("cede doctrines backendai"))
def doctrines(
    name: Annotated[str | None, typer.Argument(metavar="NAME", autocompletion=_names, help="Show this one.")] = None,
    json: Json = False,
) -> None:
    """List the rules Cede can decide by.

    With NAME: that doctrine's settings with the defaults of each edition, and every rule with its sentence. FILE.py
    has one of its own.
    """
    from cede.cli.output import console, emit_json
    from cede.cli.source import warn
    from cede.doctrines.catalog import usable

    if name is None:
        doctrines, problems = usable()
        warn([str(problem) for problem in problems])
        if json:
            emit_json([_brief(doctrine) for doctrine in doctrines])
        else:
            _print_list(console(), doctrines)
        return
    doctrine = _find(name)
    if json:
        emit_json(_full(doctrine))
    else:
        _print_one(console(), doctrine)


def _find(name: str) -> Doctrine:
    from cede.doctrines.catalog import find, known
    from cede.engine.doctrine_files import named
    from cede.model.errors import InputError, Problem, did_you_mean, shown

    name = named(name)
    if name not in known():
        message = f"no doctrine is called {shown(name)}; this Cede has {', '.join(known())}"
        raise InputError([Problem("", message, did_you_mean(name, known()))])
    return find(name)


def _brief(doctrine: Doctrine) -> dict[str, Any]:
    return {"name": doctrine.name, "title": doctrine.title, "editions": list(doctrine.editions)}


def _full(doctrine: Doctrine) -> dict[str, Any]:
    settings = [
        {"name": one.name, "where": one.where, "defaults": dict(one.defaults), "meaning": one.meaning}
        for one in doctrine.settings
    ]
    rules = [
        {
            "id": rule.id,
            "kind": rule.kind,
            "editions": list(rule.editions or doctrine.editions),
            "sentence": rule.general(),
        }
        for rule in doctrine.rules
    ]
    return {**_brief(doctrine), "settings": settings, "rules": rules}


def _print_list(out: Console, known: list[Doctrine]) -> None:
    from cede.cli.output import table, text

    made = table("name", "editions, the first is the default", "what it is")
    for doctrine in known:
        made.add_row(text(doctrine.name, "bold"), text(", ".join(doctrine.editions)), text(doctrine.title))
    out.print(made)
    out.print(text("More about one: cede doctrines NAME", "dim"))


def _print_one(out: Console, doctrine: Doctrine) -> None:
    from cede.cli.output import table, text

    out.print(text(doctrine.title, "bold"))
    out.print(text(f"editions: {', '.join(doctrine.editions)}; the first is the default"))
    out.print()
    out.print(text("Settings", "bold"))
    made = table("name", "of", *(f"default {edition}" for edition in doctrine.editions), ("meaning", {"ratio": 1}))
    for one in doctrine.settings:
        defaults = (text(_plain(one.defaults[e]) if e in one.defaults else "-") for e in doctrine.editions)
        made.add_row(text(one.name), text(one.where), *defaults, text(one.meaning))
    out.print(made)
    out.print()
    out.print(text("Rules", "bold"))
    rules = table("rule", "kind", "editions", ("sentence", {"ratio": 1}))
    for rule in doctrine.rules:
        rules.add_row(text(rule.id), text(rule.kind), text(", ".join(rule.editions) or "all"), text(rule.general()))
    out.print(rules)


def _plain(default: object) -> str:
    """A value as one would write it in a file; a list or an object part by part."""
    if isinstance(default, dict):
        return ", ".join(f"{key}: {_plain(value)}" for key, value in default.items())
    if isinstance(default, list):
        return ", ".join(map(_plain, default))
    return str(default).lower() if isinstance(default, bool) else str(default)
