"""Whose rights a job has: those of its unix account, and never more than the server's own."""

from __future__ import annotations

import os
import pwd
from dataclasses import dataclass


class RightsError(Exception):
    """Why a job may not be started as the account it names, in a sentence."""


@dataclass(frozen=True, slots=True)
class Rights:
    """`groups` is none where nothing is to be changed: the job runs as the server does."""

    account: str
    uid: int
    gid: int
    groups: tuple[int, ...] | None
    home: str
    shell: str


def rights_of(account: str | None) -> Rights:
    """The rights of a job that names this account."""
    uid = os.getuid()
    if account is None:
        if uid == 0:
            raise RightsError("the server runs as root and the task names no account: root's rights are not given away")
        return _unchanged(uid)
    try:
        entry = pwd.getpwnam(account)
    except (KeyError, ValueError):
        raise RightsError(f"there is no account {account!r} on this machine") from None
    if entry.pw_uid == uid:
        return _unchanged(uid)
    if uid != 0:
        raise RightsError(f"the server runs as {_name(uid)} and cannot start processes as {account}")
    if entry.pw_uid == 0 and account != "root":
        raise RightsError(f"the account {account} has root's rights; only the name root itself may mean that")
    groups = tuple(os.getgrouplist(entry.pw_name, entry.pw_gid))
    return Rights(entry.pw_name, entry.pw_uid, entry.pw_gid, groups, entry.pw_dir, entry.pw_shell)


def _unchanged(uid: int) -> Rights:
    try:
        entry = pwd.getpwuid(uid)
    except KeyError:
        return Rights(str(uid), uid, os.getgid(), None, "/", "/bin/sh")
    return Rights(entry.pw_name, uid, os.getgid(), None, entry.pw_dir, entry.pw_shell)


def _name(uid: int) -> str:
    return _unchanged(uid).account
