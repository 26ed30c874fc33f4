"""Which candidate to choose in which situation, by all comparisons under one allocator together."""

from dataclasses import dataclass
from math import isfinite

from heaplab import stats
from heaplab.analysis import Analysis, Study
from heaplab.report.choices.situation_tables import answer_table, family_table
from heaplab.report.choices.situations import (
    Family,
    Situation,
    StrategyAnswer,
    answer_of,
    families,
    situations,
)
from heaplab.report.tables.table_parts import Table
from heaplab.report.words import strategies, wording
from heaplab.report.words.next_steps import Step, steps_of_choice
from heaplab.stats import Keyed
from heaplab.text import units

FEW = 3  # largest number of situations that a sentence names


@dataclass(frozen=True)
class Choice:
    """The sentences and tables about all comparisons under one allocator."""

    under: str
    what: str  # what is chosen
    sentences: list[str]
    experiments: list[str]  # the best candidates of each experiment
    families: Table | None
    answers: Table
    sure: str
    steps: list[Step]
    kinds: list[Family]
    reference: str  # candidate


def choices(analysis: Analysis) -> list[Choice]:
    """One choice for each allocator and each thing compared under it."""
    grouped: dict[tuple[str, str], list[Study]] = {}
    for study in analysis.comparisons:
        if study.good:
            grouped.setdefault((study.under, study.axis), []).append(study)
    return [choice(analysis, under, axis, studies) for (under, axis), studies in grouped.items()]


def choice(analysis: Analysis, under: str, axis: str, studies: list[Study]) -> Choice:
    answers = [answer for study in studies for where in situations(study) if (answer := answer_of(where))]
    named = axis == strategies.PARAMETER
    kinds = families(answers)
    decided = any(not answer.keeps_reference for answer in answers)
    return Choice(
        under,
        "local allocator" if named else axis,
        sentences(answers) + (differences(studies) if named else []),
        [line for study in studies if (line := overall(study))],
        family_table(kinds) if named else None,
        answer_table(answers),
        wording.extent(studies, axis),
        steps_of_choice(analysis, local=named and decided),
        kinds,
        studies[0].baseline,
    )


def overall(study: Study) -> str:
    """The best candidates over all cells of an experiment in a sentence; "" if too little was measured."""
    answer = answer_of(Situation(study, study.experiment.title, study.cells))
    if answer is None:
        return ""
    name = answer.situation.name
    if not answer.judged.ratio.bounded:
        return ""
    if answer.keeps_reference:
        return f"{name}: stay with {study.baseline}, nothing is shown to be faster over all its cells."
    ratio, memory = answer.judged.ratio, answer.memory
    said = f"{name}: {strategies.title(answer.best)} takes {units.ratio(ratio.estimate)} the time of"
    said += f" {study.baseline} ({units.bounds(ratio)}) and {units.ratio(memory.estimate)} the memory"
    return f"{said}; not shown to be worse: {wording.listed(answer.tied)}." if answer.tied else f"{said}."


def sentences(answers: list[StrategyAnswer]) -> list[str]:
    """Where a candidate pays, by how much at most, and where none is shown to pay."""
    if not answers:
        return ["Too little was measured to choose."]
    judged = [answer for answer in answers if answer.judged.ratio.bounded or answer.best == answer.reference]
    if not judged:
        return ["Undecided: too few blocks were measured to choose. What is shown are estimates alone."]
    keep = [answer for answer in judged if answer.keeps_reference]
    gains = sorted((a for a in judged if not a.keeps_reference), key=lambda a: a.judged.ratio.estimate)
    reference = judged[0].reference
    lines = [
        f"In {len(gains)} of {len(judged)} situations something is faster than {strategies.title(reference)}."
    ]
    if gains:
        top = gains[0]
        ratio = top.judged.ratio.inverse()
        lines.append(
            f"The most is gained by {strategies.title(top.best)} in {top.situation.name}: "
            f"{units.ratio(ratio.estimate)} as fast ({units.bounds(ratio)})."
        )
    if keep:
        lines.append(f"Stay with {reference} in {_named(keep, gains)}: nothing is shown to be faster.")
    if len(judged) < len(answers):
        lines.append(f"Undecided: {len(answers) - len(judged)} more, of which too few blocks were measured.")
    return lines


def _named(kept: list[StrategyAnswer], gains: list[StrategyAnswer]) -> str:
    """The names of up to FEW situations, else their number: the table below names all of them."""
    if not gains:
        return "all of them"
    return wording.listed([a.situation.name for a in kept]) if len(kept) <= FEW else f"the other {len(kept)}"


def differences(studies: list[Study]) -> list[str]:
    """What a virtual call, winking out and a mutex change, over all cells."""
    lines = []
    for what, pairs in (
        ("Access through an abstract base", strategies.VIRTUAL),
        ("Winking out", strategies.WINKED),
        ("A mutex", strategies.SYNCHRONIZED),
    ):
        ratio = stats.geometric_mean([g for g in (_differing(study, pairs) for study in studies) if g])
        if not isfinite(ratio.estimate):
            continue
        change = wording.change(ratio, "less time", "more time")
        lines.append(
            f"{what}, all else equal: {change} ({units.bounds(ratio)}{'×' if ratio.bounded else ''})."
        )
    return lines


def _differing(study: Study, names: dict[str, str]) -> list[Keyed]:
    return study.keyed(
        (study.pair(cell, plain, other, study.main_metric), cell)
        for other, plain in names.items()
        if {other, plain} <= set(study.candidates)
        for cell in study.cells
    )
