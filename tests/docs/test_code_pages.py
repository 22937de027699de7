"""What the pages about the code name is there: every function of the walks, every module and folder of the tables."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from docs.blocks import ROOT

SOURCE = ROOT / "src/cede"
WALKS = ROOT / "docs/concepts/find-your-way.md"
ARCHITECTURE = ROOT / "docs/concepts/architecture.md"
TITLES = [
    "A plan",
    "A submission",
    "A preemption",
    "A replayed job",
    "A fair-sharing decision",
    "A new setting",
]

FUNCTION = re.compile(r"`([a-z0-9_/]+\.py):([A-Za-z0-9_.]+)`")
CODE = re.compile(r"`([^`\n]+)`")
PLACE = re.compile(r"[a-z0-9_]+(/[a-z0-9_]+)*(/|\.py|/[a-z0-9_]+)")
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


def defined(body: list[ast.stmt]) -> dict[str, ast.stmt]:
    """What these statements define, by name: functions, classes and variables."""
    names: dict[str, ast.stmt] = {}
    for one in body:
        if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names[one.name] = one
        elif isinstance(one, ast.Assign):
            names |= {target.id: one for target in one.targets if isinstance(target, ast.Name)}
        elif isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name):
            names[one.target.id] = one
    return names


def exists(file: str, name: str) -> bool:
    """Whether this file of the package defines this name; `Class.method` looks inside the class."""
    path = SOURCE / file
    if not path.is_file():
        return False
    body = ast.parse(path.read_text(encoding="utf-8")).body
    for part in name.split("."):
        found = defined(body).get(part)
        if found is None:
            return False
        body = found.body if isinstance(found, ast.ClassDef) else []
    return True


def missing_functions(text: str) -> list[str]:
    """Every `file:function` of a page that is not in the code."""
    return [f"{file}:{name}" for file, name in FUNCTION.findall(text) if not exists(file, name)]


def missing_places(text: str) -> Iterator[str]:
    """Modules and folders that a page names by their path and that are neither in the package nor in the tree."""
    for name in CODE.findall(FENCE.sub("", text)):
        if not PLACE.fullmatch(name):
            continue
        if "/" not in name:
            there = any(SOURCE.rglob(name))  # a file that several packages have
        else:
            there = any((top / tail).exists() for top in (SOURCE, ROOT) for tail in (name, f"{name}.py"))
        if not there:
            yield name


def walks(text: str) -> dict[str, str]:
    """The text below each heading of the second level, by the heading."""
    parts = re.split(r"^## (.+)$", text, flags=re.MULTILINE)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


def test_every_function_of_the_walks_exists() -> None:
    assert missing_functions(WALKS.read_text(encoding="utf-8")) == []


def test_there_are_six_walks_and_each_is_a_list_of_functions() -> None:
    found = walks(WALKS.read_text(encoding="utf-8"))

    assert list(found) == TITLES
    for title, text in found.items():
        steps = re.findall(r"^(\d+)\. ", text, re.MULTILINE)
        assert list(map(int, steps)) == list(range(1, len(steps) + 1)), title
        assert len(FUNCTION.findall(text)) >= len(steps) - 1 >= 5, title


@pytest.mark.parametrize("page", [ARCHITECTURE, WALKS, ROOT / "CONTRIBUTING.md"], ids=lambda page: page.name)
def test_every_module_and_folder_that_is_named_exists(page: Path) -> None:
    assert list(missing_places(page.read_text(encoding="utf-8"))) == []


GONE = {
    "a file": "`engine/nowhere.py:plan`",
    "a function": "`engine/cycle.py:nothing`",
    "a method": "`engine/drive/driver.py:Driver.nothing`",
    "a class": "`engine/drive/driver.py:Nobody.feed`",
    "what is only imported": "`engine/cycle.py:replace`",
}


@pytest.mark.parametrize("text", GONE.values(), ids=GONE.keys())
def test_the_check_sees_what_is_gone(text: str) -> None:
    assert len(missing_functions(text)) == 1


def test_the_check_lets_pass_what_is_there() -> None:
    text = "`engine/cycle.py:plan`, `engine/drive/driver.py:Driver.feed`, `doctrines/backendai/rules.py:RULES`"

    assert len(FUNCTION.findall(text)) == 3
    assert missing_functions(text) == []


def test_a_module_or_folder_that_is_gone_is_seen() -> None:
    text = "`doctrines/kueue/tournament`, `state/columns.py`, `engine/drive/`, `live/nowhere/`, `tests/unit`"

    assert list(missing_places(text)) == ["doctrines/kueue/tournament", "live/nowhere/"]
