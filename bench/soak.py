"""What `cede bench soak` measures: whether a server that has run many jobs is as it was after the first ones."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from threading import local
from typing import TYPE_CHECKING, Any

from cede.cli.bench.served import Served, place, served_in
from cede.live.client import Client
from cede.model.errors import CedeError
from cede.model.lifecycle import FINAL, Phase

if TYPE_CHECKING:
    from rich.console import Console

PARTS = 10
CALLERS = 4
AT_ONCE = 60
"""So many jobs of one caller's lot are under way at most."""
PATIENCE_S = 600.0
LOOK_S = 0.02
KEPT_S = 1
"""How long ended jobs are kept when retention is tried."""
CLUSTER: dict[str, Any] = {
    "cede": 1,
    "doctrine": "backendai",
    "nodes": [{"name": "n", "count": 4, "capacity": {"cpu": 4}}],
    "queues": [{"name": "default"}],
}
UNDER_WAY = tuple(str(phase) for phase in Phase if phase not in FINAL)


def measured(jobs: int, *, tell: Callable[[str], object]) -> dict[str, Any]:
    """Everything that `bench soak` reports, as plain data; sizes in bytes, times in seconds."""
    with place() as folder:
        with served_in(folder, CLUSTER) as here:
            tell("a server that has done nothing")
            samples = [_sample(here, 0, 0.0)]
            began = time.monotonic()
            for part in range(PARTS):
                tell(f"part {part + 1} of {PARTS}")
                _run(here, range(jobs * part // PARTS, jobs * (part + 1) // PARTS))
                samples.append(_sample(here, jobs * (part + 1) // PARTS, time.monotonic() - began))
            seconds = time.monotonic() - began
            completed = _count(here.data, "phase = 'completed'")
        tell("retention")
        retention = _retention(folder)
    return {
        "jobs": jobs,
        "seconds": seconds,
        "lost": jobs - completed,
        "samples": samples,
        "bytes_a_job": (samples[-1]["store"] - samples[1]["store"]) / (jobs - samples[1]["jobs"]),
        "memory_growth": samples[-1]["memory"] - samples[1]["memory"],
        "descriptor_growth": samples[-1]["descriptors"] - samples[1]["descriptors"],
        "retention": retention,
    }


def _sample(here: Served, jobs: int, seconds: float) -> dict[str, Any]:
    """What the server has once `jobs` have ended; sockets of callers that have gone are no longer counted."""
    return {
        "jobs": jobs,
        "seconds": seconds,
        "memory": here.memory(),
        "descriptors": here.descriptors(),
        "store": here.store_size(),
    }


def _run(here: Served, numbers: Sequence[int]) -> None:
    """These jobs have been submitted by several callers, and nothing is under way any more."""
    mine = local()
    clients: list[Client] = []

    def submit(lot: Sequence[int]) -> None:
        if not hasattr(mine, "client"):
            mine.client = Client(data=here.data)
            clients.append(mine.client)
        for number in lot:
            mine.client.submit(["true"], name=f"job-{number}", cpu=1, cwd="/")
        _settled(mine.client)

    lots = [numbers[first : first + AT_ONCE] for first in range(0, len(numbers), AT_ONCE)]
    try:
        with ThreadPoolExecutor(CALLERS) as pool:
            list(pool.map(submit, lots))
    finally:
        for client in clients:
            client.close()


def _settled(client: Client) -> None:
    """Less is under way than would be a reason to wait."""
    until = time.monotonic() + PATIENCE_S
    while client.jobs(state=UNDER_WAY, limit=1):
        if time.monotonic() > until:
            raise CedeError(f"jobs were under way for {PATIENCE_S:g} s though nothing was submitted")
        time.sleep(LOOK_S)


def _retention(folder: Path) -> dict[str, Any]:
    """A server that keeps ended jobs for a moment: their rows and folders go, and it answers meanwhile."""
    with served_in(folder, CLUSTER, {"retention": {"ended": KEPT_S, "events": KEPT_S, "inputs": KEPT_S}}) as here:
        began, until = time.monotonic(), time.monotonic() + PATIENCE_S
        rows = folders = -1
        while (rows or folders) and time.monotonic() < until:
            time.sleep(LOOK_S)
            rows = _count(here.data)
            folders = sum(1 for _ in (here.data / "jobs").iterdir())
        health = here.client.health()
        return {
            "seconds": time.monotonic() - began,
            "rows_left": rows,
            "folders_left": folders,
            "store": here.store_size(),
            "health": health["status"],
        }


def _count(data: Path, where: str = "1") -> int:
    with closing(sqlite3.connect(f"file:{data / 'cede.db'}?mode=ro", uri=True, timeout=PATIENCE_S)) as store:
        return int(store.execute(f"SELECT count(*) FROM workloads WHERE {where}").fetchone()[0])


def print_report(console: Console, report: dict[str, Any]) -> None:
    """A line for each tenth, then what follows from them."""
    from cede.cli.output import table, text

    right: dict[str, object] = {"justify": "right"}
    shown = table(*((name, right) for name in ("jobs", "time", "jobs/s", "memory", "files", "database")))
    before = report["samples"][0]
    for sample in report["samples"]:
        took = sample["seconds"] - before["seconds"]
        rate = f"{(sample['jobs'] - before['jobs']) / took:.0f}" if took else "-"
        shown.add_row(
            f"{sample['jobs']:,}",
            f"{sample['seconds']:.0f} s",
            rate,
            _mib(sample["memory"]),
            str(sample["descriptors"]),
            _mib(sample["store"]),
        )
        before = sample
    console.print(shown)
    kept = report["retention"]
    for line in (
        f"{report['jobs'] - report['lost']:,} of {report['jobs']:,} jobs completed; lost {report['lost']}",
        f"from the first tenth to the last: memory {_mib(report['memory_growth'], sign='+')}, "
        f"files {report['descriptor_growth']:+}",
        f"the database grew by {report['bytes_a_job']:,.0f} bytes a job",
        f"retention: {kept['rows_left']} rows and {kept['folders_left']} folders left after {kept['seconds']:.1f} s; "
        f"health {kept['health']}",
    ):
        console.print(text(line, most=None))


def _mib(size: float, sign: str = "") -> str:
    return f"{size / 2**20:{sign}.1f} MiB"
