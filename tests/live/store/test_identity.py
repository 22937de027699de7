import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from cede.live.lineage import Fork, Stamp, remembers
from cede.live.store.errors import UnwritableError
from cede.live.store.store import Store
from tests.live.store.entries import START, job, submitted


def opened(url: str) -> Store:
    """As a server does it."""
    store = Store.open(url)
    store.compare(START)
    return store


def copied(store: Store, to: Path) -> None:
    with closing(sqlite3.connect(store.path)) as source, closing(sqlite3.connect(to)) as target:
        source.backup(target)


def put_back(store: Store, copy: Path) -> None:
    store.close()
    for end in ("-wal", "-shm"):
        Path(f"{store.path}{end}").unlink(missing_ok=True)
    copy.replace(store.path)


def test_a_store_is_itself_after_it_was_closed(url: str) -> None:
    first = opened(url)
    submitted(first, job("a"))
    first.close()
    again = opened(url)

    assert again.lineage == first.lineage
    assert again.lineage.loss == ""
    again.close()


def test_a_store_that_was_set_back_says_how_far_and_begins_a_generation(url: str, tmp_path: Path) -> None:
    store = opened(url)
    submitted(store, job("a"))
    copied(store, tmp_path / "copy")
    kept = store.stamp
    for name in "bcd":
        submitted(store, job(name))
    lost = store.stamp
    put_back(store, tmp_path / "copy")
    store = opened(url)

    assert (
        store.lineage.loss
        == "the store was set back: it is at step 1 and was at 4, so that the last 3 steps are missing"
    )
    assert store.stamp == Stamp(kept.identity, 2, 1)
    assert store.lineage.remembers(kept)
    assert not store.lineage.remembers(lost)
    for name in "xyz":
        submitted(store, job(name))
    assert not store.lineage.remembers(lost), "though there is another step of that number now"
    assert store.lineage.remembers(store.stamp)
    store.acknowledge()
    store.close()
    again = opened(url)
    assert again.lineage.loss == ""
    again.close()


def test_another_store_in_the_place_of_the_first_is_told(url: str) -> None:
    first = opened(url)
    submitted(first, job("a"))
    first.close()
    for path in first.path.parent.glob("cede.db*"):
        if not path.name.endswith("-seen"):
            path.unlink()
    other = opened(url)

    assert other.lineage.loss.startswith("the store is another one")
    assert not other.lineage.remembers(first.stamp)
    other.close()


NOW = Stamp("store", 3, 50)
FORKS = (Fork(2, 10), Fork(3, 30))


@pytest.mark.parametrize(
    ("then", "known"),
    {
        "just now": (Stamp("store", 3, 50), True),
        "later than now": (Stamp("store", 3, 51), False),
        "before it was ever set back": (Stamp("store", 1, 10), True),
        "after the copy was made that it was set back to": (Stamp("store", 1, 11), False),
        "in a generation that was cut off itself": (Stamp("store", 2, 31), False),
        "in that generation, before": (Stamp("store", 2, 30), True),
        "in a generation to come": (Stamp("store", 4, 1), False),
        "by another store": (Stamp("other", 1, 1), False),
    }.values(),
)
def test_a_store_knows_what_was_before_it_was_set_back_and_what_it_did_since(then: Stamp, known: bool) -> None:
    assert remembers(NOW, FORKS, then) is known


def test_a_full_database_says_where_no_space_is_left(store: Store) -> None:
    with store._writer.connect() as connection:
        connection.exec_driver_sql("PRAGMA max_page_count=1")
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()

    with pytest.raises(UnwritableError, match=f"no space left on {store.path.parent}"):
        submitted(store, *(job(f"job-{number}") for number in range(1000)))
    assert store.stamp.version == store.load().version
    with store._writer.connect() as connection:
        connection.exec_driver_sql(f"PRAGMA max_page_count={pages * 100}")
    submitted(store, job("after"))


def test_a_database_that_may_not_be_written_says_so(store: Store) -> None:
    with store._writer.connect() as connection:
        connection.exec_driver_sql("PRAGMA query_only=ON")

    with pytest.raises(UnwritableError, match="is read-only"):
        submitted(store, job("a"))
