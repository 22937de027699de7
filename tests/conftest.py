"""Every run of the tests draws the same examples, unless another Hypothesis profile is asked for.

Hypothesis also draws numbers and words that it finds in the modules that are loaded. Many are loaded by the first test
that needs them: which have been by then depends on the tests that ran before in the same process, and that on how fast
others are. So all are loaded before the first draw.
"""

import signal
from collections.abc import Generator
from importlib import import_module
from pkgutil import walk_packages

import pytest
from hypothesis import settings

import cede
import docs
from tests.sampling import many

NO_MODULES = ("cede.cli.__main__", "cede.live.store.migrations")
"""The first runs the command; Alembic runs the others, as files."""

USUAL = many(100)
settings.register_profile(
    "repeatable", max_examples=USUAL, derandomize=True, deadline=None, database=None, print_blob=True
)
settings.register_profile("explore", max_examples=USUAL, deadline=None, print_blob=True)
settings.load_profile("repeatable")

for package in (cede, docs):
    for found in walk_packages(package.__path__, f"{package.__name__}."):
        if not found.name.startswith(NO_MODULES):
            import_module(found.name)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files with slow tests come first, so that at the end no worker waits for another's last one."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol() -> Generator[None, object, object]:
    """Who has listened to hints ignores their signal from then on. So would every process that later tests start, and a
    shell could not even trap it."""
    before = signal.getsignal(signal.SIGUSR1)
    try:
        return (yield)
    finally:
        if signal.getsignal(signal.SIGUSR1) != before:
            signal.signal(signal.SIGUSR1, before)
