#!/usr/bin/env python3
"""Compare the two rules that may use the probes beside the runs, on one real campaign.

Example: tools/mode_rules.py out/compare/results.jsonl

For each rule: the median half-width of the intervals of all cells and candidates; how many of the baseline's
ratios to itself (A/A) exclude 1, and their mean distance from it with its sign, which is the bias. Voiding
drops blocks here where a campaign would repeat runs: the share of runs that it would repeat is its cost.
"""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean, median

from heaplab import stats
from heaplab.analysis import Analysis, Study
from heaplab.campaign import store
from heaplab.errors import HeaplabError
from heaplab.records import Run
from heaplab.stats import Interval, ProbedPair


def groups_of(study: Study) -> Iterator[tuple[bool, list[ProbedPair]]]:
    """The pairs of every cell and candidate, and whether the candidate is the control."""
    for cell in study.cells_run:
        for name in (*study.candidates, study.control):
            if name != study.baseline:
                base, other = (study.values(cell, side, study.main_metric) for side in (study.baseline, name))
                runs = [study.good.get((cell, side), {}) for side in (study.baseline, name)]
                pairs = [
                    ProbedPair(base[block], other[block], probe_of(runs[0][block]), probe_of(runs[1][block]))
                    for block in sorted(base.keys() & other.keys())
                    if runs[0][block].probes and runs[1][block].probes
                ]
                if len(pairs) >= stats.FEWEST_PAIRS and all(p.base > 0 and p.other > 0 for p in pairs):
                    yield name == study.control, pairs


def probe_of(run: Run) -> float:
    assert run.probes
    return (run.probes.before + run.probes.after) / 2


def row(title: str, found: Sequence[tuple[bool, Interval]], cost: str = "") -> str:
    """One line of the table; an interval without bounds counts as infinitely wide."""
    controls = [ratio for is_control, ratio in found if is_control]
    excluded = sum(not ratio.low <= 1 <= ratio.high for ratio in controls)
    bias = fmean(ratio.estimate - 1 for ratio in controls) if controls else float("nan")
    width = median(ratio.half_width for _, ratio in found)
    return f"{title:16} {width:10.4f} {excluded:4} of {len(controls):<4} {bias:+10.4f}  {cost}"


def table(analysis: Analysis) -> list[str]:
    groups = [group for study in analysis.between_allocators for group in groups_of(study)]
    if not groups:
        raise HeaplabError(f"{analysis.results.path}: no cell has five blocks with probes")
    every = [probe_of(run) for run in analysis.results.runs if run.probes]
    usual, by = stats.usual_probe(every), stats.slope([pairs for _, pairs in groups])
    slow = sum(stats.is_slow(probe, usual) for probe in every)
    left = [(control, stats.without_slow(pairs, usual)) for control, pairs in groups]
    return [
        f"{'rule':16} {'half-width':>10} {'A/A not 1':>12} {'A/A bias':>10}",
        row("none", [(control, stats.controlled(pairs, 0.0)) for control, pairs in groups]),
        row(
            "void and repeat",
            [(c, stats.controlled(pairs, 0.0)) for c, pairs in left if pairs],
            f"repeats {slow} of {len(every)} runs",
        ),
        row(
            "control variate",
            [(control, stats.controlled(pairs, by)) for control, pairs in groups],
            f"slope {by:.2f}",
        ),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("results", type=Path, help="a results file, or its folder")
    try:
        print("\n".join(table(Analysis(store.load(parser.parse_args().results)))))
    except HeaplabError as error:
        parser.exit(2, f"mode_rules: {error}\n")


if __name__ == "__main__":
    main()
