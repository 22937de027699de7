"""The choice of victims on one node, against all subsets: the same set, or none by both."""

from __future__ import annotations

from itertools import chain, combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cede.doctrines.yunikorn.best_set import Item, Puzzle
from tests.sampling import examples

Key = tuple[tuple[int, int, int], list[int], list[int], list[tuple[str, str]]]


def item(row: int, gives: int, *, opted: bool = False, leads: bool = False, priority: int = 0, since: int = 0) -> Item:
    return Item(row, opted, leads, priority, since, (f"w{row}", ""), (gives,), ())


def key_of(items: tuple[Item, ...]) -> Key:
    """The preference in one piece: what is opted out, originators and number first, then priorities, ages, uids."""
    return (
        (sum(one.opted for one in items), sum(one.originator for one in items), len(items)),
        sorted((one.priority for one in items), reverse=True),
        sorted(-one.submitted for one in items),
        sorted(one.last for one in items),
    )


def allowed(items: tuple[Item, ...], short: tuple[int, ...], caps: tuple[int, ...]) -> bool:
    covers = all(sum(one.gives[at] for one in items) >= need for at, need in enumerate(short))
    return covers and all(sum(one.takes[at] for one in items) <= cap for at, cap in enumerate(caps))


def by_force(items: list[Item], short: tuple[int, ...], caps: tuple[int, ...]) -> tuple[Item, ...] | None:
    sets = chain.from_iterable(combinations(items, size) for size in range(1, len(items) + 1))
    return min((one for one in sets if allowed(one, short, caps)), key=key_of, default=None)


@st.composite
def puzzles(draw: st.DrawFn) -> tuple[list[Item], tuple[int, ...], tuple[int, ...]]:
    """A few values each, so that many items are alike and ties are common."""
    covers, limits = draw(st.integers(1, 2)), draw(st.integers(0, 2))
    few, amounts = st.integers(0, 2), st.integers(0, 4)
    items = [
        Item(
            row,
            draw(st.booleans()),
            draw(st.booleans()),
            draw(few),
            draw(few),
            (draw(st.sampled_from("abc")), f"w{row}"),
            tuple(draw(amounts) for _ in range(covers)),
            tuple(draw(amounts) for _ in range(limits)),
        )
        for row in range(draw(st.integers(1, 8)))
    ]
    short = tuple(draw(st.integers(1, 9)) for _ in range(covers))
    return items, short, tuple(draw(st.integers(0, 9)) for _ in range(limits))


@examples(200)
@given(puzzles())
def test_the_best_of_all_sets_is_found(puzzle: tuple[list[Item], tuple[int, ...], tuple[int, ...]]) -> None:
    items, short, caps = puzzle
    expected = by_force(items, short, caps)

    found = Puzzle(items, short, caps).best()

    assert (found is None) == (expected is None)
    if found is not None and expected is not None:
        assert {one.row for one in found} == {one.row for one in expected}


@examples(200)
@given(puzzles(), st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(1, 8)))
def test_what_is_worse_than_asked_for_is_not_looked_for(
    puzzle: tuple[list[Item], tuple[int, ...], tuple[int, ...]], bar: tuple[int, int, int]
) -> None:
    items, short, caps = puzzle
    expected = by_force(items, short, caps)

    found = Puzzle(items, short, caps).best(bar)

    if expected is None or key_of(expected)[0] > bar:
        assert found is None
    else:
        assert found is not None
        assert {one.row for one in found} == {one.row for one in expected}


@examples(200)
@given(puzzles())
def test_nobody_in_the_best_set_is_superfluous(
    puzzle: tuple[list[Item], tuple[int, ...], tuple[int, ...]],
) -> None:
    items, short, caps = puzzle
    found = Puzzle(items, short, caps).best() or []

    for one in found:
        rest = tuple(other for other in found if other.row != one.row)
        assert not allowed(rest, short, caps)


CASES: dict[str, tuple[list[Item], int, set[int]]] = {
    "two ordinary ones rather than one that opted out": ([item(1, 4, opted=True), item(2, 2), item(3, 2)], 4, {2, 3}),
    "two originators rather than one that opted out": (
        [item(1, 4, opted=True), item(2, 2, leads=True), item(3, 2, leads=True)],
        4,
        {2, 3},
    ),
    "two ordinary ones rather than one originator": ([item(1, 4, leads=True), item(2, 2), item(3, 2)], 4, {2, 3}),
    "one of a high priority rather than two of a low one": ([item(1, 4, priority=9), item(2, 2), item(3, 2)], 4, {1}),
    "the lower priority rather than the younger": ([item(1, 4, priority=1, since=9), item(2, 4)], 4, {2}),
    "the highest priority of a set counts first": (
        [item(1, 2, priority=5), item(2, 2, priority=5), item(3, 3, priority=6), item(4, 1, priority=0)],
        4,
        {1, 2},
    ),
    "the younger of two alike": ([item(1, 4, since=1), item(2, 4, since=2)], 4, {2}),
    "the youngest of a set counts first": (
        [item(1, 2, since=5), item(2, 2, since=5), item(3, 3, since=9), item(4, 1, since=1)],
        4,
        {1, 3},
    ),
    "the first uid of two alike": ([item(2, 4), item(1, 4)], 4, {1}),
}


@pytest.mark.parametrize("name", CASES)
def test_the_better_set_is(name: str) -> None:
    items, short, rows = CASES[name]

    found = Puzzle(items, (short,), ()).best()

    assert found is not None
    assert {one.row for one in found} == rows


def test_many_that_are_alike_are_chosen_from_at_once() -> None:
    """A plain search over subsets of 200 would never end."""
    items = [item(row, 1, since=row % 2) for row in range(200)]

    found = Puzzle(items, (120,), ()).best()

    assert found is not None
    youngest = [one.row for one in found if one.submitted == 1]
    assert sorted(youngest) == list(range(1, 200, 2))
    assert (
        sorted(f"w{one.row}" for one in found if one.submitted == 0) == sorted(f"w{n}" for n in range(0, 200, 2))[:20]
    )


def test_where_sizes_differ_sets_that_cannot_be_enough_are_not_tried_one_by_one() -> None:
    items = [item(row, 1000 + 37 * row % 700, priority=row % 3, since=row) for row in range(40)]

    found = Puzzle(items, (12_000,), ()).best()

    assert found is not None
    largest = sorted((one.gives[0] for one in items), reverse=True)
    assert sum(largest[: len(found) - 1]) < 12_000 <= sum(one.gives[0] for one in found)
