"""Calls of the kernel that the standard library lacks."""

from __future__ import annotations

import ctypes
import os

PR_SET_PDEATHSIG = 1
PR_SET_NAME = 15
PR_SET_CHILD_SUBREAPER = 36
IN_CLOSE_WRITE = 0x8
IN_MOVED_TO = 0x80
IN_NONBLOCK = 0o4000
IN_CLOEXEC = 0o2000000
_HEAD = 16

_libc = ctypes.CDLL(None, use_errno=True)


def prctl(option: int, value: int) -> None:
    if _libc.prctl(option, ctypes.c_ulong(value), 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")


def call_me(name: str) -> None:
    """What this process is called in lists of processes."""
    _libc.prctl(PR_SET_NAME, ctypes.c_char_p(name.encode()[:15]), 0, 0, 0)


def watch(folder: str) -> int:
    """A descriptor that becomes readable when a file is put or closed in the folder."""
    fd: int = _libc.inotify_init1(IN_NONBLOCK | IN_CLOEXEC)
    if fd < 0:
        raise OSError(ctypes.get_errno(), "inotify_init1")
    if _libc.inotify_add_watch(fd, os.fsencode(folder), IN_CLOSE_WRITE | IN_MOVED_TO) < 0:
        os.close(fd)
        raise OSError(ctypes.get_errno(), "inotify_add_watch")
    return fd


def names(fd: int) -> set[str]:
    """The files that were put or closed since the last call. After an overflow that is any: then {""}."""
    changed: set[str] = set()
    while True:
        try:
            events = os.read(fd, 1 << 16)
        except BlockingIOError:
            return changed
        at = 0
        while at < len(events):
            length = int.from_bytes(events[at + 12 : at + _HEAD], "little")
            changed.add(os.fsdecode(events[at + _HEAD : at + _HEAD + length].rstrip(b"\0")))
            at += _HEAD + length
