"""What `cede bench live` measures: a real server, real processes, and the way from a request to a running command."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import TYPE_CHECKING, Any

from cede.cli.bench.served import Served, served
from cede.live.client import Client

if TYPE_CHECKING:
    from rich.console import Console

NODES = 4
SLOTS = 16
RATE, RATE_BAR = 220, 200
GANG_BARS = (0.080, 0.300)
IDLE_BAR = 0.01
SLURM = {"default": 0.70, "tuned": 0.24}
"""Seconds from submission to the start of such a gang, measured on a machine of the same class."""

CLUSTER: dict[str, Any] = {
    "cede": 1,
    "doctrine": "backendai",
    "nodes": [{"name": "n", "count": NODES, "capacity": {"cpu": SLOTS}}],
    "queues": [{"name": "default", "settings": {"preemptible_priority": 50, "preemption_mode": "terminate"}}],
}


def measured(*, quick: bool, tell: Callable[[str], object]) -> dict[str, Any]:
    """Everything that `bench live` reports, as plain data; times in seconds."""
    jobs, rounds, seconds = (200, 10, 3) if quick else (2000, 100, 10)
    with served(CLUSTER) as here:
        tell("idle")
        idle = _idle(here, 3 if quick else 10)
        tell("gangs that preempt")
        gangs = _gangs(here, rounds)
        tell(f"{RATE} submissions a second for {seconds} s")
        steady = _steady(here, seconds)
        tell(f"{jobs} short jobs")
        burst = _burst(here, jobs)
    return {"idle": idle, "gangs": gangs, "steady": steady, "burst": burst, "slurm": SLURM}


def _idle(here: Served, seconds: float) -> dict[str, Any]:
    """The share of a core that a server uses while nothing happens and three workloads sleep."""
    names = [here.client.submit(["sleep", "1000"], name=f"idle-{n}", cpu=1, cwd="/")["name"] for n in range(3)]
    for name in names:
        here.running(name)
    time.sleep(0.5)
    before, began = here.cpu_seconds(), time.monotonic()
    time.sleep(seconds)
    share = (here.cpu_seconds() - before) / (time.monotonic() - began)
    for name in names:
        here.client.cancel(name)
        here.client.wait(name, timeout=30)
    return {"share": share, "bar": IDLE_BAR}


def _gangs(here: Served, rounds: int) -> dict[str, Any]:
    """A gang over four full nodes takes the room of one that dies at once: submission to start, and its last part."""
    whole, from_decision = [], []
    for number in range(rounds):
        victim, gang = f"victim-{number}", f"gang-{number}"
        asks: dict[str, Any] = {"members": NODES, "cpu": SLOTS, "cwd": "/"}
        here.client.submit(["sleep", "1000"], name=victim, priority=1, **asks)
        here.running(victim)
        began = time.time()
        here.client.submit(["sleep", "1000"], name=gang, priority=90, **asks)
        gang_job = here.running(gang)
        whole.append(_instant(gang_job["began"]) - began)
        held = next(e for e in here.client.events(follow=False, workload=gang) if e["signal"] == "hold")
        from_decision.append(_instant(gang_job["began"]) - _instant(held["at"]))
        here.client.cancel(gang)
        here.client.wait(gang, timeout=30)
    return {"rounds": rounds, "start": _spread(whole), "decision_to_start": _spread(from_decision), "bars": GANG_BARS}


def _steady(here: Served, seconds: int) -> dict[str, Any]:
    """Submissions to a full cluster at a fixed rate, however long the answers take: how many were taken in a second.

    All of them must have run once there was room.
    """
    total = RATE * seconds
    filler: dict[str, Any] = {"members": NODES, "cpu": SLOTS, "priority": 100, "cwd": "/"}
    here.client.submit(["sleep", "1000"], name="filler", **filler)
    here.running("filler")
    began = time.perf_counter() + 0.1
    taken: list[float] = []

    def submit(number: int) -> float:
        due = began + number / RATE
        time.sleep(max(0.0, due - time.perf_counter()))
        _client(here).submit(["true"], name=f"steady-{number}", cpu=1, cwd="/")
        return time.perf_counter() - due

    with ThreadPoolExecutor(16) as pool:
        taken = list(pool.map(submit, range(total)))
    spent = time.perf_counter() - began
    here.client.cancel("filler")
    ended = _all_ended(here, "steady-")
    return {"asked": RATE, "bar": RATE_BAR, "reached": total / spent, "answer": _spread(taken), "lost": total - ended}


def _burst(here: Served, jobs: int) -> dict[str, Any]:
    """As many short jobs as fast as they are taken, from eight callers."""
    began = time.perf_counter()
    at: dict[str, float] = {}

    def submit(number: int) -> None:
        name = f"burst-{number}"
        at[name] = time.time()
        _client(here).submit(["true"], name=name, cpu=1, cwd="/")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(submit, range(jobs)))
    submitted = time.perf_counter() - began
    ended = _all_ended(here, "burst-")
    burst = [job for job in here.client.jobs() if job["name"] in at]
    starts = [_instant(job["began"]) - at[job["name"]] for job in burst if job["began"]]
    first = min(at.values())
    last = max(_instant(job["began"]) for job in burst if job["began"])
    return {
        "jobs": jobs,
        "submissions_s": jobs / submitted,
        "starts_s": len(starts) / (last - first),
        "start": _spread(starts),
        "lost": jobs - ended,
    }


_clients: dict[int, Client] = {}


def _client(here: Served) -> Client:
    """One connection a thread."""
    import threading

    key = threading.get_ident()
    if key not in _clients:
        _clients[key] = Client(data=here.data)
    return _clients[key]


def _all_ended(here: Served, prefix: str) -> int:
    """How many of these have completed, once nothing is under way."""
    deadline = time.monotonic() + 300
    under_way = ("pending", "held", "starting", "running")
    while time.monotonic() < deadline and here.client.jobs(state=under_way, limit=1):
        time.sleep(0.05)
    return sum(job["name"].startswith(prefix) for job in here.client.jobs(state=("completed",)))


def _instant(text: str | None) -> float:
    return datetime.fromisoformat(text or "").timestamp()


def _spread(values: Sequence[float]) -> dict[str, float]:
    ordered = sorted(values)
    return {
        "p50": ordered[len(ordered) // 2],
        "p99": ordered[min(len(ordered) - 1, len(ordered) * 99 // 100)],
        "max": ordered[-1],
    }


def print_report(out: Console, report: dict[str, Any]) -> None:
    """The figures beside their bars."""
    from rich.table import Table

    from cede.cli.output import text

    table = Table(box=None, pad_edge=False)
    for heading in ("measure", "p50", "p99", "bar"):
        table.add_column(heading, justify="left" if heading == "measure" else "right", no_wrap=heading != "measure")

    def row(what: str, p50: str, p99: str = "", bar: str = "", *, held: bool = True) -> None:
        table.add_row(text(what), text(p50, "" if held else "red"), text(p99), text(bar))

    gangs, burst, steady, idle = (report[key] for key in ("gangs", "burst", "steady", "idle"))
    bars = gangs["bars"]
    held = gangs["start"]["p50"] <= bars[0] and gangs["start"]["p99"] <= bars[1]
    row(
        f"gang of {NODES} on full nodes, submission to start",
        _ms(gangs["start"]["p50"]),
        _ms(gangs["start"]["p99"]),
        f"{_ms(bars[0])}, {_ms(bars[1])}",
        held=held,
    )
    row("  of that, decision to start", *_pair(gangs["decision_to_start"]))
    row("  the same under Slurm: default, tuned", _ms(SLURM["default"]), _ms(SLURM["tuned"]))
    row(
        f"full cluster, {steady['asked']} submissions/s asked: taken in",
        f"{steady['reached']:.0f}/s",
        bar=f"{steady['bar']}/s",
        held=steady["reached"] >= steady["bar"],
    )
    row("  answer", *_pair(steady["answer"]))
    row(f"{burst['jobs']} short jobs at once: submissions", f"{burst['submissions_s']:.0f}/s")
    row("  starts", f"{burst['starts_s']:.0f}/s")
    row("  submission to start", *_pair(burst["start"]))
    row("jobs lost", str(steady["lost"] + burst["lost"]), bar="0", held=steady["lost"] + burst["lost"] == 0)
    row("idle, share of a core", f"{idle['share']:.2%}", bar=f"{idle['bar']:.0%}", held=idle["share"] <= idle["bar"])
    out.print(table)


def _pair(spread: dict[str, float]) -> tuple[str, str]:
    return _ms(spread["p50"]), _ms(spread["p99"])


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms"
