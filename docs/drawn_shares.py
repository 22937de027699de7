"""The pictures of share curves, drawn by `cede shares --plot` from the examples."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from docs.commands import prepared, ran

CURVES = {
    "docs/images/ytsaurus-shares.svg": "examples/ytsaurus/shares.yaml",
    "docs/images/ytsaurus-gang.svg": "examples/ytsaurus/gang.yaml",
}


def curves() -> dict[str, str]:
    """Each picture by its place in the source tree; the same example gives the same bytes."""
    found: dict[str, str] = {}
    with TemporaryDirectory() as name:
        folder = prepared(Path(name))
        for place, example in CURVES.items():
            command = f"cede shares {example} --plot {Path(place).name}"
            code, printed = ran(command, folder)
            if code:
                raise RuntimeError(f"{command!r} ended with {code}:\n{printed}")
            found[place] = (folder / Path(place).name).read_text(encoding="utf-8")
    return found
