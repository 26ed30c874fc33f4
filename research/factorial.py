#!/usr/bin/env python3
"""Print the effects of the five dimensions on local allocators, of results of left-open/dimensions.

An effect is the factor by which the time of a strategy, divided by that of the reference in the same block,
is larger at the high level of a dimension than at the low one; that of two dimensions says by how much the
effect of the one is larger at the high level of the other. 95 % intervals are Student's over the blocks.
With --instructions, the program is run once under valgrind for each design and strategy, a twentieth as
long, and instructions take the place of time: exact, without an interval.
Examples: research/factorial.py out/dimensions/results.jsonl
          research/factorial.py --instructions build/release/bin/dimensions
"""

import sys
from collections.abc import Mapping, Sequence
from itertools import combinations
from math import exp, log, prod, sqrt
from pathlib import Path
from statistics import mean, stdev

from command_line import parser_of
from heaplab.analysis import Analysis
from heaplab.catalog import contents as catalogs
from heaplab.results import store
from heaplab.stats.student import quantile
from measured_part import counted

ROOT = Path(__file__).parents[1]
LETTERS = "DVLUC"
EFFECTS = [*LETTERS, *map("".join, combinations(LETTERS, 2))]

# The logarithm of a ratio of times in each design of a block, by the name of the design.
Block = dict[str, float]


def sign(design: str, effect: str) -> int:
    """Whether the effect adds at a design, whose name has a capital letter for each high level."""
    return prod(1 if letter in design else -1 for letter in effect)


def contrast(block: Block, effect: str) -> float:
    """Twice the mean: the difference between the high and the low level."""
    return 2 * mean(sign(design, effect) * value for design, value in block.items())


def interval(values: Sequence[float]) -> tuple[float, float, float]:
    """The factor that is the mean of these logarithms, and the ends of its 95 % interval."""
    middle = mean(values)
    if len(values) < 2:
        return exp(middle), 0.0, float("inf")
    half = quantile(len(values) - 1, 0.025) * stdev(values) / sqrt(len(values))
    return exp(middle), exp(middle - half), exp(middle + half)


def blocks_of(analysis: Analysis, strategy: str) -> list[Block]:
    """The blocks in which every design was measured."""
    (study,) = analysis.comparisons
    metric = study.main_metric
    blocks: dict[int, Block] = {}
    for cell in study.cells:
        base = study.values(cell, study.baseline, metric)
        for number, value in study.values(cell, strategy, metric).items():
            if number in base:
                blocks.setdefault(number, {})[str(dict(cell)["design"])] = log(value / base[number])
    return [block for block in blocks.values() if len(block) == len(study.cells)]


def counts_of(program: Path, strategies: Sequence[str]) -> dict[str, Block]:
    """By strategy, the logarithm of its instructions in each design."""
    experiment = catalogs.load((ROOT / "catalog",)).experiments["left-open/dimensions"]
    return {
        strategy: {
            design: log(instructions(program, strategy, options))
            for design, options in experiment.presets["design"].items()
        }
        for strategy in strategies
    }


def instructions(program: Path, strategy: str, options: Mapping[str, object]) -> int:
    shorter = {**options, "operations": int(str(options["operations"])) // 20, "strategy": strategy}
    return counted(program, shorter).instructions


def ratios(block: Block, base: Block) -> Block:
    return {design: value - base[design] for design, value in block.items()}


def table(blocks: Sequence[Block]) -> list[str]:
    rows = [("mean", interval([mean(block.values()) for block in blocks]))]
    rows += [(effect, interval([contrast(block, effect) for block in blocks])) for effect in EFFECTS]
    if len(blocks) == 1:
        return [f"| {name} | {middle:.2f} |" for name, (middle, _, _) in rows]
    return [f"| {name} | {middle:.2f} ({low:.2f}–{high:.2f}) |" for name, (middle, low, high) in rows]


def show(strategy: str, base: str, what: str, blocks: Sequence[Block]) -> None:
    print(f"{strategy} / {base}, {what}", "", sep="\n")
    print("| effect | factor |", "|---|--:|", *table(blocks), "", sep="\n")


def main(arguments: Sequence[str]) -> int:
    parser = parser_of(__doc__)
    parser.add_argument(
        "file", type=Path, help="results.jsonl, or with --instructions the program dimensions"
    )
    parser.add_argument("--instructions", action="store_true", help="count those of the program")
    asked = parser.parse_args(arguments)
    if asked.instructions:
        base, *others = ("AS1", "AS7", "AS11")
        counts = counts_of(asked.file, [base, *others])
        for strategy in others:
            show(strategy, base, "instructions", [ratios(counts[strategy], counts[base])])
        return 0
    analysis = Analysis(store.load(asked.file))
    (study,) = analysis.comparisons
    for strategy in study.candidates[1:]:
        blocks = blocks_of(analysis, strategy)
        if not blocks:
            print("factorial: no block has every design", file=sys.stderr)
            return 1
        show(strategy, study.baseline, f"{len(blocks)} blocks", blocks)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
