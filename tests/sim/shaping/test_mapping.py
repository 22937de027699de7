"""A mapping sets columns of a trace, and says so."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cede.model.errors import InputError
from cede.model.reading import read_value
from cede.sim.traces.assembly import LACKS
from cede.sim.traces.mapping import mapped, parse_mapping
from cede.sim.traces.trace import Trace
from tests.sim.shaping.traces import HOUR, TRACES, check, column, gpus, trace_of

SMALL_AND_LARGE = [gpus(1), gpus(8, members=2)]


def applied(text: str, trace: Trace) -> Trace:
    found = mapped(trace, parse_mapping(read_value(text, keys_as_text=True)))
    check(found)
    return found


def test_a_plain_value_is_for_all() -> None:
    found = applied("queue: prod\ncheckpoint: auto\ncheckpoint_interval: 30m\npreempts: false", trace_of({}, {}))

    assert column(found, "queue") == ["prod", "prod"]
    assert column(found, "checkpoint") == ["auto", "auto"]
    assert column(found, "checkpoint_interval") == [HOUR // 2, HOUR // 2]
    assert column(found, "preempts") == [False, False]
    assert found.notes[0] == "The mapping set queue for all jobs: 'prod'."
    assert found.notes[2] == "The mapping set checkpoint_interval for all jobs: 30m."


def test_a_table_looks_a_value_up_and_has_a_default() -> None:
    trace = trace_of({"user": "ann"}, {"user": "bob"}, {})

    assert column(applied("queue: {from: user, table: {ann: a}, default: rest}", trace), "queue") == [
        "a",
        "rest",
        "rest",
    ]
    kept = applied("priority: {from: user, table: {ann: 7}}", trace_of({"user": "ann"}, {"user": "bob", "priority": 3}))
    assert column(kept, "priority") == [7, 3], "what is not listed stays as it was"
    assert kept.notes == ("The mapping set priority for 1 of 2 jobs: by a table from user.",)


def test_the_keys_of_a_table_are_values_of_its_column() -> None:
    trace = trace_of({"priority": 0, "duration": HOUR}, {"priority": 11, "duration": 2 * HOUR})

    assert column(applied("queue: {from: priority, table: {0: free, 11: prod}}", trace), "queue") == ["free", "prod"]
    assert column(applied("user: {from: duration, table: {1h: one, 2h: two}}", trace), "user") == ["one", "two"]


def test_bands_take_a_value_up_to_their_bound() -> None:
    trace = trace_of({"shape": 0}, {"shape": 1}, {"shape": 1}, shapes=SMALL_AND_LARGE)
    bands = "priority: {from: gpus, bands: [{up_to: 1, value: 30}, {up_to: 15.5, value: 20}, {value: 10}]}"

    assert column(applied(bands, trace), "priority") == [30, 10, 10]
    open_end = "priority: {from: gpus, bands: [{up_to: 1, value: 30}]}"
    assert column(applied(open_end, trace), "priority") == [30, None, None]
    times = "queue: {from: duration, bands: [{up_to: 59m59s, value: short}, {value: long}]}"
    assert column(applied(times, trace), "queue") == ["long"] * 3


def test_a_column_is_copied_or_multiplied() -> None:
    trace = trace_of({"project": "vision", "duration": HOUR, "shape": 1}, shapes=SMALL_AND_LARGE)

    assert column(applied("queue: {from: project}", trace), "queue") == ["vision"]
    assert column(applied("walltime: {from: duration, times: 1.5}", trace), "walltime") == [3 * HOUR // 2]
    assert column(applied("priority: {from: size}", trace), "priority") == [16]
    assert column(applied("queue: {from: user, default: none}", trace), "queue") == ["none"]


def test_a_copy_of_words_that_are_none_is_an_error() -> None:
    with pytest.raises(InputError, match=r"kind.from: the trace has 'x' there, which is none of batch, .*use a table"):
        applied("kind: {from: project}", trace_of({"project": "x"}))


def test_the_first_rule_that_gives_a_value_decides() -> None:
    rules = """
    priority:
      - {value: 90, when: {queue: prod}}
      - {value: 50, when: {gpus: {above: 1, up_to: 16}, user: [ann, bob]}}
      - {value: 10, only_missing: true}
    """
    trace = trace_of(
        {"queue": "prod", "user": "ann"},
        {"user": "ann", "shape": 1},
        {"user": "ann"},
        {"priority": 3},
        shapes=SMALL_AND_LARGE,
    )

    assert column(applied(rules, trace), "priority") == [90, 50, 10, 3]
    assert applied(rules, trace).notes[2].endswith("for 1 of 4 jobs: 10, where it was missing.")


def test_a_rule_reads_what_the_rules_above_it_made() -> None:
    rules = "queue: {from: user, table: {ann: prod}, default: dev}\npreemptible: {value: false, when: {queue: prod}}"

    assert column(applied(rules, trace_of({"user": "ann"}, {})), "preemptible") == [False, True]


def test_a_draw_by_user_gives_each_user_one_class() -> None:
    trace = trace_of(*({"user": f"u{n % 7}"} for n in range(70)))
    found = applied("priority: {draw: {10: 0.7, 50: 0.2, 90: 0.1}, seed: 7, by: user}", trace)

    classes = {(user, priority) for user, priority in found.jobs.select("user", "priority").iter_rows()}
    assert len(classes) == 7
    assert found.notes == (
        "The mapping set priority for all jobs: drawn for each user with seed 7, 10 0.7, 50 0.2, 90 0.1.",
    )
    fewer = applied("priority: {draw: {10: 0.7, 50: 0.2, 90: 0.1}, seed: 7, by: user}", trace_of({"user": "u0"}))
    assert (fewer.jobs["user"][0], fewer.jobs["priority"][0]) in classes


def test_a_draw_comes_out_as_its_weights_say() -> None:
    trace = trace_of(*({} for _ in range(4000)))
    drawn = applied("priority: {draw: {10: 7, 50: 2, 90: 1}, seed: 1}", trace).jobs["priority"]

    shares = {value: count / 4000 for value, count in drawn.value_counts().iter_rows()}
    assert shares == pytest.approx({10: 0.7, 50: 0.2, 90: 0.1}, abs=0.03)


@given(TRACES, st.integers(0, 2**32))
def test_the_same_seed_draws_the_same(trace: Trace, seed: int) -> None:
    rules = f"priority: {{draw: {{1: 1, 2: 1}}, seed: {seed}}}\nkind: {{draw: {{batch: 1, service: 3}}, by: user}}"

    assert applied(rules, trace).jobs.equals(applied(rules, trace).jobs)


def test_what_is_no_longer_missing_is_no_longer_said_to_be() -> None:
    trace = trace_of({}, notes=(LACKS["priority"], LACKS["queue"]))

    assert LACKS["priority"] not in applied("priority: 5", trace).notes
    assert LACKS["queue"] in applied("priority: 5", trace).notes


WRONG: dict[str, str] = {
    "prioritee: 3": r"there is no key 'prioritee' \(did you mean 'priority'\?\)",
    "- 3": "a list is no mapping, which is an object with a key a column",
    "priority: high": "priority: 'high' is no whole number",
    "priority: 99999999999": "priority: 99999999999 is too large",
    "queue: 3": "queue: 3 is no text; write it in quotes",
    "checkpoint: automatic": r"checkpoint: 'automatic' is none of auto, manual, none \(did you mean 'auto'\?\)",
    "preemptible: 1": "preemptible: 1 is neither true nor false",
    "walltime: soon": "walltime: 'soon' is no length of time",
    "queue: {form: user}": r"queue.form: there is no key 'form' \(did you mean 'from'\?\)",
    "queue: {from: usr}": r"queue.from: a trace has no column 'usr' \(did you mean 'user'\?\)",
    "queue: {}": "queue: says neither 'value' nor 'from' nor 'draw'",
    "queue: {value: a, from: user}": "queue: has both 'value' and 'from'; exactly one",
    "queue: {value: a, table: {b: c}}": "queue.table: goes with 'from', and here is 'value'",
    "queue: {from: user, seed: 3}": "queue.seed: goes with 'draw', and here is 'from'",
    "queue: {from: user, table: {ann: 3}}": "queue.table.ann: 3 is no text",
    "queue: {from: gpus}": "queue.from: 'gpus' cannot be copied, for queue is text",
    "walltime: {from: gpus}": "walltime.from: 'gpus' cannot be copied, for walltime is a duration",
    "priority: {from: user, bands: [{up_to: 3, value: 1}]}": r"bands\[0\].up_to: the column 'user' holds no numbers",
    "priority: {from: gpus, bands: [{value: 1}, {up_to: 3, value: 2}]}": r"priority.bands\[0\]: has no 'up_to'",
    "priority: {from: gpus, bands: [{up_to: 3, value: 1}, {up_to: 2, value: 2}]}": r"bands\[1\].up_to: 2 is not above",
    "priority: {from: gpus, bands: [{upto: 3, value: 1}]}": r"bands\[0\].upto: there is no key 'upto'",
    "priority: {draw: {}}": "priority.draw: gives no value a chance",
    "priority: {draw: {high: 1}}": "priority.draw.high: 'high' is no whole number",
    "priority: {draw: {1: -1}}": "priority.draw.1: -1 is negative",
    "priority: {draw: {1: 1}, by: usr}": "priority.by: a trace has no column 'usr'",
    "priority: {value: 1, when: {usr: ann}}": "priority.when.usr: a trace has no column 'usr'",
    "priority: {value: 1, when: {gpus: {over: 1}}}": "priority.when.gpus.over: there is no key 'over'",
    "priority: [3, {value: x}]": r"priority\[1\].value: 'x' is no whole number",
}


@pytest.mark.parametrize(("text", "message"), WRONG.items(), ids=WRONG.keys())
def test_what_is_wrong_is_named_with_its_place(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_mapping(read_value(text, keys_as_text=True))


def test_everything_that_is_wrong_is_told_at_once() -> None:
    data: Any = {"priority": "high", "queue": {"from": "usr"}, "kind": "x"}

    with pytest.raises(InputError) as caught:
        parse_mapping(data, name="map.yaml")

    assert [problem.path for problem in caught.value.problems] == [
        "map.yaml: priority",
        "map.yaml: queue.from",
        "map.yaml: kind",
    ]


@pytest.mark.parametrize("times", ["1e6", "1e300"])
def test_a_time_that_would_be_none_is_refused_with_the_rule_and_the_job(times: str) -> None:
    with pytest.raises(InputError) as error:
        applied(f"walltime: {{from: duration, times: {times}}}", trace_of({"duration": HOUR}))

    assert "walltime" in str(error.value)
    assert "from 0 to 100 years" in str(error.value)
