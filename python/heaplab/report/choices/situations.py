"""Situations, the best candidate of each, and every family of candidates over all of them.

A situation consists of the cells of an experiment with one value of its first swept parameter. The best
candidate of a situation is named together with those that are not shown to be worse.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from math import isfinite

from heaplab import stats
from heaplab.analysis import MEMORY, Judged, MeasuredCell, Study
from heaplab.report.words import strategies
from heaplab.stats import Interval, Keyed, Verdict, judge
from heaplab.text import units


@dataclass(frozen=True)
class Situation:
    """Cells of one experiment for which one answer is given."""

    study: Study
    name: str
    cells: list[MeasuredCell]

    def pairs(self, base: str, other: str, metric: str | None = None) -> list[Keyed]:
        chosen = metric or self.study.main_metric
        return self.study.keyed((self.study.pair(cell, base, other, chosen), cell) for cell in self.cells)

    def ratio(self, name: str, base: str = "", metric: str | None = None) -> Interval:
        """The ratio of a candidate to another one, by default the reference."""
        return stats.geometric_mean([self.pairs(base or self.study.baseline, name, metric)])

    def of_all(self, names: Iterable[str], metric: str | None = None) -> list[Keyed]:
        """The pairs of several candidates with the reference."""
        return [pair for name in names for pair in self.pairs(self.study.baseline, name, metric)]

    @property
    def control(self) -> Interval:
        return self.ratio(self.study.control)


@dataclass(frozen=True)
class StrategyAnswer:
    """The best candidate of a situation, and those that are not shown to be worse."""

    situation: Situation
    best: str
    tied: list[str]
    judged: Judged  # the best candidate relative to the reference
    memory: Interval
    largest_ratio: tuple[str, Interval]

    @property
    def reference(self) -> str:
        return self.situation.study.baseline

    @property
    def keeps_reference(self) -> bool:
        return self.best == self.reference or self.judged.verdict is not Verdict.LOWER


def situations(study: Study) -> list[Situation]:
    first = next(iter(study.axes), "")
    grouped: dict[str, list[MeasuredCell]] = {}
    for cell in study.cells:
        name = f"{first} {units.parameter(dict(cell)[first])}" if first else "all"
        grouped.setdefault(name, []).append(cell)
    return [Situation(study, f"{study.experiment.title}, {name}", cells) for name, cells in grouped.items()]


def answer_of(where: Situation) -> StrategyAnswer | None:
    """The answer of one situation; None if too little was measured."""
    reference = where.study.baseline
    names = [name for name in where.study.candidates if name != reference]
    ratios = {name: ratio for name in names if isfinite((ratio := where.ratio(name)).estimate)}
    if not ratios:
        return None
    ratios[reference] = Interval(1, 1, 1)
    ordered = sorted(ratios, key=lambda name: ratios[name].estimate)
    best = ordered[0]
    tied = [
        name for name in ordered[1:] if judge(where.ratio(name, best), where.control) is not Verdict.HIGHER
    ]
    judged = Judged(ratios[best], judge(ratios[best], where.control), where.control)
    return StrategyAnswer(
        where, best, tied, judged, where.ratio(best, metric=MEMORY), (ordered[-1], ratios[ordered[-1]])
    )


@dataclass(frozen=True)
class Family:
    """Candidates of one kind, and their time relative to the reference in each situation that has them."""

    name: str
    members: list[str]  # without the reference
    ratios: list[tuple[Situation, Interval]]

    def mean(self, metric: str | None = None) -> Interval:
        """The mean over all situations, with the same weight for each member."""
        groups = [where.of_all(self.members, metric) for where, _ in self.ratios]
        return stats.geometric_mean([group for group in groups if group])


def families(answers: list[StrategyAnswer]) -> list[Family]:
    studies = dict.fromkeys(answer.situation.study for answer in answers)
    names = dict.fromkeys(name for study in studies for name in study.candidates)
    references = {study.baseline for study in studies}
    families = []
    for family in dict.fromkeys(strategies.family(name) for name in names):
        members = [name for name in names if strategies.family(name) == family and name not in references]
        known = [(a.situation, stats.geometric_mean([a.situation.of_all(members)])) for a in answers]
        if ratios := [(where, ratio) for where, ratio in known if isfinite(ratio.estimate)]:
            families.append(Family(family, members, ratios))
    return families
