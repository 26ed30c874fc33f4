"""Judgements of subsystems as a page: dimensions beside benchmarks, episodes over time, promises."""

from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
import numpy as np

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
        Chapter("episodes", "Episodes", drawings=times, tables=[local_tables.episodes(judged)]),
    ]
    confirmed = [judgement for judgement in judged if judgement.confirmed]
    if confirmed:
        promises = [promised(judgement) for judgement in confirmed]
        gains = [local_tables.gains(judged)]
        found.append(Chapter("gains", "Promised and confirmed", drawings=promises, tables=gains))
    return found


def dimensions(judgement: Judgement) -> Drawing:
    """A bar for each dimension; one that is not known has none."""
    known = judgement.measured.dimensions
    values = [dimension.value or 0.0 for dimension in known]
    places = np.arange(len(known))
    with mpl.rc_context(canvas.STYLE):
        figure, (axis,) = canvas.new(1)
        axis.bar(places - WIDTH / 2, values, WIDTH, color=OWN, label=judgement.name)
        if judgement.calibration:
            near = judgement.calibration.dimensions
            axis.bar(places + WIDTH / 2, near, WIDTH, color=NEAR, label=judgement.calibration.benchmark)
        names = [f"{d.letter} {d.name}" + ("" if d.value is not None else " (not known)") for d in known]
        axis.set_xticks(places, names)
        axis.set_ylim(0, 1)
        canvas.legend(figure, axis)
        alt = "; ".join(f"{d.name} {local_tables.level(d.value)}" for d in known)
        return Drawing(judgement.name, canvas.to_svg(figure, alt), alt, ())


def episodes(profile: Profile, judgement: Judgement) -> Drawing:
    """The largest episodes: from when to when, and the bytes of all their blocks."""
    largest = judgement.measured.of.largest
    most = max((episode.bytes for episode in largest), default=1)
    step = units.scale("B", most)
    clock = units.scale("s", profile.seconds) if profile.timed else units.scale("1", 1)
    with mpl.rc_context(canvas.STYLE):
        figure, (axis,) = canvas.new(1)
        for episode in largest:
            begin, end = (profile.time(stamp) / clock.factor for stamp in (episode.begin, episode.end))
            axis.hlines(episode.bytes / step.factor, begin, end, color=OWN, linewidth=3)
            axis.plot(begin, episode.bytes / step.factor, "|", color=OWN, markersize=9)
        axis.set_ylim(0, 1.1 * most / step.factor)
        axis.set_xlim(0, max(profile.time(profile.last_stamp) / clock.factor, 1e-9))
        axis.set_xlabel(f"time ({clock.label})" if profile.timed else "events")
        axis.set_ylabel(f"bytes of an episode ({step.label})")
        alt = f"the {len(largest)} largest of {judgement.measured.of.episodes} episodes of {judgement.name}"
        return Drawing(judgement.name, canvas.to_svg(figure, alt), alt, ())


def promised(judgement: Judgement) -> Drawing:
    """Seconds less: the promise for the first allocator, and what replays took less under each."""
    found = [(confirmed.allocator, confirmed.seconds) for confirmed in judgement.confirmed]
    promise = judgement.promised or (0.0, 0.0)
    rows = [("promised", (promise[0], sum(promise) / 2, promise[1]), NEAR)]
    rows += [(name, seconds, OWN) for name, seconds in found]
    step = units.scale("s", max(abs(value) for _, seconds, _ in rows for value in seconds) or 1.0)
    with mpl.rc_context(canvas.STYLE):
        figure, (axis,) = canvas.new(1)
        for place, (_, seconds, color) in enumerate(rows):
            axis.hlines(place, seconds[0] / step.factor, seconds[2] / step.factor, color=color, linewidth=4)
            axis.plot(seconds[1] / step.factor, place, "o", color=color)
        axis.axvline(0, color=CHROME["muted"], linewidth=1)
        axis.set_ylim(len(rows) - 0.5, -0.5)
        axis.set_yticks(range(len(rows)), [name for name, _, _ in rows])
        axis.set_xlabel(f"time less ({step.label})")
        alt = "; ".join(f"{name} {units.show(seconds[1], 's')}" for name, seconds, _ in rows)
        return Drawing(judgement.name, canvas.to_svg(figure, alt), alt, ())
