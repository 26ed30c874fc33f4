"""The figures and tables of a measured experiment, as files that a page of Markdown can show."""

from pathlib import Path

from heaplab.analysis import Analysis, Study
from heaplab.report.page.report_page import Section, section
from heaplab.report.page.reproduction_page import file_name
from heaplab.report.pictures import canvas, palette
from heaplab.report.tables.table_parts import Entry, Table
from heaplab.report.words.markdown import table


def write(analysis: Analysis, folder: Path) -> None:
    """A page for each experiment, with its pictures beside it; earlier ones are replaced."""
    folder.mkdir(parents=True, exist_ok=True)
    styles = palette.styles(analysis.allocators)
    for study in analysis.studies:
        if study.candidates and study.under in ("", analysis.baseline):
            write_one(study, section(analysis, study, styles), folder)


def write_one(study: Study, drawn: Section, folder: Path) -> None:
    experiment, page = study.experiment, folder / file_name(study.experiment.id)
    for old in folder.glob(f"{page.stem}-[0-9]*.svg"):
        old.unlink()
    lines = [f"# {experiment.title}", f"{experiment.publication}, {experiment.figure}: `{experiment.id}`."]
    lines += [experiment.claim, experiment.notes.strip()]
    for number, drawing in enumerate(drawn.drawings, 1):
        picture = page.with_name(f"{page.stem}-{number}.svg")
        picture.write_text(canvas.standalone(drawing.svg), encoding="utf-8")
        lines += [f"## {drawing.title}", f"![{drawing.alt}]({picture.name})", drawing.note]
    lines += [part for one in drawn.heat_maps for part in (f"## {one.caption}", as_markdown(one))]
    page.write_text("\n\n".join(filter(None, lines)).rstrip() + "\n", encoding="utf-8")


def as_markdown(content: Table) -> str:
    rows = [[name, *map(text_of, entries)] for name, entries in content.rows]
    return table([content.corner, *content.columns], rows) + "\n" + "\n\n".join(content.notes)


def text_of(entry: Entry) -> str:
    said = f"{entry.text} {entry.symbol}".strip()
    return f"{said} ({entry.small})" if entry.small else said
