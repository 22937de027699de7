"""A workload's story on a terminal: a line of time, then preemptions, then what stands in its way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cede.cli.live.formatting import ago, clock, instant, now, span, state
from cede.cli.live.story import decided, moved, sentence
from cede.cli.output import condition_in_words, listed, number, text
from cede.model.costs import gpu_hours_in_words, in_words

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from cede.live.documents import Decision, Story, StoryLine


def print_story(out: Console, story: Story) -> None:
    """Everything there is to tell."""
    job = story["workload"]
    at = now()
    head = text(job["name"], "bold") + text("  ") + state(job["state"])
    out.print(head + text(f"  for {span(at - instant(job['since']))}", "dim"))
    if job["submitted"]:
        out.print(text(f"submitted {ago(job['submitted'], at)} by {job['user']}, {_began(story)}", "dim"))
    out.print()
    if story["left_out"]:
        out.print(text(f"{number(story['left_out'], 'older line')} not told: `cede events {job['name']}`", "dim"))
    if story["story"]:
        out.print(_timeline(story["story"], out.width))
    _print_preemptions(out, story)
    _print_failure(out, story)
    if stake := job["at_stake"]:
        cost = in_words(stake["cost"], stake["lost_gpu_hours"])
        out.print()
        how = f" ({stake['saving']})" if stake["saving"] else ""
        out.print(text(f"To preempt it now costs {cost}{how}, with {stake['lost']} of work that it has not saved."))
    _print_obstacle(out, story)


def _began(story: Story) -> str:
    job = story["workload"]
    attempts = number(job["attempt"], "attempt")
    gave = f", gave way {number(job['preempted'], 'time')}" if job["preempted"] else ""
    lost = f", {gpu_hours_in_words(story['lost_gpu_hours'])} lost by that" if story["lost_gpu_hours"] else ""
    return f"{attempts}{gave}{lost}"


def _timeline(story: list[StoryLine], width: int) -> object:
    from rich.table import Table

    clocks = _clocks(story)
    made = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    made.add_column(no_wrap=True, style="dim")
    made.add_column(no_wrap=True, style="dim", justify="right")
    made.add_column(overflow="fold", ratio=1)
    for one, at in zip(story, clocks, strict=True):
        passed = f"+{max(0, at - clocks[0]) / 1e6:.2f} s"
        made.add_row(*([clock(one["at"])] if width >= 100 else [""]), passed, _line(one))
    return made


def _clocks(story: list[StoryLine]) -> list[int]:
    """When each line happened, by the scheduler's clock: the wall clock may have been set in the midst of the story.

    A decision has the time of the events of its step.
    """
    known = {event["at"]: event["clock"] for one in story if (event := one["event"]) is not None}
    clocks: list[int] = []
    for one in story:
        before = clocks[-1] if clocks else min(known.values(), default=0)
        clocks.append(known.get(one["at"], before))
    return clocks


def _line(one: StoryLine) -> Text:
    from cede.cli.output import lines

    rule = text(f" [{one['rule']}]" if one["rule"] else "", "dim")
    if (event := one["event"]) is not None:
        attempt = text(f" #{event['attempt']}" if event["attempt"] > 1 else "", "dim")
        return moved(event) + attempt + text(f"  {sentence(event)}") + rule
    decision = one["decision"]
    if decision is None:
        return text(one["sentence"]) + rule
    return lines(text(_decision(decision), "bold yellow" if decision["victims"] else "italic") + rule, *_more(decision))


def _decision(decision: Decision) -> str:
    return f"decision {decision['number']}: {decided(decision)} - {decision['why']}"


def _more(decision: Decision) -> list[Text]:
    """What became of victims, the warnings, and by which settings on which state it was decided."""
    document = decision["decision"]
    more = [text(f"  {_fate(victim, decision['rule'])}") for victim in document.get("victims", ())]
    more += [text(f"  warning: {one['why']} [{one['rule']}]", "yellow") for one in document.get("warnings", ())]
    made_by = f"{decision['doctrine']} {decision['edition']}, settings {decision['settings_hash'][:8] or '-'}"
    where = f", cluster file {decision['cluster_hash'][:8]}" if decision["cluster_hash"] else ""
    return [*more, text(f"  {made_by}{where}", "dim")] if decision["victims"] else more


def _fate(victim: dict[str, Any], rule: str) -> str:
    """What becomes of a victim; why, where that is more than the rule of the decision."""
    leaves = "is leaving already" if victim.get("leaving") else f"is {victim['fate']}"
    priced = victim.get("cost") is not None and not victim.get("leaving")
    how = f" ({victim['saving']})" if victim.get("saving") else ""
    cost = f", at the cost of {in_words(victim['cost'], victim['lost_gpu_hours'])}{how}" if priced else ""
    return f"{victim['workload']} {leaves}{cost}" + ("" if victim["reason"] == rule else f": {victim['reason']}")


def _print_preemptions(out: Console, story: Story) -> None:
    """The workloads that preempted this one, and those that it preempted."""
    name = story["workload"]["name"]
    decisions = [told["decision"] for told in story["story"] if told["decision"] is not None]
    by = list(dict.fromkeys(d["workload"] or "nobody" for d in decisions if name in d["victims"]))
    whom = list(dict.fromkeys(victim for d in decisions if d["workload"] == name for victim in d["victims"]))
    if by or whom:
        out.print()
    if by:
        out.print(text(f"It gave way to {listed(by)}."))
    if whom:
        out.print(text(f"For it gave way: {listed(whom)}."))


def _print_failure(out: Console, story: Story) -> None:
    """Which member failed, where and how, and what it said last."""
    from rich.padding import Padding

    if (failure := story["workload"].get("failure")) is None:
        return
    out.print()
    who = f"Attempt {story['workload']['attempt']} failed: member {failure['member']} on {failure['node']}"
    out.print(text(f"{who}: {failure['why']}.", "bold"))
    if failure["stderr"]:
        out.print(text("The last of what it wrote to standard error:", "dim"))
        for line in failure["stderr"]:
            out.print(Padding(text(line), (0, 0, 0, 2)))


def _print_obstacle(out: Console, story: Story) -> None:
    from rich.padding import Padding

    job, decision = story["workload"], story["stands_in_its_way"]
    if job.get("set_aside"):
        out.print(
            text(
                f"It is set aside: `cede resume {job['name']}` tries it again, `cede cancel {job['name']}` ends it.",
                "bold",
            )
        )
        return
    if story["not_asked"] == "parked":
        out.print()
        out.print(text(f"{job['parked']} suspended it: `cede resume {job['name']}` lets it queue again.", "bold"))
    elif story["not_asked"]:
        out.print()
        out.print(text("The server is too busy to say what stands in its way now; ask again.", "yellow"))
    elif decision is not None:
        out.print()
        out.print(text("Now: ", "bold") + text(decision["why"]) + text(f" [{decision['rule']}]", "dim"))
        until = decision.get("until", ())
        # The nearest miss is one of the conditions, where there is one of that kind.
        if not any(one["kind"] == "candidate" for one in until):
            for miss in decision.get("nearest_miss", ()):
                out.print(Padding(text(_missed(miss)), (0, 0, 0, 2)))
        if until:
            out.print(text("What would let it run:", "bold"))
        for one in until:
            out.print(Padding(text(condition_in_words(one["kind"], one["why"], one.get("at", ""))), (0, 0, 0, 2)))


def _missed(miss: dict[str, Any]) -> str:
    by = f", but {miss['rule']} protects it" if miss["rule"] else ""
    return f"{miss['workload']} would have made room{by}: {miss['why']}"
