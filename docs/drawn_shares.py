"""The pictures of share curves: the plots of the page that `cede shares --plot` writes, as a browser shows them.

Two browsers never draw the same bytes. So a picture carries the digest of the numbers it shows, and is taken anew only
when these change.
"""

from __future__ import annotations

import re
import struct
import zlib
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import Browser, sync_playwright

from docs.blocks import ROOT
from docs.commands import prepared, ran

CURVES = {
    "docs/images/ytsaurus-shares.png": "examples/ytsaurus/shares.yaml",
    "docs/images/ytsaurus-gang.png": "examples/ytsaurus/gang.yaml",
}
CHROMIUM = "/usr/bin/chromium"
FLAGS = ["--no-sandbox", "--disable-gpu"]
WIDTH = 1040
AFTER_HEADER = 33
"""Where the second chunk of a PNG begins."""

_NUMBERS = re.compile(r'<script type="application/json" id="shares">(.*?)</script>')


def stale_curves() -> list[str]:
    """The pictures that do not show what their examples come to now."""
    return [place for place, page in _pages().items() if digest_of(page).encode() not in _bytes_of(ROOT / place)]


def curves() -> dict[str, bytes]:
    """Each picture by its place in the source tree, taken anew."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        taken = {place: _noted(_screenshot(browser, page), digest_of(page)) for place, page in _pages().items()}
        browser.close()
    return taken


def digest_of(page: str) -> str:
    """The digest of the numbers that a page shows."""
    numbers = _NUMBERS.search(page)
    assert numbers is not None, "the page holds its numbers"
    return sha256(numbers[1].encode()).hexdigest()


def _pages() -> dict[str, str]:
    pages: dict[str, str] = {}
    with TemporaryDirectory() as name:
        folder = prepared(Path(name))
        for place, example in CURVES.items():
            target = f"{Path(place).stem}.html"
            command = f"cede shares {example} --plot {target}"
            code, printed = ran(command, folder)
            if code:
                raise RuntimeError(f"{command!r} ended with {code}:\n{printed}")
            pages[place] = (folder / target).read_text(encoding="utf-8")
    return pages


def _screenshot(browser: Browser, page: str) -> bytes:
    with TemporaryDirectory() as folder:
        file = Path(folder) / "shares.html"
        file.write_text(page, encoding="utf-8")
        tab = browser.new_page(viewport={"width": WIDTH, "height": 844}, color_scheme="light")
        tab.goto(file.as_uri())
        tab.wait_for_selector("html[data-drawn]")
        picture = tab.locator("#panels").screenshot()
        tab.close()
    return picture


def _noted(picture: bytes, digest: str) -> bytes:
    """The PNG with the digest in a chunk of text, which no viewer shows."""
    chunk = b"tEXt" + f"Comment\0{digest}".encode()
    note = struct.pack(">I", len(chunk) - 4) + chunk + struct.pack(">I", zlib.crc32(chunk))
    return picture[:AFTER_HEADER] + note + picture[AFTER_HEADER:]


def _bytes_of(path: Path) -> bytes:
    return path.read_bytes() if path.exists() else b""
