"""Wrong tokens: a limit on how often an address may guess, and on what that writes to the audit trail."""

from __future__ import annotations

import ipaddress
import time
from collections import OrderedDict, deque
from collections.abc import Callable

MOST = 20
"""Wrong tokens of one address within the time, before none from there that somebody thought up is even looked at."""
WITHIN_S = 60.0
MOST_WRITTEN = 200
"""Records of the audit trail within the time, whatever the number of addresses."""
_MOST_ADDRESSES = 10_000
_MOST_PROVEN = 1000
LOOPBACK = "loopback"


def address_of(host: str | None) -> str:
    """What counts as one address: this machine is one, and so is a network of IPv6, of which everybody has a whole."""
    try:
        address = ipaddress.ip_address((host or "").partition("%")[0])
    except ValueError:
        return host or "nowhere"
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        address = address.ipv4_mapped
    if address.is_loopback:
        return LOOPBACK
    if isinstance(address, ipaddress.IPv6Address):
        return str(ipaddress.ip_network((address, 64), strict=False))
    return str(address)


class WrongTokens:
    """An address that guesses is kept from guessing. Tokens that were right from there before stay right, and so do all
    that a server made: nobody who guesses locks others out."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._wrong: OrderedDict[str, deque[float]] = OrderedDict()
        self._written: deque[float] = deque()
        self._proven: OrderedDict[tuple[str, str], None] = OrderedDict()

    def is_kept_out(self, address: str, digest: str) -> bool:
        """Whether a token with this hash is refused unseen."""
        return len(self._of(address)) >= MOST and (address, digest) not in self._proven

    def right(self, address: str, digest: str) -> None:
        """This token is known, and was used from there."""
        self._proven[address, digest] = None
        self._proven.move_to_end((address, digest))
        while len(self._proven) > _MOST_PROVEN:
            self._proven.popitem(last=False)

    def wrong(self, address: str) -> str:
        """One more; what the audit trail shall say of it, empty if it has heard enough."""
        now, times = self._clock(), self._of(address)
        times.append(now)
        self._wrong[address] = times
        self._wrong.move_to_end(address)
        while len(self._wrong) > _MOST_ADDRESSES:
            self._wrong.popitem(last=False)
        self._forget(self._written, now)
        if len(self._written) >= MOST_WRITTEN:
            return ""
        self._written.append(now)
        if len(self._written) == MOST_WRITTEN:
            return f"number {MOST_WRITTEN} within {WITHIN_S:g} s; more of them are not written down"
        if len(times) == MOST:
            return f"number {MOST} within {WITHIN_S:g} s; others from there are refused unseen"
        return f"number {len(times)} within {WITHIN_S:g} s"

    def _of(self, address: str) -> deque[float]:
        times = self._wrong.get(address)
        if times is None:
            return deque()
        self._forget(times, self._clock())
        return times

    @staticmethod
    def _forget(times: deque[float], now: float) -> None:
        while times and times[0] <= now - WITHIN_S:
            times.popleft()
