"""What the page opens with: which run for which goal, what that costs whom, and how sure it is."""

from __future__ import annotations

from cede.sim.report.content import Content
from cede.sim.report.markup import Markup, element, join
from cede.sim.verdicts import Goal, Judgement, Verdict


def judgement_section(content: Content) -> Markup:
    """One screen: a sentence a run, and a row a goal; where nobody had to wait, that alone."""
    judgement = content.judgement
    assert judgement is not None, "there is one to show"
    places = {run.label: place for place, run in enumerate(content.runs)}
    about = {run.label: run.about for run in content.runs}
    return join(
        element("p", judgement.basis, class_="lead"),
        element("p", judgement.calm, class_="calm", role="note") if judgement.calm else "",
        element("ul", *(_verdict(one, places, about) for one in judgement.verdicts), class_="verdicts"),
        _goals(judgement, places) if judgement.goals else "",
    )


def _verdict(one: Verdict, places: dict[str, int], about: dict[str, str]) -> Markup:
    own = about[one.label]
    return element(
        "li",
        _named(one.label, places),
        element("small", own) if own not in (one.label, "") else "",
        element("p", one.sentence, " ", *_not_for(one)),
        class_=None if one.judged else "unfit",
        data_run=one.label,
    )


def _not_for(one: Verdict) -> list[Markup]:
    if not one.not_for:
        return []
    return [element("span", element("b", "Not for "), f"{'; '.join(one.not_for)}.", class_="not-for")]


def _goals(judgement: Judgement, places: dict[str, int]) -> Markup:
    head = element(
        "tr", *(element("th", title, scope="col") for title in ("If you want", "take", "who pays", "how sure"))
    )
    table = element(
        "table",
        element("thead", head),
        element("tbody", *(_goal(one, places) for one in judgement.goals)),
        class_="goals",
    )
    return element("div", table, class_="scroll", tabindex=0, role="region", aria_label="Which variant for which goal")


def _goal(goal: Goal, places: dict[str, int]) -> Markup:
    taken = (
        element("span", "any of them", class_="under")
        if goal.winner is None
        else join(
            _named(goal.winner, places),
            *(_named(label, places, "=", "the same value") for label in goal.equal),
            *(_named(label, places, "\u2248", "not told apart from it") for label in goal.like),
        )
    )
    return element(
        "tr",
        element("th", goal.title, scope="row"),
        element("td", taken, element("span", goal.value, class_="under")),
        element("td", goal.costs or "\u2013"),
        element("td", goal.sure),
        data_goal=goal.measure,
        data_winner=goal.winner or "",
    )


def _named(label: str, places: dict[str, int], sign: str = "", means: str = "") -> Markup:
    dot = element("i", class_=f"dot run-{places[label] % 6}", aria_hidden="true")
    before = element("span", f"{sign}\u202f", title=means) if sign else ""
    return element("span", before, dot, label, class_="named like" if sign else "named")
