"""The page of `cede shares --plot` as a reader meets it: bars, a plot a pool, numbers, and other screens."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page

from cede.cli.main import main
from docs.blocks import ROOT
from tests.browser.conftest import DRAWN, Open, Scheme
from tests.browser.test_look import overflow

EXAMPLE = ROOT / "examples" / "ytsaurus" / "shares.yaml"
POOLS = ["The root", "Pool production", "Pool production / etl", "FIFO pool production / reports", "Pool research"]


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("shares") / "shares.html"
    assert main(["shares", str(EXAMPLE), "--plot", str(path)]) == 0
    return path


@pytest.fixture(scope="module")
def page(opened: Open, drawn: Path) -> Page:
    """The page on a laptop, opened once. Whoever changes what it shows changes it back."""
    return opened(drawn)


def choose(page: Page, what: str, value: str) -> None:
    page.evaluate("delete document.documentElement.dataset.drawn")
    page.select_option(f"#{what}", label=value)
    page.wait_for_selector(DRAWN)


def titles(page: Page) -> list[str]:
    found: list[str] = page.eval_on_selector_all("#panels figure", "all => all.map(one => one.dataset.pool)")
    return found


def rows(page: Page) -> dict[str, list[str]]:
    cells = page.eval_on_selector_all(
        "#rows tr", "all => all.map(one => [...one.children].map(cell => cell.textContent))"
    )
    return {row[0]: row[1:] for row in cells}


def test_every_pool_has_a_plot_with_a_line_for_every_child(page: Page) -> None:
    lines = page.eval_on_selector_all(
        "#panels .plot",
        "all => all.map(one => one.data.filter(trace => trace.mode === 'lines').map(trace => trace.name))",
    )

    assert titles(page) == POOLS
    assert [set(names) for names in lines] == [
        {"together", "production", "research"},
        {"together", "etl", "reports"},
        {"together", "load"},
        {"together", "daily", "weekly", "yearly"},
        {"together", "sweep", "notebook"},
    ]


def test_what_each_child_gets_is_marked_where_the_offer_stands(page: Page) -> None:
    marks = page.evaluate(
        "() => { const one = document.querySelectorAll('#panels .plot')[0].data.find(t => t.mode === 'markers');"
        " return [one.x, one.y, one.text]; }"
    )

    assert marks[0] == pytest.approx([10, 10])
    assert marks[1] == pytest.approx([70, 30])
    assert marks[2] == ["production gets 70%", "research gets 30%"]


def test_the_bars_show_what_a_share_is_made_of(page: Page) -> None:
    traces = page.evaluate("() => document.getElementById('bars').data.map(one => [one.type, one.x, one.base ?? null])")
    demand, strong, integral, weight, usage = traces

    assert demand[1][:2] == pytest.approx([178, 110])
    assert (strong[1][:2], weight[1][:2], weight[2][:2]) == ([80, 60], pytest.approx([20, 10]), [80, 60])
    assert set(integral[1]) == set(usage[1]) == {0}


def test_the_numbers_are_those_of_the_command(page: Page) -> None:
    found = rows(page)

    assert found["production"] == ["1", "10%", "70%", "0%", "110%", "60%", "–", "0", "below fair share"]
    assert found["etl"][5:7] == ["20%", "40%"]
    assert found["yearly"][-2:] == ["infinite", "normal"]


def test_another_resource_is_drawn_when_it_is_chosen(page: Page) -> None:
    choose(page, "resource", "memory")
    memory = rows(page)["daily"][2]
    axis = page.evaluate("() => document.getElementById('bars').layout.xaxis.title.text")
    choose(page, "resource", "cpu")

    assert (memory, axis) == ("10%", "share of memory")


def test_a_pool_is_shown_with_what_is_below_it(page: Page) -> None:
    choose(page, "pool", "\N{NO-BREAK SPACE}" * 3 + "production")
    below, listed = titles(page), list(rows(page))
    choose(page, "pool", "the root")

    assert below == POOLS[1:4]
    assert listed == ["production", "etl", "load", "reports", "daily", "weekly", "yearly"]


def test_a_plot_can_be_saved_as_a_picture_that_stands_alone(page: Page) -> None:
    page.hover("#panels .plot >> nth=0")
    with page.expect_download() as download:
        page.click("#panels .plot >> nth=0 >> .modebar-btn")
    words = re.findall(r"<text[^>]*>([^<]+)</text>", download.value.path().read_text(encoding="utf-8"))

    assert download.value.suggested_filename == "shares.svg"
    assert {"The root", "production", "research", "together", "suggestion 10%"} <= set(words)


@pytest.mark.slow
@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_is_shown_on_every_screen(opened: Open, drawn: Path, width: int, scheme: Scheme) -> None:
    shown = opened(drawn, width, scheme)
    boxes = shown.eval_on_selector_all(
        "#panels .plot", "all => all.map(one => [one.clientWidth, one.querySelector('.main-svg').clientWidth])"
    )

    assert overflow(shown) == 0
    assert len(boxes) == len(POOLS)
    assert all(inner <= outer for outer, inner in boxes)
