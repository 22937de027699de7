"""Every way a command may fail, as a message on standard error and an exit code; never a traceback."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from cede.model.errors import CedeError, InputError

WRONG_INPUT = 2
INTERNAL_ERROR = 70
CANNOT_WRITE = 74
INTERRUPTED = 130
MOST_PROBLEMS = 100
"""As many are listed, unless CEDE_ALL_ERRORS=1 asks for all."""


def guarded(run: Callable[[], object]) -> int:
    """The exit code of `run`, which may end by SystemExit; everything else it raises is told to the user."""
    _open_streams()
    try:
        code = _exit_code(run)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        _forget_output()
        return 1
    except OSError as error:
        _forget_output()
        _say(f"error: cannot write the output: {(error.strerror or str(error)).lower()}")
        return CANNOT_WRITE
    return code


def _exit_code(run: Callable[[], object]) -> int:
    try:
        run()
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else 0 if ended.code is None else 1
    except InputError as error:
        _say("\n".join(_problems(error)))
        return WRONG_INPUT
    except CedeError as error:
        _trace()
        _say(f"error: {printable(str(error))}")
        return WRONG_INPUT
    except OSError:
        raise
    except Exception as error:
        _trace()
        _say(_internal(error))
        return INTERNAL_ERROR
    return 0


@contextmanager
def about(source: str) -> Iterator[None]:
    """Errors that come out of the block are about this file, and say so."""
    try:
        yield
    except InputError as error:
        error.add_note(source)
        raise


def printable(text: str) -> str:
    """The text with what a terminal would act on, colour codes and line feeds among it, made visible."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "replace").decode("ascii") for c in text)


def _problems(error: InputError) -> Iterator[str]:
    problems = [printable(str(problem)) for problem in error.problems]
    source = next(iter(getattr(error, "__notes__", ())), "")
    within = f" in {printable(source)}" if source else ""
    if len(problems) == 1:
        names_it = not source or problems[0].startswith((printable(source), "standard input", "--"))
        yield f"error: {problems[0]}" if names_it else f"error{within}: {problems[0]}"
        return
    yield f"error: {len(problems)} problems{within}"
    most = len(problems) if os.environ.get("CEDE_ALL_ERRORS") == "1" else MOST_PROBLEMS
    yield from (f"  {problem}" for problem in problems[:most])
    if len(problems) > most:
        yield f"  and {len(problems) - most} more (CEDE_ALL_ERRORS=1 lists them all)"


def _trace() -> None:
    """Where the error at hand was raised, if somebody wants to know."""
    if os.environ.get("CEDE_DEBUG") == "1":
        import traceback

        traceback.print_exc()


def _internal(error: Exception) -> str:
    what = printable(f"{type(error).__name__}: {error}" if str(error) else type(error).__name__)
    return f"internal error: {what[:300]} - please report it, with the file if you can (CEDE_DEBUG=1 shows where)"


def _say(text: str) -> None:
    print(text, file=sys.stderr)


def _open_streams() -> None:
    """Streams that take any text: one that was closed leads nowhere, and no character is too much for one."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _forget_output() -> None:
    """Nobody reads what is still to be written; without this the interpreter would complain of it when it ends."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
