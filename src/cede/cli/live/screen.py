"""A view that is drawn anew when something happens: a thread listens for events, and nothing is polled fast."""

from __future__ import annotations

import os
import re
import select
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from rich.console import RenderableType

    from cede.live.client import Client
    from cede.live.documents import Event

T = TypeVar("T")

TICK_S = 1.0
"""How often ages grow on the screen; nobody is asked for that."""
LOOK_S = 15.0
"""How often the server is asked though no event came: progress makes none."""
LEAST_S = 0.1
"""However much happens, it is not asked more often."""


class Listening:
    """Hears every event of a server in a thread of its own; `wake` can be read when there was one."""

    def __init__(self, client: Client, heard: Callable[[Event], None] | None) -> None:
        self.wake, self._woken = os.pipe()
        self.over = False
        self.gone = False
        self._client = client
        self._heard = heard
        threading.Thread(target=self._listen, daemon=True, name="events").start()

    def _listen(self) -> None:
        while not self.over:
            # Whatever comes of a server that goes away, or of a client that is closed: it is tried again, or over.
            with suppress(Exception):
                for event in self._client.events(follow=True):
                    self.gone = False
                    if self._heard is not None:
                        self._heard(event)
                    os.write(self._woken, b".")
            self.gone = True
            time.sleep(TICK_S)

    def happened(self) -> bool:
        """Whether there was an event since this was asked."""
        return bool(select.select([self.wake], [], [], 0)[0] and os.read(self.wake, 65536))


def watched(
    client: Client,
    look: Callable[[], T],
    draw: Callable[[T, int, int, str], RenderableType],
    heard: Callable[[Event], None] | None = None,
    pressed: Callable[[str], None] | None = None,
) -> None:
    """Shows what `draw` makes of what `look` finds, full screen, until q or Ctrl-C.

    `draw` is given the width and the height, and what to say of the server: nothing while it answers. `pressed` is told
    of every other key, by its name if it has one; it is drawn anew then.
    """
    from rich.console import Console
    from rich.live import Live

    out = Console(highlight=False, markup=False, emoji=False)
    view, problem = look(), ""
    if not out.is_terminal:
        out.print(draw(view, out.width, out.height, problem))
        return
    listening = Listening(client, heard)
    asked = time.monotonic()
    with (
        _keys() as keys,
        suppress(KeyboardInterrupt),
        Live(console=out, screen=True, auto_refresh=False, vertical_overflow="crop") as live,
    ):
        while True:
            live.update(draw(view, out.width, out.height, problem), refresh=True)
            ready = select.select([listening.wake, *keys], [], [], TICK_S)[0]
            typed = [name for key in keys if key in ready for name in keys_of(os.read(key, 1000))]
            if "q" in typed:
                break
            if pressed is not None:
                for name in typed:
                    pressed(name)
            if listening.happened() or time.monotonic() - asked > (TICK_S if problem else LOOK_S):
                time.sleep(max(0.0, asked + LEAST_S - time.monotonic()))
                asked = time.monotonic()
                view, problem = _looked(look, view)
    listening.over = True


_NAMES: dict[str, tuple[bytes, ...]] = {
    "up": (b"\x1b[A", b"\x1bOA", b"k"),
    "down": (b"\x1b[B", b"\x1bOB", b"j"),
    "page up": (b"\x1b[5~",),
    "page down": (b"\x1b[6~", b" "),
    "home": (b"\x1b[H", b"\x1bOH", b"\x1b[1~", b"g"),
    "end": (b"\x1b[F", b"\x1bOF", b"\x1b[4~", b"G"),
    "tab": (b"\t",),
    "back tab": (b"\x1b[Z",),
}
KEYS = {sent: name for name, all_sent in _NAMES.items() for sent in all_sent}
_ONE_KEY = re.compile(rb"\x1bO.|\x1b\[[0-9;]*.|.", re.DOTALL)


def keys_of(typed: bytes) -> list[str]:
    """The keys that a terminal sends these bytes for, each by its name, or as the letter that it is, in lower case."""
    return [KEYS.get(one, one.decode(errors="replace").lower()) for one in _ONE_KEY.findall(typed)]


def _looked(look: Callable[[], T], before: T) -> tuple[T, str]:
    from cede.live.client import ClientError

    try:
        return look(), ""
    except ClientError as error:
        return before, error.detail


@contextmanager
def _keys() -> Iterator[list[int]]:
    """What to read single keys from, if anything; the terminal is as before when the block is over."""
    if not sys.stdin.isatty():
        yield []
        return
    import termios
    import tty

    fd = sys.stdin.fileno()
    before = termios.tcgetattr(fd)
    try:
        tty.setcbreak(fd)
        yield [fd]
    finally:
        termios.tcsetattr(fd, termios.TCSADRAIN, before)
