"""The option --certify, with a time and without."""

from __future__ import annotations

import pytest

from cede.cli.certificate_option import with_default, worded
from cede.model.certificate import Certificate
from tests.unit.cli.calls import EXAMPLES, called

GANG = EXAMPLES / "gang.yaml"
CHANGE = ("--set", "queues[default].settings.preemptible_priority=6")


def test_a_plan_has_a_line_about_its_victims(capsys: pytest.CaptureFixture[str]) -> None:
    ran = called(capsys, "plan", GANG, "--certify")

    assert ran.code == 0
    assert "certificate" in ran.out
    assert "order: place 3, bound 3: optimal" in ran.out


def test_json_has_all_of_it(capsys: pytest.CaptureFixture[str]) -> None:
    (made,) = (d for d in called(capsys, "plan", "--certify", "2", GANG, "--json").data["decisions"] if "victims" in d)

    proof = made["certificate"]
    assert {"objective", "unit", "value", "bound", "gap", "optimal", "cost"} == set(proof)
    assert (proof["objective"], proof["gap"], proof["optimal"]) == ("order", 0, True)
    assert (proof["cost"]["value"], proof["cost"]["bound"]) == (140, 140)


def test_a_file_may_follow_the_option(capsys: pytest.CaptureFixture[str]) -> None:
    assert "optimal" in called(capsys, "plan", "--certify", GANG).out


def test_a_difference_has_them_too(capsys: pytest.CaptureFixture[str]) -> None:
    found = called(capsys, "diff", EXAMPLES / "nearest-miss.yaml", *CHANGE, "--certify")
    as_json = called(capsys, "diff", EXAMPLES / "nearest-miss.yaml", *CHANGE, "--certify=1.5", "--json").data

    assert "certificate  retrain: order: place 1" in found.out
    assert as_json["changes"][0]["after"]["certificate"]["optimal"] is True


@pytest.mark.parametrize("text", ["=abc", "=0", "=", "=-1", "=nan"])
@pytest.mark.parametrize("command", ["plan", "diff"])
def test_what_is_no_time_is_refused(capsys: pytest.CaptureFixture[str], command: str, text: str) -> None:
    ran = called(capsys, command, GANG, *CHANGE, f"--certify{text}")

    assert ran.code == 2
    assert "--certify: " in ran.err
    assert "no time to certify in" in ran.err


def test_a_number_after_it_is_its_time(capsys: pytest.CaptureFixture[str]) -> None:
    assert "'-3'" in called(capsys, "plan", GANG, "--certify", "-3").err


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (["--certify"], ["--certify=10"]),
        (["--certify", "5"], ["--certify", "5"]),
        (["--certify", ".5", "f"], ["--certify", ".5", "f"]),
        (["--certify", "file.yaml"], ["--certify=10", "file.yaml"]),
        (["--certify", "-"], ["--certify=10", "-"]),
        (["--certify", "--json"], ["--certify=10", "--json"]),
        (["--certify=3"], ["--certify=3"]),
        (["--", "--certify"], ["--", "--certify"]),
    ],
)
def test_where_the_time_is_left_out_the_default_stands(given: list[str], meant: list[str]) -> None:
    assert with_default(given) == meant


@pytest.mark.parametrize(
    ("made", "sentence"),
    [
        (Certificate("cost", "min", 12.5, 12.5, True), "cost 12.50 min, bound 12.50: optimal"),
        (Certificate("cost", "min", 12, 6, False), "cost 12 min, bound 6: gap 50.0 %"),
        (
            Certificate("cost", "min", 12, 6, False, ("a", "b"), 8),
            "cost 12 min, bound 6: gap 50.0 %, better: a, b (8 min)",
        ),
        (Certificate("sessions", "sessions", 2, None, False), "sessions 2: nothing is proven"),
        (
            Certificate("order", "place", 4, 2, False, relaxed=("something",)),
            "order: place 4, bound 2: gap 50.0 % (the bound leaves out: something)",
        ),
        (
            Certificate("cost", "min", 1, 3, False, lawful=False),
            "cost 1 min, but these victims do not do all that is asked, and nothing that does is below 3 min",
        ),
    ],
)
def test_a_certificate_in_words(made: Certificate, sentence: str) -> None:
    assert worded(made) == sentence


def test_large_whole_numbers_are_told_to_the_last_digit() -> None:
    made = Certificate("cost", "min", 12_345_678.0, 12_345_600.0, optimal=False)

    assert worded(made) == "cost 12,345,678 min, bound 12,345,600: gap 0.0 %"
