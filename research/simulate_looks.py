#!/usr/bin/env python3
"""Simulate campaigns in which verdicts are looked for between blocks, and those found are measured no more.

The campaigns are those of simulate_campaigns.py: of RESULTS, with its ratios and the times of its runs;
without RESULTS all alike. All rules have the same budget, of BLOCKS blocks of everything. Time that a verdict
saves goes to the comparisons that are open. Holm's procedure covers the family of all aspects at every look,
and a spending function the looks (docs/decisions/0032-looks-between-blocks.md).

Columns: campaigns with a wrong verdict where there is no difference and no threshold; share of the
comparisons that is decided where there are differences; campaigns with a wrong verdict there; blocks of the
last comparison, and half-width of the intervals of those that stay open: medians.

Example: research/simulate_looks.py 10 --campaigns 100 --results out/compare
"""

import argparse
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import e, log, log1p, sqrt
from pathlib import Path
from statistics import fmean, median

from scipy.stats import norm

from heaplab import stats
from heaplab.errors import HeaplabError
from heaplab.stats import Verdict
from heaplab.stats.verdict import error_probability
from simulate_campaigns import (
    DIFFERENT,
    Campaign,
    Cell,
    Place,
    cells_like,
    simulated,
    synthetic_cells,
    without_difference,
)

BETWEEN_S = 0.05  # between two runs
ERROR = 1 - stats.CONFIDENCE
LONGEST = 3  # times the blocks that fit if nothing is closed: no cell gets more


Spending = Callable[[float], float]  # the part of the error spent after a share of the blocks


def like_obrien_fleming(share: float) -> float:
    """Lan and DeMets (1983): next to nothing early, so that little is lost at the end."""
    return float(2 * norm.sf(norm.isf(ERROR / 2) / sqrt(share))) / ERROR


def like_pocock(share: float) -> float:
    """Lan and DeMets (1983): about the same at every look."""
    return log(1 + (e - 1) * share)


def all_at_every_look(_share: float) -> float:
    """No care is taken."""
    return 1.0


@dataclass(frozen=True)
class Rule:
    """When verdicts are looked for, and which part of the error a look may spend."""

    name: str
    spending: Spending = all_at_every_look
    looks: tuple[int, ...] = (6, 9, 13, 19, 28)

    def part(self, number: int, most: int) -> float:
        """The part of the error at the look after `number` blocks of at most `most`; the rest at the last."""
        if self.spending is all_at_every_look or not self.looks:
            return 1.0
        earlier = max((look for look in self.looks if look < number), default=0)
        now = 1.0 if number == most else self.spending(number / most)
        return now - (self.spending(earlier / most) if earlier else 0.0)


RULES = (
    Rule("one look at the end", looks=()),
    Rule("like O'Brien and Fleming", like_obrien_fleming),
    Rule("like Pocock", like_pocock),
    Rule("5 % at every look", all_at_every_look),
)


def of_round(cells: Sequence[Cell], still_open: Sequence[Place]) -> float:
    """Seconds of one block of every cell: the open allocators, the baseline and its control."""
    counts = Counter(aspect for aspect, _ in still_open)
    return sum((c.seconds + BETWEEN_S) * (counts[c.aspect] + 2) for c in cells if counts[c.aspect])


@dataclass(frozen=True)
class Ended:
    verdicts: dict[Place, Verdict]
    blocks: int
    seconds: float


def measured(campaign: Campaign, blocks: int, rule: Rule, least: float) -> Ended:
    """A campaign with a budget of `blocks` blocks of everything, in which a verdict ends measuring."""
    budget, most = blocks * of_round(campaign.cells, campaign.places) * (1 + 1e-9), LONGEST * blocks
    verdicts = dict.fromkeys(campaign.places, Verdict.UNDECIDED)
    number, used = 0, 0.0
    while still_open := [place for place, found in verdicts.items() if found is Verdict.UNDECIDED]:
        seconds = of_round(campaign.cells, still_open)
        if used + seconds > budget or number == most:
            if number not in rule.looks:
                verdicts |= look(campaign, still_open, number, rule.part(most, most), least)
            break
        used, number = used + seconds, number + 1
        if number in rule.looks:
            verdicts |= look(campaign, still_open, number, rule.part(number, most), least)
    return Ended(verdicts, number, used)


def look(
    campaign: Campaign, still_open: Sequence[Place], number: int, part: float, least: float
) -> dict[Place, Verdict]:
    """The verdicts that a part of the error allows; Holm's procedure gives the rest of a family more."""
    uncontrolled = stats.UNCONTROLLED if not least else None
    controls = {aspect: uncontrolled or campaign.control(aspect, number) for aspect, _ in still_open}
    ratios = {place: campaign.ratio(place, number) for place in still_open}
    chances = {place: error_probability(ratios[place], controls[place[0]], least) for place in still_open}
    found: dict[Place, Verdict] = {}
    for place in sorted(still_open, key=lambda one: chances[one]):
        if chances[place] > part * ERROR / (len(still_open) - len(found)):
            break
        found[place] = stats.judge(ratios[place], controls[place[0]], least)
    return found


def not_wrong(campaign: Campaign, place: Place) -> set[Verdict]:
    """The verdicts that are not wrong: a difference is not called the opposite, a large one not none."""
    mean = fmean(own.ratios[place[1]] for own in campaign.cells if own.aspect == place[0])
    small = {Verdict.SAME} if abs(mean) <= log1p(stats.THRESHOLD) else set()
    return small | {Verdict.UNDECIDED, Verdict.LOWER if mean < 0 else Verdict.HIGHER}


def looks(cells: list[Cell], count: int, blocks: int, seed: int) -> Iterator[str]:
    """The rules on campaigns with the given differences, and on such without any."""
    yield "| rule | wrong without differences | decided | wrong | blocks | half-width of what is open |"
    yield "|---|---|---|---|---|---|"
    for rule in RULES:
        same = simulated(without_difference(cells), count, LONGEST * blocks, seed)
        none = [measured(one, blocks, rule, 0.0).verdicts.values() for one in same]
        decided, wrong, last, widths = [], [], [], []
        for campaign in simulated(cells, count, LONGEST * blocks, seed + 1):
            ended = measured(campaign, blocks, rule, stats.THRESHOLD)
            found = ended.verdicts
            decided.append(fmean(one is not Verdict.UNDECIDED for one in found.values()))
            wrong.append(any(one not in not_wrong(campaign, place) for place, one in found.items()))
            last.append(ended.blocks)
            still_open = [place for place, one in found.items() if one is Verdict.UNDECIDED]
            widths += [campaign.ratio(place, ended.blocks).half_width for place in still_open]
        errors = fmean(any(one in DIFFERENT for one in verdicts) for verdicts in none)
        row = f"| {rule.name} | {errors:.3f} | {fmean(decided):.2f} | {fmean(wrong):.3f} | {median(last):.0f}"
        yield f"{row} | {median(widths or [float('nan')]):.3f} |"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("blocks", type=int, help="in the budget, from 5 on")
    parser.add_argument("--campaigns", type=int, default=100, help="[default: %(default)s]")
    parser.add_argument("--results", type=Path, help="a results file, or its folder")
    parser.add_argument("--seed", type=int, default=1, help="[default: %(default)s]")
    given = parser.parse_args()
    if given.campaigns < 1 or given.seed < 0 or given.blocks < stats.FEWEST_PAIRS:
        parser.error("allowed are 5 or more blocks, 1 or more campaigns, and seeds from 0 on")
    try:
        cells = cells_like(given.results) if given.results else synthetic_cells()
    except HeaplabError as error:
        parser.exit(error.exit_status, f"{parser.prog}: {error}\n")
    for line in looks(cells, given.campaigns, given.blocks, given.seed):
        print(line, flush=True)


if __name__ == "__main__":
    main()
