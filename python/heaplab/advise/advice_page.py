"""An advice as one self-contained HTML file: the verdict, memory over time, maps of pages, tables."""

from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.colors import to_rgb
from matplotlib.patches import Patch

from heaplab.advise import holding_tables
from heaplab.advise.answer import Evidence, HolderAnswer
from heaplab.advise.census import PARTS, Replays
from heaplab.advise.growth import SiteGrowth
from heaplab.advise.sentences import sentence, when
from heaplab.report.pictures import canvas
from heaplab.report.pictures.figures import Drawing
from heaplab.report.pictures.palette import CHROME, HUES
from heaplab.text import units
from heaplab.tracing.trace_page import Chapter, write_page

# Live and rounding are blue, pinned orange, retained purple, the allocator's own grey.
COLORS = dict(zip(PARTS, (HUES[0][0], HUES[7][0], HUES[1][0], HUES[3][0], "#55606e"), strict=True))
# What the pages of a census cell hold: live blocks, few blocks that pin them, nothing.
PAGE_COLORS = {"used": COLORS["live"], "pinned": COLORS["pinned"], "retained": COLORS["retained"]}
ACROSS = 48  # cells in a row of the map
MOST_BANDS = 6  # largest number of treatments that are drawn


def write_html(
    evidence: Evidence, answers: Sequence[HolderAnswer], warnings: Sequence[str], path: Path
) -> None:
    """Raises HeaplabError if the file cannot be written."""
    verdict, *others = (sentence(evidence, answer) for answer in answers)
    grown = [growth for answer in answers for growth in answer.growths]
    also = [("also", text) for text in others]
    write_page(path, evidence.profile, verdict, also, warnings, [*growing(grown), *chapters(evidence)])


def growing(grown: Sequence[SiteGrowth]) -> list[Chapter]:
    return [Chapter("growth", "What grows", tables=[holding_tables.growths(grown)])] if grown else []


def chapters(evidence: Evidence) -> list[Chapter]:
    if not evidence.replays:
        return []
    shown = evidence.replays[:MOST_BANDS]
    drawings = [bands(evidence, drawing) for drawing in shown]
    parts = [
        Chapter("memory", "What holds the memory, over time", drawings=drawings),
        Chapter(
            "map",
            f"Which pages are pinned {when(evidence)}",
            ["By address, from the upper left. The colour of a cell mixes what its pages hold."],
            [drawing for drawing in (page_map(evidence, replays) for replays in shown) if drawing],
        ),
        Chapter("sites", "Who pins pages", tables=[holding_tables.sites(evidence)]),
        Chapter("allocators", "Allocators", tables=[holding_tables.allocators(evidence)]),
    ]
    if evidence.what_if:
        parts.append(
            Chapter("apart", "What if these sites lived apart", tables=[holding_tables.what_if(evidence)])
        )
    if evidence.other_ways:
        ways = [holding_tables.other_ways(evidence)]
        parts.append(Chapter("otherwise", "What if blocks were used otherwise", tables=ways))
    return parts


def bands(evidence: Evidence, replays: Replays) -> Drawing:
    """The five parts of memory at each census, stacked."""
    run = [replays.typical(place) for place in range(len(replays.runs[0]))]
    times = np.array([census.time_us / 1e6 for census in run])
    clock, step = units.scale("s", float(times[-1])), units.scale("B", replays.peak)
    at = evidence.census.time_us / 1e6 / clock.factor
    with mpl.rc_context(canvas.STYLE):
        figure, (axis,) = canvas.new(1)
        heights = [np.array([getattr(census, part) for census in run]) / step.factor for part in PARTS]
        colors = [COLORS[part] for part in PARTS]
        axis.stackplot(times / clock.factor, *heights, labels=PARTS, colors=colors, alpha=0.75)
        axis.axvline(at, color=CHROME["muted"], linewidth=1, linestyle=":")
        axis.set_ylim(bottom=0)
        axis.set_xlim(0, max(times[-1] / clock.factor, 1e-9))
        axis.set_xlabel(f"time ({clock.label})" if evidence.profile.timed else "events")
        axis.set_ylabel(f"memory ({step.label})")
        canvas.legend(figure, axis)
        alt = f"memory under {replays.name} over time, at most {units.show(replays.peak, 'B')}"
        return Drawing(f"Under {replays.name}", canvas.to_svg(figure, alt), alt, ())


def page_map(evidence: Evidence, replays: Replays) -> Drawing | None:
    """The pages at the moment of the advice, by address; None if there are none."""
    cells = np.array(replays.typical(evidence.moment.place).cells, dtype=float)
    if not len(cells):
        return None
    of_cell = cells.sum(axis=1)
    shares = cells / np.maximum(of_cell, 1)[:, None]
    rows = -(-len(cells) // ACROSS)
    picture = np.zeros((rows * ACROSS, 4))  # cells beyond the last are transparent
    picture[: len(cells), :3] = shares @ np.array([to_rgb(color) for color in PAGE_COLORS.values()])
    picture[: len(cells), 3] = 1
    with mpl.rc_context(canvas.STYLE):
        figure, (axis,) = canvas.new(1)
        axis.imshow(picture.reshape(rows, ACROSS, 4).clip(0, 1), interpolation="nearest", aspect="auto")
        axis.grid(visible=False)
        axis.set_xticks([])
        axis.set_yticks([])
        handles = [Patch(color=color, label=name) for name, color in PAGE_COLORS.items()]
        figure.legend(handles=handles, loc="outside upper right", ncols=len(handles))
        totals = zip(PAGE_COLORS, cells.sum(axis=0).tolist(), strict=True)
        amounts = ", ".join(f"{units.show(total, 'B')} {name}" for name, total in totals)
        axis.set_xlabel(f"{amounts}; {units.show(float(of_cell[0]), 'B')} a cell")
        alt = f"pages of the heap under {replays.name} {when(evidence)}: {amounts}"
        return Drawing(f"Under {replays.name}", canvas.to_svg(figure, alt), alt, ())
