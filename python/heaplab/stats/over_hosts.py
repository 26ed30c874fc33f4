"""Ratios measured on several hosts, put together with the host as a random effect.

Host i has the estimate y_i, the logarithm of a ratio, with the standard error s_i of its blocks. The true
ratios of hosts differ: y_i ~ N(mu, s_i^2 + tau^2). tau^2 is the estimate of Paule and Mandel (1982): the
weighted sum of squares of the hosts is what it is expected to be. The interval of mu is that of Hartung and
Knapp (2001) and of Sidik and Jonkman (2002): the weighted spread of the hosts themselves decides its width,
with Student's t of one degree of freedom less than hosts, so that it holds for few hosts. It is never
narrower than the errors of the hosts make it (Roever, Knapp and Friede 2015). The interval in which the ratio
of a further host lies is that of Higgins, Thompson and Spiegelhalter (2009).

Hosts that were shown to differ in direction are not pooled: no program runs on their mean.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from math import exp, isfinite, log, nan, sqrt

from heaplab.stats import student
from heaplab.stats.interval import CONFIDENCE, Interval
from heaplab.stats.verdict import UNCONTROLLED, Verdict, judge_family

FEWEST_HOSTS = 2  # for an interval
FEWEST_TO_PREDICT = 3
TAIL = (1 - CONFIDENCE) / 2
STEPS = 100  # of Newton's method, which takes about six
PRECISE = 1e-9  # relative, of the sum of squares; and of a ratio


@dataclass(frozen=True)
class HostRatios:
    """One ratio on each of several hosts, and over them."""

    # Its count is that of hosts. Of one host what it shows of itself; not a number where hosts differ in
    # direction.
    mean: Interval
    predicted: Interval  # in which the ratio of one more such host lies, with a probability of CONFIDENCE
    tau: float  # standard deviation of the true logarithms: 0.05 is hosts that differ by 5 %
    heterogeneity: float  # I^2, the part of the spread that is more than noise
    lower: int  # number of hosts on which the ratio was shown to be lower, and higher
    higher: int

    @property
    def disagree(self) -> bool:
        """Whether the ratio was shown to be lower on one host and higher on another."""
        return bool(self.lower and self.higher)


def over_hosts(ratios: Sequence[Interval], controls: Sequence[Interval] = ()) -> HostRatios:
    """Pool the ratios of hosts; each may have its control. Ratios without an interval are left out.

    Which host differs in which direction is one family of comparisons (Holm 1979).
    """
    pairs = zip_longest(ratios, controls, fillvalue=UNCONTROLLED)
    measured = [(ratio, control) for ratio, control in pairs if ratio.bounded and isfinite(ratio.estimate)]
    known = [ratio for ratio, _ in measured]
    directions = [judged.verdict for judged in judge_family(known, [control for _, control in measured])]
    lower, higher = directions.count(Verdict.LOWER), directions.count(Verdict.HIGHER)
    values = [log(entry.estimate) for entry in known]
    # Exact counts have no error of their own: a value below any difference keeps their weights finite.
    variances = [max(standard_error(entry), PRECISE) ** 2 for entry in known]
    if len(known) < FEWEST_HOSTS:
        only = replace(known[0], count=1) if known else Interval(nan)
        return HostRatios(only, Interval(nan), nan, nan, lower, higher)
    between = paule_mandel(values, variances)
    mean, error = hartung_knapp(values, variances, between)
    noise = squares(values, variances, 0.0)
    most = len(values) - 1
    heterogeneity = max(0.0, 1 - most / noise) if noise else 0.0
    over = HostRatios(
        around(mean, error, most, len(values)),
        predicted(mean, error, between, len(values)),
        sqrt(between),
        heterogeneity,
        lower,
        higher,
    )
    return replace(over, mean=Interval(nan, count=len(values))) if over.disagree else over


def standard_error(ratio: Interval) -> float:
    """The standard error of a logarithm, from its interval as one of Student's t."""
    return ratio.half_width / student.quantile(max(ratio.count - 1, 1), TAIL)


def paule_mandel(values: Sequence[float], variances: Sequence[float]) -> float:
    """The variance between hosts, at which the sum of squares equals its degrees of freedom; 0 at least.

    Newton's method from the left, where the convex and falling sum is never overstepped (DerSimonian and
    Kacker 2007).
    """
    expected = len(values) - 1
    between = 0.0
    for _ in range(STEPS):
        beyond = squares(values, variances, between) - expected
        if beyond <= PRECISE * expected:
            break
        mean = weighted_mean(values, variances, between)
        slope = sum(
            (value - mean) ** 2 / (variance + between) ** 2
            for value, variance in zip(values, variances, strict=True)
        )
        between += beyond / slope
    return between


def hartung_knapp(values: Sequence[float], variances: Sequence[float], between: float) -> tuple[float, float]:
    """The mean and its standard error."""
    weights = weights_of(variances, between)
    mean = weighted_mean(values, variances, between)
    spread = squares(values, variances, between) / (len(values) - 1)
    return mean, sqrt(max(1.0, spread) / sum(weights))


def weights_of(variances: Sequence[float], between: float) -> list[float]:
    return [1 / (variance + between) for variance in variances]


def weighted_mean(values: Sequence[float], variances: Sequence[float], between: float) -> float:
    weights = weights_of(variances, between)
    return sum(weight * value for weight, value in zip(weights, values, strict=True)) / sum(weights)


def squares(values: Sequence[float], variances: Sequence[float], between: float) -> float:
    """The weighted sum of squares of the values around their mean: Cochran's Q where `between` is 0."""
    mean = weighted_mean(values, variances, between)
    weights = weights_of(variances, between)
    return sum(weight * (value - mean) ** 2 for weight, value in zip(weights, values, strict=True))


def around(mean: float, error: float, freedom: int, count: int) -> Interval:
    half = error * student.quantile(freedom, TAIL)
    return Interval(exp(mean), exp(mean - half), exp(mean + half), count)


def predicted(mean: float, error: float, between: float, hosts: int) -> Interval:
    if hosts < FEWEST_TO_PREDICT:
        return Interval(exp(mean), count=hosts)
    return around(mean, sqrt(between + error**2), hosts - 2, hosts)
