"""A tour of the examples: four plans, each with a sentence before it, and what to try next."""

from __future__ import annotations

import sys
from pathlib import Path

from cede.cli.main import main
from cede.model.errors import CedeError

STOPS = (
    (
        "threshold.yaml",
        "Cede reads a cluster file and decides what starts, what is preempted for it, and what waits. The node is full "
        "and an urgent job arrives. It may take work up to priority 5, and takes no more than it needs:",
    ),
    (
        "gang.yaml",
        "A job of several members starts whole or not at all, so its victims may stand on several nodes:",
    ),
    (
        "nearest-miss.yaml",
        "When a job has to wait, the plan says what came nearest, and which rule stood in the way:",
    ),
    (
        "kueue/loop.yaml",
        "Kubernetes objects of Kueue are read as they are. Here fair sharing, as Kueue ships it, takes a victim that "
        "only a spared one made lawful. The plan warns; `cede settle` shows that the two evict each other for ever:",
    ),
)

NEXT = (
    (
        "will a change evict anyone?",
        "diff {}/nearest-miss.yaml --set 'queues[default].settings.preemptible_priority=6'",
    ),
    ("where does it end?", "settle {}/gang.yaml"),
    ("what the shipped release would do instead", "plan {}/threshold.yaml --doctrine backendai/26.8"),
    ("does it end at all?", "settle {}/kueue/loop.yaml"),
    ("what a Kueue setting would change", "diff {}/kueue/loop.yaml --set doctrine.recheck_final_set=true"),
    ("what is wrong with a file?", "lint {}/kueue/loop.yaml"),
    ("every rule and setting", "doctrines backendai"),
    ("everything for programs", "plan {}/gang.yaml --explain --json"),
)


def tour() -> int:
    """Plan the examples one after the other; the exit code."""
    from cede.cli.output import console, text

    folder = examples()
    out = console()
    for name, sentence in STOPS:
        path = folder / name
        out.rule(text(f" {name} ", "bold"), align="left", characters="=")
        out.print()
        out.print(text(sentence))
        out.print()
        out.print(text(f"$ cede plan {path} --explain", "bold green"))
        out.print()
        sys.stdout.flush()
        if code := main(["plan", str(path), "--explain"]):
            return code
        out.print()
    out.rule(text(" Try next ", "bold"), align="left", characters="=")
    for question, command in NEXT:
        out.print()
        out.print(text(f"# {question}", "dim"))
        out.print(text(f"{_cede()} {command.format(folder)}", "bold green"), soft_wrap=True)
    out.print()
    out.print(text("The files are short and commented: open one, change a number, plan it again."))
    return 0


def examples() -> Path:
    """The folder with the example files: here, or in the source tree Cede was installed from."""
    for folder in (Path("examples"), Path(__file__).resolve().parents[3] / "examples"):
        if (folder / STOPS[0][0]).is_file():
            return folder
    raise CedeError("the examples are not here; run the tour in Cede's source tree")


def _cede() -> str:
    """How to call the command: from the virtual environment of the source tree, if that is where we run."""
    beside = Path(sys.executable).with_name("cede")
    here = Path.cwd()
    return str(beside.relative_to(here)) if beside.is_relative_to(here) and beside.exists() else "cede"


if __name__ == "__main__":
    from cede.cli.failures import guarded

    sys.exit(guarded(lambda: sys.exit(tour())))
