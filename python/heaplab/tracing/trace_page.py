"""From a profile to one self-contained HTML file."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

from heaplab.files.output import write_text
from heaplab.report.page import html_file
from heaplab.report.pictures import canvas
from heaplab.report.pictures.figures import Drawing
from heaplab.report.pictures.palette import CHROME, HUES
from heaplab.report.tables.table_parts import Table
from heaplab.text import units
from heaplab.traces.profile import Profile
from heaplab.tracing import findings, trace_tables as tables

BYTES, BLOCKS = HUES[0][0], HUES[1][0]
MOST_POINTS = 256  # largest number of stretches that are drawn


@dataclass(frozen=True)
class Chapter:
    anchor: str
    title: str
    sentences: list[str] = field(default_factory=list)
    drawings: list[Drawing] = field(default_factory=list)
    heat_maps: list[Table] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)


def write_html(profile: Profile, warnings: Sequence[str], path: Path) -> None:
    """Raises HeaplabError if the file cannot be written."""
    told = findings.findings(profile)
    write_page(path, profile, findings.advice(profile), told, warnings, chapters(profile))


def write_page(
    path: Path,
    profile: Profile,
    advice: str,
    told: Sequence[tuple[str, str]],
    warnings: Sequence[str],
    parts: Sequence[Chapter],
) -> None:
    """Write a page on a profile. Raises HeaplabError if the file cannot be written."""
    page = {
        "program": profile.program,
        "about": about(profile),
        "advice": advice,
        "findings": told,
        "warnings": warnings,
        "compare": shlex.join(["heaplab", "compare", str(profile.trace)]),
        "chapters": parts,
    }
    write_text(path, html_file.rendered("trace.html.j2", {}, p=page))


def about(profile: Profile) -> str:
    threads = {row.acquirer for row in profile.threads} | {row.releaser for row in profile.threads} - {0}
    parts = [
        f"process {profile.pid}",
        units.counted(len(threads), "thread"),
        units.counted(sum(profile.kinds.values()), "call"),
        units.show(profile.seconds, "s") if profile.timed else "no times: stamps are only an order",
        f"recorded by {profile.of['source']}" if "source" in profile.of else "",
        f"under {profile.of['allocator']}" if "allocator" in profile.of else "",
        profile.trace.name,
    ]
    return " · ".join(part for part in parts if part)


def chapters(profile: Profile) -> list[Chapter]:
    """The chapters in the order of the page, without those for which the trace has nothing."""
    if not profile.stretches:
        return []
    shown = [
        Chapter("live", "Live memory", ["Of each stretch of time the most is drawn."], drawn(profile)),
        Chapter("rate", "How fast memory is acquired", [], rates(profile)),
        Chapter("lives", "Sizes and lifetimes", [REALLOCATED], heat_maps=tables.lives(profile)),
        Chapter("threads", "Who releases whose blocks", [NUMBERS], heat_maps=[tables.threads(profile)]),
    ]
    if any(site.number for site in profile.sites):
        ordered = [tables.sites(profile, order) for order in tables.ORDERS]
        shown.append(Chapter("sites", "Call sites", [], tables=[table for table in ordered if table.rows]))
    if profile.growths.calls:
        sentence = findings.reallocated(profile)
        shown.append(Chapter("growths", "Reallocations", [sentence], tables=[tables.chains(profile)]))
    return [*shown, Chapter("calls", "Calls", [], tables=[tables.kinds(profile)])]


REALLOCATED = "A block that is reallocated ends its life, and another begins."
NUMBERS = "Threads are numbered in the order of their first calls; nobody released what lives at the end."


def drawn(profile: Profile) -> list[Drawing]:
    """Live bytes and blocks: the most in each stretch, so that no peak is lost."""
    return [
        _over_time(profile, [s.peak_bytes for s in profile.stretches], "live bytes", "B", BYTES, max),
        _over_time(profile, [s.peak_blocks for s in profile.stretches], "live blocks", "1", BLOCKS, max),
    ]


def rates(profile: Profile) -> list[Drawing]:
    """Acquisitions and their bytes per second, or per call if stamps only order events."""
    seconds = profile.width / (profile.ticks_per_second or 1)
    per = "1/s" if profile.timed else "1"
    return [
        _over_time(
            profile,
            [s.acquisitions / seconds for s in profile.stretches],
            "blocks acquired",
            per,
            BLOCKS,
            _mean,
        ),
        _over_time(
            profile,
            [s.bytes_acquired / seconds for s in profile.stretches],
            "bytes acquired",
            "B",
            BYTES,
            _mean,
        ),
    ]


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _over_time(
    profile: Profile, values: Sequence[float], name: str, unit: str, color: str, joined: Any
) -> Drawing:
    together = -(-len(values) // MOST_POINTS)
    points = np.array([joined(values[at : at + together]) for at in range(0, len(values), together)])
    times = np.arange(len(points) + 1) * together * profile.width / (profile.ticks_per_second or 1)
    step = units.scale(unit, float(points.max(initial=0)))
    clock = units.scale("s", times[-1]) if profile.timed else units.scale("1", times[-1])
    rate = joined is _mean
    label = f"{step.label}/s" if rate and unit == "B" and profile.timed else step.label
    with mpl.rc_context(canvas.STYLE):
        figure, (axis,) = canvas.new(1)
        axis.stairs(points / step.factor, times / clock.factor, color=color, linewidth=1.2)
        axis.stairs(points / step.factor, times / clock.factor, color=color, fill=True, alpha=0.16)
        axis.set_ylim(bottom=0)
        axis.set_xlim(0, times[-1] / clock.factor)
        axis.set_xlabel(
            f"time ({clock.label})" if profile.timed else f"events ({clock.label})".replace(" ()", "")
        )
        axis.set_ylabel(f"{name} ({label})" if label else name)
        axis.spines["bottom"].set_color(CHROME["muted"])
        alt = (
            f"{name} of {profile.program} over time, at most {units.show(float(points.max(initial=0)), unit)}"
        )
        return Drawing(f"{name} over time".capitalize(), canvas.to_svg(figure, alt), alt, ())
