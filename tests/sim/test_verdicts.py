"""What a comparison says to who must decide."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cede.sim.compare import Run, table
from cede.sim.measures.measure import Measured
from cede.sim.verdicts import Judgement, judge

SEEDS = range(5)
Groups = Mapping[tuple[str, str], Mapping[str, float]]


def run(label: str, groups: Groups, stated: Sequence[str] = (), **settings: Any) -> Run:
    """One with these values in every seed, each a little apart from those of the others."""
    results = [
        Measured(label, "1", "gpu", (0, 10), {at: {key: value + seed / 1e6 for key, value in own.items()}
                                              for at, own in groups.items()}, tuple(stated))
        for seed in SEEDS
    ]  # fmt: skip
    return Run(label, label, settings, results, SEEDS)


def contended(wait: float, many: float, few: float) -> Groups:
    """Somebody waits; `many` is the p95 of a queue of a thousand jobs, `few` of one of three."""
    return {
        ("all", "all"): {"jobs": 1003, "compared": 1003, "waited_share": 0.5, "preemptions": 9, "wait_mean": wait},
        ("queue", "crowd"): {"jobs": 1000, "wait_p95": many},
        ("queue", "corner"): {"jobs": 3, "wait_p95": few},
    }


def costs(judgement: Judgement) -> dict[str, str]:
    return {goal.measure: goal.costs for goal in judgement.goals}


def test_the_group_that_pays_is_the_one_whose_jobs_pay_most_together() -> None:
    """Three jobs wait 7,000 times as long, and a thousand sixteen times as long."""
    found = judge(table([run("a", contended(10, 16_000, 700_000)), run("b", contended(20, 1_000, 100))]))

    assert costs(found)["wait_mean"] == "queue crowd (1,000 jobs) waits 4.44 h at p95 (b: 16.7 min)"


def test_few_jobs_pay_where_nobody_else_does() -> None:
    found = judge(table([run("a", contended(10, 1_000, 700_000)), run("b", contended(20, 1_000, 100))]))

    assert costs(found)["wait_mean"] == "queue corner (3 jobs) waits 8.10 d at p95 (b: 100 s)"


def test_waits_of_runs_that_backfill_otherwise_are_not_for_comparing() -> None:
    """YTsaurus has no line, and so no backfill, where the others take EASY."""
    found = judge(table([
        run("kueue", contended(10, 9, 9), backfill="easy"),
        run("lattice", contended(11, 9, 9), backfill="easy"),
        run("ytsaurus", contended(12, 9, 9), backfill="off"),
    ]))  # fmt: skip
    limits = {one.label: one.not_for for one in found.verdicts}

    told = "comparing waits with those of variants that backfill differently"
    assert limits["ytsaurus"][0] == f"{told} (off here, easy there)"
    assert limits["kueue"][0] == f"{told} (easy here, off there)"


def test_runs_with_the_same_value_share_the_first_place() -> None:
    """None of them is ahead of the other, and neither is only as far as can be told no worse."""
    found = judge(table([run("a", contended(10, 9, 9)), run("b", contended(10, 9, 9)), run("c", contended(20, 9, 9))]))
    [goal] = [goal for goal in found.goals if goal.winner]
    sentences = {one.label: one.sentence for one in found.verdicts}

    assert (goal.winner, goal.equal, goal.like) == ("a", ("b",), ())
    assert goal.sure.endswith("against the others")
    assert sentences["a"] == sentences["b"] == "Best, with equals, on waits."
    assert sentences["c"] == "Best on none of the goals below."


def test_nobody_chooses_by_a_difference_that_is_sure_and_slight() -> None:
    """67 in 450,000 is told apart from chance by five seeds, and is no reason to take one of them."""
    worth = {"jobs": 9, "waited_share": 0.5, "preemptions": 9}
    found = judge(table([run("a", {("all", "all"): {**worth, "cost": 452_872, "wasted": 0.00028}}),
                         run("b", {("all", "all"): {**worth, "cost": 452_939, "wasted": 0.00047}})]))  # fmt: skip

    assert [(goal.measure, goal.winner, goal.sure) for goal in found.goals] == [
        ("wasted", None, "no difference to choose by"),
        ("cost", None, "no difference to choose by"),
    ]
    assert [goal.value for goal in found.goals] == ["wasted 0.028 to 0.047 %", "cost 452,872 to 452,939"]
    assert {one.sentence for one in found.verdicts} == {"Best on none of the goals below."}


def test_who_is_next_to_the_best_is_as_good_and_the_next_one_is_named() -> None:
    goals = judge(table([run("a", contended(1000, 9, 9)), run("b", contended(1005, 9, 9)),
                         run("c", contended(2000, 9, 9))])).goals  # fmt: skip
    [goal] = [goal for goal in goals if goal.winner]

    assert (goal.winner, goal.equal, goal.like) == ("a", ("b",), ())
    assert goal.value == "wait, mean 16.7 min; next: c 33.3 min"


def test_what_no_run_may_be_used_for_is_said_once() -> None:
    once = [Run(label, label, {}, [run(label, contended(10, 9, 9)).results[0]]) for label in "ab"]
    found = judge(table(once))

    assert found.not_for == (
        "a ranking (fewer than 5 seeds do not rule out chance)",
        "judging urgent work (all jobs have the same priority)",
    )
    assert all(set(found.not_for) <= set(one.not_for) for one in found.verdicts)


def test_where_nobody_waits_the_work_of_the_time_in_which_jobs_came_is_told() -> None:
    """Not that of the weeks in which the last job ran alone."""
    idle = {("all", "all"): {"jobs": 9, "waited_share": 0.0, "allocation": 0.08, "steady_goodput": 0.5}}
    calm = judge(table([run("a", idle), run("b", idle)])).calm

    assert calm is not None
    assert "while jobs came 50% of the cluster was at work on average" in calm


def test_a_mean_over_seeds_is_called_one() -> None:
    """0.2 jobs are none that anybody could name."""
    found = judge(table([run(label, {("all", "all"): {"jobs": 9, "waited_share": 0.5, "thrashing": 0.2}})
                         for label in "ab"]))  # fmt: skip

    assert (
        "jobs that must make progress (preempted more than 10 times: 0.2 jobs on average)" in found.verdicts[0].not_for
    )


def test_what_several_runs_state_alike_is_said_once() -> None:
    """Not for each of them, and without a name where all of them say it."""
    runs = [run("a", {("all", "all"): {"jobs": 1}}, ["Overruns.", "Same."]),
            run("b", {("all", "all"): {"jobs": 1}}, ["Overruns.", "Same."]),
            run("c", {("all", "all"): {"jobs": 1}}, ["Same."])]  # fmt: skip

    assert [one for one in table(runs).stated if "." in one][:2] == ["a, b: Overruns.", "Same."]
