"""Ratios over hosts, on data whose answer is known."""

from math import exp, isnan, log, sqrt
from statistics import fmean, stdev

import pytest

from heaplab.stats import Interval, over_hosts
from heaplab.stats.over_hosts import hartung_knapp, paule_mandel, squares, standard_error

# Thirteen trials of the BCG vaccine: logarithms of risk ratios and their variances (Colditz et al. 1994).
TRIALS = (
    (-0.8893, 0.3256),
    (-1.5854, 0.1946),
    (-1.3481, 0.4154),
    (-1.4416, 0.0200),
    (-0.2175, 0.0512),
    (-0.7861, 0.0069),
    (-1.6209, 0.2230),
    (0.0120, 0.0040),
    (-0.4694, 0.0564),
    (-1.3713, 0.0730),
    (-0.3394, 0.0124),
    (0.4459, 0.5325),
    (-0.0173, 0.0714),
)


def student(exceeded: float, freedom: int) -> float:
    """The quantile of Student's t."""
    from scipy.stats import t

    return float(t.ppf(1 - exceeded, freedom))


def ratio(estimate: float, error: float, count: int = 10) -> Interval:
    """A ratio whose logarithm has this standard error."""
    half = error * student(0.025, count - 1)
    return Interval(estimate, estimate * exp(-half), estimate * exp(half), count)


def test_the_variance_between_published_trials_is_the_published_one() -> None:
    values, variances = zip(*TRIALS, strict=True)
    between = paule_mandel(values, variances)
    assert between == pytest.approx(0.3181, abs=5e-5)
    mean, _ = hartung_knapp(values, variances, between)
    assert mean == pytest.approx(-0.7150, abs=5e-5)


def test_the_sum_of_squares_is_what_it_is_expected_to_be() -> None:
    from scipy import optimize

    values, variances = zip(*TRIALS, strict=True)
    solved = optimize.brentq(lambda between: squares(values, variances, between) - 12, 0, 10)
    assert paule_mandel(values, variances) == pytest.approx(solved, rel=1e-6)


def test_equally_precise_hosts_have_the_interval_of_students_t() -> None:
    values = [0.5, 0.6, 0.55, 0.7]
    found = over_hosts([ratio(value, 0.01) for value in values])
    logs = [log(value) for value in values]
    half = student(0.025, 3) * stdev(logs) / sqrt(4)
    assert found.mean.estimate == pytest.approx(exp(fmean(logs)))
    assert found.mean.low == pytest.approx(exp(fmean(logs) - half))
    assert found.mean.high == pytest.approx(exp(fmean(logs) + half))
    assert found.mean.count == 4
    assert (found.lower, found.higher, found.disagree) == (4, 0, False)
    assert found.heterogeneity > 0.9
    assert found.predicted.low < found.mean.low


def test_equal_hosts_have_no_variance_between_them_and_the_error_of_all_together() -> None:
    found = over_hosts([ratio(0.8, 0.02)] * 4)
    assert (found.tau, found.heterogeneity) == (0.0, 0.0)
    assert log(found.mean.high / 0.8) == pytest.approx(student(0.025, 3) * 0.02 / 2)


def test_hosts_that_differ_in_direction_have_no_mean() -> None:
    found = over_hosts([ratio(0.8, 0.01), ratio(0.8, 0.01), ratio(1.25, 0.01)])
    assert (found.lower, found.higher, found.disagree) == (2, 1, True)
    assert isnan(found.mean.estimate)
    assert not found.mean.bounded
    assert found.tau > 0.1


def test_a_host_whose_own_noise_is_as_large_as_its_ratio_disagrees_with_nobody() -> None:
    ratios = [ratio(0.8, 0.01), ratio(0.8, 0.01), ratio(1.25, 0.01)]
    loud = Interval(1.0, 0.7, 1.4, 10)
    assert not over_hosts(ratios, [loud] * 3).disagree


def test_small_differences_in_both_directions_are_pooled() -> None:
    found = over_hosts([ratio(0.985, 0.001), ratio(1.015, 0.001)])
    assert not found.disagree
    assert found.mean.estimate == pytest.approx(1, abs=1e-3)


def test_one_host_speaks_for_itself_alone_and_none_says_nothing() -> None:
    alone = over_hosts([ratio(0.8, 0.01), Interval(0.7, count=3), Interval(float("nan"))])
    assert (alone.mean.estimate, alone.mean.count) == (0.8, 1)
    assert alone.mean.high == ratio(0.8, 0.01).high
    assert not alone.predicted.bounded
    assert isnan(over_hosts([]).mean.estimate)


def test_two_hosts_predict_no_third() -> None:
    found = over_hosts([ratio(0.8, 0.01), ratio(0.82, 0.01)])
    assert found.mean.bounded
    assert not found.predicted.bounded


def test_exact_counts_are_pooled_too() -> None:
    exact = [Interval(value, value, value, 5) for value in (0.5, 0.5, 0.6)]
    found = over_hosts(exact)
    assert found.mean.low < 0.53 < found.mean.high
    assert over_hosts(exact[:2]).mean.half_width == pytest.approx(0, abs=1e-6)


def test_the_error_of_a_ratio_is_that_of_its_interval() -> None:
    assert standard_error(ratio(0.8, 0.03)) == pytest.approx(0.03)
