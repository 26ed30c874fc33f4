"""From a profile to one self-contained HTML file."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from heaplab.report.page import html_file
from heaplab.report.pictures.figures import Drawing
from heaplab.report.tables.table_parts import Table
from heaplab.report.words import units
from heaplab.trace_report import findings, trace_figures as figures, trace_tables as tables
from heaplab.traces.profile import Profile


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
    found = findings.findings(profile)
    write_page(path, profile, findings.advice(profile), found, warnings, chapters(profile))


def write_page(
    path: Path,
    profile: Profile,
    advice: str,
    found: Sequence[tuple[str, str]],
    warnings: Sequence[str],
    parts: Sequence[Chapter],
) -> None:
    """Write a page on a profile. Raises HeaplabError if the file cannot be written."""
    page = {
        "program": profile.program,
        "about": about(profile),
        "advice": advice,
        "findings": found,
        "warnings": warnings,
        "compare": shlex.join(["heaplab", "compare", str(profile.trace)]),
        "chapters": parts,
    }
    html_file.write(path, html_file.rendered("trace.html.j2", {}, p=page))


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
    found = [
        Chapter(
            "live", "Live memory", ["Of each stretch of time the most is drawn."], figures.drawn(profile)
        ),
        Chapter("rate", "How fast memory is acquired", [], figures.rates(profile)),
        Chapter("lives", "Sizes and lifetimes", [REALLOCATED], heat_maps=tables.lives(profile)),
        Chapter("threads", "Who releases whose blocks", [NUMBERS], heat_maps=[tables.threads(profile)]),
    ]
    if any(site.number for site in profile.sites):
        ordered = [tables.sites(profile, order) for order in tables.ORDERS]
        found.append(Chapter("sites", "Call sites", [], tables=[table for table in ordered if table.rows]))
    if profile.growths.calls:
        sentence = findings.reallocated(profile)
        found.append(Chapter("growths", "Reallocations", [sentence], tables=[tables.chains(profile)]))
    return [*found, Chapter("calls", "Calls", [], tables=[tables.kinds(profile)])]


REALLOCATED = "A block that is reallocated ends its life, and another begins."
NUMBERS = "Threads are numbered in the order of their first calls; nobody released what lives at the end."
