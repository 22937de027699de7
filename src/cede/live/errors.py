"""What the controller could not do for a caller."""

from __future__ import annotations

from cede.model.errors import CedeError


class UnavailableError(CedeError):
    """What was asked for could not be made durable; nothing of it happened.

    `impaired`: the message is what keeps the server from its work.
    """

    def __init__(self, why: str, *, impaired: bool = False) -> None:
        super().__init__(why)
        self.impaired = impaired
