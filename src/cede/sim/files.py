"""Files that a replay reads and writes: read within a limit, and written as a whole or not at all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from cede.model.errors import InputError, Problem


@contextmanager
def folder_draft(folder: Path, own: Collection[str], inner: str, *, force: bool = False) -> Iterator[Path]:
    """An empty folder to write into; what is in it is in `folder` if the block ends well, and else is gone.

    A folder that is not empty is refused. With `force` files in it that are called as in `own`, and the YAML files of
    its folder `inner`, are those of an earlier run and go; whatever else is in it stays.
    """
    if folder.exists() and not folder.is_dir():
        raise InputError([Problem(str(folder), "is there, and is no folder")])
    if folder.is_dir() and any(folder.iterdir()) and not force:
        hint = "give another one, or --force to replace what an earlier replay left there"
        raise InputError([Problem(str(folder), "is there, and is not empty", hint)])
    with _draft(folder) as draft:
        yield draft
        if not folder.exists():
            draft.replace(folder)
            return
        for name in own:
            (folder / name).unlink(missing_ok=True)
        _clear(folder / inner)
        _move(draft, folder)


@contextmanager
def files_draft(targets: Sequence[Path], *, force: bool = False) -> Iterator[Path]:
    """An empty folder to write files and folders of these names into; they are in their places if the block ends well.

    One that is there already is refused, and with `force` replaced; of a folder its YAML files are.
    """
    for one in targets:
        if one.exists() and not force:
            raise InputError([Problem(str(one), "is there already", "give another name, or --force to replace it")])
    with _draft(targets[0]) as draft:
        yield draft
        for one in targets:
            _clear(one)
            made = draft / one.name
            if made.is_dir():
                _move(made, one)
            elif made.exists():
                made.replace(one)


@contextmanager
def _draft(target: Path) -> Iterator[Path]:
    """Made before the work begins, so that it does not end with what cannot be written."""
    place = target.resolve()
    draft = place.parent / f".{place.name}.{os.getpid()}"
    try:
        draft.mkdir()
    except (OSError, ValueError) as error:
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        raise InputError([Problem(str(target), f"cannot be written: {reason}")]) from None
    try:
        yield draft
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _clear(folder: Path) -> None:
    if folder.is_dir():
        for file in folder.glob("*.yaml"):
            file.unlink()


def _move(source: Path, target: Path) -> None:
    """Everything in one folder into the other, which need not be there."""
    target.mkdir(exist_ok=True)
    for one in sorted(source.iterdir()):
        if one.is_dir():
            _move(one, target / one.name)
        else:
            one.replace(target / one.name)


def bytes_of(path: str | Path, most: int, what: str) -> bytes:
    """What is in the file; an InputError if it cannot be read, or has more bytes than `what` may have."""
    name = str(path)
    try:
        data = Path(path).read_bytes()
    except (OSError, ValueError) as error:
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        raise InputError([Problem(name, f"cannot be read: {reason}")]) from None
    if len(data) > most:
        raise InputError([Problem(name, f"has {len(data)} bytes, and {what} above {most} are not read")])
    return data
