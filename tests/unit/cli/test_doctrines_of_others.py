"""Doctrines that are no part of Cede: brought by an installed package, or in a file that `--doctrine` names."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import cede
from cede.cli.live.serve import served_document
from cede.doctrines import plugins
from cede.doctrines.catalog import BUILT, DIALECTS, known
from cede.doctrines.document import json_schema
from cede.engine import doctrine_files
from cede.engine.doctrine_files import forget_files
from tests.unit.cli.calls import EXAMPLES, Ran, called
from tests.unit.cli.calls import cede as command

Capture = pytest.CaptureFixture[str]

THRESHOLD = str(EXAMPLES / "threshold.yaml")
RENAMED = """
from dataclasses import replace
from cede.doctrines.backendai.doctrine import DOCTRINE as THEIRS
from cede.model.rules import RuleSet

DOCTRINE = replace(THEIRS, dialect=replace(THEIRS.dialect, name="{name}"), rules=RuleSet("{rules}"), title="Ours")
"""
PROJECT = """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "{package}"
version = "1.5"

[project.entry-points."cede.doctrines"]
{name} = "{module}:DOCTRINE"

[tool.hatch.build.targets.wheel]
only-include = ["{module}.py"]
"""


@pytest.fixture(autouse=True)
def _nothing_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plugins, "_offered", {})
    monkeypatch.setattr(doctrine_files, "_loaded", {})


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with four packages that pip installed: a good one, a broken one, and two that want what is taken."""
    folder = tmp_path_factory.mktemp("site")
    for package, name, source in (
        ("good-doctrine", "ours", RENAMED.format(name="ours", rules="ours")),
        ("broken-doctrine", "broken", "import no_such_module\n"),
        ("bold-doctrine", "kueue", RENAMED.format(name="kueue", rules="kueue")),
        ("first-doctrine", "twice", RENAMED.format(name="twice", rules="twice")),
        ("second-doctrine", "twice", RENAMED.format(name="twice", rules="twice")),
        ("shy-doctrine", "shy", RENAMED.format(name="other", rules="other")),
    ):
        project, module = folder / "projects" / package, package.replace("-", "_")
        project.mkdir(parents=True)
        (project / f"{module}.py").write_text(source, encoding="utf-8")
        text = PROJECT.format(package=package, name=name, module=module)
        (project / "pyproject.toml").write_text(text, encoding="utf-8")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index"]
    projects = map(str, sorted((folder / "projects").iterdir()))
    subprocess.run(
        [*pip, "--no-deps", "--no-build-isolation", "--target", str(folder / "installed"), *projects], check=True
    )
    return folder / "installed"


def run(site: Path, *arguments: str) -> Ran:
    return command(*arguments, PYTHONPATH=str(site))


def refused(capsys: Capture, *arguments: str | Path) -> Ran:
    ran = called(capsys, *arguments)
    assert (ran.code, ran.out) == (2, "")
    return ran


@pytest.mark.slow
def test_an_installed_package_brings_a_doctrine(site: Path) -> None:
    made = run(site, "plan", THRESHOLD, "--doctrine", "ours", "--json")

    assert (made.code, made.err) == (0, "")
    assert json.loads(made.out)["doctrine"] == "ours"


@pytest.mark.slow
def test_broken_ones_are_told_of_and_harm_nobody(site: Path) -> None:
    made = run(site, "doctrines", "--json")
    plain = run(site, "plan", THRESHOLD)
    schema = run(site, "schema")

    assert made.code == 0
    assert [one["name"] for one in json.loads(made.out)] == [*BUILT, "ours"]
    assert made.err.splitlines() == [
        "warning: broken_doctrine:DOCTRINE of the package broken-doctrine 1.5: cannot be imported: "
        "ModuleNotFoundError: No module named 'no_such_module'",
        "warning: bold_doctrine:DOCTRINE of the package bold-doctrine 1.5: its name 'kueue' is that of a doctrine of "
        "Cede's own, which is used",
        "warning: shy_doctrine:DOCTRINE of the package shy-doctrine 1.5: the entry point is called 'shy', and its "
        "doctrine 'other'",
        "warning: first_doctrine:DOCTRINE of the package first-doctrine 1.5: its name 'twice' is taken by "
        "second_doctrine:DOCTRINE of the package second-doctrine 1.5",
    ]
    assert (plain.code, plain.err) == (0, "")
    assert "ours" in json.loads(schema.out)["$defs"]["doctrine"]["anyOf"][0]["enum"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("broken", "broken_doctrine:DOCTRINE of the package broken-doctrine 1.5: cannot be imported: "),
        ("twice", "first_doctrine:DOCTRINE of the package first-doctrine 1.5: its name 'twice' is taken by "),
        ("shy", "shy_doctrine:DOCTRINE of the package shy-doctrine 1.5: the entry point is called 'shy'"),
    ],
)
def test_who_asks_for_a_broken_one_is_told_which_package_it_is_of(
    site: Path, tmp_path: Path, name: str, said: str
) -> None:
    asked = run(site, "plan", THRESHOLD, "--doctrine", name)
    file = tmp_path / "named.yaml"
    file.write_text(f"cede: 1\ndoctrine: {name}\n", encoding="utf-8")
    named = run(site, "plan", str(file))

    assert (asked.code, asked.out, named.code, named.out) == (2, "", 2, "")
    assert said in asked.err
    assert f"doctrine: {said}" in named.err


@pytest.mark.slow
def test_a_name_of_cedes_own_means_its_own(site: Path) -> None:
    assert "Kueue" in run(site, "doctrines", "kueue").out.splitlines()[0]


BAD = {
    "one that is not there": (None, "cannot be read: no such file or directory"),
    "one that imports what is not there": (
        "\nimport no_such_module",
        "line 2: ModuleNotFoundError: No module named 'no_such_module'",
    ),
    "one that is no Python": ("DOCTRINE =", "line 1: SyntaxError: invalid syntax"),
    "one that leaves": ("raise SystemExit(3)", "line 1: SystemExit: 3"),
    "one that opens a file that is not there": (
        "open('nothing.txt')",
        "line 1: FileNotFoundError: [Errno 2] No such file or directory: 'nothing.txt'",
    ),
    "one without a doctrine": ("RULES = 1", "has no DOCTRINE (end it with `DOCTRINE = ...`)"),
    "one whose doctrine is none": ("DOCTRINE = 'kueue'", "DOCTRINE is of type str, and not a Doctrine"),
    "one with a name of Cede's own": (
        RENAMED.format(name="kueue", rules="kueue"),
        "its name 'kueue' is that of a doctrine of Cede's own",
    ),
    "one with rules of another": (
        RENAMED.format(name="ours", rules="theirs"),
        "the doctrine is called 'ours', and its rules are those of 'theirs'",
    ),
    "one with a name that is none": (
        RENAMED.format(name="Our Rules", rules="Our Rules"),
        "'Our Rules' is no name of a doctrine (use small letters, digits and single hyphens)",
    ),
}


@pytest.mark.parametrize(("source", "said"), BAD.values(), ids=BAD.keys())
def test_a_file_that_cannot_be_used_says_why(capsys: Capture, tmp_path: Path, source: str | None, said: str) -> None:
    path = tmp_path / "mine.py"
    if source is not None:
        path.write_text(source, encoding="utf-8")

    assert refused(capsys, "plan", THRESHOLD, "--doctrine", path).err == f"error: {path}: {said}\n"


def test_two_files_cannot_have_one_name(capsys: Capture, tmp_path: Path) -> None:
    files = [tmp_path / "one.py", tmp_path / "two.py"]
    for path in files:
        path.write_text(RENAMED.format(name="ours", rules="ours") + f"# {path.name}", encoding="utf-8")
    cede.load_doctrine(files[0])

    err = refused(capsys, "plan", THRESHOLD, "--doctrine", files[1]).err

    assert err == f"error: {files[1]}: its name 'ours' is taken by {files[0]}\n"


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    path = tmp_path / "mine.py"
    path.write_text(RENAMED.format(name="ours", rules="ours"), encoding="utf-8")
    return path


@pytest.mark.parametrize("command", ["plan", "settle", "lint", "show", "shares"])
def test_a_file_is_loaded_by_every_command_with_doctrine(capsys: Capture, mine: Path, command: str) -> None:
    called(capsys, command, THRESHOLD, "--doctrine", mine)

    assert known() == (*BUILT, "ours")


def test_an_edition_of_a_file_stands_after_a_slash(capsys: Capture, mine: Path) -> None:
    made = json.loads(called(capsys, "plan", THRESHOLD, "--doctrine", f"{mine}/26.8", "--json").out)

    assert (made["doctrine"], made["edition"]) == ("ours", "26.8")


def test_a_file_is_listed_like_any_other(capsys: Capture, mine: Path) -> None:
    assert called(capsys, "doctrines", mine).out.splitlines()[0] == "Ours"
    assert "Ours" in called(capsys, "doctrines").out


def test_a_file_may_be_loaded_again_after_it_changed(mine: Path) -> None:
    cede.load_doctrine(mine)
    mine.write_text(mine.read_text(encoding="utf-8").replace('"Ours"', '"Better"'), encoding="utf-8")

    assert cede.load_doctrine(mine).title == "Better"


def test_a_copy_of_a_file_is_the_same_doctrine(mine: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.py"
    copy.write_bytes(mine.read_bytes())

    assert cede.load_doctrine(copy) is cede.load_doctrine(mine)


def test_a_cluster_file_can_name_no_file(mine: Path) -> None:
    """Whoever sends a cluster file must not be able to run code with it."""
    with pytest.raises(cede.InputError, match="no doctrine is called"):
        cede.load({"cede": 1, "doctrine": str(mine)})


def test_a_running_server_is_sent_no_file(capsys: Capture, mine: Path) -> None:
    err = refused(capsys, "plan", "--live", "--doctrine", mine).err

    assert err.startswith(f"error: --doctrine {mine}: is a file of yours, and a running server decides by doctrines")


def test_the_settings_of_a_file_are_read_and_the_schema_leaves_them_open(mine: Path) -> None:
    cede.load_doctrine(mine)

    with pytest.raises(cede.InputError, match="no_such_setting"):
        cede.load({"cede": 1, "doctrine": "ours", "queues": [{"name": "q", "settings": {"no_such_setting": 1}}]})
    assert "ours" in DIALECTS
    objects = json_schema()["$defs"]["doctrine"]["anyOf"][1:]
    [own] = [one for one in objects if one["properties"]["name"]["const"] == "ours"]
    assert own["additionalProperties"] is True


def test_a_server_decides_by_a_file_and_knows_it_when_it_starts_again(mine: Path, tmp_path: Path) -> None:
    cluster = tmp_path / "nodes.yaml"
    cluster.write_text("{cede: 1, doctrine: kueue, nodes: [{name: n1, capacity: {cpu: 1}}]}", encoding="utf-8")
    given = served_document(str(cluster), None, str(mine), "1Mi")
    forget_files()
    again = served_document(None, None, str(mine), "1Mi")

    assert given is not None
    assert given.doctrine is not None
    assert (given.doctrine.name, again, "ours" in known()) == ("ours", None, True)


def test_a_server_of_no_cluster_file_is_told_to_have_one(capsys: Capture) -> None:
    err = refused(capsys, "serve", "--doctrine", "kueue").err

    assert err == "error: --doctrine kueue: is for a cluster file (name the file too)\n"


MASK = "    yield PAST_MIDDLE, (walltime"
FAULTS = {
    "in a mask": ("plan", MASK, "    raise RuntimeError('no mask')\n" + MASK, "line {}: RuntimeError: no mask"),
    "in lint": ("lint", "    endless = np", "    raise ValueError\n    endless = np", "line {}: ValueError"),
    "of a wrong shape": ("plan", MASK, "    yield PAST_MIDDLE, np.zeros(99, bool)  # (", "ValueError: operands"),
}


@pytest.mark.parametrize(("what", "old", "new", "said"), FAULTS.values(), ids=FAULTS.keys())
def test_what_a_doctrine_of_ones_own_raises_is_its_fault_and_not_cedes(
    capsys: Capture, tmp_path: Path, what: str, old: str, new: str, said: str
) -> None:
    source = (EXAMPLES / "doctrines" / "short_first.py").read_text(encoding="utf-8")
    mine, broken = tmp_path / "mine.py", source.replace(old, new)
    mine.write_text(broken, encoding="utf-8")
    raises = broken.partition("raise ")[0].count("\n") + 1
    ran = called(capsys, what, str(EXAMPLES / "doctrines" / "cluster.yaml"), "--doctrine", str(mine))

    assert old in source
    assert ran.code == 2
    assert ran.err.startswith(f"error: the doctrine short-first ({mine}) failed: {said.format(raises)}")
    assert "please report it" not in ran.err


def test_a_fault_in_a_process_of_a_comparison_is_told_alike(capsys: Capture, tmp_path: Path) -> None:
    source = (EXAMPLES / "doctrines" / "short_first.py").read_text(encoding="utf-8")
    mine, replay = tmp_path / "mine.py", EXAMPLES / "replay"
    mine.write_text(source.replace("    walltime, ran =", "    raise RuntimeError('no mask')\n    walltime, ran ="))
    ran = called(
        capsys, "compare", str(replay / "jobs.sacct"), "--mapping", str(replay / "mapping.yaml"), "--take", "60",
        "--cluster", str(replay / "cluster.yaml"), "--doctrines", f"backendai,{mine}", "--no-progress", "--jobs", "2",
    )  # fmt: skip

    assert ran.code == 2
    assert ran.err.startswith(f"error: the doctrine short-first ({mine}) failed: line ")


def test_sentences_may_name_settings(capsys: Capture, tmp_path: Path) -> None:
    source = (EXAMPLES / "doctrines" / "short_first.py").read_text(encoding="utf-8")
    mine = tmp_path / "mine.py"
    mine.write_text(source.replace("not many times {claimant_walltime}", "not {times} times {claimant_walltime}"))
    cluster = str(EXAMPLES / "doctrines" / "cluster.yaml")
    asked = ("--doctrine", str(mine), "--set", "doctrine.times=30", "--explain", "--json")
    made = called(capsys, "plan", cluster, *asked).data

    told = [one["why"] for decision in made["decisions"] for one in decision["candidates"]]
    assert any("not 30 times" in why for why in told)
