"""A cluster file to start from under YuniKorn: leaves below the root, each guaranteed its share."""

from __future__ import annotations

from cede.doctrines.parts.starter import Outline, Starter


def starter(outline: Outline, _edition: str) -> Starter:
    """Guarantees share evenly what is scarce; a queue below its own takes from those above theirs.

    Of one resource only: a queue that is below its guarantee of CPUs keeps its GPUs, however many it has.
    """
    main = outline.main
    leaves = []
    for name in outline.queues:
        share = {} if main is None else {main: outline.guarantee(name)[main]}
        leaves.append({"name": name, "guaranteed": share})
    return Starter(leaves)
