"""The parts of the docs that are drawn from the code: commands, rules, settings, schema."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import typer

from cede.cli.main import EPILOG, app
from cede.doctrines.parts.doctrine import Doctrine
from cede.engine.catalog import BUILT, find
from cede.engine.lint_rules import RULES as LINT_RULES
from cede.model.rules import KINDS, Rule
from cede.model.schema import json_schema

KIND_MEANS = {
    "admits": "lets a claimant start, or makes a workload a victim that may be taken",
    "excludes": "makes a workload no candidate at all (verdict `not-eligible`)",
    "protects": "keeps a candidate from being taken (verdict `protected`)",
    "orders": "says who comes first",
    "waits": "keeps a claimant pending (action `wait`)",
    "refuses": "sends a claimant away for good (action `refuse`)",
    "warns": "says that a decision, or a file, is not what was promised or meant",
}

CLI_INTRODUCTION = """\
# Commands

This page is drawn from the commands themselves by `make docs`. `cede COMMAND --help` says the same.

"""

RULES_INTRODUCTION = """\
# Rules

This page is drawn from the rules in the code by `make docs`. Every decision, verdict and warning names one of them, and
so does every finding of `cede lint` that is not a doctrine's own. What stands in ‹angle quotes› is a number or a name
that an answer fills in. `cede doctrines NAME` prints the rules of one doctrine.

"""


def cli_page() -> str:
    """The reference of all commands."""
    group: Any = typer.main.get_command(app)
    commands = [(name, group.commands[name]) for name in group.commands]
    pairs = [(f"cede {name}", command) for name, command in commands]
    for name, command in commands:
        inside = getattr(command, "commands", {})
        pairs += [(f"cede {name} {inner}", inside[inner]) for inner in inside]
    whole = [(name, command) for name, command in pairs if not hasattr(command, "commands")]
    listed = (f"| [`{name}`](#{_anchor(name)}) | {command.help.splitlines()[0]} |" for name, command in whole)
    lines = ["| command | what it does |", "|---|---|", *listed, "", EPILOG, ""]
    for name, command in whole:
        lines += [f"## {name}", "", *_command(name, command)]
    return CLI_INTRODUCTION + "\n".join(lines)


def _command(name: str, command: Any) -> Iterator[str]:
    arguments = [one for one in command.params if one.param_type_name == "argument"]
    options = [one for one in command.params if one.param_type_name == "option"]
    for paragraph in command.help.split("\n\n"):
        yield from (" ".join(paragraph.split()), "")
    asked = " ".join(one.metavar if one.required else f"[{one.metavar}]" for one in arguments)
    yield from ("```text", f"{name} {asked}".rstrip() + " [OPTIONS]", "```", "")
    yield from ("| argument or option | meaning | default |", "|---|---|---|")
    for one in arguments:
        yield f"| `{one.metavar}` | {_cell(one.help)} | {'required' if one.required else ''} |"
    for one in options:
        spelled = f"{one.opts[0]} {one.metavar}" if one.metavar else one.opts[0]
        more = " May be given more than once." if one.multiple else ""
        shown = f"`{one.default}`" if isinstance(one.default, str | int) and not isinstance(one.default, bool) else ""
        yield f"| `{spelled}` | {_cell(one.help)}{more} | {shown} |"
    yield ""
    example = (command.epilog or "").replace("\b", "").strip().removeprefix("Example:").strip()
    if example:
        yield from ("```sh", example, "```", "")


def rules_page() -> str:
    """Every rule of every doctrine that is built, and those of `cede lint`."""
    lines = ["| kind | a rule of this kind |", "|---|---|"]
    lines += [f"| {kind} | {KIND_MEANS[kind]} |" for kind in KINDS]
    for name in BUILT:
        doctrine = find(name)
        lines += ["", f"## {name}", "", f"{doctrine.title}. Editions: {', '.join(doctrine.editions)}.", ""]
        lines += rule_table(doctrine.rules, doctrine.editions)
    findings = "Findings of `cede lint` that hold under every doctrine. A doctrine adds its own; its page lists them."
    lines += ["", "## lint", "", findings, ""]
    lines += _table(("rule", "sentence"), ((f"`{rule.id}`", rule.general()) for rule in LINT_RULES))
    return RULES_INTRODUCTION + "\n".join(lines) + "\n"


def rule_table(rules: Iterable[Rule], editions: Sequence[str]) -> list[str]:
    """One line a rule, in the order of declaration; with its editions where there are several."""
    if len(editions) == 1:
        return _table(("rule", "kind", "sentence"), ((f"`{rule.id}`", rule.kind, rule.general()) for rule in rules))
    rows = ((f"`{rule.id}`", rule.kind, ", ".join(rule.editions) or "all", rule.general()) for rule in rules)
    return _table(("rule", "kind", "editions", "sentence"), rows)


def setting_table(doctrine: Doctrine) -> list[str]:
    """One line a setting, with its default in each edition that has it; and where it is set, if places differ."""
    places = len({one.where for one in doctrine.settings}) > 1
    heads = ("setting", *(["set for"] if places else []), *(f"default in {edition}" for edition in doctrine.editions))
    rows = (
        (
            f"`{one.name}`",
            *([f"the {one.where}"] if places else []),
            *(_default(one.defaults, edition) for edition in doctrine.editions),
            one.meaning,
        )
        for one in doctrine.settings
    )
    return _table((*heads, "meaning"), rows)


def tables(name: str) -> dict[str, str]:
    """The drawn parts of one doctrine's page, by the name of the marker they stand under."""
    doctrine = find(name)
    return {
        "settings": "\n".join(setting_table(doctrine)),
        "rules": "\n".join(rule_table(doctrine.rules, doctrine.editions)),
    }


def schema() -> str:
    """What `cede schema` prints."""
    return json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n"


def _default(defaults: Any, edition: str) -> str:
    return _value(defaults[edition]) if edition in defaults else "-"


def _value(value: Any) -> str:
    """A value as one would write it in a file; a list or an object part by part."""
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {_value(inner)}" for key, inner in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(_value, value))
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    return lines + [f"| {' | '.join(map(_cell, row))} |" for row in rows]


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _anchor(title: str) -> str:
    return title.replace(" ", "-")
