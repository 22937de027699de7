"""What is true of every file: its size, its docstring, its imports, and what it does not give away."""

import ast
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from cede.doctrines.catalog import NAMES

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "cede"
MOST_LINES = 800

PURE = ("model", "imports", "state", "doctrines")
IMPURE_BUILTINS = {"__import__", "hash", "id", "input", "open", "print"}
CLOCK_METHODS = {"now", "today", "utcnow"}

NAMES_DOCTRINES = (
    "src/cede/doctrines/",
    "src/cede/imports/",
    "src/cede/cli/import_command.py",
    "src/cede/cli/bench/",
    "bench/",
)
"""Where a doctrine may be named in code; elsewhere in `cli` only in what people read."""

# Put together from pieces, so that this file does not hold what it looks for.
MACHINE_PATHS = ["/" + "work/", "/" + "root/", "/" + "opt/wheels", ".." + "/shared/"]
NOT_OURS = {".git", ".venv", ".hypothesis", "__pycache__", "build", "dist", "node_modules"}


def python_files(*folders: str) -> Iterator[Path]:
    for folder in folders:
        yield from sorted((ROOT / folder).rglob("*.py"))


def repository_files() -> Iterator[Path]:
    for folder, below, names in os.walk(ROOT):
        below[:] = sorted(name for name in below if name not in NOT_OURS and not name.endswith("_cache"))
        # In a second working tree of the repository `.git` is a file, which says where the first one is.
        yield from (Path(folder, name) for name in sorted(names) if name not in NOT_OURS)


def shown(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def forbidden_modules() -> set[str]:
    """The modules named by the purity contract, which is the only list of them."""
    config = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    [purity] = [c for c in config["tool"]["importlinter"]["contracts"] if c["id"] == "purity"]
    return set(purity["forbidden_modules"])


def impurities(source: str, forbidden: set[str]) -> Iterator[tuple[int, str]]:
    """Line and name of everything in the source that would let the world outside into a decision."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=names):
                roots = [alias.name.partition(".")[0] for alias in names]
                yield from ((node.lineno, f"import {root}") for root in roots if root in forbidden)
            case ast.ImportFrom(module=str(module), level=0) if module.partition(".")[0] in forbidden:
                yield node.lineno, f"import {module}"
            case ast.Call(func=ast.Name(id=name)) if name in IMPURE_BUILTINS:
                yield node.lineno, f"{name}()"
            case ast.Call(func=ast.Attribute(attr=name)) if name in CLOCK_METHODS:
                yield node.lineno, f".{name}()"
            case ast.Attribute(value=ast.Name(id="np" | "numpy"), attr="random"):
                yield node.lineno, "numpy.random"


def test_no_file_is_too_long_to_read() -> None:
    lengths = {shown(path): len(path.read_bytes().splitlines()) for path in python_files("src", "tests", "bench")}

    assert {path: lines for path, lines in lengths.items() if lines > MOST_LINES} == {}


def test_every_package_says_what_belongs_in_it() -> None:
    packages = {path.parent for path in python_files("src")}
    silent = []
    for package in sorted(packages):
        init = package / "__init__.py"
        if not init.exists() or not ast.get_docstring(ast.parse(init.read_text(encoding="utf-8"))):
            silent.append(shown(init))

    assert silent == []


def test_what_decides_is_pure() -> None:
    forbidden = forbidden_modules()
    found = [
        f"{shown(path)}:{line}: {name}"
        for path in python_files(*(f"src/cede/{layer}" for layer in PURE))
        for line, name in impurities(path.read_text(encoding="utf-8"), forbidden)
    ]

    assert found == []


@pytest.mark.parametrize(
    "source",
    [
        "import time",
        "import os.path as paths",
        "from urllib.request import urlopen",
        "def f() -> float:\n    import random\n    return random.random()",
        "moment = datetime.now(UTC)",
        "day = datetime.date.today()",
        "text = open('cluster.yaml').read()",
        "order = sorted(names, key=lambda name: hash(name))",
        "generator = np.random.default_rng(0)",
    ],
)
def test_the_purity_check_sees(source: str) -> None:
    assert list(impurities(source, forbidden_modules())) != []


@pytest.mark.parametrize(
    "source",
    [
        "from datetime import UTC, datetime",
        "moment = datetime.fromisoformat(text)",
        "age = state.now - state.started",
        "from cede.model.times import seconds",
        "from .time import seconds",
    ],
)
def test_the_purity_check_lets_pass(source: str) -> None:
    assert list(impurities(source, forbidden_modules())) == []


def names_of_doctrines(source: str, *, in_sentences: bool) -> Iterator[tuple[int, str]]:
    """Line and name of every doctrine that code imports, or names in a text; docstrings are for people."""
    tree = ast.parse(source)
    told = {
        id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    word = re.compile(rf"\b({'|'.join(NAMES)})\b")
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                found = [part for alias in names for part in alias.name.split(".")]
            case ast.ImportFrom(module=str(module)):
                found = [*module.split("."), *(alias.name for alias in node.names)]
            case ast.Constant(value=str(text)) if id(node) not in told:
                found = word.findall(text) if in_sentences else [text]
            case _:
                continue
        yield from ((node.lineno, name) for name in found if name in NAMES)


def test_no_doctrine_is_named_outside_its_package_and_its_importer() -> None:
    found = [
        f"{shown(path)}:{line}: {name}"
        for path in python_files("src/cede")
        if not shown(path).startswith(NAMES_DOCTRINES)
        for line, name in names_of_doctrines(
            path.read_text(encoding="utf-8"), in_sentences=not shown(path).startswith("src/cede/cli/")
        )
    ]

    assert found == []


@pytest.mark.parametrize(
    "source",
    [
        'if document.doctrine.name == "kueue": pass',
        'DEFAULTS = {"lattice": 3}',
        "from cede.doctrines.ytsaurus.settings import tree_of",
        "def f() -> None:\n    import cede.doctrines.backendai.doctrine",
        "from cede.doctrines import yunikorn",
    ],
)
def test_the_check_for_names_of_doctrines_sees(source: str) -> None:
    assert list(names_of_doctrines(source, in_sentences=False)) != []


def test_the_check_for_names_of_doctrines_sees_a_name_in_a_sentence_but_not_in_a_docstring() -> None:
    source = 'def f() -> str:\n    """As in kueue."""\n    return "ask with --doctrine lattice"'

    assert list(names_of_doctrines(source, in_sentences=True)) == [(3, "lattice")]
    assert list(names_of_doctrines(source, in_sentences=False)) == []


def test_no_file_names_a_path_of_somebodys_machine() -> None:
    needles = [path.encode() for path in MACHINE_PATHS]
    found = [shown(path) for path in repository_files() if any(needle in path.read_bytes() for needle in needles)]

    assert found == []


@pytest.mark.parametrize("lock", ["requirements.lock", "requirements-dev.lock"])
def test_a_lock_holds_pins_and_hashes_and_no_address(lock: str) -> None:
    lines = (ROOT / lock).read_text(encoding="utf-8").splitlines()
    allowed = re.compile(r"#.*|[a-z0-9-]+==[^/]+|    --hash=sha256:[0-9a-f]{64}( \\)?|    # via.*|    #   .*")

    assert [line for line in lines if not allowed.fullmatch(line) or "://" in line] == []


def test_both_locks_have_the_same_versions() -> None:
    needed, with_tests = (
        set(re.findall(r"^[a-z0-9-]+==[^ ]+", (ROOT / lock).read_text(encoding="utf-8"), re.MULTILINE))
        for lock in ("requirements.lock", "requirements-dev.lock")
    )

    assert needed < with_tests


def test_the_import_contracts_are_kept() -> None:
    command = Path(sys.executable).with_name("lint-imports")
    ran = subprocess.run([command, "--no-cache", "--no-logo"], cwd=ROOT, capture_output=True, text=True, check=False)

    assert ran.returncode == 0, ran.stdout + ran.stderr
