"""Compared values crossed with allocators: does the allocator underneath change the verdict?"""

from dataclasses import dataclass
from math import isfinite

from heaplab import stats
from heaplab.analysis import Analysis, Judged, Study
from heaplab.report.tables.ratio_entry import judged_entry
from heaplab.report.tables.table_parts import Entry, Table, diverging
from heaplab.report.words import strategies, wording
from heaplab.stats import Verdict
from heaplab.text import units


@dataclass(frozen=True)
class Interaction:
    experiment: str
    sentence: str
    table: Table


def interactions(analysis: Analysis) -> list[Interaction]:
    """The interaction of every experiment that ran under several allocators."""
    grouped: dict[str, list[Study]] = {}
    for study in analysis.comparisons:
        grouped.setdefault(study.experiment.id, []).append(study)
    across = {study.experiment.id: study for study in analysis.across}
    return [_interaction(studies, across[name]) for name, studies in grouped.items() if name in across]


def means(study: Study) -> dict[str, Judged]:
    """Every candidate relative to the reference over all cells: one family of comparisons."""
    names = [name for name in study.candidates if name != study.baseline]
    metric = study.main_metric
    ratios = [stats.geometric_mean([study.cell_pairs(study.baseline, name, metric)]) for name in names]
    control = stats.geometric_mean([study.cell_pairs(study.baseline, study.control, metric)])
    return dict(zip(names, stats.judge_family(ratios, control), strict=True))


def _interaction(studies: list[Study], across: Study) -> Interaction:
    columns = {study.under: means(study) for study in studies}
    first = columns[studies[0].under]
    title = strategies.title if studies[0].axis == strategies.PARAMETER else str
    rows = [
        (title(name), [_entry(column.get(name), judged) for column in columns.values()])
        for name, judged in first.items()
    ]
    references = means(across)
    own = [Entry("1"), *(_entry(references[name], None) for name in across.candidates[1:])]
    rows.insert(0, (f"{studies[0].baseline} itself, to that of {studies[0].under}", own))
    changed = [
        (name, under)
        for under, column in columns.items()
        for name, judged in column.items()
        if changes(judged, first.get(name))
    ]
    compared = sum(len(column) for under, column in columns.items() if under != studies[0].under)
    each = f": {wording.listed([f'{name} under {under}' for name, under in changed])}" if changed else ""
    sentence = f"The allocator underneath turns {len(changed) or 'none'} of {compared} verdicts{each}."
    caption = (
        f"Time relative to {studies[0].baseline} under the same allocator, geometric means over all cells"
    )
    table = Table(caption, list(columns), rows, studies[0].axis)
    return Interaction(studies[0].experiment.title, sentence, table)


def changes(judged: Judged, first: Judged | None) -> bool:
    """Whether two allocators give different decided verdicts; an undecided verdict contradicts nothing."""
    if first is None or Verdict.UNDECIDED in (judged.verdict, first.verdict):
        return False
    return judged.verdict is not first.verdict


def _entry(judged: Judged | None, first: Judged | None) -> Entry:
    if judged is None or not isfinite(judged.ratio.estimate):
        return Entry(units.NOTHING, title="no figure")
    sign, more = (" ≠", ", unlike the first column") if changes(judged, first) else ("", "")
    text, small = units.ratio(judged.ratio.estimate) + sign, units.bounds(judged.ratio)
    return judged_entry(text, judged, wording.TIME, small, diverging(judged.ratio), more)
