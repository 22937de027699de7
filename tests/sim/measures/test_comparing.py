import json
from collections.abc import Mapping

import pytest

from cede.sim.comparing import ONE_REPEAT, PAIRED, Compared, Run, table, to_json
from cede.sim.measures.measure import measure
from cede.sim.measures.measured import Measured
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


@pytest.mark.parametrize(
    ("key", "runs", "expected"),
    [
        pytest.param("wait_mean", {"a": [5], "b": [3]}, "-*", id="less waiting is better"),
        pytest.param("goodput", {"a": [0.5], "b": [0.3]}, "*-", id="more goodput is better"),
        pytest.param("jobs", {"a": [5], "b": [3]}, "--", id="no number of jobs is better"),
        pytest.param("wait_mean", {"a": [3], "b": [3]}, "--", id="equals have no best"),
        pytest.param("wait_mean", {"a": [3], "b": [3], "c": [4]}, "**-", id="two may be best"),
        pytest.param("goodput", {"a": [0.3], "b": [0.1 + 0.2], "c": [0.1]}, "**-", id="last digits are no difference"),
        pytest.param("wait_mean", {"a": [None], "b": [3], "c": [4]}, "-*-", id="who has no number is not the best"),
        pytest.param("wait_mean", {"a": [None], "b": [3]}, "--", id="one number alone is not the best"),
        pytest.param("wait_mean", {"a": [10, 20, 30], "b": [11, 21, 31]}, "*-", id="always one more is no noise"),
        pytest.param("wait_mean", {"a": [10, 20, 30], "b": [12, 18, 31]}, "*~", id="more or less is noise"),
        pytest.param("wait_mean", {"a": [1, 2], "b": [1.1, 2.3]}, "*~", id="two repeats tell little"),
    ],
)
def test_the_best_is_marked_and_what_is_within_noise_of_it(
    key: str, runs: dict[str, list[float | None]], expected: str
) -> None:
    assert marks(key, runs) == expected


def test_differences_are_taken_seed_by_seed() -> None:
    """Their ranges overlap widely, but on every trace b takes between 1 and 1.2 longer."""
    found = compared("wait_mean", {"a": [10, 20, 30], "b": [11, 21.1, 31.2]}).row("wait_mean")

    best, other = found.cells
    assert (best.value, best.low, best.high, best.spread) == (20, 10, 30, 10)
    assert other.difference == pytest.approx(1.1)
    assert other.spread == pytest.approx(0.1)
    assert not other.within_noise


def test_the_edge_of_noise_is_students_interval() -> None:
    """Of 3 differences with mean 1 and standard deviation s the interval is 4.303 s / sqrt(3) to each side."""
    edge = 1 * 3**0.5 / 4.303

    assert marks("wait_mean", {"a": [5, 5, 5], "b": [6 - edge * 0.99, 6, 6 + edge * 0.99]}) == "*-"
    assert marks("wait_mean", {"a": [5, 5, 5], "b": [6 - edge * 1.01, 6, 6 + edge * 1.01]}) == "*~"


def test_only_seeds_that_both_have_are_paired() -> None:
    one = Run("a", "a", {}, [measured(wait_mean=value) for value in (10, 20, 30)], (1, 2, 3))
    two = Run("b", "b", {}, [measured(wait_mean=value) for value in (21, 31, 99)], (2, 3, 4))

    assert table([one, two]).row("wait_mean").cells[1].difference == 1


def test_one_repeat_says_nothing_about_noise_and_that_is_said() -> None:
    once = compared("wait_mean", {"a": [1], "b": [1.0001]})

    assert [cell.within_noise for cell in once.row("wait_mean").cells] == [False, False]
    assert once.stated[-1] == ONE_REPEAT
    assert compared("wait_mean", {"a": [1, 1], "b": [2, 2]}).stated[-1] == PAIRED


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

    data = to_json(table(runs))

    assert json.dumps(data) == json.dumps(to_json(table(list(runs))))
    assert list(data) == ["schema", "repeats", "stated", "measures", "runs", "rows"]
    assert data["runs"][1] == {
        "label": "late",
        "doctrine": "backendai",
        "edition": "26.8",
        "settings": {"x": 1},
        "seeds": [0],
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
        "repeats": [5],
    }
