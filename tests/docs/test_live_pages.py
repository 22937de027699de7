"""A page may start a server: what differs from run to run is let pass, and nothing else."""

from pathlib import Path

import pytest

from docs.blocks import Block, Command, blocks_of
from docs.terminal import Terminal
from docs.varying import alike, as_a_reader_has_it

WHY = """\
train  running  for 2.1s
submitted 30s ago by ann, 2 attempts, gave way 1 time

06:01:23.283   +0.00 s  pending  ann submitted it [live.submitted]
06:01:45.403  +22.12 s  checkpointing  it wrote its checkpoint after 53.06ms [live.saved]
06:01:45.403  +22.12 s  checkpointing > preempting  it was told to go (urgent takes its room), with
                        30s before it is killed [live.told]
"""

SAME = {
    "other times": (WHY.replace("2.1s", "12s").replace("06:01:45.403", "23:59:59.999").replace("53.06ms", "1.2s"), WHY),
    "other line breaks": (WHY.replace("with\n                        30s", "with 30s"), WHY),
    "lines left out": ("train  running  for 1s\n...\n", WHY),
    "lines left out in the middle": (WHY.splitlines()[0] + "\n...\n" + "before it is killed [live.told]\n", WHY),
    "nothing where something is left out": ("No findings.\n...\n", "No findings.\n"),
    "what was cut off": ("report  pending  no node has room…\n", "report  pending  no node has room for it\n"),
    "another day": ("bob, user until 2027-02-16\n", "bob, user until 2028-03-01\n"),
    "another hash": ("settings f55035aa, cluster file 40a12623\n", "settings 00000000, cluster file ffffffff\n"),
}
OTHER = {
    "another word": (WHY.replace("running", "pending"), WHY),
    "another time that was set": (WHY.replace("30s before", "10s before"), WHY),
    "a line that is missing": ("\n".join(WHY.splitlines()[:-1]) + "\n", WHY),
    "a part that is not there": ("train  running  for 1s\n...\nfailed\n...\n", WHY),
    "half a word": ("...\nlled [live.told]\n", WHY),
}


@pytest.mark.parametrize(("shown", "printed"), SAME.values(), ids=SAME.keys())
def test_what_differs_from_run_to_run_is_let_pass(shown: str, printed: str) -> None:
    assert alike(shown, printed)


@pytest.mark.parametrize(("shown", "printed"), OTHER.values(), ids=OTHER.keys())
def test_what_says_something_else_is_seen(shown: str, printed: str) -> None:
    assert not alike(shown, printed)


def test_a_reader_sees_the_usual_address_and_no_real_token() -> None:
    rights = "jobs of ann as nobody; others cannot submit"
    printed = f"at http://127.0.0.1:40123\n  data  /tmp/data\n  token  cede_{'x' * 43}\n  rights  {rights}\n"
    found = as_a_reader_has_it(printed, Path("/tmp/data"), Path("/tmp/folder"))

    assert ":8642\n" in found
    assert "x" * 43 not in found
    assert "/tmp" not in found
    assert "everything runs as ann" in found


@pytest.mark.slow
def test_a_page_has_the_server_that_it_starts(tmp_path: Path) -> None:
    python = "import cede\n\nwith cede.Client() as client:\n    assert client.health()['status'] == 'ok'\n"
    with Terminal(tmp_path) as terminal:
        assert not terminal.is_live()
        assert terminal.outcome(Command("cede serve examples/live/demo.yaml"))[0] == 0
        assert terminal.is_live()
        code, printed = terminal.outcome(Command("cede submit --name one -- echo hello"))
        assert (code, printed.split()[:2]) == (0, ["one", "starting"])
        assert terminal.outcome(Command("cede logs one", "hello\n")) == (0, "hello\n")
        assert terminal.run_python(next(blocks_of(f"```python\n{python}```\n"))) == ""
        assert terminal.outcome(Command("cede wait one"))[0] == 0
        assert terminal.outcome(Command("cede cancel one  # exit 2"))[0] == 2
        assert terminal.outcome(Command("cede serve"))[0] == 0
        assert "completed" in terminal.outcome(Command("cede ps --all"))[1]


@pytest.mark.slow
def test_a_server_that_does_not_start_is_seen(tmp_path: Path) -> None:
    with Terminal(tmp_path, patience_s=0.1) as terminal:
        code, printed = terminal.outcome(Command("cede serve --config nowhere.yaml"))
        assert (code, "nowhere.yaml" in printed) == (2, True)

        code, printed = terminal.outcome(Command("cede ps", "1 workload: 1 running\n"))
        assert (code, "no server runs" in printed) == (2, True)
        assert not terminal.agrees("1 workload: 1 running\n", printed)


def test_python_that_raises_is_seen(tmp_path: Path) -> None:
    with Terminal(tmp_path) as terminal:
        assert "ValueError" in terminal.run_python(Block("python", "", "raise ValueError\n", 0, 0))
