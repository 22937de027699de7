"""The doctrines that exist, loaded when asked for."""

from __future__ import annotations

from cede.doctrines.parts.doctrine import Doctrine
from cede.model.cluster import DoctrineChoice
from cede.model.errors import InputError, Problem

BUILT = ("backendai", "kueue", "lattice", "yunikorn", "ytsaurus")


def doctrine_of(choice: DoctrineChoice | None) -> Doctrine:
    """The doctrine a file asks for."""
    if choice is None:
        message = "the file names no doctrine, so there are no rules to decide by"
        raise InputError([Problem("doctrine", message, f"add `doctrine: NAME`; this Cede has {', '.join(BUILT)}")])
    return find(choice.name)


def find(name: str) -> Doctrine:
    """The doctrine of this name."""
    if name == "backendai":
        from cede.doctrines.backendai.doctrine import BACKENDAI

        return BACKENDAI
    if name == "kueue":
        from cede.doctrines.kueue.doctrine import KUEUE

        return KUEUE
    if name == "lattice":
        from cede.doctrines.lattice.doctrine import LATTICE

        return LATTICE
    if name == "yunikorn":
        from cede.doctrines.yunikorn.doctrine import YUNIKORN

        return YUNIKORN
    if name == "ytsaurus":
        from cede.doctrines.ytsaurus.doctrine import YTSAURUS

        return YTSAURUS
    message = f"the doctrine {name!r} is not built yet"
    raise InputError([Problem("doctrine", message, f"this Cede has {', '.join(BUILT)}")])
