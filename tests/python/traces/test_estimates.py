"""Intervals of estimates from samples hold the truth as often as they say, also where few samples are."""

import numpy as np
import pytest
from scipy import stats

from heaplab.traces.estimates import difference, estimate, of_blocks, of_bytes
from heaplab.traces.sample_file import SampleSum
from heaplab.traces.sampled_process import live

MEAN = 1 << 19
RUNS = 400


def sampled(sizes: np.ndarray, source: np.random.Generator) -> SampleSum:
    """Every block is a sample with its probability, independently of the others."""
    return live(sizes[source.random(len(sizes)) < -np.expm1(-(sizes + 1) / MEAN)], MEAN)


@pytest.mark.parametrize(
    ("size", "blocks"),
    [(64, 20_000), (64, 100_000), (1000, 5_000), (5000, 2_000), (100_000, 60), (1 << 20, 12)],
)
def test_the_truth_is_inside_95_of_100_intervals(size: int, blocks: int) -> None:
    source = np.random.default_rng(size + blocks)
    sizes = source.integers(size // 2, 3 * size // 2, blocks)
    found = [sampled(sizes, source) for _ in range(RUNS)]
    in_bytes = [of_bytes(amount, MEAN) for amount in found]
    counts = [of_blocks(amount, MEAN) for amount in found]
    assert sum(each.low <= sizes.sum() <= each.high for each in in_bytes) >= 0.945 * RUNS
    assert sum(each.low <= blocks <= each.high for each in counts) >= 0.93 * RUNS
    error = np.mean([each.value for each in in_bytes]) / sizes.sum() - 1
    assert abs(error) < 4 * np.sqrt(MEAN / sizes.sum() / RUNS)


@pytest.mark.parametrize("count", [0, 1, 2, 5, 30, 1000])
def test_of_equal_weights_the_interval_is_that_of_a_poisson_count(count: int) -> None:
    found = estimate(count * 7.0, count * 49.0, 7.0)
    assert found.low == pytest.approx(7 * stats.gamma.ppf(0.025, count) if count else 0, rel=0.01, abs=0.2)
    assert found.high == pytest.approx(7 * stats.gamma.ppf(0.975, count + 1), rel=0.006)


def test_differences_without_a_change_seldom_show_one() -> None:
    source = np.random.default_rng(5)
    sizes = np.full(20_000, 1000)
    shown = 0
    for _ in range(RUNS):
        by = difference(sampled(sizes, source), sampled(sizes, source), MEAN)
        shown += by.low > 0 or by.high < 0
    assert shown <= 0.06 * RUNS
    grown = difference(sampled(sizes, source), sampled(np.full(60_000, 1000), source), MEAN)
    assert grown.low > 0
