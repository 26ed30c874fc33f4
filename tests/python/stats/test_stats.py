"""The statistics on data whose answer is known, and on the laws they must obey."""

from math import inf, isnan

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from heaplab import stats
from heaplab.stats import Interval, Judged, Verdict, Why, rank_intervals, verdict
from heaplab.stats.verdict import error_probability

POSITIVE = st.floats(1e-6, 1e6)
PAIRS = st.lists(st.tuples(POSITIVE, POSITIVE), min_size=1, max_size=12).map(
    lambda pairs: ([a for a, _ in pairs], [b for _, b in pairs])
)
INTERVALS = st.tuples(POSITIVE, POSITIVE, POSITIVE).map(
    lambda t: Interval(sorted(t)[1], sorted(t)[0], sorted(t)[2], 10)
)


def blocks(generator, count, effect=1.0, noise=0.01, drift=0.05):
    """Baseline and another taking `effect` times as long, on a machine that drifts from block to block."""
    machine = np.exp(generator.normal(0, drift, count))
    base, other = (machine * np.exp(generator.normal(0, noise, count)) for _ in range(2))
    return base.tolist(), (effect * other).tolist()


def shares(effect, threshold, repetitions=200, count=10, **kwargs):
    """How often each verdict comes out."""
    generator = np.random.default_rng(3)
    verdicts = [
        stats.judge(stats.compare(*blocks(generator, count, effect, **kwargs)), threshold=threshold)
        for _ in range(repetitions)
    ]
    return {verdict: verdicts.count(verdict) / repetitions for verdict in Verdict}


def verdicts(family, threshold=stats.THRESHOLD):
    return [judged.verdict for judged in stats.judge_family(family, threshold=threshold)]


# ---------------------------------------------------------------- known answers


def test_the_same_thing_twice_is_no_difference():
    seen = shares(1.0, 0.03, drift=0.01)
    assert seen[Verdict.SAME] > 0.9
    assert seen[Verdict.LOWER] == seen[Verdict.HIGHER] == 0


def test_a_planted_tenth_is_found_in_both_directions():
    assert shares(1 / 1.1, 0.03)[Verdict.LOWER] > 0.9
    assert shares(1.1, 0.03)[Verdict.HIGHER] > 0.9


def test_too_much_noise_is_undecided_rather_than_no_difference():
    assert shares(1.0, 0.03, noise=0.2)[Verdict.UNDECIDED] > 0.9


def test_a_difference_at_the_threshold_is_seldom_called_larger():
    assert shares(1 / 1.03, 0.03, drift=0.0)[Verdict.LOWER] < 0.05


@pytest.mark.parametrize("effect", [0.9, 1.0, 1.1])
@pytest.mark.parametrize("count", [7, 10, 12, 15])
@pytest.mark.parametrize("factor", [0.001, 1000.0])
def test_one_outlier_turns_no_verdict_and_costs_none_from_twelve_blocks_on(effect, count, factor):
    base, other = blocks(np.random.default_rng(5), count, effect, noise=0.004, drift=0.004)
    before = stats.judge(stats.compare(base, other))
    assert before is not Verdict.UNDECIDED
    other[2] *= factor
    after = stats.judge(stats.compare(base, other))
    assert after is before or (count < 12 and after is Verdict.UNDECIDED)
    assert stats.outliers(other) == [2]


# Logarithms of two runs in each block of many campaigns. What disturbs one run disturbs the other as often,
# since the order within a block is random.
NOISES = {
    "each run for itself": lambda g, shape: [g.normal(0, 0.1, shape) for _ in range(2)],
    "shared by a block": lambda g, shape: g.normal(0, 0.1, shape) + g.normal(0, 0.03, (2, *shape)),
    "heavy tails": lambda g, shape: 0.05 * g.standard_t(2, (2, *shape)),
    "drift": lambda g, shape: np.linspace(0, 0.5, shape[1]) + g.normal(0, 0.05, (2, *shape)),
    "slow runs": lambda g, shape: g.normal(0, 0.03, (2, *shape)) + 0.45 * (g.random((2, *shape)) < 0.12),
    "slow blocks": lambda g, shape: 0.45 * (g.random(shape) < 0.3) + g.normal(0, 0.03, (2, *shape)),
    "two speeds": lambda g, shape: 0.45 * (g.random((2, *shape)) < 0.4) + g.normal(0, 0.03, (2, *shape)),
    "one-sided": lambda g, shape: g.exponential(0.1, (2, *shape)),
}


@pytest.mark.slow
@pytest.mark.parametrize("count", [5, 10, 30, *(pytest.param(n, marks=pytest.mark.long) for n in (6, 7, 20))])
@pytest.mark.parametrize("noise", NOISES)
def test_the_interval_holds_the_truth_as_often_as_it_says(noise, count):
    """93 % from five blocks on; three standard deviations of the simulation lie below that."""
    repetitions = 2000
    base, other = NOISES[noise](np.random.default_rng(11), (repetitions, count))
    ratios = [stats.compare(*pair) for pair in zip(np.exp(base), 0.8 * np.exp(other), strict=True)]
    inside = np.mean([ratio.low <= 0.8 <= ratio.high for ratio in ratios])
    assert inside >= 0.93 - 3 * (0.93 * 0.07 / repetitions) ** 0.5


def test_the_interval_is_as_wide_as_theory_says():
    """Of normal values the estimate has 3/pi of the mean's efficiency, the median 2/pi."""
    from scipy.stats import norm as normal

    count, sigma = 401, 0.1
    quantiles = sigma * normal.ppf((np.arange(count) + 0.5) / count)
    expected = 1.96 * sigma * np.sqrt(np.pi / 3 / count)
    assert stats.compare([1.0] * count, np.exp(quantiles)).half_width == pytest.approx(expected, rel=0.05)
    median = stats.median_interval(quantiles.tolist())
    assert (median.high - median.low) / 2 == pytest.approx(expected * np.sqrt(1.5), rel=0.05)


@pytest.mark.parametrize("values", [[3, 1, 4, 1.5, 9, 2.6, 5, 3.5], list(range(1, 20))])
def test_bounds_are_where_the_signed_rank_test_says(values):
    """Moved to a bound, values are on the verge of being significantly different from 0."""
    from scipy.stats import wilcoxon

    found = rank_intervals.hodges_lehmann(tuple(map(float, values)))
    width = found.high - found.low
    for bound, inwards in ((found.low, width), (found.high, -width)):
        outside, inside = (wilcoxon(np.array(values) - bound + s * inwards / 20).pvalue for s in (1, -1))
        assert outside <= 0.05 < inside


def test_the_interval_of_a_geometric_mean_holds_the_truth_too():
    generator = np.random.default_rng(13)
    inside = 0
    for _ in range(200):
        groups = [
            [(blocks(generator, 5, effect), (group, cell)) for cell, effect in enumerate(effects)]
            for group, effects in enumerate([(0.5, 0.9), (0.7,), (1.2, 1.0, 0.8)])
        ]
        truth = np.exp(np.mean([np.mean(np.log(e)) for e in ([0.5, 0.9], [0.7], [1.2, 1.0, 0.8])]))
        ratio = stats.geometric_mean(groups)
        inside += ratio.low <= truth <= ratio.high
    assert inside / 200 >= 0.92


def test_stopping_when_precise_does_not_spoil_the_interval():
    generator = np.random.default_rng(17)
    inside = 0
    for _ in range(300):
        base, other = blocks(generator, 15, 0.9, noise=0.012, drift=0.01)
        for look in range(5, 16, 2):
            if stats.precise_enough(base[:look], [other[:look]]):
                break
        ratio = stats.compare(base[:look], other[:look])
        inside += ratio.low <= 0.9 <= ratio.high
    assert inside / 300 >= 0.89


def test_a_family_of_nothing_seldom_shows_anything():
    generator = np.random.default_rng(19)
    wrong = plain = 0
    for _ in range(60):
        family = [stats.compare(*blocks(generator, 10, 1.0, 0.03, 0.0)) for _ in range(20)]
        wrong += any(v in (Verdict.LOWER, Verdict.HIGHER) for v in verdicts(family, 0.0))
        plain += any(stats.judge(ratio, threshold=0.0) in (Verdict.LOWER, Verdict.HIGHER) for ratio in family)
    assert wrong <= 6
    assert plain >= 18  # what would come out without Holm's procedure


def test_a_family_is_held_to_an_error_of_its_own(monkeypatch):
    assert verdict.holm([0.015, 0.03]) == [True, True]
    monkeypatch.setattr(verdict, "FAMILY_ERROR", 0.04)  # the level of the intervals stays
    assert verdict.holm([0.015, 0.03]) == [True, True]
    assert verdict.holm([0.015, 0.045]) == [True, False]


def test_a_clear_difference_survives_a_large_family_even_with_five_blocks():
    generator = np.random.default_rng(23)
    family = [stats.compare(*blocks(generator, 5, 0.5, 0.01, 0.0)) for _ in range(10)]
    assert verdicts(family) == [Verdict.LOWER] * 10


# ---------------------------------------------------------------- laws


@given(PAIRS, st.floats(1e-3, 1e3))
@settings(deadline=None, max_examples=50)
def test_units_do_not_matter(pair, scale):
    base, other = pair
    plain = stats.compare(base, other)
    scaled = stats.compare([scale * v for v in base], [scale * v for v in other])
    for name in ("estimate", "low", "high"):
        assert getattr(scaled, name) == pytest.approx(getattr(plain, name), rel=1e-9)


@given(PAIRS)
@settings(deadline=None, max_examples=50)
def test_swapping_the_two_inverts_ratio_and_verdict(pair):
    ratio = stats.compare(*pair)
    swapped = stats.compare(*reversed(pair)).inverse()
    assert swapped.estimate == pytest.approx(ratio.estimate)
    assert swapped.low == pytest.approx(ratio.low)
    assert swapped.high == pytest.approx(ratio.high)


@given(INTERVALS)
def test_swapped_intervals_get_opposite_verdicts(ratio):
    opposite = {Verdict.LOWER: Verdict.HIGHER, Verdict.HIGHER: Verdict.LOWER}
    verdict = stats.judge(ratio)
    assert stats.judge(ratio.inverse()) is opposite.get(verdict, verdict)


@given(INTERVALS)
def test_a_family_of_one_is_judged_like_a_single_comparison(ratio):
    assert verdicts([ratio]) == [stats.judge(ratio)]


@given(st.lists(INTERVALS, min_size=1, max_size=20))
def test_a_family_only_ever_withholds_words(family):
    for alone, together in zip(map(stats.judge, family), verdicts(family), strict=True):
        assert together in (alone, Verdict.UNDECIDED)


@given(PAIRS, st.randoms())
@settings(deadline=None, max_examples=50)
def test_the_estimate_does_not_depend_on_the_order_of_blocks(pair, random):
    shuffled = list(zip(*pair, strict=True))
    random.shuffle(shuffled)
    base, other = zip(*shuffled, strict=True)
    assert stats.compare(base, other).estimate == stats.compare(*pair).estimate


def test_pairing_removes_the_drift_of_the_machine():
    base, other = blocks(np.random.default_rng(2), 15, 0.9, noise=0.005, drift=0.1)
    mixed = stats.compare(base, other[::-1])
    assert stats.compare(base, other).half_width < mixed.half_width / 2


# ---------------------------------------------------------------- edges


def test_four_blocks_have_no_interval_and_five_have():
    four = stats.compare([1.0] * 4, [2.0] * 4)
    assert (four.estimate, four.low, four.high) == (2.0, 0.0, inf)
    assert stats.judge(four) is Verdict.UNDECIDED
    assert stats.compare([1.0] * 5, [2.0] * 5).bounded


@pytest.mark.parametrize("bad", [0.0, -1.0, float("nan"), inf])
def test_what_has_no_logarithm_has_no_ratio(bad):
    ratio = stats.compare([1.0, bad, 1, 1, 1], [1.0] * 5)
    assert isnan(ratio.estimate)
    assert stats.judge(ratio) is Verdict.UNDECIDED
    assert verdicts([ratio]) == [Verdict.UNDECIDED]


def test_lists_of_different_lengths_are_no_pair():
    with pytest.raises(ValueError, match="5 and 4 values"):
        stats.compare([1.0] * 5, [1.0] * 4)


def test_no_spread_at_all_is_certainty():
    assert verdicts([stats.compare([2.0] * 5, [2.0] * 5)]) == [Verdict.SAME]
    assert error_probability(stats.compare([2.0] * 5, [3.0] * 5)) == 0


def test_at_the_threshold_the_probability_is_five_percent():
    ratio = Interval(0.9, 0.8, 1 / 1.03 - 1e-12, 10)
    assert error_probability(ratio) == pytest.approx(0.05, abs=1e-6)


def test_every_group_weighs_the_same():
    half, double = ([1.0] * 5, [0.5] * 5), ([1.0] * 5, [2.0] * 5)
    assert stats.geometric_mean([[(half, 0)] * 9, [(double, 0)]]).estimate == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("counts", "bounded"), [((5,), True), ((4,), False), ((3, 3), True), ((9, 2), False)]
)
def test_a_mean_needs_enough_pairs_everywhere(counts, bounded):
    groups = [[(([1.0] * count, [2.0] * count), seed)] for seed, count in enumerate(counts)]
    assert stats.geometric_mean(groups).bounded is bounded


def test_two_figures_of_the_same_blocks_are_no_more_blocks():
    """Time and memory of one cell: three blocks are three, not six."""
    for count, bounded in ((3, False), (5, True)):
        pair = ([1.0] * count, [2.0] * count)
        both = stats.geometric_mean([[(pair, 7)], [(pair, 7)]])
        assert (both.count, both.bounded, both.estimate) == (count, bounded, pytest.approx(2))


def test_what_disturbs_a_block_cancels_between_figures_of_it():
    """Time rises where memory falls: their mean is certain, however far each is off."""
    swing = [1.0, 1.3, 0.8, 1.1, 0.9, 1.2]
    time, memory = ([1.0] * 6, swing), (swing, [1.0] * 6)
    assert stats.geometric_mean([[(time, 7)], [(memory, 7)]]).half_width < 1e-12
    assert stats.geometric_mean([[(time, 7)], [(memory, 8)]]).half_width > 0.05


def test_the_mean_of_nothing_is_not_a_number():
    assert isnan(stats.geometric_mean([]).estimate)
    assert isnan(stats.geometric_mean([[]]).estimate)


@pytest.mark.parametrize(
    ("control", "floor"),
    [
        (Interval(0.96, 0.53, 1.76, 8), 1 / 0.53 - 1),
        (Interval(1.0, 0.99, 1.02, 8), 0.02),
        (Interval(1.0, 1.0, 1.0, 8), 0.0),
        (Interval(1.0, count=4), inf),
        (stats.UNCONTROLLED, 0.0),
    ],
)
def test_the_noise_floor_is_what_the_interval_of_the_control_does_not_exclude(control, floor):
    assert stats.noise_floor(control) == pytest.approx(floor)
    assert stats.threshold_over(control) == max(stats.THRESHOLD, stats.noise_floor(control))


@given(INTERVALS, INTERVALS)
def test_no_verdict_is_finer_than_what_the_machine_tells_of_equal_things(ratio, control):
    verdict = stats.judge(ratio, control)
    if verdict is Verdict.SAME:
        assert stats.noise_floor(control) <= stats.THRESHOLD
        assert stats.noise_floor(ratio) <= stats.THRESHOLD * (1 + 1e-9)
    if verdict in (Verdict.LOWER, Verdict.HIGHER):
        assert ratio.high < 1 / control.high or ratio.low > control.high
        assert ratio.high < control.low or ratio.low > 1 / control.low
        assert stats.judge(ratio) is verdict


def test_equal_things_that_the_machine_treats_unequally_are_not_called_different():
    generator = np.random.default_rng(31)
    wrong = {True: 0, False: 0}
    for _ in range(200):
        # the machine makes every process faster or slower for itself in all blocks, as a fixed layout can
        lucky = np.exp(generator.normal(0, 0.05, 3))
        runs = np.exp(generator.normal(0, 0.01, (3, 10))) * lucky[:, None]
        base, other, again = (list(values) for values in runs)
        ratio, control = stats.compare(base, other), stats.compare(base, again)
        for controlled in wrong:
            found = stats.judge(ratio, control if controlled else stats.UNCONTROLLED)
            wrong[controlled] += found in (Verdict.LOWER, Verdict.HIGHER)
    assert wrong[True] < wrong[False] * 0.7


def test_the_limit_of_outliers_is_in_median_absolute_deviations():
    usual = [9.0, 10.0, 11.0] * 5
    assert stats.outliers([*usual, 10 + 14.5, 10 - 14.5]) == []
    assert stats.outliers([*usual, 10 + 15.0]) == [15]


def test_outliers_are_what_lies_ten_standard_deviations_off():
    normal = [10.0, 10.1, 9.9, 10.05, 9.95]
    assert stats.outliers(normal) == []
    assert stats.outliers([*normal, 12.0]) == [5]
    assert stats.outliers([4096.0] * 9 + [4097.0]) == []
    assert stats.outliers([4096.0] * 9 + [8192.0]) == [9]
    assert stats.outliers([1.0, 100.0]) == []


def test_precision_asks_for_every_ratio():
    tight, loose = [1.0, 1.001, 0.999, 1.0, 1.002], [1.0, 1.2, 0.8, 1.1, 0.9]
    assert stats.precise_enough(tight, [tight])
    assert not stats.precise_enough(tight, [tight, loose])
    assert not stats.precise_enough(tight[:4], [tight[:4]])


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=300), st.integers(4, 50))
def test_thinning_keeps_peaks_ends_and_order(values, most):
    points = list(enumerate(values))
    kept = stats.thin(points, most)
    assert len(kept) <= most or len(points) <= most
    assert kept == sorted(kept)
    assert set(kept) <= set(points)
    assert {points[0], points[-1]} <= set(kept)
    assert max(v for _, v in kept) == max(values)
    assert min(v for _, v in kept) == min(values)


def test_every_nine_gets_the_same_room():
    assert [stats.nines(f) for f in (0, 0.9, 0.99, 0.999)] == pytest.approx([0, 1, 2, 3])


@pytest.mark.parametrize("estimate", [rank_intervals.median, rank_intervals.hodges_lehmann])
@pytest.mark.parametrize("count", range(1, 40))
def test_an_interval_contains_its_estimate_to_the_last_bit(estimate, count):
    for step in range(50):
        value = 0.1 + step / 7
        assert estimate((value,) * count) == (value, value, value)
        found = estimate((value / 3, *(value,) * (count - 1)))
        assert found.low <= found.estimate <= found.high


def test_a_median_of_counts_may_be_zero():
    median = stats.median_interval([0.0, 0.0, 0.0, 1.0, 0.0])
    assert (median.estimate, median.low) == (0.0, 0.0)
    assert stats.median_interval([1.0, 2.0]).low == -inf
    assert isnan(stats.median_interval([]).estimate)


@pytest.mark.parametrize(
    ("ratio", "floor", "why"),
    [
        (Interval(float("nan"), count=6), 0.0, Why.NO_FIGURE),
        (Interval(0.9, count=4), 0.0, Why.FEW_BLOCKS),
        (Interval(0.9, count=8), 0.0, Why.FEW_IN_A_CELL),
        (Interval(0.63, 0.58, 0.92, 5), 0.0, Why.MANY_COMPARED),
        (Interval(0.93, 0.90, 0.95, 5), 0.08, Why.NOISE_FLOOR),
        (Interval(1.0, 0.99, 1.01, 5), 0.08, Why.NOISE_FLOOR),
        (Interval(0.96, 0.94, 0.98, 5), 0.0, Why.NEAR_THRESHOLD),
        (Interval(1.04, 1.02, 1.06, 5), 0.0, Why.NEAR_THRESHOLD),
        (Interval(0.96, 0.9, 1.02, 5), 0.0, Why.WIDE),
    ],
)
def test_an_undecided_comparison_says_what_it_lacks(ratio, floor, why):
    assert Judged(ratio, Verdict.UNDECIDED, Interval(1, 1 / (1 + floor), 1 + floor, 20)).why is why


@given(INTERVALS)
def test_only_what_is_undecided_lacks_anything(ratio):
    judged = Judged(ratio, stats.judge(ratio))
    assert (judged.why is None) == (judged.verdict is not Verdict.UNDECIDED)
    assert judged.why is not Why.MANY_COMPARED


def test_a_verdict_that_a_large_family_takes_away_is_explained_by_it():
    generator = np.random.default_rng(29)
    family = [stats.compare(*blocks(generator, 5, 0.9, 0.02, 0.0)) for _ in range(40)]
    taken = [
        judged
        for judged in stats.judge_family(family)
        if judged.verdict is Verdict.UNDECIDED and stats.judge(judged.ratio) is not Verdict.UNDECIDED
    ]
    assert taken
    assert {judged.why for judged in taken} == {Why.MANY_COMPARED}
