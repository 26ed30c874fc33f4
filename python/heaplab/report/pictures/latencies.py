"""Latencies of single operations by percentile, on an axis that spaces 90 %, 99 % and 99.9 % evenly."""

from math import isfinite

import matplotlib as mpl

from heaplab import stats
from heaplab.analysis import OPERATIONS, PERCENTILES, Study
from heaplab.report.pictures import canvas, marks
from heaplab.report.pictures.figures import Drawing, panels_of
from heaplab.report.pictures.palette import Style
from heaplab.report.pictures.timelines import MOST_PANELS
from heaplab.text import units

PLACES = [stats.nines(share) for share in PERCENTILES.values()]
NOTE = (
    "Sampled operations, the clock's own cost subtracted. "
    f"Medians over the processes with {stats.LEVEL} intervals."
)


def latencies(study: Study, styles: dict[str, Style]) -> list[Drawing]:
    """A figure for each operation whose latencies the runs sampled."""
    return [drawing for operation in OPERATIONS if (drawing := _figure(study, operation, styles))]


def _figure(study: Study, operation: str, styles: dict[str, Style]) -> Drawing | None:
    metrics = tuple(f"{operation}_latency_{name}" for name in PERCENTILES)
    panels = [
        (label, cell)
        for label, (cell,) in panels_of(study, [])
        if any(isfinite(study.median(cell, name, metrics[0]).estimate) for name in study.candidates)
    ][:MOST_PANELS]
    if not panels:
        return None
    with mpl.rc_context(canvas.STYLE):
        figure, axes = canvas.new(len(panels))
        for axis, (label, cell) in zip(axes, panels, strict=True):
            canvas.title(axis, label)
            for name in study.candidates:
                medians = [study.median(cell, name, metric) for metric in metrics]
                marks.banded_line(axis, list(zip(PLACES, medians, strict=True)), name, styles[name])
            axis.set_yscale("log")
            axis.yaxis.set_major_formatter(lambda value, _: units.show(value, "s"))
            axis.set_xticks(PLACES, [f"{100 * share:g} %" for share in PERCENTILES.values()])
            axis.set_xlabel("share of operations that took at most this")
        canvas.legend(figure, axes[0])
        alt = f"Latency of {operation} by percentile, one line per allocator: {study.experiment.title}"
        return Drawing(f"Latency of {operation}", canvas.to_svg(figure, alt), alt, metrics, NOTE)
