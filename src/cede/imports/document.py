"""What every import is given: files with their names, and the edition to plan with."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from cede.doctrines.catalog import DIALECTS
from cede.doctrines.document import parse_document
from cede.imports.report import Report
from cede.model.errors import InputError, Loc, Problem, did_you_mean, shown

Source = tuple[str, object]
"""The name of a file, and what is in it."""


def refuse_unknown_edition(doctrine: str, edition: str) -> None:
    """An edition that the doctrine does not have is an error."""
    known = DIALECTS[doctrine].editions
    if edition not in known:
        message = f"{doctrine} has no edition {shown(edition)}; there are {', '.join(known)}"
        raise InputError([Problem("--edition", message, did_you_mean(edition, known))])


ORDER = ("cede", "now", "doctrine", "nodes", "queues", "apps", "workloads")

Origin = TypeVar("Origin")


def in_order(document: Mapping[str, Any]) -> dict[str, Any]:
    """The document with its sections in the order of the contract, and without empty ones."""
    return {key: document[key] for key in ORDER if document.get(key) not in (None, [])}


def check(
    document: Mapping[str, Any],
    origins: Mapping[str, Sequence[Origin]],
    report: Report,
    tell: Callable[[str, Origin, Loc, Problem], None],
) -> None:
    """Have what is wrong with the file said of the object it comes from: by section, with the steps inside its entry.

    `origins` has of each section where its entries come from; what comes from nowhere is reported as it is.
    """
    try:
        parse_document(document)
    except InputError as error:
        for problem in error.problems:
            section, *rest = problem.steps or ("",)
            index, *steps = [0, *rest] if section == "doctrine" else rest or [""]
            sources = origins.get(str(section), [])
            if isinstance(index, int) and index < len(sources):
                tell(str(section), sources[index], tuple(steps), problem)
            else:
                report.problems[problem] = None
