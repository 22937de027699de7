import threading
from collections.abc import Callable
from functools import partial

from sqlalchemy import create_engine, text

from cede.live.store.store import AuditRequest, Store
from tests.live.store.entries import START, job, submitted

STEPS, EACH = 60, 4


def test_readers_see_whole_transactions_while_one_writes(store: Store) -> None:
    done = threading.Event()
    seen: list[tuple[int, int]] = []
    failures: list[BaseException] = []

    def read() -> None:
        while not done.is_set():
            saved = store.load()
            seen.append((saved.version, len(saved.jobs)))
            assert len(store.events(limit=10**6)) % EACH == 0

    readers = [threading.Thread(target=_noting(read, failures)) for _ in range(3)]
    for reader in readers:
        reader.start()
    for number in range(STEPS):
        submitted(store, *(job(f"w{number}-{at}") for at in range(EACH)))
    done.set()
    for reader in readers:
        reader.join(timeout=300)

    assert failures == []
    assert all(jobs == version * EACH for version, jobs in seen)
    assert store.load().version == STEPS


def test_nobody_who_reads_waits_for_one_who_writes(store: Store, url: str) -> None:
    submitted(store, job("a"))
    engine = create_engine(url)
    with engine.begin() as connection:
        connection.execute(text("UPDATE state SET version = 99"))
        saved = store.load()
        record = store.workload("a")

    assert saved.version == 1
    assert record is not None
    assert store.load().version == 99
    engine.dispose()


def test_threads_that_write_take_turns(store: Store) -> None:
    failures: list[BaseException] = []

    def refuse(by: str) -> None:
        for _ in range(20):
            store.note_audit(AuditRequest(0, by, "user", "cancel", "a", allowed=False, rule="api.not-yours"), START)

    writers = [threading.Thread(target=_noting(partial(refuse, by), failures)) for by in ("ann", "bob")]
    for writer in writers:
        writer.start()
    for number in range(20):
        submitted(store, job(f"w{number}"))
    for writer in writers:
        writer.join(timeout=300)

    assert failures == []
    assert len(store.audit(by="ann")) == len(store.audit(by="bob")) == 20
    assert store.load().version == 20


def _noting(act: Callable[[], None], failures: list[BaseException]) -> Callable[[], None]:
    def run() -> None:
        try:
            act()
        except BaseException as error:
            failures.append(error)

    return run
