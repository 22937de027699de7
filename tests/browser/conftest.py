"""A real Chromium without a network, and reports to open in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Dialog, Page, Route, sync_playwright

from tests.browser.scenes import Scene, scene, single

CHROMIUM = Path("/usr/bin/chromium")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync"]  # fmt: skip
DRAWN = "html[data-drawn]"
PATIENCE_MS = 180_000
"""A browser takes long to start, and to draw, on a busy machine."""

Scheme = Literal["light", "dark"]
Open = Callable[..., Page]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Ended with its module: its event loop would be in the way of other tests of the same worker."""
    if not CHROMIUM.exists():
        pytest.skip("Chromium is not installed; apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS, timeout=PATIENCE_MS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    return scene(tmp_path_factory.mktemp("compared"))


@pytest.fixture(scope="session")
def one(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    return single(tmp_path_factory.mktemp("one"))


class Watched:
    """Writes down whatever goes wrong on a page: errors, questions, and requests to anywhere."""

    def __init__(self, context: BrowserContext) -> None:
        self.wrong: list[str] = []
        context.route("http*://**/*", self._asked)
        self.page = context.new_page()
        self.page.on("console", self._said)
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("dialog", self._questioned)

    def _asked(self, route: Route) -> None:
        self.wrong.append(f"asks for {route.request.url}")
        route.abort()

    def _said(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.wrong.append(message.text)

    def _questioned(self, dialog: Dialog) -> None:
        self.wrong.append(f"says {dialog.message}")
        dialog.dismiss()


@pytest.fixture(scope="module")
def opened(browser: Browser) -> Iterator[Open]:
    """Opens a file at a width and in a scheme, and waits until its plots are drawn. Nothing may go wrong on it."""
    all_watched: list[Watched] = []

    def open_(path: Path, width: int = 1280, scheme: Scheme = "light") -> Page:
        context = browser.new_context(
            viewport={"width": width, "height": 844}, color_scheme=scheme, offline=True, reduced_motion="reduce"
        )
        context.set_default_timeout(PATIENCE_MS)
        watched = Watched(context)
        all_watched.append(watched)
        watched.page.goto(path.as_uri())
        watched.page.wait_for_selector(DRAWN)
        assert watched.wrong == []
        return watched.page

    yield open_
    for watched in all_watched:
        watched.page.context.close()
    # Again, for what went wrong while the tests used their pages.
    assert [watched.wrong for watched in all_watched if watched.wrong] == []


@pytest.fixture(scope="module")
def page(opened: Open, shown: Scene) -> Page:
    """The comparison on a laptop, opened once. Whoever changes what it shows changes it back."""
    return opened(shown.path)
