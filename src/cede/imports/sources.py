"""What every import is given: files with their names, and the edition to plan with."""

from __future__ import annotations

from cede.doctrines.catalog import DIALECTS
from cede.model.errors import InputError, Problem, did_you_mean, shown

Source = tuple[str, object]
"""The name of a file, and what is in it."""


def refuse_unknown_edition(doctrine: str, edition: str) -> None:
    """An edition that the doctrine does not have is an error."""
    known = DIALECTS[doctrine].editions
    if edition not in known:
        message = f"{doctrine} has no edition {shown(edition)}; there are {', '.join(known)}"
        raise InputError([Problem("--edition", message, did_you_mean(edition, known))])
