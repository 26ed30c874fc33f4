"""Pictures of ratios over time: a line with intervals for each subject, a panel for each place."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator

from heaplab import stats
from heaplab.atlas.many_campaigns import Dated
from heaplab.report.pictures import canvas, marks, palette
from heaplab.report.pictures.figures import Drawing
from heaplab.report.pictures.palette import Style

DAY_S = 86_400
DAYS_LEAST = 6  # shortest axis, which has dates even if all campaigns are of one day
POINTS_MOST = 40  # points of a line; of more points the lowest and highest of each stretch
Lines = Mapping[str, Sequence[Dated]]  # by name, the oldest first


def over_time(title: str, panels: Mapping[str, Lines], styles: Mapping[str, Style]) -> Drawing | None:
    """The picture; None if no ratio has an interval."""
    panels = {place: known for place, lines in panels.items() if (known := with_intervals(lines))}
    if not panels:
        return None
    with mpl.rc_context(canvas.STYLE):
        figure, axes = canvas.new(len(panels))
        for axis, (place, lines) in zip(axes, panels.items(), strict=True):
            if len(panels) > 1:
                axis.set_title(place, wrap=True, fontsize=7.5)
            for name, line in lines.items():
                draw(axis, name, line, styles[name])
            scales(axis)
        canvas.legend(figure, *axes)
        alt = f"{title}: ratio to the baseline over time, with intervals. Numbers in the tables."
        return Drawing(title, canvas.to_svg(figure, alt), alt, ())


def with_intervals(lines: Lines) -> Lines:
    """Only the ratios that have an interval: without an interval a ratio may be noise."""
    known = {
        name: [dated for dated in line if dated.ratio.judged.ratio.bounded] for name, line in lines.items()
    }
    return {name: line for name, line in known.items() if line}


def draw(axis: Axes, name: str, line: Sequence[Dated], style: Style) -> None:
    """A line with its interval as a band, and a marker at each new build."""
    points = {datetime.fromisoformat(each.campaign.started).timestamp() / DAY_S: each for each in line}
    estimates = [(day, each.ratio.judged.ratio.estimate) for day, each in points.items()]
    shown = [(day, points[day]) for day, _ in stats.thin(estimates, POINTS_MOST)]
    marks.banded_line(axis, [(day, dated.ratio.judged.ratio) for day, dated in shown], name, style)
    before = ["", *(dated.build for _, dated in shown)]
    axis.lines[-1].set_markevery([at for at, (_, dated) in enumerate(shown) if dated.build != before[at]])
    if len(shown) == 1:  # the band of a single point has no width
        [(day, each)] = shown
        ratio = each.ratio.judged.ratio
        axis.plot([day, day], [ratio.low, ratio.high], color=style.color, linewidth=1.1)


def scales(axis: Axes) -> None:
    axis.set_yscale("log", base=2)
    marks.label_ratios(axis.yaxis)
    axis.axhline(1, color=palette.CHROME["muted"], linewidth=0.9, linestyle=(0, (4, 3)), zorder=0)
    left, right = axis.dataLim.intervalx  # the limits of the axis are years apart around a single point
    margin = max(0.1 * (right - left), DAYS_LEAST - (right - left)) / 2
    axis.set_xlim(left - margin, right + margin)
    axis.xaxis.set_major_locator(MaxNLocator(nbins=3, integer=True))
    dates = FuncFormatter(lambda day, _: datetime.fromtimestamp(day * DAY_S, UTC).date().isoformat())
    axis.xaxis.set_major_formatter(dates)
