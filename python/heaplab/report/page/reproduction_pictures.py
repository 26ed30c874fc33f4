"""The figures and tables of a measured experiment, as files that a page of Markdown can show."""

from collections.abc import Mapping
from itertools import count
from pathlib import Path

from heaplab.analysis import Analysis, Study
from heaplab.report.page import published_beside
from heaplab.report.page.report_page import TABLES, Section, captioned, section
from heaplab.report.page.reproduction_page import file_name
from heaplab.report.pictures import canvas, palette
from heaplab.report.tables.table_parts import Entry, Table
from heaplab.results.published_spec import Published
from heaplab.text.markdown import table


def write(analysis: Analysis, folder: Path, published: Mapping[str, Published]) -> None:
    """A page for each experiment, with its pictures beside it; earlier ones are replaced."""
    folder.mkdir(parents=True, exist_ok=True)
    styles = palette.styles(analysis.allocators)
    for study in analysis.studies:
        if study.candidates and study.under in ("", analysis.baseline):
            printed = published.get(study.experiment.id.split("/")[0])
            drawn = section(analysis, study, styles, published_beside.stated_points(study, printed))
            write_one(study, drawn, printed, folder)


def write_one(study: Study, drawn: Section, printed: Published | None, folder: Path) -> None:
    experiment, page = study.experiment, folder / file_name(study.experiment.id)
    for old in folder.glob(f"{page.stem}-[0-9]*.svg"):
        old.unlink()
    lines = [f"# {experiment.title}", f"{experiment.publication}, {experiment.figure}: `{experiment.id}`."]
    lines += [experiment.claim, experiment.notes.strip()]
    numbers = count(1)

    def picture(svg: str, alt: str) -> str:
        path = page.with_name(f"{page.stem}-{next(numbers)}.svg")
        path.write_text(canvas.standalone(svg), encoding="utf-8")
        return f"![{alt}]({path.name})"

    for drawing in drawn.drawings:
        alt = drawing.alt.removesuffix(" Numbers in the table below.")  # which the report's page has
        lines += [f"## {drawing.title}", picture(drawing.svg, alt), drawing.note]
    for plot in experiment.plots:
        for shown in published_beside.tables(study, plot, printed) if plot.kind in TABLES else []:
            lines.append(f"## {captioned(plot, shown.table.caption)}")
            if shown.svg:
                lines.append(picture(shown.svg, f"{shown.table.caption}, beside the published numbers"))
            lines.append(as_markdown(shown.table))
    if table := published_beside.stated_table(study, printed):
        lines += ["## Published in numbers", table]
    if printed:
        lines.append(printed.read)
    page.write_text("\n\n".join(filter(None, lines)).rstrip() + "\n", encoding="utf-8")


def as_markdown(content: Table) -> str:
    rows = [[name, *map(text_of, entries)] for name, entries in content.rows]
    return table([content.corner, *content.columns], rows) + "\n" + "\n\n".join(content.notes)


def text_of(entry: Entry) -> str:
    said = f"{entry.text} {entry.symbol}".strip()
    return f"{said} ({entry.small})" if entry.small else said
