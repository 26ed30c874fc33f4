"""The units of a study's metrics."""

from math import isfinite

from heaplab.analysis import Study
from heaplab.text.units import DisplayUnit, scale


def common_scale(study: Study, metric: str) -> DisplayUnit:
    """One unit for all panels and tables of a metric."""
    medians = [study.median(cell, name, metric).estimate for cell in study.cells for name in study.candidates]
    largest = max((abs(m) for m in medians if isfinite(m)), default=0.0)
    return scale(study.metric(metric).unit, largest)
