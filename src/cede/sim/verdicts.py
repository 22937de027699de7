"""The verdict of a comparison: which run is best for which goal, at whose cost, and how sure that is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import log
from statistics import fmean
from typing import Any

from cede.sim.compare import Cell, Compared, Row, Run
from cede.sim.measures.definitions import MANY, SOME_WAIT_S
from cede.sim.number_format import scale_of
from cede.sim.paired_test import LEAST

FEW_WAIT = 0.01
"""With no more jobs than this share waiting, and nobody preempted, there is nothing for a policy to decide."""
MOST_OF_IT = 0.9
NOTICED = 1.1
"""A group that fares worse by less than this factor is not told of as the one that pays."""
GOALS: tuple[tuple[str, str, str, float], ...] = (
    ("wait_mean", "Short waits for all", "waits", 1.0),
    ("slowdown_p95", "Short jobs not held up", "short jobs", 0.01),
    ("steady_goodput", "Most work done", "throughput", 0.005),
    ("wasted", "Least work thrown away", "waste", 0.001),
    ("preempted_share", "Fewest jobs interrupted", "interruptions", 0.005),
    ("under_guarantee_hours", "Guarantees kept", "guarantees", 0.1),
    ("target_misses", "Target waits met", "target waits", 0.005),
    ("cost", "Lowest cost", "cost", 0.0),
)
"""The measure that stands for each goal, of all jobs; what the goal is called after "If you want", and after "Best on";
and how far two runs must be apart to choose between them by it. Before them comes the wait of the highest class."""
URGENT, URGENT_S = "wait_p95", 1.0
SLIGHT = 0.01
"""Nor does anybody choose by less than this part of a value, however sure the test is that there is a difference."""
PAYS = (
    ("wait_p95", "waits {} at p95", 60.0),
    ("preempted_share", "has {} of jobs interrupted", 0.01),
)
"""Measures of a group by which it pays for what others gain, with words for them, and the least that is told of."""
NOBODY = "nobody noticeably"


@dataclass(frozen=True, slots=True)
class Goal:
    """One thing that somebody may want. Without a `winner` nothing sets the runs apart that anybody would choose by."""

    title: str
    short: str
    measure: str
    by: str
    group: str
    winner: str | None
    equal: tuple[str, ...]
    """Runs as good as the winner, which only comes first among them: with its value, or next to it."""
    like: tuple[str, ...]
    """Runs that chance may have put behind the winner."""
    value: str
    costs: str
    sure: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is to be thought of one run, and what its numbers must not be used for."""

    label: str
    judged: bool
    sentence: str
    not_for: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Judgement:
    """`calm` says that nobody had to wait; then nothing else is said."""

    basis: str
    calm: str | None
    verdicts: tuple[Verdict, ...]
    goals: tuple[Goal, ...] = field(default=())

    @property
    def not_for(self) -> tuple[str, ...]:
        """What none of the judged runs may be used for: said once for all of them."""
        every = [one.not_for for one in self.verdicts if one.judged]
        return tuple(said for said in every[0] if all(said in own for own in every)) if every else ()


def judge(compared: Compared) -> Judgement:
    """The judgement on a comparison; of one run alone only whether anybody had to wait."""
    judged = [run for run in compared.runs if run.judged]
    calm = _calm(judged or compared.runs)
    several = len(compared.runs) > 1
    goals = () if calm or not several else tuple(_goals(compared))
    verdicts = tuple(_verdict(run, compared, goals, calm) for run in compared.runs) if several else ()
    return Judgement(_basis(compared, judged), calm, verdicts, goals)


def to_json(judgement: Judgement) -> dict[str, Any]:
    """The judgement as plain data."""
    return {
        "basis": judgement.basis,
        "no_contention": judgement.calm,
        "verdicts": [
            {"run": one.label, "judged": one.judged, "sentence": one.sentence, "not_for": list(one.not_for)}
            for one in judgement.verdicts
        ],
        "goals": [
            {
                "goal": one.title,
                "measure": one.measure,
                "by": one.by,
                "group": one.group,
                "run": one.winner,
                "equal": list(one.equal),
                "like": list(one.like),
                "value": one.value,
                "costs": one.costs,
                "sure": one.sure,
            }
            for one in judgement.goals
        ],
    }


def _basis(compared: Compared, judged: Sequence[Run]) -> str:
    """What the whole rests on, in one sentence."""
    runs = compared.runs
    if not runs:
        return ""
    first = (judged or runs)[0].results[0]
    jobs, common = (round(first.value(key) or 0) for key in ("jobs", "compared"))
    seeds = "once each" if compared.repeats == 1 else f"with {compared.repeats} seeds each"
    if len(runs) == 1:
        return f"{jobs:,} jobs, replayed {'once' if compared.repeats == 1 else seeds}."
    which = f"all {len(runs)} variants" if len(judged) == len(runs) else f"{len(judged)} of {len(runs)} variants"
    over = f"all {jobs:,} jobs" if common == jobs else f"the {common:,} of {jobs:,} jobs that each of them finished"
    return f"{which[0].upper()}{which[1:]} can be compared, over {over}; replayed {seeds}."


def _calm(runs: Sequence[Run]) -> str | None:
    """A sentence if nobody had to wait under any of them."""
    results = [one for run in runs for one in run.results]
    waited = [one.value("waited_share") or 0.0 for one in results]
    preempted = sum(one.value("preemptions") or 0.0 for one in results)
    if not results or preempted or max(waited) > FEW_WAIT:
        return None
    done = fmean(one.value("steady_goodput") or 0.0 for one in results)
    some = f"no more than {max(waited):.1%} of the jobs waited" if max(waited) else "no job waited"
    return (
        f"No contention: {some} {SOME_WAIT_S:g} s or longer, nobody was preempted, and while jobs came {done:.0%} of "
        "the cluster was at work on average. Here the policy makes no difference to these jobs, and nothing below "
        "ranks one above another. Ask again with fewer nodes or more work: --load-factor 2."
    )


# -- goals -------------------------------------------------------------------------------------------------------


def _goals(compared: Compared) -> Iterator[Goal]:
    ranks = [row.group for row in compared.rows if row.by == "priority" and row.measure.key == URGENT]
    if len(ranks) > 1:
        title = f"Priority {ranks[0]} to start soonest"
        yield from _goal(compared, title, f"priority {ranks[0]}", URGENT, URGENT_S, "priority", ranks[0])
    for key, title, short, least in GOALS:
        yield from _goal(compared, title, short, key, least, "all", "all")


def _goal(compared: Compared, title: str, short: str, key: str, least: float, by: str, group: str) -> Iterator[Goal]:
    row = next((one for one in compared.rows if (one.measure.key, one.by, one.group) == (key, by, group)), None)
    if row is None:
        return
    cells = {run.label: cell for run, cell in zip(compared.runs, row.cells, strict=True) if run.judged}
    known = {label: cell.value for label, cell in cells.items() if cell.value is not None}
    if not known:
        return
    ranked = sorted(known, key=lambda label: known[label], reverse=row.measure.better != "low")
    first, last = ranked[0], ranked[-1]
    unit, name = row.measure.unit, row.measure.title
    equal = tuple(label for label in ranked[1:] if _as_good(known[first], known[label], least))
    if len(equal) == len(known) - 1:
        told = _between(known[first], known[last], unit)
        said = "no difference" if cells[last].difference is None else "no difference to choose by"
        yield Goal(title, short, key, by, group, None, (), (), f"{name} {told}", "", said)
        return
    like = tuple(label for label, cell in cells.items() if cell.within_noise and label not in equal)
    following = next(label for label in ranked[1:] if label not in equal)
    told = f"{name} {_told(known[first], unit)}; next: {following} {_told(known[following], unit)}"
    price, sure = _price(compared, first), _sure(compared, cells, equal, like)
    yield Goal(title, short, key, by, group, first, equal, like, told, price, sure)


def _as_good(best: float, value: float, least: float) -> bool:
    """Whether the two are so near that nobody would choose by the difference."""
    return abs(value - best) < max(least, SLIGHT * max(abs(best), abs(value)), 1e-9)


def _sure(compared: Compared, cells: dict[str, Cell], equal: Sequence[str], like: Sequence[str]) -> str:
    if compared.repeats < LEAST:
        return f"not tested: {'one replay says' if compared.repeats == 1 else 'so few seeds say'} nothing about chance"
    near = {*equal, *like}
    clear = [cell.chance for label, cell in cells.items() if cell.chance is not None and label not in near]
    if not clear:
        return "it may be chance" if like else "not tested"
    return f"p \u2264 {_p(max(clear))} against {'the others' if equal or like else 'all others'}"


def _price(compared: Compared, winner: str) -> str:
    """Which group pays most under the winner, against the run that is best for it: by its waits, else by how often its
    jobs are interrupted. Each of its jobs counts, by the logarithm of the factor: neither a few jobs that wait a
    thousand times as long, nor many that wait a little longer, stand for all."""
    place = next(place for place, run in enumerate(compared.runs) if run.label == winner)
    for key, words, least in PAYS:
        worst: tuple[float, str] | None = None
        for row in compared.rows:
            cell, best = row.cells[place], _best(compared, row)
            if row.by not in ("priority", "queue") or row.measure.key != key or cell.value is None or best is None:
                continue
            if cell.difference is None or cell.within_noise or cell.value - best[1] < least:
                continue
            factor = cell.value / max(best[1], least)
            jobs = _jobs(compared, row, place)
            weight = jobs * log(factor) if factor >= NOTICED else 0.0
            if weight > (worst[0] if worst is not None else 0.0):
                group = f"{row.by} {row.group} ({jobs:,.0f} {'job' if jobs == 1 else 'jobs'})"
                # Each in a unit of its own: minutes beside months.
                own, other = (_told(value, row.measure.unit) for value in (cell.value, best[1]))
                worst = (weight, f"{group} {words.format(own)} ({best[0]}: {other})")
        if worst is not None:
            return worst[1]
    return NOBODY


def _jobs(compared: Compared, row: Row, place: int) -> float:
    """How many jobs the group of this row has; one where nothing is told of that."""
    own = (one for one in compared.rows if (one.measure.key, one.by, one.group) == ("jobs", row.by, row.group))
    count_row = next(own, None)
    return 1.0 if count_row is None else count_row.cells[place].value or 1.0


def _best(compared: Compared, row: Row) -> tuple[str, float] | None:
    known = [
        (run.label, cell.value)
        for run, cell in zip(compared.runs, row.cells, strict=True)
        if run.judged and cell.value is not None
    ]
    return min(known, key=lambda one: one[1]) if known else None


# -- verdicts ----------------------------------------------------------------------------------------------------


def _verdict(run: Run, compared: Compared, goals: Sequence[Goal], calm: str | None) -> Verdict:
    if not run.judged:
        return Verdict(run.label, False, _unfit(run), ("comparing its waits, goodput or fairness",))
    if calm:
        who = "hardly anybody" if _mean(run, "waited_share") else "nobody"
        return Verdict(run.label, True, f"Did all the work, and {who} waited.", ("choosing a policy",))
    first = "Best" if compared.repeats >= LEAST else "Ahead (untested)"
    parts: list[str] = []
    for words, won in (
        (f"{first} on", [goal.short for goal in goals if goal.winner == run.label and not goal.equal]),
        (f"{first}, with equals, on", [goal.short for goal in goals if goal.equal and run.label in _best_of(goal)]),
        ("No worse, as far as can be told, on", [goal.short for goal in goals if run.label in goal.like]),
    ):
        if won:
            parts.append(f"{words[0].lower() if parts else words[0]}{words[1:]} {_listed(won)}")
    parts = parts or ["Best on none of the goals below"]
    costs = _price(compared, run.label)
    return Verdict(
        run.label,
        True,
        f"{'; '.join(parts)}." + ("" if costs == NOBODY else f" Who pays: {costs}."),
        tuple(_limits(run, compared)),
    )


def _best_of(goal: Goal) -> tuple[str | None, ...]:
    return goal.winner, *goal.equal


def _unfit(run: Run) -> str:
    first = run.results[0]
    stranded = [one.stranded for one in run.results]
    left = [fmean(getattr(one, key) for one in stranded) for key in ("jobs", "hours", "share")]
    parts = []
    for word, (count, hours, share) in (
        ("refused", [_mean(run, key) for key in ("refused", "refused_hours", "refused_share")]),
        ("ended for good", [_mean(run, key) for key in ("failed", "failed_hours", "failed_share")]),
        ("left waiting for ever", left),
    ):
        if count:
            unit = f"{first.resource}-hours"
            parts.append(f"{word} {round(count, 4):,.10g} jobs, {hours:,.0f} {unit}, {share:.1%} of the work")
    return f"Not judged: it {_listed(parts)}, so the rest was an easier task than the others had."


def _limits(run: Run, compared: Compared) -> Iterator[str]:
    """What the numbers of this run must not be used for."""
    others = {_way(other) for other in compared.runs if other.judged} - {_way(run)}
    if others:
        there = _listed(sorted(others))
        yield f"comparing waits with those of variants that backfill differently ({_way(run)} here, {there} there)"
    if compared.repeats < LEAST:
        yield f"a ranking (fewer than {LEAST} seeds do not rule out chance)"
    groups = {group for by, group in run.results[0].values if by == "priority"}
    if len(groups) < 2:
        yield "judging urgent work (all jobs have the same priority)"
    if _mean(run, "never_started"):
        yield f"the waits of jobs that had not started when the replay ended ({_each(run, 'never_started', 'job')})"
    jobs, common = (_mean(run, key) for key in ("jobs", "compared"))
    if jobs and common / jobs < MOST_OF_IT:
        yield f"the {jobs - common:,.0f} jobs that not every variant finished"
    if _mean(run, "thrashing"):
        yield f"jobs that must make progress (preempted more than {MANY} times: {_each(run, 'thrashing', 'job')})"
    if _mean(run, "loops"):
        yield f"production as it is (workloads preempted each other in turn: {_each(run, 'loops', 'loop')})"


def _way(run: Run) -> str:
    return str(run.settings.get("backfill", "off"))


# -- words -------------------------------------------------------------------------------------------------------


def _mean(run: Run, key: str) -> float:
    return round(fmean(one.value(key) or 0.0 for one in run.results), 4)


def _each(run: Run, key: str, unit: str) -> str:
    """How many, and that it is the mean of several replays if it is."""
    number = _mean(run, key)
    return f"{number:,.10g} {unit if number == 1 else f'{unit}s'}" + (" on average" if len(run.results) > 1 else "")


def _told(value: float, unit: str) -> str:
    """A number in the unit that suits it."""
    scale = scale_of(unit, [value])
    return f"{scale.number(value)} {scale.unit.replace('resource', 'unit')}".rstrip().replace("\u202f", ",")


def _between(best: float, worst: float, unit: str) -> str:
    """Both ends of what the runs have, in one unit; one of them where they read alike."""
    low, high = sorted((best, worst))
    scale = scale_of(unit, [low, high])
    numbers = dict.fromkeys(scale.number(value).replace("\u202f", ",") for value in (low, high))
    return f"{' to '.join(numbers)} {scale.unit.replace('resource', 'unit')}".rstrip()


def _p(chance: float) -> str:
    return "0.001" if chance <= 0.001 else f"{chance:.1g}"


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
