"""A trace file as bytes: blocks of whole lines, whatever it is packed in."""

from __future__ import annotations

import gzip
import io
import tarfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, cast

from cede.model.errors import InputError, Problem

BLOCK_BYTES = 32 * 2**20
HEAD_BYTES = 8192

_GZIP = b"\x1f\x8b"
_UTF8_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Source:
    """Bytes that can be read more than once, and what messages call them."""

    name: str
    open: Callable[[], IO[bytes]]

    def wrong(self, message: str, hint: str | None = None) -> InputError:
        return InputError([Problem(self.name, message, hint)])


def source_of(path: Path) -> Source:
    """The file, unpacked if it is gzip."""

    def opened() -> IO[bytes]:
        with path.open("rb") as file:
            packed = file.read(2) == _GZIP
        return cast(IO[bytes], gzip.open(path)) if packed else path.open("rb")

    return Source(str(path), opened)


def tar_members(path: Path, wanted: Callable[[str], bool]) -> list[Source]:
    """The files of a tar whose names are wanted, by name."""

    contents: dict[str, bytes] = {}
    with failures_named(str(path)), tarfile.open(path) as tar:
        # In one go: to go back in a compressed tar is to unpack it again.
        for member in tar:
            file = tar.extractfile(member) if member.isfile() and wanted(member.name) else None
            if file is not None:
                contents[member.name] = file.read()
    return [Source(f"{path}/{name}", partial(io.BytesIO, contents[name])) for name in sorted(contents)]


@contextmanager
def failures_named(name: str) -> Iterator[None]:
    """What fails while a file is read is told of it by this name."""
    try:
        yield
    except EOFError:
        raise InputError([Problem(name, "ends too early: the compressed file is cut off")]) from None
    except (gzip.BadGzipFile, zlib.error, tarfile.TarError) as error:
        raise InputError([Problem(name, f"cannot be unpacked: {error}")]) from None
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise InputError([Problem(name, f"cannot be read: {reason}")]) from None


@contextmanager
def reading(source: Source) -> Iterator[IO[bytes]]:
    """The source, open; a byte order mark is skipped."""
    with failures_named(source.name), source.open() as file:
        if file.read(3) != _UTF8_MARK:
            file.seek(0)
        yield file


def head_of(source: Source) -> bytes:
    """The first bytes, unpacked."""
    with reading(source) as file:
        return file.read(HEAD_BYTES)


def blocks(source: Source, quote: bytes = b"", preamble: bytes = b"") -> Iterator[bytes]:
    """The text in pieces of whole lines, none of which ends within quotes; an InputError if it is no text, or none.

    Lines on top that begin with the preamble are left out.
    """
    with reading(source) as file:
        rest, line = b"", 1
        while preamble and (rest := file.readline()).startswith(preamble):
            line += 1
        while piece := file.read(BLOCK_BYTES):
            buffer = rest + piece
            cut = _end_of_lines(buffer, quote)
            rest = buffer[cut:]
            if cut:
                yield _text(source, buffer[:cut], line)
                line += _lines(buffer, cut)
        if rest:
            yield _text(source, rest, line)
        elif line == 1:
            raise source.wrong("the file is empty")


def _end_of_lines(data: bytes, quote: bytes) -> int:
    cut = data.rfind(b"\n") + 1
    while quote and cut and data.count(quote, 0, cut) % 2:
        cut = data.rfind(b"\n", 0, cut - 1) + 1
    return cut


def _text(source: Source, data: bytes, line: int) -> bytes:
    if (nul := data.find(b"\0")) >= 0:
        place = f"{source.name}:{line + _lines(data, nul)}"
        raise InputError([Problem(place, "a NUL byte is not text: this is no trace that Cede can read")])
    if not data.isascii():
        try:
            data.decode()
        except UnicodeDecodeError as error:
            place = f"{source.name}:{line + _lines(data, error.start)}"
            message = f"byte 0x{data[error.start]:02x} is not UTF-8"
            raise InputError([Problem(place, message, "save the file as UTF-8")]) from None
    return data


def _lines(data: bytes, end: int) -> int:
    return data.count(b"\n", 0, end)
