"""The costliest preemptions of each doctrine, with reasons, and the way to open the cluster of that moment."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from urllib.parse import quote

from cede.sim.number_format import MISSING, amount, duration, hours, moment
from cede.sim.report.content import Content, Costly, Party, Run
from cede.sim.report.html import Markup, element, join


def costly_section(content: Content) -> Markup:
    """One table a doctrine, in tabs where there are several."""
    panels = [_panel(content, place, run) for place, run in enumerate(content.runs)]
    if len(panels) < 2:
        return join(*panels)
    buttons = [
        element("button", run.label, element("span", f"{run.preemptions:,}", class_="count"), type="button", role="tab",
                id=f"tab-costly-{place}", aria_controls=f"costly-{place}", aria_selected=str(place == 0).lower(),
                tabindex=0 if place == 0 else -1)
        for place, run in enumerate(content.runs)
    ]  # fmt: skip
    return join(element("div", *buttons, class_="tabs", role="tablist", aria_label="Doctrine"), *panels)


def opening_command(costly: Costly, source: str | None = None) -> list[str]:
    """The command that opens the cluster of that moment, as a shell takes it; each option in one piece.

    `source` is the file of a doctrine that nobody installed.
    """
    pieces = [["cede", "plan"], [costly.moment or ""], ["--explain"]]
    if source is not None:
        pieces.append(["--doctrine", source])
    if costly.claimant is not None:
        name = costly.asked_for or costly.claimant.name
        pieces.append([f"--for={name}"] if name.startswith("-") else ["--for", name])
    return [shlex.join(piece) for piece in pieces]


def _panel(content: Content, place: int, run: Run) -> Markup:
    several = len(content.runs) > 1
    inner: Markup
    if run.costly:
        label = f"Costliest preemptions of {run.label}"
        inner = element("div", _table(content, run), class_="scroll", tabindex=0, role="region", aria_label=label)
    else:
        inner = element("p", "Nothing was preempted.", class_="empty")
    return element(
        "div",
        inner,
        id=f"costly-{place}",
        class_="tab-panel",
        role="tabpanel" if several else None,
        aria_labelledby=f"tab-costly-{place}" if several else None,
        hidden=several and place > 0,
        data_run=run.label,
    )


def _table(content: Content, run: Run) -> Markup:
    """Roles are said outright: on a phone its rows are laid out as cards, and are a table still."""
    shown = len(run.costly)
    said = f"{shown} costliest of {run.preemptions:,}" if shown < run.preemptions else f"All {shown}, costliest first"
    titles = ("#", "When", "Victim", "Gave way to", "Why", f"Lost, {content.resource}-hours", "Left after")
    heads = [
        element("th", title, scope="col", role="columnheader", class_="figure" if title in ("#", *titles[5:]) else None)
        for title in titles
    ]
    rows = [_row(titles, content, run, place, costly) for place, costly in enumerate(run.costly, start=1)]
    return element(
        "table",
        element("caption", join(run.label, element("span", said, class_="aside"))),
        element("thead", element("tr", *heads, role="row"), role="rowgroup"),
        element("tbody", *rows, role="rowgroup"),
        class_="costly",
        role="table",
    )


def _row(titles: Sequence[str], content: Content, run: Run, place: int, costly: Costly) -> Markup:
    overhead = f"+ {hours(costly.overhead_hours)} overhead" if costly.overhead_hours else ""
    left = MISSING if costly.left is None else duration(costly.left)
    _, when, victim, claimant, why, lost, after = titles
    return element(
        "tr",
        element("td", str(place), class_="figure rank", role="cell"),
        element("td", moment(costly.at), class_="when", role="cell", data_label=when),
        _party(victim, content, costly.victim),
        _party(claimant, content, costly.claimant),
        element("td", element("code", costly.rule, class_="rule"), element("p", costly.why),
                *_opening(costly, run.source), class_="why", role="cell", data_label=why),
        _figure(lost, "lost_hours", run, place, costly.lost_hours, hours(costly.lost_hours), overhead),
        _figure(after, "time_to_leave", run, place, costly.left, left),
        role="row",
        data_decision=costly.decision,
    )  # fmt: skip


def _figure(title: str, measure: str, run: Run, place: int, value: float | None, text: str, under: str = "") -> Markup:
    return element(
        "td",
        element("span", text, class_="number", title=None if value is None else repr(value)),
        element("span", under, class_="under") if under else "",
        class_="figure",
        role="cell",
        data_label=title,
        data_measure=measure,
        data_run=run.label,
        data_by="preemption",
        data_group=place,
        data_value="" if value is None else repr(value),
    )


def _party(title: str, content: Content, party: Party | None) -> Markup:
    if party is None:
        inside = [element("span", "nobody in particular", class_="under")]
    else:
        size = f"{amount(party.size)} {content.resource}"
        facts = ["" if party.priority is None else f"priority {party.priority}", size]
        members = f"in {party.members} members" if party.members > 1 else ""
        lines = [party.queue or "", " · ".join(fact for fact in facts if fact), members]
        inside = [element("b", party.name), *(element("span", line, class_="under") for line in lines if line)]
    return element("td", *inside, class_="party", role="cell", data_label=title)


def _opening(costly: Costly, source: str | None) -> tuple[Markup, ...]:
    if costly.moment is None:
        return ()
    program, path, *options = opening_command(costly, source)
    code = element(
        "code",
        f"{program} ",
        element("a", path, href=_address(costly.moment), class_="moment"),
        *(join(" ", element("span", option, class_="kept")) for option in options),
        class_="command",
    )
    command = " ".join([program, path, *options])
    copy = element("button", "copy", type="button", class_="copy", data_copy=command, aria_label="Copy the command")
    return (element("div", code, copy, class_="opening"),)


def _address(path: str) -> str:
    """The path as a relative address; a file's name may hold what an address may not."""
    return quote(path, safe="/")
