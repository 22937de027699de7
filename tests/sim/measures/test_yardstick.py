import polars as pl
import pytest

from cede.sim.measures.recorded_evictions import evictions_by_band, yardstick
from tests.sim.results import Job, Ran, result_of

AWAY, DONE = Ran(0, 1, "preempted"), Ran(5, 6)
REPLAYED = result_of(
    Job("f1", [AWAY, Ran(2, 3, "preempted"), DONE], priority=0),
    Job("f2", [DONE], priority=1),
    Job("o1", [AWAY, DONE], priority=4),
    Job("p1", [DONE], priority=9),
    Job("p2", [AWAY, DONE], priority=11),
    Job("new", [AWAY, DONE], priority=0),
    Job("mon", [DONE], priority=200),
)
RECORDED = pl.DataFrame(
    {"name": ["f1", "f2", "o1", "p1", "p2", "mon", "new"], "evictions": [3, 3, 1, 0, 1, 0, None]},
    {"name": pl.String(), "evictions": pl.Int32()},
)


def test_preemptions_of_the_replay_stand_beside_the_evictions_of_reality() -> None:
    found = yardstick(REPLAYED, RECORDED)

    assert found.rows() == [
        ("free", 2, 2, 1.0, 2 / 4, 0.5, 6, 3.0, 6 / 8, 1.0),
        ("other", 1, 1, 1.0, 1 / 4, 1.0, 1, 1.0, 1 / 8, 1.0),
        ("production", 2, 1, 0.5, 1 / 4, 0.5, 1, 0.5, 1 / 8, 0.5),
        ("beyond", 1, 0, 0.0, 0.0, 0.0, 0, 0.0, 0.0, 0.0),
    ]
    assert found.columns == [
        "band",
        "jobs",
        *(f"replayed{part}" for part in ("", "_rate", "_share", "_jobs")),
        *(f"recorded{part}" for part in ("", "_rate", "_share", "_jobs")),
    ]


def test_a_trace_that_records_no_evictions_is_no_yardstick() -> None:
    silent = RECORDED.with_columns(evictions=pl.lit(None, pl.Int32))

    with pytest.raises(ValueError, match="records no evictions"):
        yardstick(REPLAYED, silent)


def test_without_any_preemption_no_band_has_a_share_of_them() -> None:
    calm = result_of(Job("f1", [DONE], priority=0))

    assert yardstick(calm, RECORDED)["replayed_share"].to_list() == [None]


def test_a_file_of_evictions_is_told_by_band() -> None:
    evictions = pl.DataFrame({"priority": [0, 1, 1, 9], "run_before_evict_s": [10.0, 20.0, None, 7.0]})

    assert evictions_by_band(evictions).rows() == [("free", 3, 0.75, 15.0), ("production", 1, 0.25, 7.0)]
