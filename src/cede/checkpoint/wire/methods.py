"""The calls of the service: the name, the request and the answer of each."""

from __future__ import annotations

from google.protobuf.message import Message

from cede.checkpoint.wire import checkpoint_pb2 as pb

SERVICE = "cede.checkpoint.v1.Checkpoints"

REQUESTS: dict[str, type[Message]] = {
    "Register": pb.Registration,
    "Progress": pb.ProgressMade,
    "Defer": pb.TimeWanted,
    "Done": pb.CheckpointDone,
    "Failed": pb.CheckpointMissing,
}
"""Those that are answered once, with Noted."""

Request = pb.Registration | pb.ProgressMade | pb.TimeWanted | pb.CheckpointDone | pb.CheckpointMissing


def path(name: str) -> str:
    """The call as gRPC names it."""
    return f"/{SERVICE}/{name}"
