"""The story of the demo: played on a real server, told as it happens, and checked when it is over."""

from __future__ import annotations

import re
import shlex
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from cede.cli.live.formatting import instant
from cede.cli.live.job_output import LogQuery, followed, written
from cede.cli.live.story import decided, event_line, hanging
from cede.cli.output import text
from cede.model.errors import CedeError

if TYPE_CHECKING:
    from rich.console import Console

    from cede.cli.live.demo_server import DemoServer
    from cede.live.documents import Event, Story

VICTIM, OTHER, SMALL, URGENT = "train", "sweep", "report", "urgent"
PATIENCE_S = 60.0
ALONE_S = 1.5
"""How long the victim works before the urgent one comes, so that there is something to save."""
SAVED = re.compile(r"^saved (\d+)$", re.MULTILINE)
RESUMED = re.compile(r"^resuming from (\d+), attempt (\d+)$", re.MULTILINE)
RESUMES = "CEDE_RESUME=1"


@dataclass(slots=True)
class Outcome:
    """What became of it; `missing` names what should have happened and did not."""

    ended: dict[str, str]
    saved: int | None
    resumed: int | None
    took_s: float
    missing: list[str]
    why: Story
    states: list[str] = field(default_factory=list)

    @property
    def happened(self) -> bool:
        return not self.missing

    def to_dict(self) -> dict[str, Any]:
        return {"happened": self.happened} | asdict(self)

    def print(self, out: Console) -> None:
        """The victim's whole story, then the verdict."""
        from cede.cli.live.why_view import print_story

        out.print()
        out.print(text(f"$ cede why {VICTIM}", "bold green"))
        print_story(out, self.why)
        out.print()
        if self.happened:
            end = f"{URGENT} completed; {VICTIM} saved at {self.saved}, came back, and completed ({self.took_s:.1f} s)."
            out.print(text(end, "bold green"))
        else:
            out.print(text(f"The story did not happen as it should: {'; '.join(self.missing)}.", "bold red"))


class Teller:
    """Prints what happens, with the time since the beginning; silent without somewhere to print."""

    def __init__(self, server: DemoServer, out: Console | None) -> None:
        self.events: list[Event] = []
        self._client = server.client
        self._out = out
        self._began: int | None = None
        self._lock = threading.Lock()
        self._decisions: set[int] = set()

    def listen(self) -> None:
        """Follow the events in a thread that ends with the process."""
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        from contextlib import suppress

        # The server goes away at the end of the demo, and nobody waits for this thread.
        with suppress(Exception):
            for event in self._client.events(after=0, follow=True):
                self._began = self._began or instant(event["at"])
                self._tell_decision(event)
                self.events.append(event)
                with self._lock:
                    if self._out is not None:
                        self._out.print(event_line(event, self._passed(event["at"])))

    def _tell_decision(self, event: Event) -> None:
        """A decision that makes others give way comes before what follows of it."""
        number = event["decision"]
        if number is None or number in self._decisions:
            return
        self._decisions.add(number)
        made = self._client.decision(number)
        with self._lock:
            if made["victims"] and self._out is not None:
                what = text(f"decision {number}  {decided(made)}  ", "bold yellow") + text(made["why"])
                self._out.print(hanging(self._passed(made["at"]), what + text(f" [{made['rule']}]", "dim")))

    def _passed(self, at: str) -> str:
        return f"{f'+{(instant(at) - (self._began or instant(at))) / 1e6:.2f} s':>8}"

    def say(self, line: str, style: str) -> None:
        with self._lock:
            if self._out is not None:
                self._out.print(text(line, style), soft_wrap=True)
                sys.stdout.flush()

    def follow(self, name: str) -> None:
        """What the workload writes, a line each, in a thread that ends with the process."""

        def work() -> None:
            from contextlib import suppress

            with suppress(Exception):
                for piece in followed(self._client, LogQuery(name), between=None):
                    for line in piece.decode(errors="replace").splitlines():
                        self.say(f"          {name} | {line}", "cyan")

        threading.Thread(target=work, daemon=True).start()


def play(server: DemoServer, out: Console | None) -> Outcome:
    """Play it; what happened, whether or not it was what should."""
    began = time.monotonic()
    teller = Teller(server, out)
    teller.listen()
    client = server.client
    python = [sys.executable, str(server.program)]
    script = f'echo "CEDE_RESUME=$CEDE_RESUME"; exec {shlex.join([*python, "80", "0.1"])}'
    _submit(server, teller, VICTIM, ["sh", "-c", script], priority=3, cpu=2, checkpoint="manual:signal")
    _submit(server, teller, OTHER, [*python, "100", "0.1"], priority=5, cpu=2, checkpoint="manual:signal")
    _submit(server, teller, SMALL, ["sh", "-c", "sleep 0.5; echo the report is written"], priority=2, cpu=1)
    teller.follow(VICTIM)
    _until_it_works(server)
    time.sleep(ALONE_S)
    _submit(server, teller, URGENT, ["sh", "-c", "echo urgent work; sleep 1"], priority=9, cpu=2)
    try:
        ended = {name: client.wait(name, PATIENCE_S)["state"] for name in (URGENT, VICTIM, OTHER, SMALL)}
    except TimeoutError as error:
        raise CedeError(f"the demo came to no end: {error}") from None
    logs = {number: _log(server, number) for number in range(1, client.job(VICTIM)["attempt"] + 1)}
    states = [event["after"] for event in client.events(workload=VICTIM)]
    saved, resumed = _last(SAVED, logs.get(1, "")), _last(RESUMED, logs.get(2, ""))
    missing = missed(ended, states, saved, resumed, RESUMES in logs.get(2, ""))
    return Outcome(ended, saved, resumed, time.monotonic() - began, missing, client.why(VICTIM), states)


def missed(
    ended: dict[str, str], states: Sequence[str], saved: int | None, resumed: int | None, told: bool
) -> list[str]:
    """What should have happened and did not."""
    problems = [f"{name} is {state}, not completed" for name, state in ended.items() if state != "completed"]
    problems += [f"{VICTIM} was never {state}" for state in ("checkpointing", "suspended") if state not in states]
    if states.count("running") < 2:
        problems.append(f"{VICTIM} did not run again")
    if not told:
        problems.append(f"{VICTIM} was not told that it resumes")
    if saved is None or saved != resumed:
        problems.append(f"{VICTIM} saved {saved} and resumed from {resumed}")
    return problems


def _submit(
    server: DemoServer,
    teller: Teller,
    name: str,
    command: list[str],
    *,
    priority: int,
    cpu: int,
    checkpoint: str | None = None,
) -> None:
    asked = f" --checkpoint {checkpoint}" if checkpoint else ""
    shown = shlex.join(command).replace(sys.executable, "python").replace(f"{server.program.parents[2]}/", "")
    teller.say(f"$ cede submit --name {name} --priority {priority} --cpu {cpu}{asked} -- {shown}", "bold green")
    mode, _, protocol = (checkpoint or "none").partition(":")
    wanted = {"mode": mode, "protocol": protocol} if protocol else None
    server.client.submit(command, name=name, priority=priority, cpu=cpu, checkpoint=wanted, cwd="/")


def _until_it_works(server: DemoServer) -> None:
    """The victim has begun to count: from then on it heeds the signal."""
    ends = time.monotonic() + PATIENCE_S
    for piece in followed(server.client, LogQuery(VICTIM), between=None):
        if b"starting from" in piece:
            return
        if time.monotonic() > ends:
            break
    raise CedeError(f"{VICTIM} did not begin to count: {server.client.job(VICTIM)['why']}")


def _log(server: DemoServer, attempt: int) -> str:
    return b"".join(written(server.client, LogQuery(VICTIM, attempt))).decode(errors="replace")


def _last(pattern: re.Pattern[str], log: str) -> int | None:
    matches = pattern.findall(log)
    if not matches:
        return None
    return int(matches[-1][0] if isinstance(matches[-1], tuple) else matches[-1])
