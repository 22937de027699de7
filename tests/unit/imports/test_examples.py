"""The objects in examples/kueue and the cluster files beside them say the same."""

from pathlib import Path

import pytest

import cede
from cede.doctrines.catalog import BUILT
from tests.unit.cli.calls import EXAMPLES, called

Capture = pytest.CaptureFixture[str]

OBJECTS = sorted(path for path in (EXAMPLES / "kueue").glob("*.yaml") if not path.name.endswith(".cluster.yaml"))


def beside(path: Path) -> Path:
    return path.with_suffix(".cluster.yaml")


def test_there_are_examples() -> None:
    assert [path.stem for path in OBJECTS] == ["fair-sharing", "hierarchy", "loop", "team-a"]


@pytest.mark.parametrize("path", OBJECTS, ids=lambda path: path.stem)
def test_the_import_gives_the_file_that_stands_beside_the_objects(path: Path, capsys: Capture) -> None:
    ran = called(capsys, "import", "kueue", path)

    assert ran.code == 0
    assert ran.out == beside(path).read_text(encoding="utf-8")


@pytest.mark.parametrize("path", OBJECTS, ids=lambda path: path.stem)
def test_the_file_is_in_its_normal_form(path: Path, capsys: Capture) -> None:
    assert called(capsys, "show", beside(path)).out == beside(path).read_text(encoding="utf-8")
    assert cede.load(path).to_dict() == cede.load(beside(path)).to_dict()


if "kueue" in BUILT:

    @pytest.mark.parametrize("path", OBJECTS, ids=lambda path: path.stem)
    def test_objects_and_the_file_made_of_them_have_one_plan(path: Path) -> None:
        of_objects, of_file = (cede.plan(cede.load(source), shares=True).to_dict() for source in (path, beside(path)))

        assert of_objects == of_file
        assert of_objects["decisions"] != []
