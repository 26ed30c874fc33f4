"""From analyses to one self-contained HTML file: gathers everything, and leaves the order to the template."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from heaplab.analysis import FAULTS, MEMORY, PEAK, Analysis, Study, power_of
from heaplab.analysis.claims import ClaimOutcome, evaluate_study
from heaplab.files.output import write_text
from heaplab.report.choices import situation_figure
from heaplab.report.choices.choice import choices
from heaplab.report.page import html_file
from heaplab.report.page.hosts import beside
from heaplab.report.pictures import figures, overview, palette, timelines
from heaplab.report.pictures.latencies import latencies
from heaplab.report.pictures.marks import StatedPoint
from heaplab.report.tables import heat_map, metric_tables, summary
from heaplab.report.tables.aspect_answer import AspectAnswer, aspect_answer, kinds_with_mean
from heaplab.report.tables.effects_table import effects_table
from heaplab.report.tables.interaction import interactions
from heaplab.report.tables.power_table import noise_table, outlook_table
from heaplab.report.tables.server_table import server_tables
from heaplab.report.tables.table_parts import Table
from heaplab.report.words import facts, wording
from heaplab.report.words.advice import answer, ordered
from heaplab.report.words.causes import causes, sentences
from heaplab.report.words.next_steps import next_steps, repeating
from heaplab.results import spec
from heaplab.results.records import Status
from heaplab.stats import FAMILY_ERROR_TEXT, LEVEL, THRESHOLD, noise_floor
from heaplab.text import units

DRAWINGS = {"bars": figures.bars, "scatter": figures.scatter, "series": timelines.series}
TABLES = {"heat": heat_map.heat_maps, "summary": summary.summary}


@dataclass(frozen=True)
class Section:
    """One experiment on the page."""

    study: Study
    anchor: str
    title: str
    drawings: list[figures.Drawing]
    servers: list[Table]
    heat_maps: list[Table]
    numbers: list[Table]
    outcomes: list[ClaimOutcome]
    floors: list[tuple[str, str]]  # metric, noise floor
    command: str
    crowded: str  # a note about cells with more threads than CPUs


FEW_CPUS = 2  # to tell how anything scales


def write_html(analyses: Sequence[Analysis], path: Path) -> None:
    """Write the report of one campaign, or of several beside each other. Raises HeaplabError, UsageError."""
    write_text(path, render(analyses, path))


def render(analyses: Sequence[Analysis], path: Path) -> str:
    """The text of the page. The names of results files on the page are relative to the folder of `path`."""
    return html_file.rendered(
        "report.html.j2",
        {
            "wording": wording,
            "threshold": wording.threshold(THRESHOLD),
            "level": LEVEL,
            "family_error": FAMILY_ERROR_TEXT,
            "Status": Status,
        },
        parts=[part(analysis, path) for analysis in analyses],
        hosts=beside(analyses),
    )


def part(analysis: Analysis, path: Path) -> dict[str, Any]:
    """One campaign on the page."""
    styles = palette.styles(analysis.allocators)
    known = analysis.results.facts
    by_aspect = aspect_answer(analysis)
    kinds = kinds_with_mean(analysis, by_aspect.summaries if by_aspect else [])
    if analysis.only_within:
        kinds = []
    chosen = choices(analysis)
    return {
        "analysis": analysis,
        "by_aspect": by_aspect,
        "scalability": scalability(known.get("cpus")),
        "power": power_tables(analysis),
        "kinds": [kind_summary(analysis, kind, styles, by_aspect) for kind in kinds],
        "choices": chosen,
        "choice_pictures": [situation_figure.figure(choice.kinds, choice.reference) for choice in chosen],
        "interactions": interactions(analysis),
        "overviews": [t for t in (metric_tables.overview(analysis, m) for m in (None, MEMORY)) if t],
        "sections": [section(analysis, study, styles) for study in analysis.studies if study.candidates],
        "unmeasured": [study.name for study in analysis.studies if not study.candidates],
        "control": overview.control(analysis),
        "faults": faults(analysis),
        "outliers": outliers(analysis),
        "counts": wording.run_counts(analysis),
        "source": relative(analysis.results.path, path),
        "command": shlex.join(analysis.campaign.command),
        "facts": facts.in_words(known),
        "timed": [*wording.how_timed(analysis.studies), *wording.trimmed(analysis.results.runs)],
    }


def scalability(cpus: object) -> str:
    """What the machine cannot show, where a reader would look for it; "" if it can."""
    if not isinstance(cpus, int) or cpus > FEW_CPUS:
        return ""
    return (
        f"How the allocators scale is not shown: on {units.counted(cpus, 'CPU')} threads take turns, and "
        "times tell as much about the scheduler."
    )


def power_tables(analysis: Analysis) -> list[Table]:
    if not analysis.between_allocators or len(analysis.allocators) < 2:
        return []
    power = power_of(analysis)
    return [table for table in (outlook_table(analysis, power), noise_table(power)) if table]


def relative(target: Path, page: Path) -> str:
    """The path of the results file, relative to the folder of the page."""
    try:
        return target.resolve().relative_to(page.resolve().parent).as_posix()
    except ValueError:
        return target.name


def kind_summary(
    analysis: Analysis, kind: str, styles: dict[str, palette.Style], before: AspectAnswer | None
) -> dict[str, Any]:
    """One kind of workload: real programs and synthetic workloads are never averaged together.

    Without the steps and the advice that stand `before`.
    """
    summaries = analysis.summaries(kind)
    answered = answer(analysis, kind, summaries)
    return {
        "kind": kind,
        "title": wording.KINDS[kind],
        "answer": answered,
        "advice": "" if before and before.of == kind else answered.advice,
        "sure": f"{wording.extent(analysis.summarised(kind))} {wording.noise(analysis, kind)}",
        "mind": [*wording.notes_of_cards(analysis, kind), *answered.notes],
        "steps": [] if before else next_steps(analysis, kind, answered),
        "why": sentences(analysis, kind, summaries),
        "summaries": ordered(summaries),
        "causes": causes(analysis, kind),
        "trade_off": overview.trade_off(analysis, kind, summaries, styles),
        "effects": effects_table(analysis, kind),
    }


def section(
    analysis: Analysis,
    study: Study,
    styles: dict[str, palette.Style],
    stated_points: Sequence[StatedPoint] = (),
) -> Section:
    experiment = study.experiment
    if study.under:
        styles = palette.styles(study.candidates)
    plots = experiment.plots or [spec.Plot(kind="bars", y=metric) for metric in experiment.metrics]
    drawn = [draw(study, plot, styles, stated_points) for plot in plots] + latencies(study, styles)
    wanted = numbered(study, [m for d in drawn if d for m in d.metrics])
    several = study.under and len(analysis.allocators) > 1
    return Section(
        study=study,
        anchor=f"{experiment.id}-{study.under}" if several else experiment.id,
        title=f"{experiment.title}, under {study.under}" if several else experiment.title,
        drawings=[d for d in drawn if d],
        servers=server_tables(study),
        heat_maps=[
            replace(table, caption=captioned(plot, table.caption))
            for plot in experiment.plots
            if plot.kind in TABLES
            for table in TABLES[plot.kind](study, plot)
        ],
        numbers=[metric_tables.numbers(study, metric) for metric in wanted],
        outcomes=evaluate_study(study),
        floors=[(study.metric(metric).title, largest_floor(study, metric)) for metric in wanted],
        command=shlex.join(repeating(analysis, study)),
        crowded=crowded(study),
    )


def largest_floor(study: Study, metric: str) -> str:
    controls = [study.ratio(cell, study.control, metric) for cell in study.cells]
    known = [noise_floor(control) for control in controls if control.bounded]
    return f"up to {units.percent(max(known))}" if known else "unknown"


def numbered(study: Study, drawn: list[str]) -> list[str]:
    """The metrics with a table of numbers: those of the experiment, those drawn, and page faults.

    Verdicts on memory rest on MEMORY, which stands beside a peak that the workload itself declares. Without
    such a declaration, both metrics are the same.
    """
    wanted = list(dict.fromkeys([*study.experiment.metrics, *drawn]))
    if PEAK in wanted:
        wanted = [metric for metric in wanted if metric != MEMORY]
        wanted += [MEMORY] if PEAK in study.workload.metrics else []
    return list(dict.fromkeys([*wanted, FAULTS]))


def crowded(study: Study) -> str:
    if not any(map(study.oversubscribed, study.cells)):
        return ""
    which = "All cells have" if all(map(study.oversubscribed, study.cells)) else "Some cells have"
    return (
        f"{which} more threads than the {study.cpus} CPUs of this machine: there the scheduler takes turns, "
        "and times tell as much about it as about the allocator."
    )


def draw(
    study: Study, plot: spec.Plot, styles: dict[str, palette.Style], stated_points: Sequence[StatedPoint] = ()
) -> figures.Drawing | None:
    drawing: figures.Drawing | None = None
    if plot.kind == "curve":
        points = [stated_point for stated_point in stated_points if stated_point.metric == plot.y]
        drawing = figures.curve(study, plot, styles, points)
    elif plot.kind in DRAWINGS:
        drawing = DRAWINGS[plot.kind](study, plot, styles)
    return replace(drawing, title=captioned(plot, drawing.title)) if drawing else None


def captioned(plot: spec.Plot, title: str) -> str:
    """The title of a plot, preceded by the publication's name for the figure."""
    return f"{plot.figure}: {title}" if plot.figure else title


def faults(analysis: Analysis) -> list[tuple[str, list[str]]]:
    """The reasons of runs without a figure, with the places where each occurred."""
    grouped: dict[str, list[str]] = {}
    for run in analysis.without_figure:
        cell = metric_tables.cell_name(tuple(run.cell.items())) if run.cell else ""
        where = f"{run.allocator}: {run.experiment}{f' ({cell})' if cell else ''}, block {run.block}"
        if run.status is Status.VOID and run.attempt == 0:
            where += ", repeated"
        grouped.setdefault(f"{run.status}: {run.reason or 'no reason recorded'}", []).append(where)
    return sorted(grouped.items())


def outliers(analysis: Analysis) -> list[list[str]]:
    return [
        [
            study.name,
            metric_tables.cell_name(cell),
            allocator,
            str(block),
            study.metric(metric).title,
            units.show(value, study.metric(metric).unit),
            units.show(median, study.metric(metric).unit),
        ]
        for study in analysis.studies
        for metric in study.experiment.metrics
        for cell, allocator, block, value, median in study.outliers(metric)
    ]
