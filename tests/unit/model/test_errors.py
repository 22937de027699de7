import pickle

import pytest

from cede.model.errors import CedeError, InputError, Problem, did_you_mean, nearest, path_of, shown

PATHS = {
    "keys are joined by dots": (("doctrine", "edition"), "doctrine.edition"),
    "entries are numbered": (("workloads", 3, "queue"), "workloads[3].queue"),
    "a key with a dot or a slash stands in quotes": (
        ("nodes", 0, "capacity", "nvidia.com/gpu"),
        'nodes[0].capacity["nvidia.com/gpu"]',
    ),
    "the whole document has no path": ((), ""),
}

SHOWN = {
    "text stands in quotes": ("a", "'a'"),
    "nothing is null": (None, "null"),
    "booleans are as in the file": (True, "true"),
    "an object is not spelled out": ({"a": 1}, "an object"),
    "a list is not spelled out": ([1], "a list"),
    "a number with thousands of digits is not spelled out": (10**5000, "a number of very many digits"),
    "long text is cut": ("x" * 100, "'" + "x" * 57 + "...'"),
    "what cannot be printed is escaped": ("a\nb\x00", "'a\\nb\\x00'"),
}

NEAREST = {
    "one letter is missing": ("tem-a", {"team-a", "team-b"}, "team-a"),
    "two letters are swapped": ("tema-a", {"team-a", "other"}, "team-a"),
    "only the case differs": ("GPU", {"gpu", "cpu"}, "gpu"),
    "nothing is like it": ("zzz", {"team-a"}, None),
    "nothing is known": ("a", set(), None),
    "there are very many names": ("nod-77", {f"node-{i}" for i in range(50_000)}, "node-77"),
}


@pytest.mark.parametrize(("loc", "text"), PATHS.values(), ids=PATHS.keys())
def test_a_place_is_written_as_people_write_it(loc: tuple[str | int, ...], text: str) -> None:
    assert path_of(loc) == text


@pytest.mark.parametrize(("raw", "text"), SHOWN.values(), ids=SHOWN.keys())
def test_a_value_in_a_message_is_short_and_printable(raw: object, text: str) -> None:
    assert shown(raw) == text


@pytest.mark.parametrize(("word", "known", "found"), NEAREST.values(), ids=NEAREST.keys())
def test_the_nearest_known_name_is_found(word: str, known: set[str], found: str | None) -> None:
    assert nearest(word, known) == found


def test_the_nearest_name_does_not_depend_on_the_order_of_the_known_ones() -> None:
    names = ["node-1", "node-2", "node-3", "node-4"]

    assert {nearest("node-9", order) for order in (names, names[::-1], names[2:] + names[:2])} == {"node-4"}


def test_a_hint_is_a_question() -> None:
    assert did_you_mean("tema-a", ["team-a"]) == "did you mean 'team-a'?"
    assert did_you_mean(5, ["team-a"]) is None


def test_a_problem_reads_as_one_line() -> None:
    problem = Problem("workloads[3].queue", "no queue is called 'tema-a'", "did you mean 'team-a'?")

    assert str(problem) == "workloads[3].queue: no queue is called 'tema-a' (did you mean 'team-a'?)"
    assert str(Problem("now", "is wrong")) == "now: is wrong"
    assert str(Problem("", "is wrong")) == "is wrong"


def test_an_input_error_lists_every_problem_on_a_line_of_its_own() -> None:
    error = InputError([Problem("a", "one"), Problem("b", "two")])

    assert isinstance(error, CedeError)
    assert error.problems == (Problem("a", "one"), Problem("b", "two"))
    assert str(error) == "a: one\nb: two"


def test_an_input_error_survives_being_sent_to_another_process() -> None:
    error = InputError([Problem("a", "one", "try two")])

    assert pickle.loads(pickle.dumps(error)).problems == error.problems
