import json
from collections.abc import Mapping

import pytest

from cede.sim.compare import PAIRED, Compared, Run, table, to_json
from cede.sim.measures.measure import Measured, measure
from tests.sim.results import Job, Ran, result_of


def measured(
    wait_mean: float | None = None, *, stated: tuple[str, ...] = (), queue: float | None = None, key: str = "wait_mean"
) -> Measured:
    """One replay with one value, of all jobs and perhaps of a queue."""
    groups: dict[tuple[str, str], Mapping[str, float | None]] = {("all", "all"): {key: wait_mean}}
    if queue is not None:
        groups["queue", "q"] = {key: queue}
    return Measured("d", "1", "gpu", (0, 10), groups, stated)


def compared(key: str, runs: Mapping[str, list[float | None]]) -> Compared:
    """Runs with these values of one measure, one for each seed."""
    seeds = range(len(next(iter(runs.values()))))
    return table([Run(name, name, {}, [measured(v, key=key) for v in values], seeds) for name, values in runs.items()])


def marks(key: str, runs: Mapping[str, list[float | None]]) -> str:
    """For each run: * best, ~ within noise, - neither."""
    cells = compared(key, runs).row(key).cells
    return "".join("*" if cell.best else "~" if cell.within_noise else "-" for cell in cells)


NOISE = (0.1, -0.1, 0.2, -0.2, 0.05)


def around(value: float, spread: float = 1.0) -> list[float | None]:
    """Five values about this one, one for each seed."""
    return [value + spread * noise for noise in NOISE]


@pytest.mark.parametrize(
    ("key", "runs", "expected"),
    [
        pytest.param("wait_mean", {"a": [5] * 5, "b": [3] * 5}, "-*", id="less waiting is better"),
        pytest.param("goodput", {"a": [0.5] * 5, "b": [0.3] * 5}, "*-", id="more goodput is better"),
        pytest.param("jobs", {"a": [5] * 5, "b": [3] * 5}, "--", id="no number of jobs is better"),
        pytest.param("wait_mean", {"a": [3] * 5, "b": [3] * 5}, "--", id="equals have no best"),
        pytest.param("wait_mean", {"a": [3] * 5, "b": [3] * 5, "c": [4] * 5}, "**-", id="two may be best"),
        pytest.param("goodput", {"a": [0.3] * 5, "b": [0.1 + 0.2] * 5, "c": [0.1] * 5}, "**-", id="last digits"),
        pytest.param("wait_mean", {"a": [None] * 5, "b": [3] * 5, "c": [4] * 5}, "-*-", id="none is not the best"),
        pytest.param("wait_mean", {"a": [None] * 5, "b": [3] * 5}, "--", id="one number alone is not the best"),
        pytest.param("wait_mean", {"a": [10, 20, 30, 5, 9], "b": [11, 21, 31, 6, 10]}, "*-", id="always one more"),
        pytest.param("wait_mean", {"a": [10, 20, 30, 5, 9], "b": [12, 18, 31, 8, 7]}, "*~", id="more or less is noise"),
        pytest.param("wait_mean", {"a": [1, 2, 1, 2], "b": [3, 4, 3, 4]}, "--", id="four repeats are too few"),
    ],
)
def test_the_best_is_marked_and_what_chance_may_have_put_behind_it(
    key: str, runs: dict[str, list[float | None]], expected: str
) -> None:
    assert marks(key, runs) == expected


def test_differences_are_taken_seed_by_seed() -> None:
    """Their ranges overlap widely, but on every trace b takes between 1 and 1.4 longer."""
    found = compared("wait_mean", {"a": [10, 20, 30, 40, 50], "b": [11, 21.1, 31.2, 41.3, 51.4]}).row("wait_mean")

    best, other = found.cells
    assert (best.value, best.low, best.high, best.best) == (30, 10, 50, True)
    assert other.difference == pytest.approx(1.2)
    assert other.chance is not None
    assert other.chance < 0.001
    assert not other.within_noise


def test_several_runs_are_held_against_the_best_with_holms_correction() -> None:
    """Alone a difference with p of about 0.04 is told apart; as the smallest of three it would take 0.0167."""
    a: list[float | None] = [5.0] * 5
    b: list[float | None] = [5 + 1.0 + spread for spread in (-1.0, 0.5, -0.6, 0.9, 0.2)]
    noisy: list[float | None] = [5 + spread for spread in (-3.0, 4.0, -2.0, 3.0, -1.0)]
    [_, alone] = compared("wait_mean", {"a": a, "b": b}).row("wait_mean").cells

    assert alone.chance is not None
    assert 0.0167 < alone.chance < 0.05
    assert marks("wait_mean", {"a": a, "b": b}) == "*-"
    assert marks("wait_mean", {"a": a, "b": b, "c": noisy, "d": noisy}) == "*~~~"


def undone(refused: float, waits: float) -> Measured:
    values = {"wait_mean": waits, "refused_share": refused, "failed_share": 0.0, "compared": 9.0, "jobs": 10.0}
    return Measured("d", "1", "gpu", (0, 10), {("all", "all"): values}, ())


def test_a_run_that_is_not_judged_has_no_mark_though_its_number_is_the_best() -> None:
    runs = [
        Run("lazy", "d", {}, [undone(0.3, 1 + noise) for noise in NOISE], range(5), judged=False),
        Run("good", "d", {}, [undone(0.0, 5 + noise) for noise in NOISE], range(5)),
        Run("slow", "d", {}, [undone(0.0, 9 + noise) for noise in NOISE], range(5)),
    ]

    cells = table(runs).row("wait_mean").cells

    assert [(cell.best, cell.within_noise) for cell in cells] == [(False, False), (True, False), (False, False)]
    assert runs[0].undone == pytest.approx(0.3)
    assert cells[0].difference is None


def test_only_seeds_that_both_have_are_paired() -> None:
    one = Run("a", "a", {}, [measured(wait_mean=value) for value in (10, 20, 30)], (1, 2, 3))
    two = Run("b", "b", {}, [measured(wait_mean=value) for value in (21, 31, 99)], (2, 3, 4))

    assert table([one, two]).row("wait_mean").cells[1].difference == 1


def test_few_repeats_say_nothing_about_chance_and_that_is_said() -> None:
    once = compared("wait_mean", {"a": [1], "b": [2]})

    assert [cell.best for cell in once.row("wait_mean").cells] == [False, False]
    assert "each run was replayed once" in once.stated[-1]
    assert "replayed 2 times" in compared("wait_mean", {"a": [1, 1], "b": [2, 2]}).stated[-1]
    assert compared("wait_mean", {"a": [1] * 5, "b": [2] * 5}).stated[-1] == PAIRED


def test_runs_that_do_not_backfill_alike_are_told_of() -> None:
    runs = [Run(name, "d", {"backfill": how}, [measured(1)]) for name, how in (("a", "easy"), ("b", "off"))]

    assert table(runs).stated[0] == (
        "Runs do not backfill alike, and part of a difference in waits is that (easy: a; off: b)."
    )


def test_a_group_that_only_one_run_has_is_a_row_too() -> None:
    one = Run("a", "a", {}, [measured(wait_mean=1, queue=4)])
    two = Run("b", "b", {}, [measured(wait_mean=1)])

    found = table([one, two]).row("wait_mean", "queue", "q")

    assert [cell.value for cell in found.cells] == [4, None]


def test_what_one_run_states_is_said_of_it_and_what_all_state_once() -> None:
    one = Run("a", "a", {}, [measured(stated=("alike", "only a"))])
    two = Run("b", "b", {}, [measured(stated=("alike",))])

    assert table([one, two]).stated[:2] == ("alike", "a: only a")


def test_a_run_has_one_result_for_each_seed() -> None:
    with pytest.raises(ValueError, match="a has 1 results for 2 seeds"):
        table([Run("a", "a", {}, [measured(wait_mean=1)], (1, 2))])


def test_nothing_to_compare_is_an_empty_table() -> None:
    assert table([]).rows == ()


def test_as_data_it_is_the_same_every_time_and_has_what_the_page_says() -> None:
    runs = [
        Run(label, "backendai", {"x": 1}, [measure(result_of(Job("a", [Ran(start, 9)])))], edition="26.8")
        for label, start in (("early", 0), ("late", 5))
    ]

    data = to_json(table(runs), {"basis": "two runs"})

    assert json.dumps(data) == json.dumps(to_json(table(list(runs)), {"basis": "two runs"}))
    assert list(data) == ["schema", "repeats", "judgement", "stated", "measures", "runs", "rows"]
    assert data["runs"][1] == {
        "label": "late",
        "doctrine": "backendai",
        "edition": "26.8",
        "settings": {"x": 1},
        "seeds": [0],
        "judged": True,
        "undone": 0.0,
        "resource": "gpu",
        "windows_us": [[0, 9_000_000]],
    }
    [row] = [row for row in data["rows"] if (row["by"], row["measure"]) == ("all", "wait_mean")]
    assert row["cells"][1] == {
        "run": "late",
        "value": 5,
        "low": 5,
        "high": 5,
        "best": False,
        "within_noise": False,
        "difference": 5,
        "spread": None,
        "chance": None,
        "repeats": [5],
    }
