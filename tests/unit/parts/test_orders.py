"""What workloads and nodes are put in order by."""

from __future__ import annotations

import numpy as np

from cede.doctrines.parts.orders import nine_decimals


def test_scores_that_are_equal_on_paper_are_equal() -> None:
    first, second = nine_decimals(np.array([0.1 + 0.2, 0.3]))

    assert first == second


def test_scores_beyond_whole_numbers_stay_in_order() -> None:
    scores = np.array([-1e30, -1e11, -1.0, 0.0, 1.0, 1e11])

    assert (np.diff(nine_decimals(scores)) >= 0).all()
    assert nine_decimals(scores[-1:]) > nine_decimals(scores[-2:-1])
