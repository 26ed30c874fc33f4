"""Two figures about a whole campaign: time against memory, and the baseline against itself."""

from math import isfinite, nan

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.patheffects import withStroke
from matplotlib.transforms import Bbox

from heaplab.analysis import MEMORY, Analysis, Study, Summary
from heaplab.report.pictures import canvas
from heaplab.report.pictures.figures import Drawing
from heaplab.report.pictures.marks import cross, unity
from heaplab.report.pictures.palette import CHROME, Style
from heaplab.report.words.wording import KINDS, front
from heaplab.stats import THRESHOLD, Interval


def trade_off(
    analysis: Analysis, kind: str, summaries: list[Summary], styles: dict[str, Style]
) -> Drawing | None:
    """Geometric means of time and peak memory with their intervals, and the Pareto front."""
    places = {analysis.baseline: (Interval(1, 1, 1), Interval(1, 1, 1))} | {
        s.allocator: (s.time.ratio, s.memory.ratio) for s in summaries if s.complete
    }
    places = {n: (t, m) for n, (t, m) in places.items() if isfinite(t.estimate) and isfinite(m.estimate)}
    if len(places) < 2:
        return None
    with mpl.rc_context(canvas.STYLE):
        figure, (axis,) = canvas.new(1, (4.7, 3.7))
        for name, (time, memory) in places.items():
            cross(axis, time, memory, styles[name], 8)
        unity(axis)
        points = {n: (t.estimate, m.estimate) for n, (t, m) in places.items()}
        # The Pareto front as steps: a point on the front beats every point above and to the right.
        if len(steps := [points[name] for name in front(points)]) > 1:
            xs, ys = zip(*steps, strict=True)
            axis.step(xs, ys, where="post", color=CHROME["good"], linewidth=6, alpha=0.22, zorder=0)
        axis.set_xlabel(f"time relative to {analysis.baseline}  (left is faster)")
        axis.set_ylabel(f"peak memory with page tables\nrelative to {analysis.baseline}  (down is leaner)")
        axis.margins(0.16)
        figure.draw_without_rendering()  # so that the axes have their place, and names theirs
        label_points(axis, points, styles)
        alt = f"Peak memory against time, {KINDS[kind]}: one cross per allocator; numbers in the table below."
        return Drawing("Time against memory", canvas.to_svg(figure, alt), alt, ())


def label_points(axis: Axes, points: dict[str, tuple[float, float]], styles: dict[str, Style]) -> None:
    """Names beside their points: on the first of SIDES on which no other name is in the way."""
    taken: list[Bbox] = []
    for name in sorted(points, key=lambda name: -points[name][1]):
        text = axis.annotate(
            name,
            points[name],
            SIDES[0],
            textcoords="offset points",
            color=styles[name].color,
            weight="bold",
            path_effects=HALO,
        )
        for side in (*SIDES, SIDES[0]):
            text.set_position(side)
            text.set_horizontalalignment("left" if side[0] > 0 else "right")
            place = text.get_window_extent()
            if not any(place.overlaps(other) for other in taken):
                break
        taken.append(place.padded(2))


SIDES = ((8, 7), (8, -13), (-8, 7), (-8, -13))  # from a point to its name, in points of 1/72 inch
HALO = [withStroke(linewidth=3, foreground=CHROME["surface"])]


def control(analysis: Analysis) -> Drawing | None:
    """The ratio of the control to the baseline in every cell, with its interval: noise alone."""
    rows = [
        (study, cell, time, memory)
        for study in analysis.studies
        for cell in study.cells
        if isfinite((time := study.ratio(cell, study.control, study.main_metric)).estimate)
        and isfinite((memory := study.ratio(cell, study.control, MEMORY)).estimate)
    ]
    if not rows:
        return None
    columns = {
        "main metric": [time for _, _, time, _ in rows],
        "peak memory with page tables": [memory for _, _, _, memory in rows],
    }
    with mpl.rc_context(canvas.STYLE):
        figure, axes = canvas.new(2, (9.6, 0.9 + max(1.1, min(0.17 * len(rows), 6.0))))
        for axis, (title, ratios) in zip(axes, columns.items(), strict=True):
            axis.set_title(title)
            edge = 100 * THRESHOLD
            axis.axvspan(-edge, edge, color=CHROME["good"], alpha=0.1, linewidth=0)
            axis.axvline(0, color=CHROME["muted"], linewidth=0.9)
            for place, ratio in enumerate(ratios):
                low, high = (ratio.low, ratio.high) if ratio.bounded else (nan, nan)
                ends = [100 * (low - 1), 100 * (high - 1)]
                axis.plot(ends, [place, place], color=CHROME["muted"], linewidth=1.3)
                axis.plot(100 * (ratio.estimate - 1), place, "o", color=CHROME["ink"], markersize=3.2)
            axis.set_xlabel(f"{analysis.baseline} against itself (%)")
            axis.set_ylim(len(rows) - 0.5, -0.5)
            axis.grid(visible=False, axis="y")
            _study_ticks(axis, [row[0] for row in rows])
        axes[1].set_yticklabels([])
        alt = "Ratio of the baseline to itself in every cell; the shaded band is the practical threshold."
        return Drawing("The baseline against itself", canvas.to_svg(figure, alt), alt, ())


def _study_ticks(axis: Axes, studies: list[Study]) -> None:
    """One label for each study, in the middle of its rows."""
    ids = [study.name for study in studies]
    places = {name: [i for i, other in enumerate(ids) if other == name] for name in dict.fromkeys(ids)}
    axis.set_yticks([sum(rows) / len(rows) for rows in places.values()], list(places))
    for rows in list(places.values())[:-1]:
        axis.axhline(rows[-1] + 0.5, color=CHROME["grid"], linewidth=0.8)
