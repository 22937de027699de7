"""What can go wrong between Cede and its database."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import SQLAlchemyError

from cede.model.errors import CedeError


class StoreError(CedeError):
    """The database did not do what was asked; nothing of it was kept."""


class StaleError(StoreError):
    """The step was made from another version than the one that is stored."""


class NewerError(StoreError):
    """The database was written by a newer Cede."""


class TakenError(StoreError):
    """There is such a workload or token already."""


class UnknownError(StoreError):
    """There is no such workload to go on from."""


@contextmanager
def in_our_words(what: str) -> Iterator[None]:
    """What the database complains of is raised as a StoreError that says what was being done."""
    try:
        yield
    except SQLAlchemyError as error:
        cause = getattr(error, "orig", None) or error
        raise StoreError(f"{what}: {cause}") from error
