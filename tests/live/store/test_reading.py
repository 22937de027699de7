import pytest

from cede.live.store.store import Store, UnknownError
from cede.model.lifecycle import Phase
from tests.live.store.entries import job, submitted


def names(store: Store, **asked: object) -> list[str]:
    return [record.job.name for record in store.workloads(**asked)]  # type: ignore[arg-type]


@pytest.fixture
def full(store: Store) -> Store:
    """Seven workloads of two users in three projects."""
    submitted(store, job("a1", project="x"), job("a2", queue="r"), job("a3", project="y"), owner="ann")
    submitted(store, job("b1", project="x", phase=Phase.FAILED), job("b2"), job("b3", phase=Phase.RUNNING), owner="bob")
    submitted(store, job("c1", project="z"), owner="cay")
    return store


def test_the_newest_come_first(full: Store) -> None:
    assert names(full) == ["c1", "b3", "b2", "b1", "a3", "a2", "a1"]
    assert names(full, newest_first=False) == ["a1", "a2", "a3", "b1", "b2", "b3", "c1"]


@pytest.mark.parametrize("newest_first", [True, False])
def test_pages_put_together_are_the_whole(full: Store, newest_first: bool) -> None:
    paged: list[str] = []
    while page := names(full, limit=2, after=paged[-1] if paged else None, newest_first=newest_first):
        assert len(page) <= 2
        paged += page

    assert paged == names(full, newest_first=newest_first)


def test_a_page_is_not_moved_by_what_comes_in(full: Store) -> None:
    first = names(full, limit=2)
    submitted(full, job("d1"))

    assert names(full, limit=2, after=first[-1]) == ["b2", "b1"]


def test_a_page_behind_a_workload_that_is_not_there_is_refused(full: Store) -> None:
    with pytest.raises(UnknownError, match="no workload 'nobody'"):
        names(full, after="nobody")


@pytest.mark.parametrize(
    ("asked", "found"),
    {
        "phases": ({"phases": [Phase.FAILED, Phase.RUNNING]}, ["b3", "b1"]),
        "a queue": ({"queue": "r"}, ["a2"]),
        "users": ({"users": ["ann", "cay"]}, ["c1", "a3", "a2", "a1"]),
        "nobody": ({"users": []}, []),
        "projects": ({"projects": ["x", "z"]}, ["c1", "b1", "a1"]),
        "all of it": ({"projects": ["x"], "users": ["bob"], "phases": [Phase.FAILED], "queue": "q"}, ["b1"]),
        "a viewer": ({"visible_to": ("bob", ("y", "z"))}, ["c1", "b3", "b2", "b1", "a3"]),
        "a viewer without projects": ({"visible_to": ("ann", ())}, ["a3", "a2", "a1"]),
        "a viewer on a page": ({"visible_to": ("ann", ("x",)), "after": "a3", "limit": 1}, ["a2"]),
        "a stranger": ({"visible_to": ("\ud800", ("\0",))}, []),
    }.values(),
)
def test_a_list_has_what_was_asked_for(full: Store, asked: dict[str, object], found: list[str]) -> None:
    assert names(full, **asked) == found


def test_counts_are_by_queue_and_phase(full: Store) -> None:
    assert full.counts() == {
        "q": {Phase.PENDING: 4, Phase.FAILED: 1, Phase.RUNNING: 1},
        "r": {Phase.PENDING: 1},
    }


def test_a_workload_nobody_submitted_is_none(full: Store) -> None:
    assert full.workload("nobody") is None
    assert full.workload("\ud800\0") is None
