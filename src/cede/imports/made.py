"""The cluster file that an importer made: sections in order, and faults said of the objects they come from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from cede.imports.report import Place, Report
from cede.model.document import parse_document
from cede.model.errors import InputError, Loc

ORDER = ("cede", "now", "doctrine", "nodes", "queues", "apps", "workloads")

Places = Mapping[str, Sequence[Place]]
"""By section of the file: where each of its entries comes from."""
Words = Callable[[str, Sequence[str | int], str], tuple[Loc, str]]
"""From a section, the steps inside an entry and a message: the path in what was given, and what is said there."""


def in_order(document: Mapping[str, Any]) -> dict[str, Any]:
    """The document with its sections in the order of the contract, and without empty ones."""
    return {key: document[key] for key in ORDER if document.get(key) not in (None, [])}


def check(document: Mapping[str, Any], places: Places, report: Report, words: Words) -> None:
    """Report what is wrong with the file that was made, said of the object it comes from."""
    try:
        parse_document(in_order(document))
    except InputError as error:
        for problem in error.problems:
            section, *rest = problem.steps or ("",)
            index, *steps = [0, *rest] if section == "doctrine" else rest or [""]
            found = places.get(str(section), [])
            if isinstance(index, int) and index < len(found):
                where, message = words(str(section), steps, problem.message)
                report.wrong(found[index], where, message, problem.hint)
            else:
                report.problems[problem] = None
