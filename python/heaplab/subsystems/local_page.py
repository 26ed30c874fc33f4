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
from heaplab.subsystems.judgement import Judgement
from heaplab.subsystems.resources import Resource
from heaplab.text import units
from heaplab.trace_report.trace_page import Chapter, write_page
from heaplab.traces.profile import Profile

OWN, NEAR = HUES[0][0], HUES[1][0]
WIDTH = 0.38  # of a bar
OF_EPISODES = "A line reaches from the first block of an episode to its last release."
OF_GAINS = (
    "A line reaches from the least to the most; a dot is the median, or the middle of what is promised."
)


def write_html(
    profile: Profile,
    judged: Sequence[Judgement],
    used: Sequence[Resource],
    warnings: Sequence[str],
    path: Path,
) -> None:
    """Raises HeaplabError if the file cannot be written."""
    lines = [local_tables.sentence(judgement) for judgement in judged] or [local_tables.NOTHING_FOUND]
    vetoes = [
        (judgement.name, local_tables.veto_line(veto)) for judgement in judged for veto in judgement.vetoes
    ]
    also = [("also", line) for line in (*lines[1:], *(resource.sentence for resource in used))]
    write_page(path, profile, lines[0], [*also, *vetoes], warnings, chapters(profile, judged))


def chapters(profile: Profile, judged: Sequence[Judgement]) -> list[Chapter]:
    if not judged:
        return []
    bars = [dimensions(judgement) for judgement in judged]
    times = [episodes(profile, judgement) for judgement in judged]
    found = [
        Chapter("dimensions", "Five dimensions", drawings=bars, tables=[local_tables.dimensions(judged)]),
        Chapter("episodes", "Episodes", [OF_EPISODES], times, tables=[local_tables.episodes(judged)]),
    ]
    confirmed = [judgement for judgement in judged if judgement.confirmed]
    if confirmed:
        promises = [promised(judgement) for judgement in confirmed]
        gains = [local_tables.gains(judged)]
        found.append(Chapter("gains", "Promised and confirmed", [OF_GAINS], promises, tables=gains))
    return found


def dimensions(judgement: Judgement) -> Drawing:
    """A bar with its value for each dimension; one that is not known has none."""
    known = judgement.measured.dimensions
    bars = [(judgement.name, OWN, [dimension.value for dimension in known])]
    if judgement.calibration:
        near = judgement.calibration
        bars.append((f"the nearest benchmark: {near.name}", NEAR, list(near.dimensions)))
    places = np.arange(len(known))
    with mpl.rc_context(canvas.STYLE):
        figure, (axis,) = canvas.new(1)
        for side, (label, color, values) in zip((-0.5, 0.5), bars, strict=False):
            drawn = axis.bar(
                places + side * WIDTH, [x or 0.0 for x in values], WIDTH, color=color, label=label
            )
            axis.bar_label(drawn, ["" if x is None else f"{x:.2f}" for x in values], fontsize=7)
        names = [f"{d.letter} {d.name}" + ("" if d.value is not None else " (not known)") for d in known]
        axis.set_xticks(places, names)
        axis.set_ylim(0, 1.08)  # with room for the value of a whole bar
        canvas.legend(figure, axis)
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
    found = [(confirmed.allocator, confirmed.seconds) for confirmed in judgement.confirmed]
    promise = judgement.promised or (0.0, 0.0)
    rows = [(f"promised above {found[0][0]}", (promise[0], sum(promise) / 2, promise[1]), NEAR)]
    rows += [(f"confirmed above {name}", seconds, OWN) for name, seconds in found]
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
