#!/usr/bin/env python3
"""How often the interval of a ratio over hosts has the true mean, and that of a further host its ratio
(docs/decisions/0059-the-host-is-a-random-effect.md).

The logarithm of the true ratio differs from host to host by `between`; on each host it is measured in blocks
with noise, by the estimator that heaplab uses on one host. Methods: `fixed` takes hosts as equal and weights
them by their precision, `normal` is DerSimonian and Laird with a normal interval, `plain` is Student's t over
the hosts with equal weights, `hosts` is what heaplab does. Each has its coverage of the mean and the half
width of its interval; `further` is the coverage of a further host by the interval that predicts it.

Example: research/simulate_hosts.py --campaigns 2000
"""

import argparse
from collections.abc import Iterator
from math import exp, log, sqrt
from statistics import fmean, stdev

import numpy as np

from heaplab import stats
from heaplab.stats import Interval, student
from heaplab.stats.over_hosts import squares, standard_error

HOSTS = (2, 3, 5, 10, 30)
BETWEEN = (0.0, 0.02, 0.10)
BLOCKS = (5, 10)
NOISE = 0.05
TRUE = log(0.5)  # no host is on the other side of 1
Z = 1.959964


def measured(generator: np.random.Generator, true: float, blocks: int) -> Interval:
    """The ratio on one host. The noise of hosts differs, as that of machines does."""
    noise = NOISE * exp(generator.normal(0, 0.5))
    base, other = generator.normal(0, noise, (2, blocks))
    return stats.compare(np.exp(base).tolist(), np.exp(true + other).tolist())


def weighted(ratios: list[Interval], between: float) -> Interval:
    weights = [1 / (standard_error(one) ** 2 + between) for one in ratios]
    mean = sum(w * log(one.estimate) for w, one in zip(weights, ratios, strict=True)) / sum(weights)
    half = Z / sqrt(sum(weights))
    return Interval(exp(mean), exp(mean - half), exp(mean + half))


def dersimonian_laird(ratios: list[Interval]) -> float:
    values = [log(one.estimate) for one in ratios]
    variances = [standard_error(one) ** 2 for one in ratios]
    weights = [1 / variance for variance in variances]
    scale = sum(weights) - sum(w * w for w in weights) / sum(weights)
    return max(0.0, (squares(values, variances, 0.0) - len(values) + 1) / scale)


def plain(ratios: list[Interval]) -> Interval:
    values = [log(one.estimate) for one in ratios]
    half = student.quantile(len(values) - 1, 0.025) * stdev(values) / sqrt(len(values))
    return Interval(exp(fmean(values)), exp(fmean(values) - half), exp(fmean(values) + half))


def covers(interval: Interval, true: float) -> bool:
    return interval.low <= exp(true) <= interval.high


def rows(count: int, seed: int) -> Iterator[str]:
    names = ("fixed", "normal", "plain", "hosts")
    yield f"| between | blocks | hosts | {' | '.join(names)} | further |"
    yield "|---" * 8 + "|"
    generator = np.random.default_rng(seed)
    for between in BETWEEN:
        for blocks in BLOCKS:
            for hosts in HOSTS:
                inside = dict.fromkeys((*names, "further"), 0)
                widths = dict.fromkeys(names, 0.0)
                for _ in range(count):
                    true = TRUE + generator.normal(0, between, hosts + 1)
                    ratios = [measured(generator, one, blocks) for one in true[:-1]]
                    found = stats.over_hosts(ratios)
                    for name, interval in {
                        "fixed": weighted(ratios, 0.0),
                        "normal": weighted(ratios, dersimonian_laird(ratios)),
                        "plain": plain(ratios),
                        "hosts": found.mean,
                    }.items():
                        inside[name] += covers(interval, TRUE)
                        widths[name] += interval.half_width
                    inside["further"] += covers(found.predicted, true[-1])
                shown = " | ".join(
                    f"{inside[name] / count:.3f} ±{widths[name] / count:.1%}" for name in names
                )
                yield f"| {between:.0%} | {blocks} | {hosts} | {shown} | {inside['further'] / count:.3f} |"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--campaigns", type=int, default=500, help="[default: %(default)s]")
    parser.add_argument("--seed", type=int, default=1, help="[default: %(default)s]")
    given = parser.parse_args()
    if given.campaigns < 1 or given.seed < 0:
        parser.error("allowed are 1 or more campaigns, and seeds from 0 on")
    for line in rows(given.campaigns, given.seed):
        print(line, flush=True)


if __name__ == "__main__":
    main()
