import subprocess
import sys
from pathlib import Path

import pytest

from cede.engine.drive.facts import Submit
from cede.live.store.store import Store
from cede.model.lifecycle import Phase
from tests.live.store.writer import EACH

ROOT = Path(__file__).resolve().parents[3]


def killed_after(url: str, lines: int) -> int:
    """The last version that a writer said was safe before it was killed."""
    command = [sys.executable, "-m", "tests.live.store.writer", url]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        said = [writer.stdout.readline() for _ in range(lines)]
        writer.kill()
        said += writer.stdout.read().splitlines()
    # So short a line goes into the pipe whole or not at all.
    return int(said[-1])


def check(store: Store, safe: int) -> int:
    """The version, after finding that everything in the store belongs to it, and nothing to another."""
    version = store.load().version
    assert safe <= version <= safe + 1
    steps = list(store.steps())
    assert len(steps) == version
    submitted = [fact.workload.name for _, facts in steps for fact in facts if isinstance(fact, Submit)]
    ended = version // 2
    assert len(submitted) == EACH * ((version + 1) // 2)
    assert {record.job.name for record in store.workloads(limit=10**6)} == set(submitted)
    assert len(store.load().jobs) == len(submitted) - ended
    assert len(store.workloads(phases=[Phase.COMPLETED], limit=10**6)) == ended
    assert len(store.events(limit=10**6)) == len(submitted) + ended
    assert len(store.audit(limit=10**6)) == len(submitted)
    assert [one.number for one in store.decisions(limit=10**6)] == list(range(1, ended + 1))
    assert store.load().next_decision == ended + 1
    return version


@pytest.mark.slow
def test_a_writer_killed_at_any_moment_leaves_a_whole_version(url: str) -> None:
    versions = []
    for lines in (1, 2, 7, 20, 41):
        safe = killed_after(url, lines)
        store = Store.open(url)
        versions.append(check(store, safe))
        store.close()

    assert versions == sorted(set(versions))
