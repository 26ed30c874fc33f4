"""Measured ratios beside those a publication prints: a panel for each row of its table."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

import matplotlib as mpl
from matplotlib.axes import Axes

from heaplab.report.pictures import canvas, marks
from heaplab.report.pictures.palette import BASELINE, CHROME, HUES
from heaplab.stats import LEVEL, Interval
from heaplab.text import units

HERE, PUBLISHED = HUES[0][0], BASELINE[0]
WITH_INTERVAL = f", with its {LEVEL} interval"


@dataclass(frozen=True)
class Panel:
    label: str
    columns: list[str]
    here: list[Interval]
    published: list[float | None]


def beside(panels: Sequence[Panel], *, percent: bool, across: str, relative_to: str, alt: str) -> str:
    """An SVG: what was measured as points with intervals, what is published as a hollow line."""
    with mpl.rc_context(canvas.STYLE):
        figure, axes = canvas.new(len(panels))
        for place, (axis, panel) in enumerate(zip(axes, panels, strict=True)):
            _draw(axis, panel, percent=percent)
            axis.set_xlabel(across)
            if place % canvas.MOST_ACROSS == 0:
                axis.set_ylabel(f"relative to {relative_to}")
        canvas.legend(figure, *axes)
        return canvas.to_svg(figure, alt)


def _draw(axis: Axes, panel: Panel, *, percent: bool) -> None:
    canvas.title(axis, panel.label)
    axis.set_yscale("log", base=2)
    axis.yaxis.set_major_formatter(
        lambda value, _: units.percent(value) if percent else f"{units.digits(value)}×"
    )
    printed = [(x, value) for x, value in enumerate(panel.published) if value is not None]
    axis.plot(
        [x for x, _ in printed],
        [value for _, value in printed],
        color=PUBLISHED,
        marker="o",
        markerfacecolor="none",
        markersize=7,
        linewidth=0.9,
        linestyle=(0, (4, 3)),
        label="as published",
    )
    for x, here in enumerate(panel.here):
        if isfinite(here.estimate):
            axis.errorbar(
                x,
                here.estimate,
                yerr=marks.whisker(here, 1) if here.bounded else None,
                fmt="s",
                color=HERE,
                elinewidth=1.1,
                capsize=2.5,
                label=f"measured here{WITH_INTERVAL if here.bounded else ''}",
            )
    axis.axhline(1, color=CHROME["muted"], linewidth=0.9, linestyle=(0, (1, 2)), zorder=0)
    turned = len(panel.columns) > 9
    axis.set_xticks(range(len(panel.columns)), panel.columns, rotation=90 if turned else 0, fontsize=7)
