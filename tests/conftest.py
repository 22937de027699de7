"""Every run of the tests draws the same examples, unless another Hypothesis profile is asked for.

Hypothesis also draws numbers and words that it finds in the modules that are loaded. Many are loaded by the first test
that needs them: which have been by then depends on the tests that ran before in the same process, and that on how fast
others are. So all are loaded before the first draw.
"""

from importlib import import_module
from pkgutil import walk_packages

from hypothesis import settings

import cede
import docs

NO_MODULES = ("cede.cli.__main__", "cede.live.store.migrations")
"""The first runs the command; Alembic runs the others, as files."""

settings.register_profile("repeatable", derandomize=True, deadline=None, database=None, print_blob=True)
settings.register_profile("explore", max_examples=2000, deadline=None, print_blob=True)
settings.load_profile("repeatable")

for package in (cede, docs):
    for found in walk_packages(package.__path__, f"{package.__name__}."):
        if not found.name.startswith(NO_MODULES):
            import_module(found.name)
