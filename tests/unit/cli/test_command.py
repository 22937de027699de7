"""The real command, run as users run it."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from cede import __version__
from cede.cli.main import COMMANDS, LIVE
from tests.unit.cli.calls import CEDE, EXAMPLES, called, cede, environment

GANG = EXAMPLES / "gang.yaml"
HEAVY = ["numpy", "yaml", "rich", "jiter", "cede.engine"]


def test_it_says_its_version() -> None:
    ran = cede("--version")

    assert (ran.code, ran.out, ran.err) == (0, f"cede {__version__}\n", "")


def test_the_help_names_every_command_and_the_exit_codes() -> None:
    ran = cede("--help")

    assert ran.code == 0
    assert all(f"\n  {name} " in ran.out for name in COMMANDS)
    assert "Exit codes:" in ran.out
    assert "..." not in ran.out.partition("Commands about")[2]


@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in ("bench", *LIVE)])
def test_the_help_of_a_command_has_an_example_that_runs(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "examples").symlink_to(EXAMPLES)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "60")
    ran = called(capsys, name, "--help")
    command = ran.out.partition("Example:\n    cede ")[2].partition(" > ")[0].strip()
    again = called(capsys, *shlex.split(command))

    assert command.startswith(name)
    assert "--install-completion" not in ran.out
    assert (again.code, again.err) == (0, "")


@pytest.mark.parametrize(
    ("arguments", "heavy"),
    [
        (["--help"], [*HEAVY, "pydantic"]),
        (["--version"], [*HEAVY, "pydantic"]),
        (["plan", "--help"], HEAVY),  # here Typer imports pydantic for itself
    ],
)
def test_help_imports_nothing_heavy(arguments: list[str], heavy: list[str]) -> None:
    program = f"import sys; from cede.cli.main import main; main({arguments}); print(*sys.modules, file=sys.stderr)"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=300)
    loaded = set(ran.stderr.split())

    assert [name for name in heavy if name in loaded] == []


def test_a_cluster_file_loads_no_importer_and_nothing_heavy() -> None:
    program = f"import sys; from cede.cli.main import main; main(['plan', {str(GANG)!r}]); print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=300)
    loaded = set(ran.stdout.splitlines()[-1].split())
    importers = [name for name in loaded if name.startswith(("cede.imports.kueue", "cede.imports.y", "cede.live"))]

    assert "cede.engine.cycle" in loaded
    assert importers == []
    assert {"polars", "plotly", "scipy", "fastapi"} & loaded == set()


def test_a_command_that_is_almost_right_is_offered() -> None:
    ran = cede("plam", "x")

    assert ran.code == 2
    assert "Did you mean 'plan'?" in ran.err


def test_a_dash_reads_standard_input() -> None:
    from_file, from_stdin = cede("plan", GANG, "--json"), cede("plan", "-", "--json", given=GANG.read_bytes())

    assert from_file.code == 0
    assert from_stdin == from_file


def test_a_bad_standard_input_is_named_so() -> None:
    ran = cede("plan", "-", given=b"cede: 2\n")

    assert (ran.code, ran.out) == (2, "")
    assert ran.err == "error in standard input: cede: 2 is no format this Cede reads; write cede: 1\n"


def test_the_same_file_gives_the_same_bytes_whatever_the_hash_seed_and_the_order_of_entries(tmp_path: Path) -> None:
    document = json.loads(cede("show", GANG, "--json").out)
    for section in ("nodes", "workloads"):
        document[section].reverse()
    turned = tmp_path / "turned.json"
    turned.write_text(json.dumps(document))
    one, other = (cede("plan", path, "--json", PYTHONHASHSEED=seed) for path, seed in ((GANG, "0"), (turned, "1")))

    assert one.code == 0
    assert one == other


def test_json_is_utf_8_whatever_the_terminal_speaks(tmp_path: Path) -> None:
    path = tmp_path / "file.yaml"
    path.write_text("cede: 1\ndoctrine: backendai\nnodes: [{name: n}]\nworkloads: [{name: größe-日本}]\n", "utf-8")
    ran = cede("plan", path, "--json", PYTHONIOENCODING="ascii")
    table = cede("plan", path, PYTHONIOENCODING="ascii")

    assert ran.data["decisions"][0]["workload"] == "größe-日本"
    assert (table.code, table.err) == (0, "")


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.yaml")), ids=lambda path: path.stem)
def test_the_table_fits_the_terminal(
    path: Path, width: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    ran = called(capsys, "plan", path, "--explain")

    assert ran.code == 0
    assert max(map(len, ran.out.splitlines())) <= width


def test_there_is_no_colour_in_a_file() -> None:
    assert "\x1b" not in cede("plan", GANG, "--explain", TERM="xterm-256color").out


def on_a_terminal(*arguments: str, **env: str) -> str:
    """What a command prints to a terminal."""
    master, slave = os.openpty()
    command = [str(CEDE), *arguments]
    given = environment(TERM="xterm-256color", COLUMNS="100", **env)
    with subprocess.Popen(command, stdout=slave, stderr=slave, stdin=slave, env=given) as process:
        os.close(slave)
        printed = b""
        while chunk := _read(master):
            printed += chunk
        assert process.wait(60) == 0
    os.close(master)
    return printed.decode()


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65536)
    except OSError:  # the other side is closed
        return b""


def test_there_is_colour_on_a_terminal_unless_no_color_is_set() -> None:
    assert "\x1b[1;33mpreempt" in on_a_terminal("plan", str(GANG))
    without = on_a_terminal("plan", str(GANG), NO_COLOR="1")
    assert "\x1b[3" not in without
    assert "\x1b[1;3" not in without


def test_a_reader_that_goes_away_is_no_error() -> None:
    read, write = os.pipe()
    os.close(read)
    for arguments in (["plan", GANG], ["plan", GANG, "--json"], ["--help"]):
        process = subprocess.run([CEDE, *arguments], stdout=write, stderr=subprocess.PIPE, check=False, timeout=300)

        assert process.stderr == b""
    os.close(write)


def test_a_full_disk_is_told() -> None:
    with Path("/dev/full").open("w") as full:
        ran = subprocess.run([CEDE, "plan", GANG], stdout=full, stderr=subprocess.PIPE, check=False, timeout=300)

    assert (ran.returncode, ran.stderr) == (74, b"error: cannot write the output: no space left on device\n")


def test_interrupting_is_quiet() -> None:
    # The tests themselves may have been started with interrupts ignored.
    heed = "import os, signal; signal.signal(signal.SIGINT, signal.SIG_DFL); "
    command = [sys.executable, "-c", f"{heed}os.execv('{CEDE}', ['cede', 'plan', '-'])"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe) as process:
        assert process.stdin is not None
        process.stdin.write(b"cede: 1\n" * 20_000)  # more than a pipe holds: when this returns, it is being read
        process.stdin.flush()
        _interrupt(process)
        out, err = process.communicate()

    assert (process.returncode, out, err) == (130, b"", b"")


def _interrupt(process: subprocess.Popen[bytes]) -> None:
    """Until it heeds: Python misses an interrupt that comes just before it waits for input.

    One that is not asleep may be about to end, and another would meet it there.
    """
    ends = time.monotonic() + 100
    while process.poll() is None and time.monotonic() < ends:
        asleep = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0] == "S"
        if asleep:
            process.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            process.wait(2 if asleep else 0.01)
    process.kill()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_can_be_shown(shell: str) -> None:
    ran = cede("--show-completion", shell)

    assert (ran.code, ran.err) == (0, "")
    assert f"_CEDE_COMPLETE=complete_{shell}" in ran.out


def test_completion_offers_commands_and_doctrines() -> None:
    def offered(words: str, count: int) -> list[str]:
        return cede(_CEDE_COMPLETE="complete_bash", COMP_WORDS=words, COMP_CWORD=str(count)).out.split()

    assert offered("cede pl", 1) == ["plan"]
    assert offered(f"cede plan {GANG} --doctrine backendai/2", 4) == ["backendai/26.8"]
    assert offered("cede doctrines b", 2) == ["backendai"]
