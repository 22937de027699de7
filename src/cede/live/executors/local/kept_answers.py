"""What the broker keeps in the folders of attempts: the answers for which no supervisor listens."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from cede.live.errors import UnavailableError
from cede.live.executors.local.folders import Folders
from cede.live.executors.local.guard import files
from cede.live.executors.local.guard.outcome import gave_way
from cede.live.executors.local.spec import get_attempt


class AnswerFiles:
    """A record may be older than an answer, where a store was restored: then the member's own file tells of it."""

    def __init__(self, data: Path) -> None:
        self._folders = Folders(data)

    def size(self, name: str, attempt: int) -> int | None:
        """How many members the attempt has; none if it left no trace."""
        record = get_attempt(self._folders.attempt(name, attempt))
        return None if record is None else len(record.nodes)

    def keep_answer(self, name: str, attempt: int, member: int, hint: int) -> None:
        """The member has answered this hint, which asked it to leave; UnavailableError if that cannot be kept now."""
        folder = str(self._folders.member(name, attempt, member))
        try:
            with suppress(FileNotFoundError):  # nothing is left of the attempt
                files.put(folder, "said.json", gave_way(hint), durable=False)
        except OSError as error:
            raise UnavailableError(f"{folder}: {(error.strerror or str(error)).lower()}") from None
