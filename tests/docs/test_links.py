"""Links lead somewhere, the commands that prose names exist, and nothing in the docs is forgotten."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from cede.cli.main import COMMANDS
from docs.blocks import ROOT

PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])

LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#{1,6} (.+?)\s*$", re.MULTILINE)
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
NAMED = re.compile(r"`cede ([a-z]+)")


def shown(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def prose(text: str) -> str:
    """The page without its fenced blocks."""
    return FENCE.sub("", text)


def anchors(text: str) -> set[str]:
    """What a heading may be linked by, as GitHub makes it."""
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in HEADING.findall(prose(text))}


def broken_links(text: str, page: Path) -> Iterator[str]:
    """Relative links of this page that lead nowhere."""
    for link in LINK.findall(prose(text)):
        if "://" in link:
            continue
        place, _, anchor = link.partition("#")
        target = (page.parent / place).resolve() if place else page
        there = target.exists() and target.is_relative_to(ROOT)
        if there and anchor:
            there = anchor in anchors(text if target == page else target.read_text(encoding="utf-8"))
        if not there:
            yield link


@pytest.mark.parametrize("page", PAGES, ids=shown)
def test_every_link_leads_somewhere(page: Path) -> None:
    assert list(broken_links(page.read_text(encoding="utf-8"), page)) == []


@pytest.mark.parametrize("page", PAGES, ids=shown)
def test_every_command_that_prose_names_exists(page: Path) -> None:
    assert set(NAMED.findall(prose(page.read_text(encoding="utf-8")))) - set(COMMANDS) == set()


@pytest.mark.parametrize("link", ["nowhere.md", "#no-such-heading", "docs/README.md#nothing", "../outside.md"])
def test_the_check_sees(link: str) -> None:
    page = ROOT / "README.md"

    assert list(broken_links(f"# Here\n\n[text]({link})\n", page)) == [link]


def test_the_check_lets_pass() -> None:
    text = "# Here, and there's `more`\n\n[a](docs/README.md#words) [b](#here-and-theres-more) [c](https://example.org/x)\n"

    assert list(broken_links(text, ROOT / "README.md")) == []


def test_the_index_links_to_every_page() -> None:
    index = ROOT / "docs" / "README.md"
    linked = {(index.parent / link.partition("#")[0]).resolve() for link in LINK.findall(index.read_text("utf-8"))}
    pages = {*(ROOT / "docs").rglob("*.md"), *(ROOT / "docs").rglob("*.json")} - {index}

    assert sorted(shown(page) for page in pages - linked) == []


def test_the_changelog_mentions_every_command() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")

    assert [name for name in COMMANDS if f"`cede {name}" not in changelog] == []
