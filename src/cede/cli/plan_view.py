"""A plan as a person reads it: decisions, then warnings, then what came nearest, then one line that counts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from cede.cli.certificate_option import worded
from cede.cli.output import condition_in_words, console, counted, cut, lines, listed, number, styled, table, text
from cede.cli.shares_view import print_shares
from cede.model.costs import cost_of, gpu_hours_in_words
from cede.model.plan import ACTIONS, ENDED, REQUEUED, VERDICTS, Decision, Plan, Victim

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

MOST_DECISIONS = 200
MOST_CANDIDATES = 200
LEAVING = "leaving already"
NARROW = 100
"""A terminal with fewer columns has no room for a table of five."""


def print_plan(made: Plan) -> None:
    """Everything the plan says, as wide as the terminal."""
    out = console()
    narrow = out.width < NARROW
    out.print(text(f"{made.doctrine} {made.edition}, now {made.now}", "dim"))
    out.print()
    if made.decisions:
        shown = shown_decisions(made.decisions)
        out.print(_stacked(shown) if narrow else _side_by_side(shown))
        out.print()
        _print_left_out(out, len(made.decisions) - len(shown))
        for decision in shown:
            if decision.candidates is not None:
                _print_candidates(out, decision, narrow)
            if decision.account is not None:
                _print_account(out, decision.account)
        _print_remarks(out, shown)
    if made.shares is not None:
        print_shares(out, made)
    out.print(text(summary(made) if made.decisions else "Nothing is pending: there is nothing to decide.", "bold"))


def shown_decisions(decisions: tuple[Decision, ...]) -> list[Decision]:
    """In their order; of very many, all that preempt come before the others."""
    if len(decisions) <= MOST_DECISIONS:
        return list(decisions)
    first = sorted(range(len(decisions)), key=lambda index: (decisions[index].action != "preempt", index))
    return [decisions[index] for index in sorted(first[:MOST_DECISIONS])]


def _print_left_out(out: Console, count: int) -> None:
    if count:
        left = number(count, "more decision")
        out.print(text(f"{left} not shown: --json has them all, --for NAME shows one", "dim"))
        out.print()


def _side_by_side(decisions: list[Decision]) -> Table:
    """One row a decision; columns that would be empty are left out."""
    evicts, places = any(d.victims for d in decisions), any(placed(d) for d in decisions)
    made = table(
        ("action", {"no_wrap": True}),
        ("workload", {"max_width": 30}),
        *([("evicts", {"max_width": 24})] if evicts else []),
        *([("on", {"max_width": 16})] if places else []),
        ("why", {"ratio": 1}),
    )
    for decision in decisions:
        made.add_row(
            styled(decision.action),
            text(decision.workload or "(nobody)", "bold"),
            *([lines(text(evicted(decision.victims)), *_cost(decision.victims))] if evicts else []),
            *([text(placed(decision))] if places else []),
            _because(decision.why, decision.rule),
        )
    return made


def _stacked(decisions: list[Decision]) -> Table:
    """For a narrow terminal: victims, nodes and sentence below each other."""
    made = table(("action", {"no_wrap": True}), ("workload", {"max_width": 24}), ("what and why", {"ratio": 1}))
    for decision in decisions:
        parts = [text(f"evicts {evicted(decision.victims)}")] if decision.victims else []
        parts += _cost(decision.victims)
        parts += [text(f"on {placed(decision)}")] if placed(decision) else []
        parts.append(_because(decision.why, decision.rule))
        made.add_row(styled(decision.action), text(decision.workload or "(nobody)", "bold"), lines(*parts))
    return made


def _cost(victims: tuple[Victim, ...]) -> list[Text]:
    """What the victims cost, on a line of its own; none without victims."""
    cost = cost_of(victims)
    return [text(f"costs {cost}", "dim")] if cost else []


def _because(why: str, rule: str) -> Text:
    return text(why) + text(f" [{rule}]", "dim")


def evicted(victims: tuple[Victim, ...]) -> str:
    """Victims by what becomes of them; those that are leaving already apart, for they are not evicted anew."""
    fates: dict[str, list[str]] = {ENDED: [], REQUEUED: [], LEAVING: []}
    for victim in victims:
        fates[LEAVING if victim.leaving else victim.fate].append(victim.workload)
    return "; ".join(f"{listed(names)} ({fate})" for fate, names in fates.items() if names)


def _print_candidates(out: Console, decision: Decision, narrow: bool) -> None:
    from rich.padding import Padding

    candidates = sorted(decision.candidates or (), key=lambda one: VERDICTS.index(one.verdict))
    out.print(text(f"Looked at for {decision.workload or 'nobody'}{'' if candidates else ': nobody'}", "bold"))
    if candidates:
        rule = [] if narrow else [("rule", {"no_wrap": True})]
        made = table(("candidate", {"max_width": 24}), ("verdict", {"no_wrap": True}), *rule, ("why", {"ratio": 1}))
        for one in candidates[:MOST_CANDIDATES]:
            sentence = [_because(one.why, one.rule)] if narrow else [text(one.rule, "dim"), text(one.why)]
            made.add_row(text(one.workload), styled(one.verdict), *sentence)
        out.print(made)
    if len(candidates) > MOST_CANDIDATES:
        out.print(text(f"{number(len(candidates) - MOST_CANDIDATES, 'more candidate')} not shown: --json has them all"))
    if decision.until:
        out.print(text(f"What would let {decision.workload} run", "bold"))
    for condition in decision.until:
        words = condition_in_words(condition.kind, condition.why, condition.at)
        out.print(Padding(text(words, most=None), (0, 0, 0, 2)))
    out.print()


def _print_account(out: Console, account: Mapping[str, Any]) -> None:
    """What the doctrine adds: single values in one line, each list of rows as a table."""
    single = [f"{key} {value}" for key, value in account.items() if not isinstance(value, list)]
    if single:
        out.print(text("; ".join(single)))
    for key, rows in account.items():
        if not isinstance(rows, list) or not rows:
            continue
        names = list(dict.fromkeys(name for row in rows for name in row))
        made = table(*((name, {"no_wrap": True} if name == names[0] else {}) for name in names))
        out.print(text(key, "bold"))
        for row in rows:
            made.add_row(*(text(_cell(row.get(name, ""))) for name in names))
        out.print(made)
    out.print()


def _cell(value: object) -> str:
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)


def _print_remarks(out: Console, decisions: list[Decision]) -> None:
    from rich.table import Table

    remarks = Table.grid(padding=(0, 2, 0, 0))
    misses: dict[str, list[str]] = {}
    for decision in decisions:
        name = decision.workload or "(nobody)"
        for warning in decision.warnings:
            about = text(f"{name}: {warning.why}") + text(f" [{warning.rule}]", "dim")
            remarks.add_row(text("warning", "bold magenta"), about)
        if decision.certificate is not None:
            proof = text(f"{name}: ") + text(worded(decision.certificate), most=None)
            remarks.add_row(text("certificate", "bold green"), proof)
        if decision.nearest_miss:
            misses.setdefault(missed(decision), []).append(name)
    for sentence, names in misses.items():
        remarks.add_row(text("nearest miss", "bold cyan"), text(f"{listed(names)}: ") + text(sentence, most=None))
    if remarks.rows:
        out.print(remarks)
        out.print()


def missed(decision: Decision) -> str:
    """The workloads that would have made room, and what protects them."""
    words = [
        f"{miss.workload} ({miss.why})"
        if miss.rule is None
        else f"{miss.workload} (protected by {miss.rule}: {miss.why})"
        for miss in decision.nearest_miss
    ]
    return f"would have made room: {listed([cut(word) for word in words])}"


def placed(decision: Decision, *, default: bool = False) -> str:
    """Where it goes: nodes, flavors, and how many members if fewer than asked for.

    Flavors other than the default one, unless that is to be named too.
    """
    parts = [counted(decision.nodes)] if decision.nodes else []
    flavors = _flavors(decision.flavors) or (["default"] if default and decision.flavors else [])
    fewer = [f"{name} ×{count}" for name, count in decision.counts.items()]
    return "; ".join([*parts, *([", ".join(flavors)] if flavors else []), *([", ".join(fewer)] if fewer else [])])


def _flavors(flavors: Mapping[str, Any]) -> list[str]:
    """One name where all resources share a flavor; nothing where that is the default one."""
    if any(isinstance(flavor, Mapping) for flavor in flavors.values()):
        return [f"{name} {', '.join(_flavors(own)) or 'default'}" for name, own in flavors.items()]
    if len(set(flavors.values())) < 2:
        return sorted(set(flavors.values()) - {"default"})
    return [f"{name}@{flavor}" for name, flavor in flavors.items()]


def summary(made: Plan) -> str:
    """How many start, preempt, wait and are refused, in one line."""
    actions = [decision.action for decision in made.decisions]
    evicted = sum(not victim.leaving for decision in made.decisions for victim in decision.victims)
    lost = f" ({gpu_hours_in_words(made.lost_gpu_hours)} lost)" if made.lost_gpu_hours else ""
    evicting = f" evicting {evicted:,}{lost}" if evicted else ""
    counts = [(word, actions.count(word)) for word in ACTIONS]
    return ", ".join(f"{count:,} {word}{evicting if word == 'preempt' else ''}" for word, count in counts)
