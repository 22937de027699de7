"""The report on other screens: a phone, the dark, paper; and the same bytes every time."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest
from playwright.sync_api import Page

from tests.browser.conftest import Open, Scheme
from tests.browser.scenes import Scene, five, roomy, scene

COLOURS = """async (png) => {
  const image = new Image();
  image.src = `data:image/png;base64,${png}`;
  await image.decode();
  const canvas = new OffscreenCanvas(image.width, image.height);
  const pen = canvas.getContext("2d");
  pen.drawImage(image, 0, 0);
  return new Set(new Uint32Array(pen.getImageData(0, 0, image.width, image.height).data.buffer)).size;
}"""
CONTRAST = """(selectors) => {
  const parts = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((one) => one / 255)
    .map((one) => (one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4))
    .reduce((sum, one, k) => sum + one * [0.2126, 0.7152, 0.0722][k], 0);
  const ground = (one) => {
    for (let at = one; at; at = at.parentElement) {
      const found = parts(getComputedStyle(at).backgroundColor);
      if (found.length < 4 || found[3] > 0) return found;
    }
    return [255, 255, 255];
  };
  return selectors.map((css) => {
    const one = document.querySelector(css);
    const [a, b] = [light(parts(getComputedStyle(one).color)), light(ground(one))];
    return [css, (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)];
  });
}"""
READ = ["h1", ".facts dt", ".notes li", "nav a", ".card .name", ".card small", ".measures td.best .number",
        ".measures .unit", ".measures .part th", ".spread", ".stack .useful", ".stack .idle", "[aria-selected=true]",
        ".costly .command", ".under", ".definitions dd"]  # fmt: skip


def overflow(page: Page) -> int:
    return int(page.evaluate("document.documentElement.scrollWidth - window.innerWidth"))


@pytest.mark.slow
@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_is_shown_on_every_screen(opened: Open, shown: Scene, tmp_path: Path, width: int, scheme: Scheme) -> None:
    page = opened(shown.path, width, scheme)
    picture = page.screenshot(path=tmp_path / f"{width}-{scheme}.png")
    blank = page.context.new_page()
    colours = blank.evaluate(COLOURS, base64.b64encode(picture).decode())

    assert colours > 100
    assert overflow(page) == 0
    poor = [(css, ratio) for css, ratio in page.evaluate(CONTRAST, READ) if ratio < 4.5]
    assert poor == []


@pytest.mark.slow
def test_five_doctrines_of_which_one_refuses_work_fit_a_screen_of_1024(opened: Open, tmp_path: Path) -> None:
    page = opened(five(tmp_path).path, 1024)
    visible = (
        "(css) => { const box = document.querySelector(css).getBoundingClientRect(); return box.right <= innerWidth; }"
    )

    assert overflow(page) == 0
    assert page.evaluate("document.querySelector('.goals').getBoundingClientRect().top") < 500
    assert page.inner_text(".verdicts .unfit").startswith("ytsaurus")
    assert page.evaluate(visible, ".measures thead th:last-child")
    assert page.evaluate(visible, ".balance thead th:last-child")
    assert page.inner_text(".measures th[data-run=ytsaurus]").endswith("not judged")
    assert page.locator(".card .unjudged").count() == page.locator(".card").count()
    assert page.evaluate(visible, ".costly thead th:last-child")
    assert page.locator(".measures th:last-child[data-run=ytsaurus]").count() == page.locator(".group").count()
    assert page.locator(".measures td:last-child .mark").count() == 0
    red = page.evaluate("getComputedStyle(document.querySelector('td.undone .number')).color")
    assert red != page.evaluate("getComputedStyle(document.body).color")
    assert five(tmp_path / "again").path.stat().st_size < 2_000_000


@pytest.mark.slow
def test_where_nobody_waits_that_is_said_on_top_and_nothing_is_ranked(opened: Open, tmp_path: Path) -> None:
    page = opened(roomy(tmp_path).path, 1024)

    assert page.inner_text("#verdict .calm").startswith("No contention: no job waited 1 s or longer")
    assert page.evaluate("document.querySelector('.calm').getBoundingClientRect().bottom") < 400
    assert page.locator(".goals").count() == 0
    assert page.locator(".measures .mark").count() == 0


@pytest.mark.slow
def test_every_group_and_tab_fits_on_a_phone(opened: Open, shown: Scene) -> None:
    page = opened(shown.path, 390)

    for group in range(page.locator("#group option").count()):
        page.select_option("#group", str(group))
        assert overflow(page) == 0
    for tab in page.locator("[role=tab]").all():
        tab.click()
        assert overflow(page) == 0


@pytest.mark.slow
def test_plots_follow_the_scheme(opened: Open, shown: Scene) -> None:
    page = opened(shown.path)
    text = "getComputedStyle(document.querySelector('#plot-preemptions .xtick text')).fill"
    light = page.evaluate(text)

    page.emulate_media(color_scheme="dark")
    page.wait_for_selector("html[data-drawn=dark]")

    assert page.evaluate(text) != light


@pytest.mark.slow
def test_it_is_printed_whole_and_on_white(opened: Open, shown: Scene) -> None:
    page = opened(shown.path, scheme="dark")

    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    page.wait_for_selector("#plot-timeline_priority[data-drawn]")

    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.is_visible("#costly-1")
    assert not page.is_visible("nav")
    assert page.pdf().startswith(b"%PDF")


@pytest.mark.slow
def test_one_replay_has_a_report_too(opened: Open, one: Scene) -> None:
    page = opened(one.path)

    assert page.locator(".measures .mark").count() == 0
    assert page.locator("#costly [role=tab]").count() == 0
    assert "Nothing was preempted" in page.inner_text("#costly")
    assert page.locator("#plot-timeline_queue .trace").count() > 0


@pytest.mark.slow
def test_the_same_comparison_gives_the_same_bytes(shown: Scene, tmp_path: Path) -> None:
    again = scene(tmp_path / "again")

    assert again.path.read_bytes() == shown.path.read_bytes()
    names = sorted(path.name for path in (tmp_path / "again" / "moments").iterdir())
    assert names == sorted(path.name for path in (shown.path.parent / "moments").iterdir())
