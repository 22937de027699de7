"""Writes `checkpoint_pb2` from `checkpoint.proto`: run it after a change of the protocol (needs grpcio-tools).

The compiler's own Python code refuses every protobuf and grpc older than the compiler. The module written here holds
the compiled description and builds the messages from it with functions that every supported protobuf has.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FileDescriptorProto, FileDescriptorSet

HERE = Path(__file__).parent
SOURCE = "checkpoint.proto"
WIDTH = 96

HEAD = '"""{about} of the checkpoint broker, made from checkpoint.proto by cede.checkpoint.wire.generate."""\n\n'
TYPES = {
    FieldDescriptorProto.TYPE_BOOL: "bool",
    FieldDescriptorProto.TYPE_DOUBLE: "float",
    FieldDescriptorProto.TYPE_INT64: "int",
    FieldDescriptorProto.TYPE_STRING: "str",
    FieldDescriptorProto.TYPE_UINT32: "int",
}


def described() -> FileDescriptorProto:
    """What the compiler makes of the protocol."""
    with TemporaryDirectory() as folder:
        target = Path(folder, "set")
        command = [sys.executable, "-m", "grpc_tools.protoc", f"-I{HERE}", f"--descriptor_set_out={target}", SOURCE]
        subprocess.run(command, check=True)
        [file] = FileDescriptorSet.FromString(target.read_bytes()).file
    return file


def generated() -> dict[str, str]:
    """The text of every file that is made, by its name."""
    file = described()
    return {"checkpoint_pb2.py": _code(file), "checkpoint_pb2.pyi": _types(file)}


def _code(file: FileDescriptorProto) -> str:
    """The module: the description of the protocol, and a class for each of its messages."""
    data = file.SerializeToString(deterministic=True).hex()
    lines = [f'        "{data[at : at + WIDTH]}"\n' for at in range(0, len(data), WIDTH)]
    text = HEAD.format(about="Messages") + "from google.protobuf import descriptor_pool, message_factory\n\n"
    text += "DESCRIPTOR = descriptor_pool.Default().AddSerializedFile(\n    bytes.fromhex(\n"
    text += "".join(lines) + "    )\n)\n\n"
    for message in file.message_type:
        descriptor = f'DESCRIPTOR.message_types_by_name["{message.name}"]'
        text += f"{message.name} = message_factory.GetMessageClass({descriptor})\n"
    return text


def _types(file: FileDescriptorProto) -> str:
    """What a type checker knows of the module."""
    text = HEAD.format(about="Types of the messages")
    text += "from google.protobuf.descriptor import FileDescriptor\nfrom google.protobuf.message import Message\n\n"
    return text + "DESCRIPTOR: FileDescriptor\n" + "".join(_class(message) for message in file.message_type)


def _class(message: DescriptorProto) -> str:
    if not message.field:
        return f"\nclass {message.name}(Message):\n    def __init__(self) -> None: ...\n"
    text = f"\nclass {message.name}(Message):\n"
    text += "".join(f"    {field.name}: {_type(field)}\n" for field in message.field)
    text += "    def __init__(\n        self,\n        *,\n"
    text += "".join(f"        {field.name}: {_type(field)} | None = ...,\n" for field in message.field)
    return text + "    ) -> None: ...\n"


def _type(field: FieldDescriptorProto) -> str:
    return field.type_name.rpartition(".")[2] or TYPES[field.type]


if __name__ == "__main__":
    for name, text in generated().items():
        (HERE / name).write_text(text, encoding="utf-8")
