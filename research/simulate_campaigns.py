#!/usr/bin/env python3
"""Simulate campaigns whose truth is known, and judge them by heaplab's own method.

A campaign is seven aspects of two cells, six allocators, the baseline and its control, as the suite `quick`
has. Without RESULTS, noise has heavy tails (Student's t with 2 degrees of freedom), a part common to a block,
and a drift. With RESULTS, a campaign by aspect, the noise of a block is that of one of its blocks with a
random sign, so that the truth is known.

families  how many campaigns without any difference have a wrong verdict: in the family of all aspects, and
          in that of one cell and all allocators
planted   how many cells are decided of an allocator that is slower by 10 % or 5 %, else like the baseline

Example: research/simulate_campaigns.py families --campaigns 1000
Example: research/simulate_campaigns.py planted --campaigns 200 --results out/compare
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from command_line import parser_of
from heaplab import stats
from heaplab.analysis import Analysis
from heaplab.analysis.aspects import cells_of, metric_of, studies_by_aspect
from heaplab.errors import HeaplabError, UsageError
from heaplab.results import store
from heaplab.results.records import CONTROL_SUFFIX
from heaplab.stats import Interval, Verdict

ASPECTS, CELLS, ALLOCATORS = 7, 2, 6  # of a simulated campaign: cells of each aspect
DIFFERENT = (Verdict.LOWER, Verdict.HIGHER)

Array = NDArray[np.float64]
Place = tuple[int, int]  # aspect and column of an allocator; column 0 is the baseline, the last its control


@dataclass(frozen=True)
class Cell:
    aspect: int
    seconds: float  # of a run
    ratios: Array  # logarithms, by column
    rows: Array | None = None  # logarithms of noise by block and column; None: heavy tails and drift

    def runs(self, generator: np.random.Generator, blocks: int) -> Array:
        """Logarithms of times, by block and column."""
        if self.rows is not None:
            drawn = self.rows[generator.integers(0, len(self.rows), blocks)]
            return self.ratios + drawn * generator.choice([-1.0, 1.0], (blocks, 1))
        own = 0.03 * generator.standard_t(2, (blocks, len(self.ratios)))
        common = generator.normal(0, 0.1, blocks) + np.linspace(0, 0.3, blocks)
        return np.asarray(self.ratios + own + common[:, None])


def synthetic_cells() -> list[Cell]:
    same = np.zeros(ALLOCATORS + 2)
    return [Cell(aspect, 0.1, same) for aspect in range(ASPECTS) for _ in range(CELLS)]


def cells_like(results: Path) -> list[Cell]:
    """The cells of a real campaign by aspect, each with its noise, times and ratios."""
    analysis = Analysis(store.load(results))
    names = [*analysis.allocators, analysis.baseline + CONTROL_SUFFIX]
    cells: list[Cell] = []
    for number, (about, studies) in enumerate(studies_by_aspect(analysis).items()):
        for study in studies:
            for cell in cells_of(study):
                values = [study.values(cell, name, metric_of(study, about)) for name in names]
                blocks = sorted(set.intersection(*map(set, values)))
                if len(blocks) < stats.FEWEST_PAIRS:
                    continue
                logs = np.log(np.array([[own[block] for own in values] for block in blocks]))
                ratios = np.median(logs - logs[:, :1], axis=0)
                ratios[-1] = 0.0
                # The rows vary about their own medians; n of them vary less than what they are drawn from.
                rows = (logs - np.median(logs, axis=0)) * sqrt(len(blocks) / (len(blocks) - 1))
                runs = [run for name in names for run in study.good[cell, name].values() if run.process]
                wall = fmean(run.process.wall_time for run in runs if run.process)
                cells.append(Cell(number, wall, ratios, rows))
    if not cells:
        raise UsageError(f"{results}: no cell of an aspect has five blocks")
    return cells


@dataclass(frozen=True)
class Campaign:
    cells: list[Cell]
    logs: list[Array]  # by cell

    @property
    def places(self) -> list[Place]:
        aspects = dict.fromkeys(cell.aspect for cell in self.cells)
        return [(aspect, column) for aspect in aspects for column in range(1, len(self.cells[0].ratios) - 1)]

    def ratio(self, place: Place, blocks: int, cell: int | None = None) -> Interval:
        """The ratio of an allocator to the baseline in an aspect, or in one cell, after so many blocks."""
        aspect, column = place
        groups: list[list[stats.Keyed]] = []
        for number, (own, logs) in enumerate(zip(self.cells, self.logs, strict=True)):
            if own.aspect == aspect and cell in (None, number):
                base, other = np.exp(logs[:blocks, 0]), np.exp(logs[:blocks, column])
                groups.append([((base.tolist(), other.tolist()), number)])
        return stats.compare(*groups[0][0][0]) if cell is not None else stats.geometric_mean(groups)

    def control(self, aspect: int, blocks: int, cell: int | None = None) -> Interval:
        return self.ratio((aspect, -1), blocks, cell)


def simulated(cells: list[Cell], count: int, blocks: int, seed: int) -> Iterator[Campaign]:
    generator = np.random.default_rng(seed)
    for _ in range(count):
        yield Campaign(cells, [cell.runs(generator, blocks) for cell in cells])


def without_difference(cells: Sequence[Cell]) -> list[Cell]:
    return [Cell(cell.aspect, cell.seconds, np.zeros_like(cell.ratios), cell.rows) for cell in cells]


# Blocks after which campaigns are judged, each a part of the same campaign.
JUDGED_AFTER = (5, 10, 20)


def families(cells: list[Cell], count: int, seed: int) -> Iterator[str]:
    """How many families of a campaign without differences have a wrong verdict."""
    yield "| blocks | threshold | family of all aspects | family of one experiment |\n|---|---|---|---|"
    wrong: dict[tuple[int, float], list[tuple[bool, bool]]] = {}
    for campaign in simulated(without_difference(cells), count, JUDGED_AFTER[-1], seed):
        for blocks in JUDGED_AFTER:
            ratios = {place: campaign.ratio(place, blocks) for place in campaign.places}
            alone = [campaign.ratio(place, blocks, cell=0) for place in campaign.places if place[0] == 0]
            controls = {aspect: campaign.control(aspect, blocks) for aspect, _ in ratios}
            for least in (stats.THRESHOLD, 0.0):
                of_aspects = [controls[aspect] if least else stats.UNCONTROLLED for aspect, _ in ratios]
                of_cell = campaign.control(0, blocks, cell=0) if least else stats.UNCONTROLLED
                both = (
                    stats.judge_family(list(ratios.values()), of_aspects, least),
                    stats.judge_family(alone, of_cell, least),
                )
                differs = [any(comparison.verdict in DIFFERENT for comparison in family) for family in both]
                wrong.setdefault((blocks, least), []).append((differs[0], differs[1]))
    for (blocks, least), pairs in wrong.items():
        shown = f"{least:.0%}, or the noise floor" if least else "none"
        shares = [fmean(family) for family in zip(*pairs, strict=True)]
        yield f"| {blocks} | {shown} | {shares[0]:.3f} | {shares[1]:.3f} |"


def planted(cells: list[Cell], count: int, seed: int) -> Iterator[str]:
    yield "| planted | blocks | cells decided | decided wrongly |\n|---|---|---|---|"
    for effect in (1.10, 1.05):
        for blocks in (10, 14, 20):
            right, wrong, all_of = 0, 0, 0
            for campaign in simulated(with_one_slower(cells, effect), count, blocks, seed):
                for number, cell in enumerate(campaign.cells):
                    ratio = campaign.ratio((cell.aspect, 1), blocks, cell=number)
                    verdict = stats.judge(ratio, campaign.control(cell.aspect, blocks, cell=number))
                    right += verdict is Verdict.HIGHER
                    wrong += verdict in (Verdict.LOWER, Verdict.SAME)
                    all_of += 1
            yield f"| {effect - 1:.0%} | {blocks} | {right / all_of:.2f} | {wrong / all_of:.3f} |"


def with_one_slower(cells: Sequence[Cell], effect: float) -> list[Cell]:
    """Cells whose first allocator is the baseline's library made slower: it has the noise of the control."""
    runs = []
    for cell in without_difference(cells):
        ratios, rows = cell.ratios.copy(), None if cell.rows is None else cell.rows.copy()
        ratios[1] = np.log(effect)
        if rows is not None:
            rows[:, 1] = rows[:, -1]
        runs.append(Cell(cell.aspect, cell.seconds, ratios, rows))
    return runs


def run(description: str, ways: dict[str, Callable[[list[Cell], int, int], Iterator[str]]]) -> None:
    """Read the command line, and print the table of one of the ways."""
    parser = parser_of(description)
    parser.add_argument("what", choices=list(ways))
    parser.add_argument("--campaigns", type=int, default=100, help="[default: %(default)s]")
    parser.add_argument("--results", type=Path, help="a results file, or its folder")
    parser.add_argument("--seed", type=int, default=1, help="[default: %(default)s]")
    given = parser.parse_args()
    if given.campaigns < 1 or given.seed < 0:
        parser.error("allowed are 1 or more campaigns, and seeds from 0 on")
    try:
        cells = cells_like(given.results) if given.results else synthetic_cells()
    except HeaplabError as error:
        parser.exit(error.exit_status, f"{parser.prog}: {error}\n")
    for line in ways[given.what](cells, given.campaigns, given.seed):
        print(line, flush=True)


if __name__ == "__main__":
    run(__doc__, {"families": families, "planted": planted})
