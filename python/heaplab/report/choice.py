"""Which candidate when: the page made of all comparisons under one allocator, from this machine's results.

A situation is a value of the first swept parameter of an experiment, with all its other cells. The best of a
situation is named with those that are not shown to be worse than it.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from math import isfinite

from heaplab import stats
from heaplab.analysis import MEMORY, Analysis, Judged, MeasuredCell, Study
from heaplab.report import strategies, units, wording
from heaplab.report.heat import DIMENSIONS, span
from heaplab.report.table_parts import Entry, Table, diverging
from heaplab.stats import Interval, Pair, Verdict, judge

Seeded = tuple[Pair, int]


@dataclass(frozen=True)
class Situation:
    """Cells of one experiment in which one answer is given."""

    study: Study
    name: str
    cells: list[MeasuredCell]

    def pairs(self, base: str, other: str, metric: str | None = None) -> list[Seeded]:
        chosen = metric or self.study.main_metric
        pairs = [(self.study.pair(cell, base, other, chosen), self.study.seed(cell)) for cell in self.cells]
        return [(pair, seed) for pair, seed in pairs if pair[0]]

    def ratio(self, name: str, base: str = "", metric: str | None = None) -> Interval:
        """Of a candidate to another, the reference unless given."""
        return stats.geometric_mean([self.pairs(base or self.study.baseline, name, metric)])

    @property
    def threshold(self) -> float:
        return self.study.threshold(self.study.main_metric)


@dataclass(frozen=True)
class StrategyAnswer:
    """The best of a situation, and what is not shown to be worse."""

    situation: Situation
    best: str
    tied: list[str]
    judged: Judged  # the best against the reference
    memory: Interval
    worst: tuple[str, Interval]

    @property
    def keeps_reference(self) -> bool:
        reference = self.situation.study.baseline
        return self.best == reference or self.judged.verdict is not Verdict.LOWER


@dataclass(frozen=True)
class Choice:
    """All that is said under one allocator."""

    under: str
    what: str  # is chosen
    sentences: list[str]
    experiments: list[str]  # the best of each
    families: Table | None
    answers: Table
    sure: str


def choices(analysis: Analysis) -> list[Choice]:
    """One for each allocator and each thing compared under it."""
    grouped: dict[tuple[str, str], list[Study]] = {}
    for study in analysis.comparisons:
        if study.good:
            grouped.setdefault((study.under, study.axis), []).append(study)
    return [choice(under, axis, studies) for (under, axis), studies in grouped.items()]


def choice(under: str, axis: str, studies: list[Study]) -> Choice:
    found = [answer for study in studies for where in situations(study) if (answer := answer_of(where))]
    named = axis == strategies.PARAMETER
    return Choice(
        under,
        "local allocator" if named else axis,
        sentences(found) + (differences(studies) if named else []),
        [line for study in studies if (line := overall(study))],
        family_table(found) if named else None,
        answer_table(found),
        wording.extent(studies, axis),
    )


def overall(study: Study) -> str:
    """The best over all cells of an experiment, in a sentence; "" where too little was measured."""
    answer = answer_of(Situation(study, study.experiment.title, study.cells))
    if answer is None:
        return ""
    name = answer.situation.name
    if answer.keeps_reference:
        return f"{name}: stay with {study.baseline}, nothing is shown to be faster over all its cells."
    ratio, memory = answer.judged.ratio, answer.memory
    said = f"{name}: {strategies.title(answer.best)} takes {units.ratio(ratio.estimate)} the time of"
    said += f" {study.baseline} ({units.bounds(ratio)}) and {units.ratio(memory.estimate)} the memory"
    return f"{said}; not shown to be worse: {wording.listed(answer.tied)}." if answer.tied else f"{said}."


def situations(study: Study) -> list[Situation]:
    first = next(iter(study.axes), "")
    grouped: dict[str, list[MeasuredCell]] = {}
    for cell in study.cells:
        name = f"{first} {units.parameter(dict(cell)[first])}" if first else "all"
        grouped.setdefault(name, []).append(cell)
    return [Situation(study, f"{study.experiment.title}, {name}", cells) for name, cells in grouped.items()]


def answer_of(where: Situation) -> StrategyAnswer | None:
    """None where too little was measured."""
    reference = where.study.baseline
    names = [name for name in where.study.candidates if name != reference]
    ratios = {name: ratio for name in names if isfinite((ratio := where.ratio(name)).estimate)}
    if not ratios:
        return None
    ratios[reference] = Interval(1, 1, 1)
    ordered = sorted(ratios, key=lambda name: ratios[name].estimate)
    best = ordered[0]
    tied = [
        name for name in ordered[1:] if judge(where.ratio(name, best), where.threshold) is not Verdict.HIGHER
    ]
    judged = Judged(ratios[best], judge(ratios[best], where.threshold), where.threshold)
    return StrategyAnswer(
        where, best, tied, judged, where.ratio(best, metric=MEMORY), (ordered[-1], ratios[ordered[-1]])
    )


def answer_table(answers: list[StrategyAnswer]) -> Table:
    known = any(set(DIMENSIONS) <= answer.situation.study.workload.metrics.keys() for answer in answers)
    dimensions = DIMENSIONS if known else {}
    columns = ["best", "not shown to be worse", "time", "peak memory", "worst", *dimensions.values()]
    rows = []
    for answer in answers:
        study = answer.situation.study
        metric = study.metric(study.main_metric)
        rows.append(
            (
                answer.situation.name,
                [
                    Entry(strategies.title(answer.best), tone="left"),
                    Entry(", ".join(answer.tied) or units.NOTHING, tone="left"),
                    Entry(
                        units.ratio(answer.judged.ratio.estimate),
                        small=units.bounds(answer.judged.ratio) if answer.best != study.baseline else "",
                        tone=wording.tone(answer.judged, metric),
                        symbol=wording.SYMBOLS[answer.judged.verdict],
                        color=diverging(answer.judged.ratio.estimate),
                        title=wording.verdict_with_reason(answer.judged, metric),
                    ),
                    Entry(units.ratio(answer.memory.estimate), small=units.bounds(answer.memory)),
                    Entry(units.ratio(answer.worst[1].estimate), small=answer.worst[0]),
                    *(dimension(answer.situation, name) for name in dimensions),
                ],
            )
        )
    caption = "Times and peak memory with page tables relative to the reference, geometric means"
    return Table(caption, columns, rows, "situation")


def dimension(where: Situation, metric: str) -> Entry:
    study = where.study
    return span(study.median(cell, study.baseline, metric).estimate for cell in where.cells)


def sentences(answers: list[StrategyAnswer]) -> list[str]:
    """Where something pays, by how much at most, and where nothing is shown to."""
    if not answers:
        return ["Too little was measured to choose."]
    keep = [answer for answer in answers if answer.keeps_reference]
    gains = sorted((a for a in answers if not a.keeps_reference), key=lambda a: a.judged.ratio.estimate)
    reference = answers[0].situation.study.baseline
    found = [f"In {len(gains)} of {len(answers)} situations something is faster than {reference}."]
    if gains:
        top = gains[0]
        ratio = top.judged.ratio.inverse()
        found.append(
            f"The most is gained by {strategies.title(top.best)} in {top.situation.name}: "
            f"{units.ratio(ratio.estimate)} as fast ({units.bounds(ratio)})."
        )
    if keep:
        names = wording.listed([answer.situation.name for answer in keep]) if gains else "all of them"
        found.append(f"Stay with {reference} in {names}: nothing is shown to be faster.")
    return found


def differences(studies: list[Study]) -> list[str]:
    """What the virtual call costs and what winking out gains, over all cells."""
    found = []
    for what, pairs in (
        ("Access through an abstract base", strategies.VIRTUAL),
        ("Winking out", strategies.WINKED),
    ):
        ratio = stats.geometric_mean([g for g in (_differing(study, pairs) for study in studies) if g])
        if not isfinite(ratio.estimate):
            continue
        change = wording.change(ratio, "less time", "more time")
        found.append(
            f"{what}, all else equal: {change} ({units.bounds(ratio)}{'×' if ratio.bounded else ''})."
        )
    return found


def _differing(study: Study, names: dict[str, str]) -> list[Seeded]:
    pairs = [
        (study.pair(cell, plain, other, study.main_metric), study.seed(cell))
        for other, plain in names.items()
        if {other, plain} <= set(study.candidates)
        for cell in study.cells
    ]
    return [(pair, seed) for pair, seed in pairs if pair[0]]


def family_table(answers: list[StrategyAnswer]) -> Table:
    """Every family over all situations: how often it gains and loses against the reference, and what."""
    studies = dict.fromkeys(answer.situation.study for answer in answers)
    names = dict.fromkeys(name for study in studies for name in study.candidates)
    families = dict.fromkeys(strategies.family(name) for name in names)
    rows = []
    for family in families:
        members = [name for name in names if strategies.family(name) == family]
        ratios = [
            (answer.situation, ratio)
            for answer in answers
            if isfinite((ratio := _of_family(answer.situation, members)).estimate)
        ]
        if ratios:
            rows.append((family, _family_row(ratios, members)))
    columns = ["faster in", "slower in", "time, mean", "best", "worst", "peak memory, mean"]
    caption = (
        "Families of local allocators against the reference, over all situations they were measured in; "
        "peak memory counts page tables"
    )
    return Table(caption, columns, rows, "family")


def _of_family(where: Situation, members: Iterable[str]) -> Interval:
    pairs = [where.pairs(where.study.baseline, name) for name in members if name != where.study.baseline]
    return stats.geometric_mean([group for group in pairs if group])


def _family_row(ratios: list[tuple[Situation, Interval]], members: list[str]) -> list[Entry]:
    verdicts = [judge(ratio, where.threshold) for where, ratio in ratios]
    ordered = sorted(ratios, key=lambda item: item[1].estimate)
    groups = [
        [
            p
            for name in members
            if name != where.study.baseline
            for p in where.pairs(where.study.baseline, name)
        ]
        for where, _ in ratios
    ]
    mean = stats.geometric_mean(groups)
    memory = stats.geometric_mean(
        [
            group
            for where, _ in ratios
            for name in members
            if name != where.study.baseline and (group := where.pairs(where.study.baseline, name, MEMORY))
        ]
    )
    return [
        Entry(f"{verdicts.count(Verdict.LOWER)} of {len(verdicts)}"),
        Entry(f"{verdicts.count(Verdict.HIGHER)} of {len(verdicts)}"),
        Entry(units.ratio(mean.estimate), small=units.bounds(mean), color=diverging(mean.estimate)),
        *(
            Entry(units.ratio(ratio.estimate), small=where.name, color=diverging(ratio.estimate))
            for where, ratio in (ordered[0], ordered[-1])
        ),
        Entry(units.ratio(memory.estimate), small=units.bounds(memory)),
    ]
