"""Types of the messages of the checkpoint broker, made from checkpoint.proto by cede.checkpoint.wire.generate."""

from google.protobuf.descriptor import FileDescriptor
from google.protobuf.message import Message

DESCRIPTOR: FileDescriptor

class Member(Message):
    job: str
    attempt: int
    member: int
    size: int
    token: str
    def __init__(
        self,
        *,
        job: str | None = ...,
        attempt: int | None = ...,
        member: int | None = ...,
        size: int | None = ...,
        token: str | None = ...,
    ) -> None: ...

class Registration(Message):
    member: Member
    estimate_s: float
    interval_s: float
    def __init__(
        self,
        *,
        member: Member | None = ...,
        estimate_s: float | None = ...,
        interval_s: float | None = ...,
    ) -> None: ...

class Noted(Message):
    def __init__(self) -> None: ...

class Notice(Message):
    hint: Hint
    grant: Grant
    def __init__(
        self,
        *,
        hint: Hint | None = ...,
        grant: Grant | None = ...,
    ) -> None: ...

class Hint(Message):
    hint: int
    leaving: bool
    deadline_us: int
    def __init__(
        self,
        *,
        hint: int | None = ...,
        leaving: bool | None = ...,
        deadline_us: int | None = ...,
    ) -> None: ...

class Grant(Message):
    hint: int
    seconds: float
    def __init__(
        self,
        *,
        hint: int | None = ...,
        seconds: float | None = ...,
    ) -> None: ...

class ProgressMade(Message):
    member: Member
    hint: int
    part: float
    def __init__(
        self,
        *,
        member: Member | None = ...,
        hint: int | None = ...,
        part: float | None = ...,
    ) -> None: ...

class TimeWanted(Message):
    member: Member
    hint: int
    seconds: float
    def __init__(
        self,
        *,
        member: Member | None = ...,
        hint: int | None = ...,
        seconds: float | None = ...,
    ) -> None: ...

class CheckpointDone(Message):
    member: Member
    hint: int
    def __init__(
        self,
        *,
        member: Member | None = ...,
        hint: int | None = ...,
    ) -> None: ...

class CheckpointMissing(Message):
    member: Member
    hint: int
    why: str
    def __init__(
        self,
        *,
        member: Member | None = ...,
        hint: int | None = ...,
        why: str | None = ...,
    ) -> None: ...
