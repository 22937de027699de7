"""What the report is made of, without a browser: numbers as they are written, names of files, and the JSON."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import get_args

import pytest

from cede.engine.load import load
from cede.sim.compare import to_json
from cede.sim.measures.costliest import costliest
from cede.sim.number_format import duration, moment, scale_of
from cede.sim.report import write_json, write_report
from cede.sim.report.content import Cell, Costly, Mark, Party
from cede.sim.report.costly_table import opening_command
from cede.sim.report.files import cluster_text, file_names
from cede.sim.report.gathering import gather, most_groups, spent_of
from cede.sim.report.html import data, element
from cede.sim.report.page import page
from cede.sim.verdicts import judge
from cede.sim.verdicts import to_json as judgement_of
from tests.browser.scenes import SCRIPT, Scene, cluster, five
from tests.sim.results import Preempts, changed

ROWS = {
    "seconds become the unit of the middle one": ("s", [30.0, 7200.0, 9000.0], ["0.008", "2.000", "2.500"], "h"),
    "a share is in per cent": ("share", [0.5, 0.061], ["50.0", "6.1"], "%"),
    "whole numbers stay whole": ("jobs", [12345.0, 3.0], ["12\u202f345", "3"], "jobs"),
    "what there is none of is a dash": ("ratio", [None, 1.5], ["–", "1.50"], "ratio"),
    "nothing but zeros is short": ("s", [0.0, 0.0], ["0", "0"], "s"),
    "below zero has a true minus": ("index", [-0.25, 1.0], ["\u22120.25", "1.00"], "index"),
}


@pytest.mark.parametrize(("unit", "values", "texts", "shown"), ROWS.values(), ids=ROWS.keys())
def test_a_row_has_one_unit_and_as_many_decimals(
    unit: str, values: list[float | None], texts: list[str], shown: str
) -> None:
    scale = scale_of(unit, values)

    assert [scale.number(value) for value in values] == texts
    assert scale.unit == shown


def test_lengths_and_points_in_time_read_at_a_glance() -> None:
    assert [duration(one) for one in (0, 0.25, 59, 60, 3725, 93_600)] == [
        "0 s", "0.25 s", "59 s", "1 min", "1 h 2 min", "1 d 2 h",
    ]  # fmt: skip
    assert moment(93_784) == "1 d 02:03:04"


def test_no_text_becomes_markup() -> None:
    assert SCRIPT not in element("td", SCRIPT, title=f'"{SCRIPT}')
    assert SCRIPT not in data({SCRIPT: [SCRIPT]}, "plots")
    assert json.loads(data(SCRIPT, "plots").partition(">")[2].rpartition("<")[0]) == SCRIPT


def test_runs_that_are_called_alike_have_files_of_their_own() -> None:
    assert file_names(["a b", "A, b!", "日本", "../etc"]) == ["a-b", "a-b-run2", "run", "etc"]


@pytest.mark.parametrize("name", ["plain", "0x10", "yes", "a: b", "#", "\u0085\U0001f600", "'\"\\", "-", SCRIPT])
def test_a_cluster_file_says_what_the_cluster_said(tmp_path: Path, name: str) -> None:
    document = cluster(Preempts(0, name, ["victim"]))
    path = tmp_path / "moment.yaml"
    path.write_text(cluster_text(document), encoding="utf-8")

    assert sorted(one.name for one in load(path).document.workloads) == sorted([name, "victim"])


def test_the_command_is_quoted_as_a_shell_needs_it() -> None:
    party = Party("it's", None, None, 1.0)
    costly = Costly(0, 0.0, party, party, "rule", "why", 0.0, 0.0, None, "my moments/a.yaml")
    dashed = replace(costly, claimant=Party("-x", None, None, 1.0))

    assert opening_command(costly) == ["cede plan", "'my moments/a.yaml'", "--explain", "--for 'it'\"'\"'s'"]
    assert opening_command(dashed)[-1] == "--for=-x"
    assert opening_command(replace(costly, claimant=None))[-1] == "--explain"
    assert opening_command(costly, "my own.py")[3] == "--doctrine 'my own.py'"


def test_a_moment_that_is_on_disk_already_is_linked_and_not_written_again(shown: Scene, tmp_path: Path) -> None:
    costliest_one = costliest(shown.results[0], 1)["decision"].item()
    first = changed(shown.results[0], "decisions", "moment", costliest_one, "kept.yaml")
    path = tmp_path / "report.html"
    write_report(path, shown.compared, [first, *shown.results[1:]], title="t", moments_dir=tmp_path / "files")

    assert 'href="files/kept.yaml"' in path.read_text(encoding="utf-8")
    assert not (tmp_path / "files" / f"eager-{costliest_one}.yaml").exists()


def test_without_a_folder_for_moments_nothing_is_linked(shown: Scene, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    write_report(path, shown.compared, shown.results, title="t")

    assert 'class="moment"' not in path.read_text(encoding="utf-8")
    assert list(tmp_path.iterdir()) == [path]


def test_results_that_do_not_belong_to_the_runs_are_refused(shown: Scene, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="3 runs were compared, and 1 results are given"):
        write_report(tmp_path / "report.html", shown.compared, shown.results[:1], title="t")


def test_a_page_of_five_doctrines_and_many_queues_is_smaller_than_two_megabytes(tmp_path: Path) -> None:
    """As many queues as have a table, and ten other groups; no number is short."""
    made = five(tmp_path)
    shown = gather(made.compared, made.results, title="Five")
    draw, marks = Random(1), (*get_args(Mark), "near", "")
    cells = tuple(Cell(draw.uniform(0, 1e5), draw.uniform(0, 1e4), mark) for mark in marks)
    (first, *_) = shown.tables
    sections = tuple((name, tuple(replace(row, cells=cells) for row in rows)) for name, rows in first.sections)
    names = [f"root.{number:06x}" for number in range(most_groups(first) + 10)]
    tables = tuple(replace(first, by="queue", group=name, sections=sections) for name in names)

    assert len(names) >= 25
    assert len(page(replace(shown, tables=tables)).encode()) < 2_000_000


def test_what_each_preemption_cost_is_what_was_lost_to_preemption(shown: Scene) -> None:
    """The plot and the table are of the same hours: work that must be done again, and overhead."""
    result = shown.results[0]
    row = shown.compared.row("lost_gpu_hours")
    first = shown.compared.runs[0].results[0].value("lost_gpu_hours")

    assert row.cells[0].value
    assert first is not None
    assert sum(spent_of(result)) == pytest.approx(first)


def test_what_one_run_notes_is_told_with_its_name(shown: Scene) -> None:
    first, *rest = shown.results
    own = replace(first, notes=(*first.notes, "22 jobs thrash (`live.thrashing`)."))
    made = gather(shown.compared, [own, *rest], title="t")

    assert made.notes == (*first.notes, "eager: 22 jobs thrash (`live.thrashing`).")
    assert "<li>eager: 22 jobs thrash (<code>live.thrashing</code>).</li>" in page(made)


def test_the_json_is_the_comparison(shown: Scene, tmp_path: Path) -> None:
    write_json(tmp_path / "report.json", shown.compared)

    assert json.loads((tmp_path / "report.json").read_text(encoding="utf-8")) == to_json(
        shown.compared, judgement_of(judge(shown.compared))
    )
