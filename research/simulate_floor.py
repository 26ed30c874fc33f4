#!/usr/bin/env python3
"""Compare three noise floors: none, the distance of the control's estimate from 1, and what its interval
does not exclude (docs/decisions/0046-the-floor-is-an-interval.md).

Of one cell: baseline, control and one allocator. Each run is disturbed for itself, and on the machine
`unequal` each of the three names in all its runs, as a machine does that treats equal programs unequally.
Columns: campaigns that find a difference where there is none; that call equal things the same; that find an
allocator slower by 5 %, 10 % and 30 %.

Example: research/simulate_floor.py --campaigns 2000
"""

import argparse
from collections.abc import Callable, Iterator

import numpy as np

from heaplab import stats
from heaplab.stats import Interval, Verdict

SLOWER = (1.0, 1.05, 1.10, 1.30)
BLOCKS = (6, 10, 20)
MACHINES = {"quiet": (0.01, 0.0), "noisy": (0.05, 0.0), "loaded": (0.15, 0.0), "unequal": (0.01, 0.04)}


def of_point(control: Interval) -> Interval:
    return Interval(control.estimate, control.estimate, control.estimate, control.count)


FLOORS: dict[str, Callable[[Interval], Interval]] = {
    "none": lambda _: stats.UNCONTROLLED,
    "point": of_point,
    "interval": lambda control: control,
}


def verdicts(
    generator: np.random.Generator, noise: float, bias: float, blocks: int, slower: float
) -> dict[str, Verdict]:
    logs = generator.normal(0, noise, (3, blocks)) + generator.normal(0, bias, (3, 1))
    base, again, other = (values.tolist() for values in np.exp(logs))
    control = stats.compare(base, again)
    ratio = stats.compare(base, [slower * value for value in other])
    return {name: stats.judge(ratio, floor(control)) for name, floor in FLOORS.items()}


def rows(count: int, seed: int) -> Iterator[str]:
    yield (
        "| machine | blocks | floor | different, wrongly | same | "
        + " | ".join(f"{slower - 1:.0%} found" for slower in SLOWER[1:])
        + " |"
    )
    yield "|---" * (5 + len(SLOWER) - 1) + "|"
    generator = np.random.default_rng(seed)
    for machine, (noise, bias) in MACHINES.items():
        for blocks in BLOCKS:
            found = {
                slower: [verdicts(generator, noise, bias, blocks, slower) for _ in range(count)]
                for slower in SLOWER
            }
            for floor in FLOORS:
                shares = {
                    slower: {v: sum(one[floor] is v for one in all_of) / count for v in Verdict}
                    for slower, all_of in found.items()
                }
                equal = shares[1.0]
                wrong = equal[Verdict.LOWER] + equal[Verdict.HIGHER]
                power = " | ".join(f"{shares[slower][Verdict.HIGHER]:.2f}" for slower in SLOWER[1:])
                same = equal[Verdict.SAME]
                yield f"| {machine} | {blocks} | {floor} | {wrong:.3f} | {same:.2f} | {power} |"


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
