"""The parts of the docs that are drawn from the code: commands, rules, settings, schema."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import typer

from cede.cli.main import EPILOG, LIVE, SECTIONS, app
from cede.doctrines.catalog import BUILT, find
from cede.doctrines.document import json_schema
from cede.doctrines.parts.doctrine import Doctrine
from cede.engine.drive.rules import RULES as DRIVE_RULES
from cede.engine.lint import RULES as LINT_RULES
from cede.live.api.rules import RULES as API_RULES
from cede.model.rules import KINDS, Rule
from docs.tables import anchor, table

KIND_MEANS = {
    "admits": "lets a claimant start, or makes a workload a victim that may be taken; of a server: it goes on",
    "excludes": "makes a workload no candidate at all (verdict `not-eligible`); of a server: it has ended",
    "protects": "keeps a candidate from being taken (verdict `protected`)",
    "orders": "says what comes first",
    "waits": "keeps a claimant pending (action `wait`)",
    "refuses": "sends a claimant away for good (action `refuse`); of a server: says no to a request",
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


LIVE_INTRODUCTION = """\
Under every doctrine, what a [running server](../guides/live.md) says beside it: what happened to a workload, why it
waits, and which requests are refused."""


def cli_page() -> str:
    """The reference of all commands, in the sections of the help."""
    group: Any = typer.main.get_command(app)
    lines = [EPILOG, ""]
    whole: list[tuple[str, Any]] = []
    for title, names in SECTIONS.items():
        found = list(chain.from_iterable(_typed(f"cede {name}", group.commands[name]) for name in names))
        listed = ((f"[`{name}`](#{anchor(name)})", command.help.splitlines()[0]) for name, command in found)
        lines += [f"**{title}**", "", *table(("command", "what it does"), listed), ""]
        whole += found
    lines += ["`cede` itself takes", "", *table(("option", "meaning"), _options(group)), ""]
    for name, command in whole:
        lines += [f"## {name}", "", *_command(name, command)]
    return CLI_INTRODUCTION + "\n".join(lines)


def _typed(name: str, command: Any) -> list[tuple[str, Any]]:
    """What can be typed of a command: itself, unless it is only a group, and those within it."""
    within = [(f"{name} {inner}", one) for inner, one in getattr(command, "commands", {}).items()]
    return [*([] if within and not command.invoke_without_command else [(name, command)]), *within]


def _options(command: Any) -> Iterator[tuple[str, str]]:
    return ((_spelled(one), one.help or "") for one in command.params if one.param_type_name == "option")


def _spelled(option: Any) -> str:
    """An option as it is typed: its long name, a short one if there is one, and what it takes."""
    names = ", ".join(f"`{name}`" for name in (*option.opts[1:], *option.secondary_opts))
    taken = f" {option.metavar}" if option.metavar else ""
    return f"`{option.opts[0]}{taken}`" + (f", {names}" if names else "")


def _command(name: str, command: Any) -> Iterator[str]:
    arguments = [one for one in command.params if one.param_type_name == "argument"]
    options = [one for one in command.params if one.param_type_name == "option"]
    for paragraph in command.help.split("\n\n"):
        yield from (" ".join(paragraph.split()), "")
    asked = [one.metavar if one.required else f"[{one.metavar.strip('[]')}]" for one in arguments]
    last = asked and asked[-1].startswith("--")
    typed = (name, "[OPTIONS]", *asked) if last else (name, *asked, "[OPTIONS]")
    yield from ("```text", " ".join(typed), "```", "")
    rows = [(f"`{one.metavar.strip('[]')}`", one.help, "required" if one.required else "") for one in arguments]
    for one in options:
        more = " May be given more than once." if one.multiple else ""
        shown = f"`{one.default}`" if isinstance(one.default, str | int) and not isinstance(one.default, bool) else ""
        rows.append((_spelled(one), f"{one.help}{more}", shown))
    yield from table(("argument or option", "meaning", "default"), rows)
    yield ""
    example = (command.epilog or "").replace("\b", "").strip().removeprefix("Example:").strip()
    if example:
        # A server and its workloads are not there on this page.
        yield from ("```sh parsed" if name.split()[1] in LIVE else "```sh", example, "```", "")


def rules_page() -> str:
    """Every rule of every doctrine that is built, of a server, and of `cede lint`."""
    lines = ["| kind | a rule of this kind |", "|---|---|"]
    lines += [f"| {kind} | {KIND_MEANS[kind]} |" for kind in KINDS]
    for name in BUILT:
        doctrine = find(name)
        lines += ["", f"## {name}", "", f"{doctrine.title}. Editions: {', '.join(doctrine.editions)}.", ""]
        lines += rule_table(doctrine.rules, doctrine.editions)
    lines += ["", "## live", "", LIVE_INTRODUCTION, "", *rule_table(DRIVE_RULES, ("",))]
    known = {rule.id for rule in DRIVE_RULES}
    lines += ["", "The API refuses by these too:", ""]
    lines += rule_table((rule for rule in API_RULES if rule.id not in known), ("",))
    findings = "Findings of `cede lint` that hold under every doctrine. A doctrine adds its own; its page lists them."
    lines += ["", "## lint", "", findings, ""]
    lines += table(("rule", "sentence"), ((f"`{rule.id}`", rule.general()) for rule in LINT_RULES))
    return RULES_INTRODUCTION + "\n".join(lines) + "\n"


def rule_table(rules: Iterable[Rule], editions: Sequence[str]) -> list[str]:
    """One line a rule, in the order of declaration; with its editions where there are several."""
    if len(editions) == 1:
        return table(("rule", "kind", "sentence"), ((f"`{rule.id}`", rule.kind, rule.general()) for rule in rules))
    rows = ((f"`{rule.id}`", rule.kind, ", ".join(rule.editions) or "all", rule.general()) for rule in rules)
    return table(("rule", "kind", "editions", "sentence"), rows)


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
    return table((*heads, "meaning"), rows)


def tables(name: str) -> dict[str, str]:
    """The drawn parts of one doctrine's page, by the name of the marker they stand under."""
    return {"settings": "\n".join(setting_table(find(name)))}


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
