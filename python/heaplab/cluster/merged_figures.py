"""Figures of merged results: hosts as dots with the mean over all hosts, and curves over threads."""

from math import isfinite

import matplotlib as mpl
import numpy as np

from heaplab.cluster.host_ratios import THREADS, RatioOf
from heaplab.cluster.merged_sentences import WORDS, title_of
from heaplab.cluster.merging import Merged
from heaplab.report.pictures import canvas, marks, palette
from heaplab.report.pictures.figures import Drawing
from heaplab.report.words import wording
from heaplab.stats import Interval

HEIGHT = (0.9, 0.55)  # inches: of a figure without arms, and of each arm in it
SPREAD = 0.3  # part of a row's height over which dots are spread, to either side


def drawings(merged: Merged) -> list[Drawing]:
    return [figure for question in merged.questions() if (figure := strip(merged, *question))]


def strip(merged: Merged, group: str, kind: str, metric: str) -> Drawing | None:
    """A dot for every host, and the interval of the mean over them where there is one."""
    styles = palette.styles([merged.baseline, *merged.others])
    rows: dict[str, list[float]] = {}
    for name in merged.others:
        ratios = [host.ratios.get(RatioOf(metric, name, kind)) for host in merged.groups[group]]
        if known := [ratio[0].estimate for ratio in ratios if ratio and isfinite(ratio[0].estimate)]:
            rows[name] = known
    if not rows:
        return None
    with mpl.rc_context(canvas.STYLE):
        figure, (axis,) = canvas.new(1, (canvas.SINGLE[0], HEIGHT[0] + HEIGHT[1] * len(rows)))
        for row, (name, values) in enumerate(rows.items()):
            # A random spread with a fixed seed: the dots of many hosts would hide each other.
            shifts = np.random.default_rng(row).uniform(-SPREAD, SPREAD, len(values))
            axis.scatter(values, row + shifts, s=10, color=styles[name].color, alpha=0.45, linewidths=0)
            mean = merged.ratios[group][RatioOf(metric, name, kind)].mean
            if isfinite(mean.estimate) and mean.bounded:
                axis.plot([mean.low, mean.high], [row, row], color=palette.CHROME["ink"], linewidth=3)
                axis.plot([mean.estimate], [row], "|", color=palette.CHROME["ink"], markersize=14)
        axis.set_yticks(range(len(rows)), list(rows))
        axis.invert_yaxis()
        axis.set_xscale("log", base=2)
        marks.label_ratios(axis.xaxis)
        axis.axvline(1, color=palette.CHROME["muted"], linewidth=1)
        axis.set_xlabel(f"{WORDS[metric].title} relative to {merged.baseline}")
        place = f"{title_of(merged, group)}, {wording.KINDS[kind]}"
        alt = f"{WORDS[metric].title} of each arm on every host, {place}"
        title = f"{WORDS[metric].title}: {place}"
        return Drawing(title[0].upper() + title[1:], canvas.to_svg(figure, alt), alt, ())


def scaling(merged: Merged) -> list[Drawing]:
    """Curves over numbers of threads, relative to one: a figure for each kind of machine and cell."""
    figures = []
    for group, ratios in merged.scaling.items():
        places = dict.fromkeys((about.experiment, rest_of(about), about.metric) for about in ratios)
        for place in places:
            points: dict[str, list[tuple[float, Interval]]] = {}
            for about, over in ratios.items():
                if (about.experiment, rest_of(about), about.metric) == place:
                    threads = float(dict(about.cell)[THREADS])
                    points.setdefault(about.allocator, []).append((threads, over.mean.inverse()))
            figures.append(curve(merged, group, place[0], dict(place[1]), points))
    return figures


def rest_of(about: RatioOf) -> tuple[tuple[str, object], ...]:
    return tuple((name, value) for name, value in about.cell if name != THREADS)


def curve(
    merged: Merged,
    group: str,
    experiment: str,
    rest: dict[str, object],
    points: dict[str, list[tuple[float, Interval]]],
) -> Drawing:
    styles = palette.styles([merged.baseline, *merged.others])
    with mpl.rc_context(canvas.STYLE):
        figure, (axis,) = canvas.new(1)
        for name, curve_points in points.items():
            line = [(1.0, Interval(1.0, 1.0, 1.0)), *sorted(curve_points, key=lambda point: point[0])]
            marks.banded_line(axis, line, name, styles[name])
        threads = sorted({x for line in points.values() for x, _ in line} | {1.0})
        axis.set_xscale("log", base=2)
        axis.set_yscale("log", base=2)
        axis.set_xticks(threads, [f"{x:g}" for x in threads])
        marks.label_ratios(axis.yaxis)
        axis.set_xlabel("threads, each on a CPU of its own, by topology")
        axis.set_ylabel("speed relative to 1 thread")
        canvas.legend(figure, axis)
        where = ", ".join(f"{name} {value}" for name, value in rest.items())
        title = f"{title_of(merged, group)}: {' '.join(filter(None, (experiment, where)))}"
        alt = f"How {experiment} scales with threads on {group}, one line per arm"
        return Drawing(title, canvas.to_svg(figure, alt), alt, ())
