import pytest

from cede.cli.sim_view import print_compared, print_measured, scale_of, shown
from cede.sim.compare import Run, table
from cede.sim.measures.measure import measure
from cede.sim.result import Result
from tests.sim.results import HOUR, Job, Preempts, Ran, result_of


def replayed(wait: float = 0) -> Result:
    return result_of(
        Job("low", [Ran(wait, HOUR, "preempted", lost=60), Ran(2 * HOUR, 3 * HOUR)], size=8, queue="research"),
        Job("high", [Ran(HOUR, 2 * HOUR)], size=8, submitted=HOUR - 90, queue="production", priority=9),
        decisions=[Preempts(HOUR - 90, "high", ["low"])],
    )


@pytest.mark.parametrize(
    ("value", "unit", "expected"),
    [
        (None, "s", "–"),
        (0.0, "s", "0.00 s"),
        (90.0, "s", "90.00 s"),
        (389861.06, "s", "4.51 d"),
        (3 * 3600.0, "s", "3.00 h"),
        (0.8125, "share", "81.25 %"),
        (12345.0, "jobs", "12,345"),
        (1.5, "times", "1.50"),
        (1234.5, "resource-h", "1,234 h"),
        (1.375, "", "1.38"),
        (0.4, "ratio", "0.400"),
    ],
)
def test_a_number_is_shown_in_a_unit_that_suits_it(value: float | None, unit: str, expected: str) -> None:
    assert shown(value, unit) == expected


def test_numbers_side_by_side_share_a_unit() -> None:
    scale = scale_of([30.0, None, 7200.0], "s")

    assert (scale.unit, scale.number(30.0), scale.number(7200.0)) == ("h", "0.01", "2.00")


def test_one_that_is_far_off_does_not_make_nothing_of_the_others() -> None:
    """A variant that is starved for months, beside others that wait for minutes."""
    minutes, months = [90.0, 300.0, 600.0], 90 * 86_400.0
    scale = scale_of([*minutes, months], "s")

    assert [scale.number(one) for one in minutes] == ["1.50", "5.00", "10.00"]
    assert (scale.unit, scale.number(months)) == ("min", "129,600.00")


def test_one_run_fits_eighty_columns(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")

    print_measured(measure(replayed()))

    printed = capsys.readouterr().out
    assert max(map(len, printed.splitlines())) <= 80
    assert "backendai 26.8, hours and shares of gpu" in printed
    assert "production" in printed
    assert "- tau of bounded slowdown is 10 s." in printed


@pytest.mark.parametrize(("count", "repeats"), [(2, 1), (3, 5), (7, 5)])
def test_runs_side_by_side_fit_eighty_columns(
    count: int, repeats: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    runs = [Run(f"doctrine-{n}", "d", {}, [measure(replayed(n * 60))] * repeats, range(repeats)) for n in range(count)]

    print_compared(table(runs))

    printed = capsys.readouterr().out
    assert max(map(len, printed.splitlines())) <= 80
    assert f"doctrine-{count - 1}" in printed
    assert ("* best of its row" in printed) == (repeats >= 5)


def test_the_best_of_a_row_is_marked(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    runs = [
        Run(name, "d", {}, [measure(replayed(wait + seed)) for seed in range(5)], range(5))
        for name, wait in (("fast", 0), ("slow", 120))
    ]

    print_compared(table(runs))

    [line] = [line for line in capsys.readouterr().out.splitlines() if line.startswith("wait, mean [s]  ")]
    assert line.split() == ["wait,", "mean", "[s]", "46.0", "*", "106.0"]
