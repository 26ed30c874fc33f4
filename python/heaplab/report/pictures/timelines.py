"""Quantities over time: series of the sample as lines; several series, or the process's memory, stacked."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes

from heaplab import stats
from heaplab.analysis import MEMORY, MeasuredCell, Study
from heaplab.report.pictures import canvas
from heaplab.report.pictures.figures import Drawing, panels_of
from heaplab.report.pictures.palette import CHROME, Style
from heaplab.results import spec
from heaplab.results.records import Run
from heaplab.text import units

PROCESS = "process"  # the series that every process has: its memory, sampled from outside
LAYERS = ["#0072b2", "#d55e00", "#a87400", "#008a64", "#b0468f"]
OVER = [(None, None), (4, 1.5), (1.5, 1.2)]  # dashes of the lines over a stack
MOST_PANELS = 12

Points = Sequence[tuple[float, float]]


def typical(study: Study, cell: MeasuredCell, allocator: str) -> Run | None:
    """The run with the median peak memory (the upper of two): a real run, not a mixture of runs."""
    runs = sorted(
        (run for run in study.good.get((cell, allocator), {}).values() if run.process),
        key=lambda run: ((run.process and run.process.peak_memory) or 0, run.block),
    )
    return runs[len(runs) // 2] if runs else None


def points_of(run: Run, name: str) -> tuple[str, list[Points]]:
    """Unit and layers of a series: one layer for a series of the sample, two layers for PROCESS."""
    if name == PROCESS and run.process:
        memory = run.process.memory
        return "B", [[(t, resident) for t, resident, _ in memory], [(t, tables) for t, _, tables in memory]]
    if run.sample and name in run.sample.series:
        series = run.sample.series[name]
        return series.unit, [series.points]
    return "", []


def series(study: Study, plot: spec.Plot, styles: dict[str, Style]) -> Drawing | None:
    """A typical run of each allocator; None if no run has the series."""
    names = [name.strip() for name in plot.series.split(",")]
    stacked = len(names) > 1 or names == [PROCESS]
    return _stacked(study, plot, names) if stacked else _lines(study, names[0], styles)


def _lines(study: Study, name: str, styles: dict[str, Style]) -> Drawing | None:
    panels = panels_of(study, [])[:MOST_PANELS]
    layered = [
        (label, allocator, *points_of(run, name))
        for label, (cell,) in panels
        for allocator in study.candidates
        if (run := typical(study, cell, allocator))
    ]
    drawn = [(label, allocator, unit, layers[0]) for label, allocator, unit, layers in layered if layers]
    if not drawn:
        return None
    step = units.scale(drawn[0][2], max(value for *_, points in drawn for _, value in points))
    with mpl.rc_context(canvas.STYLE):
        figure, axes = canvas.new(len(panels))
        for axis, (label, _) in zip(axes, panels, strict=True):
            canvas.title(axis, label)
            for at, allocator, _, points in drawn:
                if at == label:
                    times, values = np.array(stats.thin(points)).T
                    style = styles[allocator]
                    axis.plot(
                        times,
                        values / step.factor,
                        color=style.color,
                        dashes=style.dash or (None, None),
                        lw=1.4,
                        label=allocator,
                    )
            _time_axis(axis, f"{name} ({step.label})")
        alt = f"{name} over time, one line per allocator: {study.experiment.title}"
        canvas.legend(figure, axes[0])
        return Drawing(f"{name} over time".capitalize(), canvas.to_svg(figure, alt), alt, (MEMORY,), NOTE)


@dataclass(frozen=True)
class StackedPanel:
    """The contents of one panel: the layers of a stack, and the lines over it."""

    allocator: str
    unit: str
    layers: list[Points]
    lines: list[Points]

    @property
    def top(self) -> float:
        """The largest value that the panel must show."""
        stack = sum(max(value for _, value in layer) for layer in self.layers)
        return max([stack, *(value for line in self.lines for _, value in line)])

    @property
    def last(self) -> float:
        return max(time for time, _ in self.layers[0])


def _course(study: Study, allocator: str, names: list[str], over: list[str]) -> StackedPanel | None:
    run = typical(study, study.cells[-1], allocator)
    if not run:
        return None
    layers = [layer for name in names for layer in points_of(run, name)[1]]
    lines = [line for name in over for line in points_of(run, name)[1]]
    complete = layers and all(layers) and all(lines)
    return StackedPanel(allocator, points_of(run, names[0])[0], layers, lines) if complete else None


def _stacked(study: Study, plot: spec.Plot, names: list[str]) -> Drawing | None:
    """A panel for each allocator, in the last cell: many areas in one panel would be unreadable."""
    cell = study.cells[-1]
    labels = ["resident", "page tables"] if names == [PROCESS] else names
    over = [name.strip() for name in plot.over.split(",") if name.strip()]
    courses = [c for name in study.candidates if (c := _course(study, name, names, over))]
    if not courses:
        return None
    highest, last = max(course.top for course in courses), max(course.last for course in courses)
    with mpl.rc_context(canvas.STYLE):
        figure, axes = canvas.new(len(courses))
        for axis, course in zip(axes, courses, strict=True):
            top = course.top if plot.own_scale else highest
            step = units.scale(course.unit, top)
            axis.set_title(course.allocator)
            _areas(axis, course.layers, labels, step.factor)
            for line, label, dashes in zip(course.lines, over, OVER, strict=False):
                times, values = np.array(stats.thin(line)).T
                ink = CHROME["ink"]
                axis.plot(times, values / step.factor, color=ink, dashes=dashes, lw=1.2, label=label)
            axis.set_ylim(0, top / step.factor * 1.05)
            _time_axis(axis, f"memory ({step.label})")
            axis.set_xlim(0, last)
        canvas.legend(figure, axes[0])
        where = ", ".join(f"{name} {units.parameter(value)}" for name, value in cell)
        alt = f"Memory over time as stacked areas, one panel per allocator: {study.experiment.title}"
        title = f"Memory over time{f' at {where}' if where else ''}"
        note = f"{NOTE} Every panel has a scale of its own." if plot.own_scale else NOTE
        return Drawing(title, canvas.to_svg(figure, alt), alt, (MEMORY,), note)


NOTE = "Each course is that of the run with the median peak."


def _areas(axis: Axes, layers: list[Points], labels: list[str], factor: float) -> None:
    """Layers, drawn at the points in time of the first layer."""
    times = np.array([t for t, _ in stats.thin(layers[0])])
    below = np.zeros(len(times))
    for layer, label, color in zip(layers, labels, LAYERS, strict=False):
        clock, values = np.array(layer).T
        above = below + np.interp(times, clock, values) / factor
        axis.fill_between(times, below, above, color=color, alpha=0.75, linewidth=0, label=label)
        below = above


def _time_axis(axis: Axes, title: str) -> None:
    axis.set_xlabel("time (s)")
    axis.set_ylabel(title)
    axis.set_ylim(bottom=0)
    axis.set_xlim(left=0)
    axis.spines["bottom"].set_color(CHROME["muted"])
    assert isfinite(axis.get_ylim()[1])
