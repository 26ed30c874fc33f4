"""Means over many cells of an experiment, as the summaries of P0213 (tables 8 and 20) print them."""

from math import isfinite
from statistics import fmean

from heaplab import stats
from heaplab.analysis import Judged, MeasuredCell, Study
from heaplab.report.tables.heat_map import bounds_of
from heaplab.report.tables.ratio_entry import judged_entry
from heaplab.report.tables.table_parts import Entry, Table, diverging
from heaplab.report.words import strategies
from heaplab.results import spec
from heaplab.results.records import Parameter
from heaplab.stats import LEVEL, Interval
from heaplab.text import units

# The name of the row over all cells; a parameter may have the value "all".
TOTAL = "all cells"
ARITHMETIC = "all cells, arithmetic mean"


def summary(study: Study, plot: spec.Plot) -> list[Table]:
    """Means over the cells of each row and over all cells, in % of the reference or as ratios of ratios."""
    if not study.candidates:
        return []
    names = [name for name in study.candidates if name != study.baseline]
    groups = groups_of(study, plot)
    ratios = {(row, name): mean(study, plot, of, name) for row, of in groups.items() for name in names}
    controls = [mean(study, plot, groups[row], study.control) for row, _ in ratios]
    judged = dict(zip(ratios, stats.judge_family(list(ratios.values()), controls), strict=True))
    rows = [(row, [_judged(study, plot, judged[row, name]) for name in names]) for row in groups]
    if plot.figure:
        rows.append((ARITHMETIC, [arithmetic(study, plot, groups[TOTAL], name) for name in names]))
    what = study.metric(plot.y).title
    if plot.against:
        against = ", ".join(f"{name} {units.parameter(value)}" for name, value in plot.against.items())
        what += f" relative to {study.baseline}, divided by the same at {against}"
    else:
        what += f" in % of {study.baseline}"
    caption = f"{what}: geometric means with {LEVEL} intervals"
    named = study.axis == strategies.PARAMETER
    return [
        Table(
            caption,
            names,
            rows,
            plot.rows,
            groups=[(f, len(members)) for f, members in strategies.families(names)] if named else [],
            manners=[strategies.manner(name) for name in names] if named else [],
        )
    ]


def groups_of(study: Study, plot: spec.Plot) -> dict[str, list[MeasuredCell]]:
    """The cells of each row, and those of all rows."""
    cells = [cell for cell in study.cells if _belongs(dict(cell), plot)]
    groups: dict[str, list[MeasuredCell]] = {}
    for cell in cells if plot.rows else []:
        groups.setdefault(units.parameter(dict(cell)[plot.rows]), []).append(cell)
    return groups | {TOTAL: cells}


def _belongs(cell: dict[str, Parameter], plot: spec.Plot) -> bool:
    if any(cell[name] == value for name, value in plot.against.items()):
        return False
    return all(cell[name] in values for name, values in plot.only.items())


def mean(study: Study, plot: spec.Plot, cells: list[MeasuredCell], name: str) -> Interval:
    """The geometric mean over the cells with values."""
    if plot.against:
        pairs = [(study.quotient(cell, name, plot.y, plot.against), cell) for cell in cells]
    else:
        pairs = [(study.pair(cell, study.baseline, name, plot.y), cell) for cell in cells]
    return stats.geometric_mean([study.keyed(pairs)])


def arithmetic(study: Study, plot: spec.Plot, cells: list[MeasuredCell], name: str) -> Entry:
    """The mean that P0213 prints: ratios above 1 weigh more in it than those below."""
    ratios = [mean(study, plot, [cell], name).estimate for cell in cells]
    known = [ratio for ratio in ratios if isfinite(ratio)]
    if not known:
        return Entry(units.NOTHING, title="no figure")
    return Entry((units.digits if plot.against else units.percent)(fmean(known)), small="no interval")


def _judged(study: Study, plot: spec.Plot, judged: Judged) -> Entry:
    ratio, metric = judged.ratio, study.metric(plot.y)
    if not isfinite(ratio.estimate):
        return Entry(units.NOTHING, title="no figure")
    percent = not plot.against
    text = units.percent(ratio.estimate) if percent else units.digits(ratio.estimate)
    small = bounds_of(ratio, percent=percent) if ratio.bounded else "no interval"
    return judged_entry(text, judged, metric, small, diverging(ratio))
