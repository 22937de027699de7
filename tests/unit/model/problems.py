"""What is wrong with a document, as lines."""

from __future__ import annotations

from cede.doctrines.document import parse_document
from cede.model.errors import InputError


def problems_of(data: object) -> list[str]:
    """Every problem as a line; none if the document is right."""
    try:
        parse_document(data)
    except InputError as error:
        return [str(problem) for problem in error.problems]
    return []


def paths_of(data: object) -> list[str]:
    """Where the problems are."""
    try:
        parse_document(data)
    except InputError as error:
        return [problem.path for problem in error.problems]
    return []
