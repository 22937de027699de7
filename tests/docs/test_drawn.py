"""What the docs draw from the code is drawn from this code."""

import ast
import json
import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pytest

from cede.cli.main import COMMANDS
from cede.doctrines.catalog import BUILT, find
from cede.doctrines.kueue.search import BORROW, FAIR, OWN, RECLAIM
from cede.doctrines.ytsaurus.wording import WORDS
from cede.engine.drive.rules import RULES as DRIVE_RULES
from cede.engine.drive.terms import Terms
from cede.live.api.rules import RULES as API_RULES
from cede.live.config import ServerConfig
from cede.live.metrics import Metrics
from cede.model.lifecycle import TABLE
from cede.model.rules import KINDS
from docs.blocks import ROOT
from docs.commands import ran
from docs.drawn_api import ROLES
from docs.drawn_live import ANY_TIME, config_keys
from docs.drawn_shares import CURVES, stale_curves
from docs.generate import filled, generated, refreshed
from docs.make_images import LIVE_PICTURES, PICTURES, stale_pictures
from docs.meanings import CONFIGURATION, METRICS, TIMES
from docs.terminal import Terminal


@pytest.fixture(scope="module")
def drawn() -> dict[str, str]:
    return generated()


def test_every_drawn_part_is_up_to_date(drawn: dict[str, str]) -> None:
    stale = [place for place, text in drawn.items() if (ROOT / place).read_text(encoding="utf-8") != text]

    assert stale == [], "run `make docs`"


def test_drawing_twice_gives_the_same_bytes(drawn: dict[str, str]) -> None:
    assert generated() == drawn


def test_every_command_and_every_rule_is_drawn(drawn: dict[str, str]) -> None:
    commands, rules = drawn["docs/reference/cli.md"], drawn["docs/reference/rules.md"]

    assert [name for name in COMMANDS if f"## cede {name}" not in commands] == []
    assert [rule.id for name in BUILT for rule in find(name).rules if f"`{rule.id}`" not in rules] == []
    assert [rule.id for rule in (*DRIVE_RULES, *API_RULES) if f"`{rule.id}`" not in rules] == []
    assert [kind for kind in KINDS if f"| {kind} |" not in rules] == []


def test_every_move_of_a_workload_is_drawn(drawn: dict[str, str]) -> None:
    page = drawn["docs/concepts/lifecycle.md"]
    rows = [tuple(line.strip("| ").split(" | ")[:3]) for line in page.splitlines() if line.count("|") == 5]
    pictured = re.search(r"```mermaid\n(.*?)```", page, re.DOTALL)

    assert {(str(phase), str(signal), str(to)) for (phase, signal), to in TABLE.items()} - set(rows) == set()
    assert pictured is not None
    arrows = {(move[1], move[2]) for move in re.finditer(r"^    (\w+) --> (\w+):", pictured[1], re.MULTILINE)}
    assert arrows == {(str(phase), str(to)) for (phase, signal), to in TABLE.items() if signal not in ANY_TIME}
    assert {str(signal) for signal in ANY_TIME} == {"cancel", "complete", "fail"}


def test_every_key_of_the_configuration_has_a_meaning(drawn: dict[str, str]) -> None:
    keys = [key for key, _, _ in config_keys(ServerConfig)]

    assert set(keys) == set(CONFIGURATION)
    assert [key for key in keys if f"| `{key}` |" not in drawn["docs/reference/config.md"]] == []
    assert {part.name for part in fields(Terms)} - {"answers", "gone_within", "running"} == set(TIMES)


def test_every_series_is_drawn_and_every_remark_is_about_one(drawn: dict[str, str]) -> None:
    page = drawn["docs/reference/metrics.md"]
    told = {line.split()[2] for line in Metrics("0").exposition().decode().splitlines() if line.startswith("# HELP")}
    ours = {name for name in told if not name.endswith("_created")}

    assert {name for name in ours if f"| `{name}` |" not in page} == set()
    assert {name for name in METRICS if f"| `{name}` |" not in page} == set()


def test_the_dashboard_shows_only_series_there_are(drawn: dict[str, str]) -> None:
    board = (ROOT / "grafana/cede.json").read_text(encoding="utf-8")
    page = drawn["docs/reference/metrics.md"]
    used = {re.sub(r"_(bucket|sum|count)$", "", name) for name in re.findall(r"\bcede_[a-z_]+", board)}

    assert used
    assert {name for name in used if f"| `{name}` |" not in page} == set()


def test_every_path_of_the_api_is_drawn_with_who_may_use_it(drawn: dict[str, str]) -> None:
    paths = json.loads(drawn["docs/reference/openapi.json"])["paths"]
    operations = {one["operationId"] for methods in paths.values() for one in methods.values()}
    typed = [f"`{method.upper()} {path.removeprefix('/api/v1')}`" for path in paths for method in paths[path]]

    assert operations == set(ROLES)
    assert [one for one in typed if f"| {one} |" not in drawn["docs/reference/api.md"]] == []


def test_the_schema_is_the_one_that_is_printed(drawn: dict[str, str], tmp_path: Path) -> None:
    code, printed = ran("cede schema", tmp_path)

    assert code == 0
    assert printed == drawn["docs/reference/schema.json"]
    assert json.loads(printed)["$id"] == "urn:cede:cluster-file:1"


@pytest.mark.parametrize("place", [*PICTURES, *LIVE_PICTURES])
def test_a_picture_needs_nothing_from_elsewhere(place: str) -> None:
    picture = (ROOT / place).read_text(encoding="utf-8").replace('xmlns="http://www.w3.org/2000/svg"', "")

    assert "preempt" in picture
    assert "://" not in picture


def test_pictures_of_a_server_show_what_the_page_shows() -> None:
    assert stale_pictures() == [], "run `make docs`"


@pytest.mark.parametrize("name", BUILT)
def test_a_doctrine_s_page_lists_its_findings(name: str) -> None:
    page = (ROOT / f"docs/concepts/{name}.md").read_text(encoding="utf-8")
    listed = set(re.findall(rf"^\| `({name}\.lint\.[a-z0-9-]+)`", page, re.MULTILINE))

    assert listed == set(_findings(name))


def test_the_guide_to_kueue_explains_every_reason_and_every_rule_that_keeps_a_workload_out() -> None:
    guide = (ROOT / "docs/guides/kueue.md").read_text(encoding="utf-8")
    rows = {name for line in guide.splitlines() if line.startswith("| `") for name in re.findall(r"`([^`]+)`", line)}

    assert {rule.id for rule in find("kueue").rules if rule.kind in ("waits", "refuses")} - rows == set()
    assert {OWN, RECLAIM, BORROW, FAIR} - rows == set()


def test_the_guide_to_ytsaurus_explains_every_reason_and_every_rule_that_keeps_a_workload_out() -> None:
    guide = (ROOT / "docs/guides/ytsaurus.md").read_text(encoding="utf-8")
    rows = {name for line in guide.splitlines() if line.startswith("| `") for name in re.findall(r"`([^`]+)`", line)}

    assert {rule.id for rule in find("ytsaurus").rules if rule.kind in ("waits", "refuses")} - rows == set()
    assert set(WORDS.values()) - rows == set()


def test_pictures_of_share_curves_show_what_their_examples_come_to(drawn: dict[str, str]) -> None:
    page = drawn["docs/concepts/ytsaurus.md"]

    assert [place for place in CURVES if f"](../images/{Path(place).name})" not in page] == []
    assert stale_curves() == [], "run `make docs`"


def _findings(name: str) -> Iterator[str]:
    """Names of findings in the doctrine's source, where they stand as plain text."""
    for page in sorted((ROOT / f"src/cede/doctrines/{name}").glob("*.py")):
        for node in ast.walk(ast.parse(page.read_text(encoding="utf-8"))):
            value = node.value if isinstance(node, ast.Constant) else None
            if isinstance(value, str) and value.startswith(f"{name}.lint."):
                yield value


def test_a_page_without_the_marker_is_an_error() -> None:
    with pytest.raises(ValueError, match="must stand in the page once"):
        filled("# A page\n", {"rules": "| rule |"})


def test_what_stands_between_markers_is_replaced_and_nothing_else() -> None:
    page = "before\n\n<!-- drawn: rules -->\n\nold\n\n<!-- end -->\n\nafter\n"

    assert filled(page, {"rules": "new"}) == page.replace("old", "new")
    assert filled(filled(page, {"rules": "new"}), {"rules": "new"}) == page.replace("old", "new")


def test_a_command_that_fails_leaves_its_page_alone(tmp_path: Path) -> None:
    page = "```console\n$ cede lint nowhere.yaml\nNo findings.\n```\n"

    with Terminal(tmp_path) as terminal, pytest.raises(RuntimeError, match="ended with 2, not 0"):
        refreshed(page, terminal)
