"""The parts of figures: lines with bands, points with crosses, and the areas behind them."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite, sqrt

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import XAxis, YAxis
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

from heaplab.analysis import MeasuredCell, Study
from heaplab.report.pictures.palette import CHROME, Style
from heaplab.stats import Interval

WHISKER = {"ecolor": CHROME["ink"], "elinewidth": 1.1, "capsize": 2.5}
# The mark of a ratio by the bound that a publication states; it points to where the ratio may lie.
STATED = {"about": "o", "at most": "v", "at least": "^"}


@dataclass(frozen=True)
class StatedPoint:
    """The place in a figure that follows for an allocator from a ratio stated in a publication."""

    metric: str
    cell: MeasuredCell
    allocator: str
    value: float
    bound: str  # one of STATED


def draw_stated_points(
    axis: Axes, points: Sequence[tuple[float, StatedPoint]], styles: dict[str, Style], factor: float
) -> None:
    """Hollow marks, one for each stated point at its x."""
    for x, point in points:
        axis.plot(
            [x],
            [point.value / factor],
            marker=STATED[point.bound],
            linestyle="none",
            markersize=9,
            markerfacecolor="none",
            markeredgewidth=1.3,
            color=styles[point.allocator].color,
            label=f"published: {point.bound}",
        )


def banded_line(
    axis: Axes, points: Sequence[tuple[float, Interval]], name: str, style: Style, factor: float = 1
) -> None:
    """Estimates with a band for their intervals, divided by `factor`. Unknown values are left out."""
    known = [(x, y) for x, y in points if isfinite(y.estimate)]
    axis.plot(
        [x for x, _ in known],
        [y.estimate / factor for _, y in known],
        color=style.color,
        marker=style.marker,
        dashes=style.dash or (None, None),
        label=name,
        markeredgecolor=CHROME["surface"],
        markeredgewidth=0.6,
    )
    banded = [(x, y) for x, y in known if isfinite(y.low) and isfinite(y.high)]
    axis.fill_between(
        [x for x, _ in banded],
        [y.low / factor for _, y in banded],
        [y.high / factor for _, y in banded],
        color=style.color,
        alpha=0.16,
        linewidth=0,
    )


def shade_oversubscribed(axis: Axes, study: Study, cells: list[MeasuredCell], places: list[float]) -> None:
    """Grey areas behind the cells in which threads share CPUs. `places` are the cells' x, ascending."""
    shared = [place for cell, place in zip(cells, places, strict=True) if study.oversubscribed(cell)]
    below = [place for place in places if shared and place < min(shared)]
    if not below:
        return
    ends = (max(below), min(shared))
    left = sqrt(ends[0] * ends[1]) if axis.get_xscale() == "log" else sum(ends) / 2
    right = axis.get_xlim()[1]
    axis.axvspan(left, right, color=CHROME["muted"], alpha=0.09, linewidth=0, zorder=0)
    axis.set_xlim(right=right)
    axis.annotate(
        f"more threads than the {study.cpus} CPUs",
        (1, 1),
        (0, 2),
        xycoords="axes fraction",
        textcoords="offset points",
        ha="right",
        va="bottom",
        size=7,
        color=CHROME["muted"],
    )


def whisker(median: Interval, factor: float) -> np.ndarray:
    """Lengths below and above the median, for matplotlib; zeros without an interval."""
    if not (isfinite(median.low) and isfinite(median.high)):
        return np.zeros((2, 1))
    return np.array([[median.estimate - median.low], [median.high - median.estimate]]) / factor


def cross(axis: Axes, x: Interval, y: Interval, style: Style, size: float = 5) -> None:
    """A point with the intervals of both coordinates."""
    if not (isfinite(x.estimate) and isfinite(y.estimate)):
        return
    axis.errorbar(
        x.estimate,
        y.estimate,
        xerr=whisker(x, 1) if x.bounded else None,
        yerr=whisker(y, 1) if y.bounded else None,
        fmt=style.marker,
        color=style.color,
        ecolor=style.color,
        elinewidth=1,
        markersize=size,
        markeredgecolor=CHROME["surface"],
        markeredgewidth=0.7,
    )


def logarithmic(which: YAxis) -> None:
    """A logarithmic scale with round numbers, written as a reader says them; none where nothing is drawn."""
    if not isfinite(which.get_minpos()):
        return
    which.axes.set_yscale("log")
    which.set_major_locator(LogLocator(subs=(1, 2, 5)))
    which.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    which.set_minor_locator(NullLocator())


def label_ratios(which: XAxis | YAxis) -> None:
    """A few round ratios along an axis, whatever its scale."""
    which.set_minor_locator(NullLocator())
    which.set_major_locator(MaxNLocator(nbins=6, steps=[1, 2, 2.5, 5, 10]))
    which.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}×"))


def unity(axis: Axes) -> None:
    """A line at the baseline's ratio 1; axes on which double and half have equal room."""
    axis.set_xscale("log", base=2)
    axis.set_yscale("log", base=2)
    for which in (axis.xaxis, axis.yaxis):
        label_ratios(which)
    axis.axhline(1, color=CHROME["muted"], linewidth=0.9, linestyle=(0, (4, 3)), zorder=0)
    axis.axvline(1, color=CHROME["muted"], linewidth=0.9, linestyle=(0, (4, 3)), zorder=0)
