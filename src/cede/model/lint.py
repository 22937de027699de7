"""A finding of `cede lint`: a setting that will not do what it seems to, with a hint."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Finding:
    """`rule` names the check, `path` the place in the file, `hint` what to do about it."""

    rule: str
    path: str
    message: str
    hint: str

    def to_dict(self) -> dict[str, Any]:
        return {"rule": self.rule, "path": self.path, "message": self.message, "hint": self.hint}
