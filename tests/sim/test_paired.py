import pytest

from cede.sim.paired_test import chance, incomplete_beta, told_apart


@pytest.mark.parametrize(
    ("statistic", "freedom", "expected"),
    [(2.776445, 4, 0.05), (4.604095, 4, 0.01), (12.7062, 1, 0.05), (2.262157, 9, 0.05), (1.983264, 103, 0.05)],
)
def test_the_chance_of_a_t_is_that_of_the_tables(statistic: float, freedom: int, expected: float) -> None:
    found = incomplete_beta(freedom / 2, 0.5, freedom / (freedom + statistic**2))

    assert found == pytest.approx(expected, rel=1e-4)


def test_differences_of_a_known_t_have_its_chance() -> None:
    """Mean 1, standard deviation 0.8053722..., five of them: t is 2.7764451."""
    spread = 5**0.5 / 2.7764451
    shape = [-(2**0.5), -(2**-0.5), 0.0, 2**-0.5, 2**0.5]
    unit = (sum(one * one for one in shape) / 4) ** 0.5

    assert chance([1 + spread * one / unit for one in shape]) == pytest.approx(0.05, rel=1e-5)


def test_always_the_same_difference_is_no_chance_and_no_difference_is_nothing_else() -> None:
    assert chance([0.5] * 5) == 0.0
    assert chance([0.0] * 5) == 1.0
    assert chance([1.0]) is None


def test_holm_stops_at_the_first_that_chance_can_explain() -> None:
    assert told_apart({"a": 0.001, "b": 0.02, "c": 0.04}) == {"a", "b", "c"}
    assert told_apart({"a": 0.001, "b": 0.03, "c": 0.04}) == {"a"}
    assert told_apart({"a": 0.02, "b": 0.021, "c": 0.022}) == frozenset()
