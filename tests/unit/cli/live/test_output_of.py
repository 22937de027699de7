"""The last lines of what a workload wrote."""

from __future__ import annotations

import pytest

from cede.cli.live.job_output import last_lines


@pytest.mark.parametrize(
    ("pieces", "count", "kept"),
    [
        ([b"a\nb\nc\n"], 2, b"b\nc\n"),
        ([b"a\nb", b"b\nc"], 2, b"bb\nc"),
        ([b"a\n"], 5, b"a\n"),
        ([b"a\nb\n"], 0, b""),
        ([b"", b"no end"], 1, b"no end"),
        ([], 3, b""),
    ],
)
def test_only_the_last_lines_are_kept(pieces: list[bytes], count: int, kept: bytes) -> None:
    assert b"".join(last_lines(pieces, count)) == kept
