"""A small comparison written by hand: four lanes of two GPUs each, in which some jobs give way to others."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from cede.sim.compare import Compared, Run, table
from cede.sim.measures.measure import measure
from cede.sim.report import write_report
from cede.sim.result import Result
from tests.sim.results import Job, Preempts, Ran, result_of

SCRIPT = "<script>alert(1)</script>"
TITLE = 'Lanes & "others" <compared>'
NOTES = ("Priorities were synthesised with seed 7.",)
SEEDS = (0, 1, 2, 3, 4)
QUEUES = ("research", f"queue {SCRIPT}", "serving")


@dataclass(frozen=True)
class Scene:
    """A report on disk, and what it was made from."""

    path: Path
    compared: Compared
    results: tuple[Result, ...]


def scene(folder: Path) -> Scene:
    """Three runs, of which one never preempts, with five seeds each; the report is in the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    settings = {"eager": (150, True), "calm": (160, True), "patient": (152, False)}
    replays = {label: [lanes(pace + seed, preempts) for seed in SEEDS] for label, (pace, preempts) in settings.items()}
    compared = table(
        [
            Run(label, "backendai", {"pace": settings[label][0]}, [measure(one) for one in own], SEEDS, "26.8")
            for label, own in replays.items()
        ]
    )
    results = tuple(own[0] for own in replays.values())
    path = folder / "report.html"
    write_report(path, compared, results, title=TITLE, notes=NOTES, moments_dir=folder / "moments")
    return Scene(path, compared, results)


def single(folder: Path) -> Scene:
    """One replay with one seed, as `cede simulate --report` writes it; nothing is preempted."""
    result = lanes(150, preempts=False)
    compared = table([Run("backendai", "backendai", {}, [measure(result)], (0,), "26.8")])
    write_report(folder / "one.html", compared, [result], title="One replay", moments_dir=folder / "moments")
    return Scene(folder / "one.html", compared, (result,))


def five(folder: Path) -> Scene:
    """Five runs with five seeds, of which the last refuses a quarter of its jobs."""
    folder.mkdir(parents=True, exist_ok=True)
    replays = {label: [lanes(150 + 3 * place + seed, preempts=place % 2 == 0) for seed in SEEDS]
               for place, label in enumerate(("backendai", "kueue", "lattice", "yunikorn"))}  # fmt: skip
    replays["ytsaurus"] = [refusing(lanes(150 + seed, preempts=True)) for seed in SEEDS]
    runs = [
        Run(label, label, {}, [measure(one) for one in own], SEEDS, "1", judged=label != "ytsaurus")
        for label, own in replays.items()
    ]
    results = tuple(own[0] for own in replays.values())
    write_report(folder / "five.html", table(runs), results, title="Five", notes=NOTES, moments_dir=folder / "moments")
    return Scene(folder / "five.html", table(runs), results)


def refusing(result: Result) -> Result:
    """The same, as if every fourth job that was not preempted had been refused."""
    plain = pl.col("preemptions") == 0
    gone = result.jobs.filter(plain & (pl.col("job") % 4 == 0))["job"]
    refused = pl.col("job").is_in(gone.implode())
    jobs = result.jobs.with_columns(
        state=pl.when(refused).then(pl.lit("refused")).otherwise("state"),
        first_start=pl.when(refused).then(None).otherwise("first_start"),
        ended=pl.when(refused).then(None).otherwise("ended"),
    )
    return replace(result, jobs=jobs, attempts=result.attempts.filter(~refused))


def roomy(folder: Path) -> Scene:
    """Two runs in which nobody waits."""
    folder.mkdir(parents=True, exist_ok=True)
    jobs = [Job(f"j{number}", [Ran(10 * number, 10 * number + 60)], submitted=10 * number) for number in range(20)]
    runs = [Run(label, "backendai", {}, [measure(result_of(*jobs))] * 5, SEEDS, "26.8") for label in ("one", "other")]
    results = (result_of(*jobs), result_of(*jobs))
    write_report(folder / "roomy.html", table(runs), results, title="Room for all")
    return Scene(folder / "roomy.html", table(runs), results)


def lanes(pace: int, preempts: bool) -> Result:
    """Each lane runs one job after the other; every third is sent away once, if anybody may be."""
    jobs: list[Job] = []
    decisions: list[Preempts] = []
    for lane in range(4):
        now = 0.0
        for step in range(8):
            name = f"lane{lane}-{step}"
            length = float(pace * (step + 1) + 40 * lane)
            queue = QUEUES[step % 2]
            common = Job(name, size=2, queue=queue, priority=step % 2, submitted=0)
            if not (preempts and step % 3 == 1):
                jobs.append(replace(common, runs=[Ran(now, now + length)]))
                now += length
                continue
            claimant = f"{SCRIPT} {lane}-{step}"
            told, left = now + length / 2, now + length / 2 + 12
            back = left + 90
            jobs.append(
                replace(
                    common,
                    runs=[
                        Ran(now, left, "preempted", lost=length / (4 + lane), overhead=12),
                        Ran(back, back + length, restored=5, overhead=5),
                    ],
                )
            )
            jobs.append(Job(claimant, size=2, queue=QUEUES[2], priority=9, submitted=told, runs=[Ran(left, back)]))
            decisions.append(
                Preempts(told, claimant, [name], why=f"priority {step % 2} is below the claimant's 9 {SCRIPT}")
            )
            now = back + length
    jobs.sort(key=lambda job: job.submitted)
    decisions.sort(key=lambda one: one.at)
    moments = {number: cluster(one) for number, one in enumerate(decisions)}
    return result_of(*jobs, decisions=decisions, notes=NOTES, moments=moments)


def cluster(decision: Preempts) -> dict[str, object]:
    """The cluster in which the decision's claimant waits and its victim runs."""
    return {
        "cede": 1,
        "doctrine": "backendai",
        "nodes": [{"name": "n1", "capacity": {"gpu": 2}}],
        "queues": [{"name": "all", "settings": {"preemptible_priority": 5}}],
        "workloads": [
            {"name": decision.victims[0], "queue": "all", "priority": 0, "state": "running", "started": -60,
             "requests": {"gpu": 2}, "nodes": ["n1"]},
            {"name": decision.claimant, "queue": "all", "priority": 9, "requests": {"gpu": 2}},
        ],
    }  # fmt: skip
