"""Events and decisions in sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cede.cli.live.formatting import STATE_STYLES, clock, state
from cede.cli.output import listed, text

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from cede.live.documents import Decision, Event


VERBS = {"start": "starts", "preempt": "preempts", "wait": "waits", "refuse": "is refused"}


def sentence(event: Event) -> str:
    """What happened, and why if it says so, and what it threw away."""
    from cede.model.costs import gpu_hours_in_words

    lost = event.get("lost_gpu_hours")
    return _happened(event) + (f"; {gpu_hours_in_words(lost)} lost" if lost else "")


def _happened(event: Event) -> str:
    from cede.model.lifecycle import SENTENCES, Signal

    if event["why"]:
        return event["why"]
    try:
        return SENTENCES[Signal(event["signal"])]
    except ValueError:
        return event["signal"]


def moved(event: Event) -> Text:
    """From which state to which; one state where nothing changed."""
    if event["before"] in (None, event["after"]):
        return state(event["after"])
    return text(f"{event['before']} > ", "dim") + state(event["after"])


def event_line(event: Event, when: str | None = None) -> Table:
    """The time, the workload, where it went, and the reason."""
    attempt = f" #{event['attempt']}" if event["attempt"] > 1 else ""
    line = text(f"{event['workload']}{attempt}  ", "bold") + moved(event) + text(f"  {sentence(event)}")
    if event["claimant"] and event["claimant"] not in sentence(event):
        line += text(f" (for {event['claimant']})", STATE_STYLES["preempting"])
    return hanging(when or clock(event["at"]), line)


def hanging(when: str, line: Text) -> Table:
    """A line behind its time; what does not fit goes on below its beginning."""
    from rich.table import Table

    made = Table.grid(padding=(0, 2, 0, 0))
    made.add_column(no_wrap=True, style="dim")
    made.add_column(overflow="fold")
    made.add_row(when, line)
    return made


def decided(decision: Decision) -> str:
    """What was decided: the claimant, its victims and its nodes."""
    words = [f"{decision['workload'] or 'nobody'} {VERBS.get(decision['action'], decision['action'])}"]
    if decision["victims"]:
        words.append(listed(decision["victims"]))
    nodes = list(dict.fromkeys(decision["decision"].get("nodes", ())))
    if nodes:
        words.append(f"on {listed(nodes)}")
    return " ".join(words)
