"""The report of a comparison as a reader meets it: numbers, groups, plots, preemptions."""

from __future__ import annotations

import math
from itertools import pairwise

from playwright.sync_api import Page

from cede.engine.cycle import plan
from cede.engine.load import load
from cede.sim.measures.conservation import conserve
from cede.sim.measures.costliest import costliest
from cede.sim.measures.definitions import MEASURES
from cede.sim.report.measure_tables import OTHER, section_of
from cede.sim.verdicts import judge
from tests.browser.scenes import NOTES, SCRIPT, TITLE, Scene

RUNS = ("eager", "calm", "patient")
CELLS = """all => all.map((one) => {
  const { by, group } = one.closest(".group").dataset, { measure } = one.closest("tr").dataset;
  const { run } = one.closest("table").tHead.rows[0].cells[one.cellIndex].dataset;
  return { by, group, measure, run, value: one.title };
})"""
"""Cells of the tables of measures, and what their row, column and table say of them."""


def numbers(
    page: Page, css: str, told: str = "all => all.map(one => ({...one.dataset}))"
) -> dict[tuple[str, str, str, str], float | None]:
    """What the page's cells say of themselves."""
    cells = page.eval_on_selector_all(css, told)
    return {
        (cell["by"], cell["group"], cell["measure"], cell["run"]): float(cell["value"]) if cell["value"] else None
        for cell in cells
    }


def rest(page: Page) -> None:
    """The pointer lies where nothing is, and the browser has told of all that this and scrolling brought about."""
    page.mouse.move(1, 1)
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def test_every_number_of_the_comparison_is_on_the_page_to_the_last_digit(page: Page, shown: Scene) -> None:
    expected = {
        (row.by, row.group, row.measure.key, run.label): cell.value
        for row in shown.compared.rows
        for run, cell in zip(shown.compared.runs, row.cells, strict=True)
    }

    assert numbers(page, "table.measures td.figure", CELLS) == expected


def test_what_is_shown_is_the_number_rounded(page: Page) -> None:
    cells = page.eval_on_selector_all(
        ".group:not([hidden]) [data-measure=goodput] td.figure",
        "all => all.map(one => [one.title, one.querySelector('.number').textContent])",
    )

    assert len(cells) == len(RUNS)
    for value, text in cells:
        assert math.isclose(float(text), float(value) * 100, abs_tol=0.05)


def test_the_best_of_a_row_and_what_is_within_noise_are_marked_in_words_too(page: Page, shown: Scene) -> None:
    row = shown.compared.row("wait_mean")
    texts = page.eval_on_selector_all(
        ".group:not([hidden]) [data-measure=wait_mean] td.figure", "all => all.map(one => one.textContent)"
    )

    for run, text in zip(RUNS, texts, strict=True):
        cell = row.cells[RUNS.index(run)]
        assert ("best:" in text) == cell.best
        assert ("not told apart from the best:" in text) == cell.within_noise
        assert ("±" in text) == bool(cell.spread)
    assert any(cell.best for cell in row.cells)


def test_the_header_says_what_was_compared_and_what_must_be_known(page: Page) -> None:
    header = page.inner_text("header")

    assert page.inner_text("h1") == TITLE
    assert page.title() == TITLE
    for text in ("8 gpu", "0, 1, 2, 3, 4", "1 notes"):
        assert text in header
    assert all(label in page.inner_text("#verdict") for label in (*RUNS, "pace 150"))
    assert all(note in page.inner_text("#notes") for note in NOTES)


def test_the_page_begins_with_a_sentence_for_each_run_and_a_row_for_each_goal(page: Page, shown: Scene) -> None:
    judgement = judge(shown.compared)
    sentences = page.eval_on_selector_all(".verdicts li", "all => all.map(one => [one.dataset.run, one.textContent])")
    goals = page.eval_on_selector_all(
        ".goals tbody tr", "all => all.map(one => [one.dataset.goal, one.dataset.winner])"
    )

    assert [run for run, _ in sentences] == list(RUNS)
    assert all(one.sentence in said for one, (_, said) in zip(judgement.verdicts, sentences, strict=True))
    slight = [goal.measure for goal in judgement.goals if goal.winner is None]
    assert goals == [
        *([goal.measure, goal.winner] for goal in judgement.goals if goal.winner is not None),
        *([[" ".join(slight), ""]] if slight else []),
    ]
    assert page.evaluate("document.querySelector('main').firstElementChild.id") == "verdict"


def test_values_are_told_under_the_pointer_and_a_stretch_is_looked_at_closer(page: Page) -> None:
    page.locator("#plot-preemptions").scroll_into_view_if_needed()
    rest(page)
    ticks = page.locator("#plot-preemptions .xtick").all_text_contents()
    are = """([ticks, wanted]) => wanted === (ticks.join() ===
        [...document.querySelectorAll("#plot-preemptions .xtick")].map((one) => one.textContent).join())"""
    box = page.locator("#plot-preemptions svg").bounding_box()
    assert box is not None
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + 200, middle)
    told = page.locator("#plot-preemptions .values:not([hidden])").inner_text()
    page.mouse.down()
    page.mouse.move(box["x"] + 260, middle)
    page.mouse.up()
    page.wait_for_function(are, arg=[ticks, False])
    page.locator("#plot-preemptions svg").dblclick()
    page.wait_for_function(are, arg=[ticks, True])

    assert all(run in told for run in RUNS)


def test_choosing_a_group_swaps_the_table(page: Page, shown: Scene) -> None:
    groups = list(dict.fromkeys((row.by, row.group) for row in shown.compared.rows))
    wanted = groups.index(("queue", "serving"))

    page.select_option("#group", str(wanted))
    seen = page.eval_on_selector_all(".group:not([hidden])", "all => all.map(one => ({...one.dataset}))")
    caption = page.inner_text(".group:not([hidden]) caption")
    page.select_option("#group", "0")

    assert seen == [{"by": "queue", "group": "serving"}]
    assert "Queue serving" in caption
    assert page.locator("#group option").count() == len(groups)
    assert page.get_attribute(".group:not([hidden])", "data-by") == "all"


def test_where_the_capacity_went_adds_up_to_capacity_times_time(page: Page, shown: Scene) -> None:
    found = numbers(page, "table.balance td[data-measure]")

    for run, result in zip(RUNS, shown.results, strict=True):
        parts = {
            measure: value for (_, _, measure, label), value in found.items() if label == run and value is not None
        }
        [expected] = conserve(result).to_dicts()
        assert parts == {part: expected[part] for part in parts}
        assert math.isclose(parts.pop("whole"), sum(parts.values()))


def test_every_plot_is_drawn_with_its_traces(page: Page) -> None:
    page.click("#tab-timeline-priority")
    page.wait_for_selector("#plot-timeline_priority[data-drawn]")
    drawn = page.eval_on_selector_all(
        ".plot", "all => all.map(one => [one.dataset.plot, one.querySelectorAll('.trace').length])"
    )
    page.click("#tab-timeline-queue")

    assert {name for name, _ in drawn} == {
        "timeline_queue", "timeline_priority", "distribution_wait", "distribution_slowdown", "distribution_turnaround",
        "preemptions", "losses",
    }  # fmt: skip
    assert all(count >= len(RUNS) for _, count in drawn)


def test_nothing_that_a_plot_says_is_cut_off(page: Page) -> None:
    beyond = """(drawings) => drawings.flatMap((one) => {
      const box = one.getBoundingClientRect();
      return [...one.querySelectorAll("text")].filter((text) => {
        const { top, right, bottom, left } = text.getBoundingClientRect();
        return bottom > box.bottom + 1 || top < box.top - 1 || right > box.right + 1 || left < box.left - 1;
      }).map((text) => text.textContent);
    })"""

    assert page.eval_on_selector_all(".plot svg", beyond) == []


def test_the_costliest_preemptions_have_their_numbers_and_reasons(page: Page, shown: Scene) -> None:
    for place, (run, result) in enumerate(zip(RUNS, shown.results, strict=True)):
        expected = costliest(result, 20)
        found = numbers(page, f"#costly-{place} td[data-measure=lost_hours]")
        assert list(found.values()) == expected["lost_hours"].to_list()
        assert {label for *_, label in found} <= {run}
    reasons = page.locator("#costly-0 .why p").all_text_contents()

    assert reasons == costliest(shown.results[0], 20)["victim_why"].to_list()
    assert "Nothing was preempted" in (page.text_content("#costly-2") or "")


def test_tabs_answer_to_the_keyboard(page: Page) -> None:
    page.focus("#tab-costly-0")
    page.keyboard.press("ArrowRight")
    seen = [page.is_visible("#costly-0"), page.is_visible("#costly-1")]
    page.keyboard.press("ArrowLeft")

    assert seen == [False, True]
    assert page.is_visible("#costly-0")


def test_each_link_leads_to_a_cluster_file_that_the_command_beside_it_opens(page: Page, shown: Scene) -> None:
    links = page.eval_on_selector_all(
        "#costly-0 .opening",
        "all => all.map(one => [one.querySelector('a').getAttribute('href'), one.querySelector('code').textContent])",
    )
    costly = costliest(shown.results[0], 20)

    assert len(links) == len(costly) > 0
    for (address, command), claimant in zip(links, costly["claimant"].to_list(), strict=True):
        assert address.startswith("moments/eager-")
        assert command == f"cede plan {address} --explain --for '{claimant}'"
        made = plan(load(shown.path.parent / address), only=claimant)
        assert [victim.workload for one in made.decisions for victim in one.victims]


def test_every_measure_is_defined_and_its_definition_shows_on_focus(page: Page) -> None:
    defined = dict(
        page.eval_on_selector_all(
            ".definitions > div", "all => all.map(one => [one.id, one.querySelector('dd').textContent])"
        )
    )
    rest(page)
    page.focus(".measures a[href='#measure-goodput']")
    tip = page.text_content("#tip:not([hidden])")
    rest(page)
    still = page.is_visible("#tip")
    page.keyboard.press("Escape")

    assert defined == {f"measure-{measure.key}": measure.says.replace("`", "") for measure in MEASURES}
    assert tip == defined["measure-goodput"]
    assert still, "going to a term scrolls to it, and its definition goes along"
    assert not page.is_visible("#tip")


def test_a_dismissed_definition_stays_away_when_the_page_moves_below_a_resting_pointer(page: Page) -> None:
    term = page.locator(".measures a[href='#measure-goodput']").first
    term.evaluate("(term) => term.scrollIntoView({ block: 'center' })")
    rest(page)
    page.evaluate("document.addEventListener('mousemove', (event) => { window.rests = event; })")
    term.hover()
    page.wait_for_selector("#tip:not([hidden])")
    page.keyboard.press("Escape")
    page.wait_for_selector("#tip", state="hidden")
    # What a browser tells when something else comes to lie below the pointer: the same place on the screen. It does so
    # in its own time, or never on a busy machine.
    term.evaluate(
        """(term) => term.dispatchEvent(
            new MouseEvent("mouseover", { bubbles: true, screenX: rests.screenX, screenY: rests.screenY }))"""
    )
    came_back = page.is_visible("#tip")
    rest(page)
    term.hover()
    page.wait_for_selector("#tip:not([hidden])")

    assert not came_back


def test_markup_in_names_is_text(page: Page) -> None:
    assert page.locator("script:not([src])").count() == 2
    assert SCRIPT in page.inner_text("#timeline-queue .legend")
    assert SCRIPT in page.inner_text("#costly-0 tbody tr:first-child")


def test_headings_headers_and_regions_are_named(page: Page) -> None:
    assert page.locator("h1").count() == 1
    assert page.locator("th:not([scope])").count() == 0
    assert page.locator("table:not(:has(thead))").count() == 0
    assert page.locator(".scroll:not([aria-label][tabindex])").count() == 0
    assert page.locator(".plot:not([aria-label])").count() == 0
    levels = page.eval_on_selector_all("h1, h2, h3", "all => all.map(one => Number(one.tagName[1]))")
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_every_measure_has_its_place_in_the_table() -> None:
    assert [measure.key for measure in MEASURES if section_of(measure.key) == OTHER] == []
