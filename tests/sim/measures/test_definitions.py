from cede.sim.measures.definitions import BY_KEY, MEASURES
from cede.sim.measures.measure import Yard, measure
from docs.blocks import ROOT
from docs.drawn_sim import measures
from docs.generate import filled
from tests.sim.results import Job, Preempts, Ran, queue, result_of

PAGE = ROOT / "docs" / "reference" / "measures.md"


def test_every_measure_is_defined_and_every_definition_is_measured() -> None:
    everything = result_of(
        Job("low", [Ran(0, 10, "preempted", lost=2), Ran(20, 30)], size=8, queue="a"),
        Job("high", [Ran(10, 20)], size=8, submitted=9, queue="b", priority=9),
        decisions=[Preempts(9, "high", ["low"])],
        queues=[queue("a", 4), queue("b")],
    )

    found = measure(everything, yard=Yard({9: 1}, {"gpu": 2.0}))

    assert set(found.values["all", "all"]) == set(BY_KEY)
    assert [key for key, value in found.values["all", "all"].items() if value is None] == []
    assert all(set(values) <= set(BY_KEY) for values in found.values.values())


def test_no_two_measures_share_a_key_or_a_title() -> None:
    assert len({one.key for one in MEASURES}) == len({one.title for one in MEASURES}) == len(MEASURES)


def test_every_definition_is_a_sentence() -> None:
    assert [
        one.key for one in MEASURES if not (one.says[0].isupper() or one.says[0] == "(") or one.says[-1] != "."
    ] == []


def test_the_page_of_measures_has_them_as_they_are() -> None:
    page = PAGE.read_text(encoding="utf-8")

    assert filled(page, measures()) == page, "make docs"
