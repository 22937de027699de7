"""The jobs of the crash test, drawn by lot: what each asks for, how it behaves, and how it may end."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

from cede.cli.bench.crash.contention import CONTENTIONS, CPUS, NODES, Contention

TIMES = {"checkpoint_timeout": "30s", "grace_period": "5s", "start_timeout": "60s"}
CLUSTER = CONTENTIONS["backendai"].cluster
WALLTIME = "1h"
"""Of jobs that have time enough: it must not be over because somebody set the clock."""


@dataclass(frozen=True, slots=True)
class JobSpec:
    """A job to be submitted. `acts` is for its program, `asks` for the server; `ends`: how it may end uncancelled."""

    name: str
    acts: dict[str, Any]
    asks: dict[str, Any] = field(default_factory=dict)
    ends: tuple[str, ...] = ("completed",)

    @property
    def members(self) -> int:
        return int(self.asks.get("members", 1))

    @property
    def saves(self) -> bool:
        return "checkpoint" in self.asks

    def command(self, python: str, program: str, folder: str) -> list[str]:
        return [python, "-I", "-S", program, folder, json.dumps(self.acts)]


def _plain(draw: Random) -> tuple[dict[str, Any], dict[str, Any]]:
    return {"lingers": draw.choice([0, 0.1, 0.6])}, {}


def _saver(draw: Random) -> tuple[dict[str, Any], dict[str, Any]]:
    acts = {"takes": draw.choice([0, 0.05, 0.3]), "goes": draw.random() < 0.4, "own": draw.choice([0, 0, 5])}
    return acts, {"checkpoint": {"mode": "auto", "protocol": draw.choice(["signal", "signal", "shm"])}}


def _gang(draw: Random) -> tuple[dict[str, Any], dict[str, Any]]:
    acts, asks = _saver(draw) if draw.random() < 0.5 else _plain(draw)
    return acts, asks | {"members": draw.randint(2, NODES)}


def _urgent(draw: Random) -> tuple[dict[str, Any], dict[str, Any]]:
    return {"steps": draw.randint(2, 8)}, {"cpu": draw.randint(2, CPUS)}


def _urgent_gang(draw: Random) -> tuple[dict[str, Any], dict[str, Any]]:
    acts, asks = _urgent(draw)
    return acts, asks | {"members": NODES}


def _failing(draw: Random) -> tuple[dict[str, Any], dict[str, Any]]:
    again = {"requeue": "always", "max_requeues": 2} if draw.random() < 0.5 else {}
    return {"code": draw.randint(1, 99)}, again


def _stubborn(draw: Random) -> tuple[dict[str, Any], dict[str, Any]]:
    """It has to be killed."""
    return {"lingers": 60, "stray": draw.random() < 0.5}, {"times": TIMES | {"grace_period": 0.4}}


def _stray(draw: Random) -> tuple[dict[str, Any], dict[str, Any]]:
    acts, asks = _plain(draw)
    return acts | {"stray": True}, asks


def _deaf(_: Random) -> tuple[dict[str, Any], dict[str, Any]]:
    """It says that it saves, and never does."""
    asks = {"checkpoint": {"mode": "auto", "protocol": "signal"}, "times": TIMES | {"checkpoint_timeout": 0.7}}
    return {"deaf": True}, asks | {"requeue": "always", "max_requeues": 100}


def _refusing(draw: Random) -> tuple[dict[str, Any], dict[str, Any]]:
    acts, asks = _saver(draw)
    return acts | {"refuses": True, "own": 0}, asks | {"requeue": "always", "max_requeues": 100}


def _once(draw: Random) -> tuple[dict[str, Any], dict[str, Any]]:
    """A preemption ends it."""
    acts, asks = _plain(draw)
    return acts, asks | {"requeue": "never"}


def _overlong(draw: Random) -> tuple[dict[str, Any], dict[str, Any]]:
    """Its walltime is over before it is."""
    acts, asks = _plain(draw)
    return acts | {"steps": 60}, asks | {"walltime": 1}


KINDS: dict[str, tuple[int, Callable[[Random], tuple[dict[str, Any], dict[str, Any]]]]] = {
    "plain": (18, _plain),
    "saver": (26, _saver),
    "gang": (14, _gang),
    "urgent": (14, _urgent),
    "urgent-gang": (4, _urgent_gang),
    "failing": (6, _failing),
    "stubborn": (4, _stubborn),
    "stray": (4, _stray),
    "deaf": (3, _deaf),
    "refusing": (3, _refusing),
    "once": (4, _once),
    "overlong": (3, _overlong),
}
ENDS = {
    "failing": ("failed",),
    "once": ("completed", "preempted", "failed"),
    "overlong": ("failed", "completed"),
}
"""Of kinds that do not simply complete. One that is never queued again fails when it is lost; one that has too little
time gets to its end nevertheless if the server is away long enough."""


URGENT = ("urgent", "urgent-gang")


def draw_spec(draw: Random, number: int, contention: Contention = CONTENTIONS["backendai"]) -> JobSpec:
    """The job with this number."""
    kind = draw.choices(list(KINDS), [weight for weight, _ in KINDS.values()])[0]
    acts, asks = KINDS[kind][1](draw)
    lasting, place = (1, contention.urgent) if kind in URGENT else (contention.lasting, contention.ordinary)
    acts = {"steps": draw.randint(5, 60) * lasting, "tick": 0.04} | acts
    standard: dict[str, Any] = {
        "cpu": draw.choice([1, 1, 2]),
        "times": TIMES,
        "max_requeues": 100,
        "walltime": WALLTIME,
    }
    wanted = standard | place(draw) | asks
    if contention.whole_on_one_node:
        wanted["cpu"] = min(wanted["cpu"], CPUS // wanted.get("members", 1))
    return JobSpec(f"{kind}-{number}", acts, wanted, ENDS.get(kind, ("completed",)))
