"""The runs of a comparison as its options name them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from cede.cli.sim_options import doctrine_text
from cede.model.errors import InputError, Problem

if TYPE_CHECKING:
    from cede.engine.whatif import WhatIf
    from cede.sim.compare import Variant

AS_IT_IS = "as it is"
EVERY = "all"
DOCTRINE = "doctrine"
FILE = "@"
HINT = "write LABEL:PATH=VALUE, as 'low bar:queues[a].settings.preemptible_priority=3', or LABEL:@FILE"
OPENS, CLOSES = "[{(", "]})"


def variants_of(doctrines: str | None, vary: Sequence[str], base: WhatIf) -> list[Variant]:
    """One for each doctrine and one for each variation; without doctrines the file as it is comes first."""
    from cede.doctrines.catalog import DOCUMENTED
    from cede.engine.whatif import WhatIf
    from cede.sim.compare import Variant

    if doctrines is None and not vary:
        raise InputError([Problem("--doctrines", "is missing", "name what to compare, as --doctrines all")])
    found = [Variant(AS_IT_IS, base)] if doctrines is None else []
    for text in () if doctrines is None else doctrines.split(","):
        name = doctrine_text(text)
        if not name:
            raise InputError([Problem(f"--doctrines {doctrines}", "one of the names is empty")])
        names = DOCUMENTED if name == EVERY else (name,)
        found += [Variant(one, WhatIf(one, set=base.set)) for one in names]
    return [*found, *map(partial(_variant, base), vary)]


def _variant(base: WhatIf, text: str) -> Variant:
    """The cluster file, or another one, with the doctrine and the values that the text names."""
    from cede.cli.sim_options import read_cluster
    from cede.engine.whatif import WhatIf
    from cede.sim.compare import Variant

    label, colon, rest = text.partition(":")
    if not colon or "=" in label or not label.strip():
        raise InputError([Problem(f"--vary {text}", "has no label", HINT)])
    doctrine = file = None
    values = []
    for part in _parts(rest):
        path, _, value = part.partition("=")
        if part.startswith(FILE):
            file = part.removeprefix(FILE)
        elif path.strip() == DOCTRINE:
            doctrine = doctrine_text(value)
        else:
            values.append(part)
    if doctrine is None and file is None and not values:
        raise InputError([Problem(f"--vary {text}", "changes nothing", HINT)])
    plain = None if file is None else read_cluster(file, None, None)[0]
    return Variant(label.strip(), WhatIf(doctrine, set=(*base.set, *values)), plain, file)


def _parts(text: str) -> Iterator[str]:
    """What stands between commas that are in no brackets."""
    depth = begin = 0
    for at, character in enumerate(text):
        depth += (character in OPENS) - (character in CLOSES)
        if character == "," and depth <= 0:
            yield text[begin:at].strip()
            begin = at + 1
    if text[begin:].strip():
        yield text[begin:].strip()
