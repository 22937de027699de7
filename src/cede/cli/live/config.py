"""The configuration of a server, read as every file of Cede is: what is wrong has a place."""

from __future__ import annotations

import getpass
import os
import pwd
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from cede.cli.live.option_values import pairs
from cede.model.errors import InputError, Problem, did_you_mean, shown

if TYPE_CHECKING:
    from cede.live.config import ServerConfig, User

FIRST_ADMIN = "admin"


def read_config(file: str | None, accounts: Sequence[str], **over: Any) -> ServerConfig:
    """The file's configuration, if one is given, with what options say over it."""
    from cede.cli.failures import about
    from cede.cli.source import name_of
    from cede.engine.load import read_source

    plain: object = {} if file is None else read_source(file)
    with about(name_of(file or "")):
        config = _checked(plain)
    given = {key: value for key, value in over.items() if value is not None}
    problems = [p for p in map(_account_problem, config.users) if p is not None]
    if problems:
        raise InputError(problems)
    users = (*config.users, *_mapped(accounts, config.users)) if accounts else config.users
    # Not read anew: what was read as a time is no longer written as one.
    return config.model_copy(update=given | {"users": users})


def _checked(plain: object) -> ServerConfig:
    from pydantic import ValidationError

    from cede.live.config import ServerConfig
    from cede.model.reports import Hints, findings_of, in_file_order

    if not isinstance(plain, dict):
        raise InputError([Problem("", f"{shown(plain)} is no configuration, which is an object")])
    try:
        return ServerConfig.model_validate(plain)
    except ValidationError as error:
        raise InputError(in_file_order(findings_of(error, ServerConfig, Hints()), plain)) from None


def _mapped(accounts: Sequence[str], known: Sequence[User]) -> list[User]:
    """Users of --account; who starts the server, and its first admin, stay admins."""
    from cede.live.config import User

    made: list[User] = []
    for name, account in pairs("--account", accounts, "USER=ACCOUNT").items():
        if any(user.name == name for user in known):
            raise InputError([Problem(f"--account {name}", "the configuration maps this user already")])
        role: Literal["admin", "user"] = "admin" if name in (FIRST_ADMIN, local_user()) else "user"
        user = User(name=name, role=role, account=account)
        problem = _account_problem(user)
        if problem is not None:
            raise InputError([Problem(f"--account {name}={account}", problem.message, problem.hint)])
        if os.geteuid() != 0 and account != local_user():
            what = f"only a server that is root runs jobs as another account; here everything runs as {local_user()}"
            raise InputError([Problem(f"--account {name}={account}", what)])
        made.append(user)
    return made


def _account_problem(user: User) -> Problem | None:
    """What is wrong with the account of a user, if it has one: there must be such a one here."""
    if user.account is None:
        return None
    try:
        pwd.getpwnam(user.account)
    except KeyError:
        known = [entry.pw_name for entry in pwd.getpwall()]
        message = f"this machine has no account {shown(user.account)}"
        return Problem(f"users[{user.name}].account", message, did_you_mean(user.account, known))
    return None


def local_user() -> str:
    """Whoever runs this."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.geteuid())


def rights(users: Sequence[User]) -> str:
    """Whose rights jobs have under a server that this process is."""
    if os.geteuid() != 0:
        return f"everything runs as {local_user()}"
    mapped = [f"{user.name} as {user.account}" for user in users if user.account is not None]
    if mapped:
        return f"jobs of {', '.join(mapped)}; others cannot submit"
    who = local_user()
    return f"nobody can submit yet: a server that is root needs an account for whoever does, as --account {who}=root"


def folder_of(data: str | None) -> Path | None:
    """A path that was typed, as an absolute one."""
    return None if data is None else Path(data).expanduser().absolute()
