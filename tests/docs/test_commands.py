"""Every command that the docs and the examples show runs, ends as shown, and prints what is shown."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from docs.blocks import ROOT, Command, blocks_of, commands_in_comments, pages, serves
from docs.commands import prepared, ran, tidy
from docs.terminal import PATIENCE_S, Terminal

EXAMPLES = sorted(path for path in (ROOT / "examples").rglob("*.yaml") if not path.name.endswith(".cluster.yaml"))
LANGUAGES = {"console", "sh", "yaml", "json", "python", "text", "mermaid"}


def shown(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def started(arguments: list[str], folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """A process of its own."""
    every = {"PYTHONUTF8": "1", "PATH": os.environ["PATH"], **environment}
    return subprocess.run(
        arguments, cwd=folder, env=every, capture_output=True, encoding="utf-8", timeout=300, check=False
    )


def complaint(command: Command, terminal: Terminal) -> str | None:
    """How the command differs from what is shown of it."""
    if not command.is_run:
        return None
    code, printed = terminal.outcome(command)
    if code != command.code:
        return f"$ {command.line}\nended with {code}, not with {command.code}:\n{printed}"
    if command.shown is not None and not terminal.agrees(command.shown, printed):
        return f"$ {command.line}\nprints\n{printed}\nand the page shows\n{command.shown}"
    return None


def complaints(page: str, folder: Path, patience_s: float = PATIENCE_S) -> list[str]:
    """What does not hold on this page, read from top to bottom in one folder."""
    found: list[str] = []
    with Terminal(folder, patience_s) as terminal:
        for block in blocks_of(page):
            if block.language not in LANGUAGES:
                found.append(f"nobody runs a block of {block.language!r}")
            elif block.language in ("yaml", "json") and block.name:
                (folder / block.name).write_text(block.body, encoding="utf-8")
            elif block.language == "python":
                found += [wrong] if (wrong := terminal.run_python(block)) else []
            else:
                found += [text for command in block.commands if (text := complaint(command, terminal)) is not None]
    return found


def takes_long(text: str) -> bool:
    """Whether the page starts a server, or compares replays."""
    commands = (command for block in blocks_of(text) for command in block.commands if not command.parsed)
    return serves(text) or any(command.line.startswith("cede compare") for command in commands)


def every_page() -> list[Any]:
    return [
        pytest.param(page, id=shown(page), marks=[pytest.mark.slow] if takes_long(page.read_text("utf-8")) else [])
        for page in pages()
    ]


@pytest.mark.parametrize("page", every_page())
def test_a_page_says_what_is_true(page: Path, tmp_path: Path) -> None:
    assert complaints(page.read_text(encoding="utf-8"), tmp_path) == []


@pytest.mark.parametrize("example", EXAMPLES, ids=shown)
def test_the_commands_in_an_example_run(example: Path, tmp_path: Path) -> None:
    commands = commands_in_comments(example.read_text(encoding="utf-8"))

    assert commands != [], "an example says how to try it"
    with Terminal(tmp_path) as terminal:
        assert [text for command in commands if (text := complaint(command, terminal)) is not None] == []


BROKEN = {
    "a command that fails": "```sh\ncede plan nowhere.yaml\n```\n",
    "a command that should fail and does not": "```sh\ncede lint examples/gang.yaml  # exit 2\n```\n",
    "an option that does not exist": "```console\n$ cede plan examples/gang.yaml --explane\n```\n",
    "output that is not so": "```console\n$ cede lint examples/gang.yaml\n1 finding\n```\n",
    "output that lacks a line": "```console\n$ cede lint examples/gang.yaml\nNo findings.\nReally.\n```\n",
    "a part of the output that is not there": "```console\n$ cede doctrines\n...\nslurm\n...\n```\n",
    "a command that could not be run": "```sh parsed\ncede submit --cpus 2 -- true\n```\n",
    "a command that takes no such thing": "```sh parsed\ncede nodes drain\n```\n",
    "Python that raises": "```python\nimport cede\n\ncede.load('nowhere.yaml')\n```\n",
    "a block that nobody would run": "```bash\ncede plan nowhere.yaml\n```\n",
}


@pytest.mark.parametrize("page", BROKEN.values(), ids=BROKEN.keys())
def test_the_check_sees(page: str, tmp_path: Path) -> None:
    assert len(complaints(page, tmp_path)) == 1


def test_a_command_that_nobody_knows_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="nobody knows whether to run"):
        complaints("```sh\nwget example.org | sh\n```\n", tmp_path)


GOOD = {
    "output in full": "```console\n$ cede lint examples/gang.yaml\nNo findings.\n```\n",
    "output in part": "```console\n$ cede doctrines\n...\nMore about one: cede doctrines NAME\n```\n",
    "an expected failure": "```console\n$ cede lint nowhere.yaml  # exit 2\n```\n",
    "a file that a page brings along": "```yaml own.yaml\ncede: 1\n```\n\n```sh\ncede show own.yaml\n```\n",
    "what takes long or builds the tree": "```sh\nmake run\nmake bench NAME=plan\n```\n",
    "what could be run": "```sh parsed\ncede nodes drain n1 --evict\ncede submit --cpu 2 -- python -V\n```\n",
    "a picture": "```mermaid\nstateDiagram-v2\n```\n",
}


@pytest.mark.parametrize("page", GOOD.values(), ids=GOOD.keys())
def test_the_check_lets_pass(page: str, tmp_path: Path) -> None:
    assert complaints(page, tmp_path) == []


def test_a_command_in_a_comment_is_found(tmp_path: Path) -> None:
    [command] = commands_in_comments("# One node.\n#   cede plan examples/nowhere.yaml --explain\ncede: 1\n")

    with Terminal(tmp_path) as terminal:
        assert complaint(command, terminal) is not None


def test_the_installed_command_prints_what_the_docs_show(tmp_path: Path) -> None:
    line = "plan examples/threshold.yaml --explain"
    folder = prepared(tmp_path)
    done = started([str(Path(sys.executable).with_name("cede")), *line.split()], folder, COLUMNS="100")

    assert (done.returncode, tidy(done.stdout)) == ran(f"cede {line}", folder)


@pytest.mark.parametrize("line", ["cede plan a > b > c", "cede plan a | cat", "rm a | cede plan -", "| cede plan -"])
def test_what_is_more_of_a_shell_is_an_error(line: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"more of a shell|nobody knows how"):
        ran(line, tmp_path)
