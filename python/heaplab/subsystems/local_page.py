"""Judgements of subsystems as a page: dimensions beside benchmarks, episodes over time, promises."""

from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.ticker import FuncFormatter

from heaplab.report.pictures import canvas
from heaplab.report.pictures.figures import Drawing
from heaplab.report.pictures.palette import CHROME, HUES
from heaplab.subsystems import local_tables
from heaplab.subsystems.benchmarks import Corners
from heaplab.subsystems.judgement import Judgement
from heaplab.subsystems.resources import Resource
from heaplab.text import units
from heaplab.traces.profile import Profile
from heaplab.tracing.trace_page import Chapter, write_page

OWN, NEAR = HUES[0][0], HUES[1][0]
THICK, THIN = 0.24, 0.13  # of bars: a subsystem's, a benchmark's
TALL = (3.6, 6.6)  # inches: what a telephone shows in full size
UNKNOWN = "\n(not known)"
OF_DIMENSIONS = "A thick bar is the subsystem's, thin ones are Benchmarks I to V, from top to bottom."
OF_EPISODES = "A line reaches from the first block of an episode to its last release."
OF_GAINS = (
    "A line reaches from the least to the most; a dot is the median, or the middle of what is promised."
)


def write_html(
    profile: Profile,
    judged: Sequence[Judgement],
    used: Sequence[Resource],
    corners: Corners,
    warnings: Sequence[str],
    path: Path,
) -> None:
    """Raises HeaplabError if the file cannot be written."""
    lines = [local_tables.sentence(judgement) for judgement in judged] or [local_tables.NOTHING_FOUND]
    vetoes = [
        (judgement.name, local_tables.veto_line(veto)) for judgement in judged for veto in judgement.vetoes
    ]
    also = [("also", line) for line in (*lines[1:], *(resource.sentence for resource in used))]
    write_page(path, profile, lines[0], [*also, *vetoes], warnings, chapters(profile, judged, corners))


def chapters(profile: Profile, judged: Sequence[Judgement], corners: Corners) -> list[Chapter]:
    if not judged:
        return []
    bars = [dimensions(judgement, corners) for judgement in judged]
    times = [episodes(profile, judgement) for judgement in judged]
    parts = [
        Chapter(
            "dimensions",
            "Five dimensions",
            [OF_DIMENSIONS],
            bars,
            tables=[local_tables.dimensions(judged, corners)],
        ),
        Chapter("episodes", "Episodes", [OF_EPISODES], times, tables=[local_tables.episodes(judged)]),
    ]
    confirmed = [judgement for judgement in judged if judgement.confirmed]
    if confirmed:
        promises = [promised(judgement) for judgement in confirmed]
        gains = [local_tables.gains(judged), local_tables.told(judged)]
        parts.append(Chapter("gains", "Promised and confirmed", [OF_GAINS], promises, tables=gains))
    return parts


def dimensions(judgement: Judgement, corners: Corners) -> Drawing:
    """A thick bar with its value for each dimension, below it a thin one for each benchmark.

    A dimension that is not known has no thick bar.
    """
    known = judgement.measured.dimensions
    with mpl.rc_context(canvas.STYLE):
        figure, (axis,) = canvas.new(1, TALL)
        places = np.arange(len(known))
        drawn = axis.barh(places, [d.value or 0.0 for d in known], THICK, color=OWN)
        axis.bar_label(drawn, ["" if d.value is None else f"{d.value:.2f}" for d in known], padding=2)
        for row, (number, corner) in enumerate(corners.items()):
            lower = places + THICK / 2 + THIN * (row + 0.7)
            thin = axis.barh(lower, corner, 0.6 * THIN, color=NEAR, alpha=0.6)
            axis.bar_label(thin, [f"{number} {value:.2f}" for value in corner], padding=2, fontsize=7)
        axis.set_yticks(
            places, [f"{d.letter} {d.name}" + ("" if d.value is not None else UNKNOWN) for d in known]
        )
        axis.set_xlim(0, 1.25)  # with room for the value of a whole bar
        axis.set_xticks([0, 0.5, 1])
        axis.invert_yaxis()
        alt = "; ".join(f"{d.name} {local_tables.level(d.value)}" for d in known)
        return Drawing(judgement.name, canvas.to_svg(figure, alt), alt, ())


def episodes(profile: Profile, judgement: Judgement) -> Drawing:
    """The largest episodes: from when to when, and the bytes of all their blocks."""
    largest = judgement.measured.of.largest
    clock = units.scale("s", profile.seconds) if profile.timed else units.scale("1", 1)
    with mpl.rc_context(canvas.STYLE):
        figure, (axis,) = canvas.new(1)
        for episode in largest:
            begin, end = (profile.time(stamp) / clock.factor for stamp in (episode.begin, episode.end))
            axis.hlines(episode.bytes, begin, end, color=OWN, linewidth=3)
            axis.plot(begin, episode.bytes, "|", color=OWN, markersize=9)
        axis.set_yscale("log", base=2)
        axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: units.show(value, "B")))
        axis.set_xlim(0, max(profile.time(profile.last_stamp) / clock.factor, 1e-9))
        axis.set_xlabel(f"time ({clock.label})" if profile.timed else "events")
        axis.set_ylabel("bytes of an episode")
        alt = f"the {len(largest)} largest of {judgement.measured.of.episodes} episodes of {judgement.name}"
        return Drawing(alt, canvas.to_svg(figure, alt), alt, ())


def promised(judgement: Judgement) -> Drawing:
    """Seconds less: the promise above the first allocator, and what replays above each confirm."""
    confirmed_times = [(confirmed.allocator, confirmed.seconds) for confirmed in judgement.confirmed]
    promise = judgement.promised or (0.0, 0.0)
    rows = [(f"promised above {confirmed_times[0][0]}", (promise[0], sum(promise) / 2, promise[1]), NEAR)]
    rows += [(f"confirmed above {name}", seconds, OWN) for name, seconds in confirmed_times]
    step = units.scale("s", max(abs(value) for _, seconds, _ in rows for value in seconds) or 1.0)
    with mpl.rc_context(canvas.STYLE):
        figure, (axis,) = canvas.new(1)
        for place, (_, seconds, color) in enumerate(rows):
            axis.hlines(place, seconds[0] / step.factor, seconds[2] / step.factor, color=color, linewidth=4)
            axis.plot(seconds[1] / step.factor, place, "o", color=color, markersize=8)
        axis.axvline(0, color=CHROME["muted"], linewidth=1)
        axis.set_ylim(len(rows) - 0.5, -0.5)
        axis.set_yticks(range(len(rows)), [name for name, _, _ in rows])
        axis.set_xlabel(f"time less ({step.label})")
        alt = "; ".join(f"{name} {units.show(seconds[1], 's')}" for name, seconds, _ in rows)
        return Drawing(judgement.name, canvas.to_svg(figure, alt), alt, ())
