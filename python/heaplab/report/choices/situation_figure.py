"""The figure of all situations: every family of candidates against the reference in each situation."""

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from heaplab.report.choices.situations import Family
from heaplab.report.pictures import canvas
from heaplab.report.pictures.figures import Drawing
from heaplab.report.pictures.palette import CHROME
from heaplab.stats import Interval

DECADES = 100  # an axis whose ends have at least this ratio labels only powers of ten
ROW = 0.42  # inches for each family
SPREAD = 0.26  # share of a row's height over which its situations are spread, so that none hides another


def figure(families: list[Family], reference: str) -> Drawing | None:
    """A row for each family: a dot for each situation, and below them the geometric mean of all."""
    if not families:
        return None
    with mpl.rc_context(canvas.STYLE):
        drawn, (axis,) = canvas.new(1, (4.7, 1.0 + ROW * len(families)))
        axis.set_xscale("log")
        axis.axvline(1, color=CHROME["muted"], linewidth=0.9)
        for row, family in enumerate(families):
            _row(axis, row, family)
        axis.set_yticks(range(len(families)), [family.name for family in families])
        axis.set_ylim(len(families) - 0.5, -0.5)
        axis.grid(visible=False, axis="y")
        low, high = axis.get_xlim()
        axis.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < DECADES * low else (1,)))
        axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}×"))
        axis.xaxis.set_minor_formatter(NullFormatter())
        axis.set_xlabel(f"time relative to {reference}  (left is faster)")
        alt = "Time relative to the reference: a dot for each situation, a diamond for the mean of a family."
        return Drawing("Each dot a situation, each diamond a mean", canvas.to_svg(drawn, alt), alt, ())


def _row(axis: Axes, row: int, family: Family) -> None:
    ratios = [ratio for _, ratio in family.ratios]
    for place, ratio in enumerate(ratios):
        height = row - SPREAD + (2 * SPREAD - 0.12) * place / max(len(ratios) - 1, 1)
        _reach(axis, height, ratio, CHROME["muted"], 0.8)
        axis.plot(ratio.estimate, height, "o", color=CHROME["muted"], markersize=2.6)
    mean = family.mean()
    _reach(axis, row + SPREAD, mean, CHROME["ink"], 1.6)
    axis.plot(mean.estimate, row + SPREAD, "D", color=CHROME["ink"], markersize=4.5)


def _reach(axis: Axes, height: float, ratio: Interval, color: str, width: float) -> None:
    """The interval, where there is one."""
    if ratio.bounded:
        axis.plot([ratio.low, ratio.high], [height, height], color=color, linewidth=width)
