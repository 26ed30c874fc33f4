"""Quantities over time: a series of the sample as lines, several of them or the process's memory stacked."""

from collections.abc import Sequence
from math import isfinite

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes

from heaplab import spec, stats
from heaplab.analysis import MEMORY, Cell, Study
from heaplab.records import Run
from heaplab.report import canvas, units
from heaplab.report.figures import Drawing, panels_of
from heaplab.report.palette import CHROME, Look

PROCESS = "process"  # the series every process has: what the runner sampled from outside
LAYERS = ["#0072b2", "#d55e00", "#a87400", "#008a64", "#b0468f"]
MOST_PANELS = 12

Points = Sequence[tuple[float, float]]


def typical(study: Study, cell: Cell, allocator: str) -> Run | None:
    """The run whose peak memory is the median one (the upper of two): a real course of events, no mixture."""
    runs = sorted(
        (run for run in study.good.get((cell, allocator), {}).values() if run.process),
        key=lambda run: (run.process.peak_memory if run.process else 0, run.block),
    )
    return runs[len(runs) // 2] if runs else None


def points_of(run: Run, name: str) -> tuple[str, list[Points]]:
    """Unit and layers of a series: one for a series of the sample, two for PROCESS."""
    if name == PROCESS and run.process:
        memory = run.process.memory
        return "B", [[(t, resident) for t, resident, _ in memory], [(t, tables) for t, _, tables in memory]]
    if run.sample and name in run.sample.series:
        series = run.sample.series[name]
        return series.unit, [series.points]
    return "", []


def series(study: Study, plot: spec.Plot, looks: dict[str, Look]) -> Drawing | None:
    """The course of a typical run of each allocator; None where no run has the series."""
    names = [name.strip() for name in plot.series.split(",")]
    return _stacked(study, names) if len(names) > 1 or names == [PROCESS] else _lines(study, names[0], looks)


def _lines(study: Study, name: str, looks: dict[str, Look]) -> Drawing | None:
    panels = panels_of(study, [])[:MOST_PANELS]
    drawn = [
        (label, allocator, *points_of(run, name))
        for label, (cell,) in panels
        for allocator in study.allocators
        if (run := typical(study, cell, allocator))
    ]
    drawn = [(label, allocator, unit, layers[0]) for label, allocator, unit, layers in drawn if layers]
    if not drawn:
        return None
    step = units.scale(drawn[0][2], max(value for *_, points in drawn for _, value in points))
    with mpl.rc_context(canvas.STYLE):
        figure, axes = canvas.new(len(panels))
        for axis, (label, _) in zip(axes, panels, strict=True):
            axis.set_title(label)
            for at, allocator, _, points in drawn:
                if at == label:
                    times, values = np.array(stats.thin(points)).T
                    look = looks[allocator]
                    axis.plot(
                        times,
                        values / step.factor,
                        color=look.color,
                        dashes=look.dash or (None, None),
                        lw=1.4,
                        label=allocator,
                    )
            _time_axis(axis, f"{name} ({step.label})")
        alt = f"{name} over time, one line per allocator: {study.experiment.title}"
        canvas.legend(figure, axes[0])
        return Drawing(f"{name} over time".capitalize(), canvas.to_svg(figure, alt), alt, (MEMORY,), NOTE)


def _stacked(study: Study, names: list[str]) -> Drawing | None:
    """A panel for each allocator, in the first cell: many areas in one panel could not be read."""
    cell = study.cells[-1]
    labels = ["resident", "page tables"] if names == [PROCESS] else names
    panels = []
    for allocator in study.allocators:
        run = typical(study, cell, allocator)
        layers = [layer for name in names for layer in points_of(run, name)[1]] if run else []
        if run and layers and all(layers):
            panels.append((allocator, points_of(run, names[0])[0], layers))
    if not panels:
        return None
    top = max(sum(max(v for _, v in layer) for layer in layers) for _, _, layers in panels)
    last = max(t for _, _, layers in panels for t, _ in layers[0])
    step = units.scale(panels[0][1], top)
    with mpl.rc_context(canvas.STYLE):
        figure, axes = canvas.new(len(panels))
        for axis, (allocator, _, layers) in zip(axes, panels, strict=True):
            axis.set_title(allocator)
            _areas(axis, layers, labels, step.factor)
            axis.set_ylim(0, top / step.factor * 1.05)
            _time_axis(axis, f"memory ({step.label})")
            axis.set_xlim(0, last)
        canvas.legend(figure, axes[0])
        where = ", ".join(f"{name} {units.parameter(value)}" for name, value in cell)
        alt = f"Memory over time as stacked areas, one panel per allocator: {study.experiment.title}"
        title = f"Memory over time{f' at {where}' if where else ''}"
        return Drawing(title, canvas.to_svg(figure, alt), alt, (MEMORY,), NOTE)


NOTE = "Each course is that of the run with the median peak."


def _areas(axis: Axes, layers: list[Points], labels: list[str], factor: float) -> None:
    """Layers on a common clock: that of the first."""
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
