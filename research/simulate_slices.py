#!/usr/bin/env python3
"""Compare arms that run one after the other with arms that take turns, on a CPU whose speed others disturb
(docs/decisions/0045-arms-in-slices.md).

The logarithm of the CPU's speed is an Ornstein-Uhlenbeck process: a deviation, and a time after which it has
forgotten 63 % of itself. An arm has work of --work seconds at the speed 1, and its CPU time is the length of
its own turns until the work is done. Baseline, control and an allocator are the arms of a block, blocks
follow each other. Cold caches and clocks are left out. Columns: the deviation of the logarithm of a block's
ratio of equal arms; campaigns that find a difference where there is none; that find 5 % and 10 %.

Example: research/simulate_slices.py --campaigns 1000
"""

import argparse
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter

from heaplab import stats
from heaplab.stats import Verdict

STEP_S = 0.002
WAYS = {"one after the other": None, "100 ms": 0.1, "20 ms": 0.02, "6 ms": 0.006}
FORGOTTEN_AFTER_S = (0.005, 0.05, 0.5, 5.0, 60.0)
SLOWER = (1.0, 1.05, 1.10)
ARMS = 3  # baseline, control, allocator
LONGEST = 2.5  # of its work at the speed 1, an arm has time for so much

Array = NDArray[np.float64]


def speeds(
    generator: np.random.Generator, shape: tuple[int, int], deviation: float, forgotten: float
) -> Array:
    """Of each campaign and each step."""
    keeps = np.exp(-STEP_S / forgotten)
    noise = generator.normal(0, deviation * np.sqrt(1 - keeps**2), shape)
    noise[:, 0] = generator.normal(0, deviation, shape[0])
    return np.exp(lfilter([1], [1, -keeps], noise, axis=1))


def turns(generator: np.random.Generator, steps: int, turn: float | None) -> NDArray[np.int_]:
    """The arm of each step of a block: in an order by chance."""
    length = steps // ARMS if turn is None else max(round(turn / STEP_S), 1)
    rounds = -(-steps // (length * ARMS))
    order = generator.permutation(ARMS)
    return np.tile(np.repeat(order, length), rounds)[:steps]


def cpu_time(speed: Array, work: Array) -> Array:
    """Of each campaign: how long an arm with these steps takes for its work."""
    done = np.cumsum(speed * STEP_S, axis=1)
    last = np.argmax(done >= work[:, None], axis=1)
    assert (done[:, -1] >= work).all(), "an arm has too few steps: a smaller --deviation"
    rows = np.arange(len(work))
    beyond = (done[rows, last] - work) / (speed[rows, last] * STEP_S)
    return (last + 1 - beyond) * STEP_S


def campaigns(
    generator: np.random.Generator,
    given: argparse.Namespace,
    forgotten: float,
    turn: float | None,
    slower: float,
) -> Array:
    """CPU times by campaign, block and arm."""
    steps = ARMS * round(LONGEST * given.work / STEP_S)
    speed = speeds(generator, (given.campaigns, given.blocks * steps), given.deviation, forgotten)
    work = given.work * np.array([1.0, 1.0, slower])
    found = np.empty((given.campaigns, given.blocks, ARMS))
    for block in range(given.blocks):
        mine = turns(generator, steps, turn)
        part = speed[:, block * steps : (block + 1) * steps]
        for arm in range(ARMS):
            found[:, block, arm] = cpu_time(part[:, mine == arm], np.full(given.campaigns, work[arm]))
    return found


def verdict(times: Array) -> Verdict:
    base, control, other = (times[:, arm].tolist() for arm in range(ARMS))
    return stats.judge(stats.compare(base, other), stats.compare(base, control))


def rows(given: argparse.Namespace) -> Iterator[str]:
    yield "| forgotten after | turns | deviation | different, wrongly | 5% found | 10% found |"
    yield "|---|---|---|---|---|---|"
    generator = np.random.default_rng(given.seed)
    for forgotten in FORGOTTEN_AFTER_S:
        for way, turn in WAYS.items():
            times = {slower: campaigns(generator, given, forgotten, turn, slower) for slower in SLOWER}
            equal = np.log(times[1.0][:, :, 2] / times[1.0][:, :, 0])
            found = {slower: [verdict(one) for one in all_of] for slower, all_of in times.items()}
            wrong = np.mean([one in {Verdict.LOWER, Verdict.HIGHER} for one in found[1.0]])
            power = " | ".join(f"{np.mean([v is Verdict.HIGHER for v in found[s]]):.2f}" for s in SLOWER[1:])
            yield f"| {forgotten:g} s | {way} | {equal.std():.4f} | {wrong:.3f} | {power} |"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--campaigns", type=int, default=500, help="[default: %(default)s]")
    parser.add_argument("--blocks", type=int, default=10, help="of a campaign [default: %(default)s]")
    parser.add_argument("--work", type=float, default=0.45, help="seconds [default: %(default)s]")
    parser.add_argument("--deviation", type=float, default=0.15, help="of log speed [default: %(default)s]")
    parser.add_argument("--seed", type=int, default=1, help="[default: %(default)s]")
    given = parser.parse_args()
    if given.campaigns < 1 or given.blocks < 2 or given.seed < 0:
        parser.error("allowed are 1 or more campaigns, 2 or more blocks, and seeds from 0 on")
    if not (given.work >= 0.05 and 0 < given.deviation <= 0.3):
        parser.error("allowed are 0.05 or more seconds of work, and deviations up to 0.3")
    for line in rows(given):
        print(line, flush=True)


if __name__ == "__main__":
    main()
