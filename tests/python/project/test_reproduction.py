"""docs/reproduction.md is what the catalog and the verdicts that lie beside research/reproduction.py make."""

import importlib
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest
import synthetic

from heaplab.catalog import contents
from heaplab.errors import UsageError
from heaplab.report.page import reproduction_page

ROOT = Path(__file__).parents[3]
RESEARCH = ROOT / "research"
PUBLICATIONS = contents.load().publications  # test_publications.py knows how many figures each has


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(RESEARCH)
    return importlib.import_module("reproduction")


def test_results_renew_the_verdicts_of_their_experiments_alone(
    tool: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = tool.load(tool.VERDICTS)
    monkeypatch.setattr(tool, "PAGE", tmp_path / "reproduction.md")
    monkeypatch.setattr(tool, "VERDICTS", tmp_path / "reproduction.json.xz")
    monkeypatch.setattr(importlib.import_module("site_pictures"), "PACKED", tmp_path / "pictures.tar.xz")
    [measured] = [
        experiment for experiment in synthetic.experiments() if experiment.id == "acdc-ismm13/fig07"
    ]
    renewed = measured.model_copy(update={"id": "acdc-ismm13/fig10"})
    records = synthetic.campaign(["glibc", "jemalloc"], [renewed])
    for ended, dates in ((True, {"2026-01-02"}), (False, {entry.date for entry in known})):
        tool.write(known, tool.VERDICTS)
        path = synthetic.write(records if ended else records[:-1], tmp_path / "results.jsonl")
        monkeypatch.setattr(sys, "argv", ["reproduction.py", str(path)])
        tool.main()
        now = {verdicts.experiment: verdicts for verdicts in tool.load(tool.VERDICTS)}
        assert now.pop("acdc-ismm13/fig10").date in dates
        assert list(now.values()) == [entry for entry in known if entry.experiment in now]
        assert len(now) == len(known) - 1


def test_a_file_that_is_no_verdicts_is_named(tool: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("{}")
    with pytest.raises(UsageError, match=r"x\.json"):
        tool.load(tmp_path / "x.json")
    with pytest.raises(UsageError, match="No such file"):
        tool.load(tmp_path / "none.json")


def test_the_page_is_current_with_its_sources(tool: ModuleType) -> None:
    assert tool.PAGE.read_text() == tool.page_of(tool.load(tool.VERDICTS))


@pytest.mark.parametrize("name", PUBLICATIONS)
def test_no_figure_and_no_table_is_missing_on_the_page(name: str, tool: ModuleType) -> None:
    publication = PUBLICATIONS[name]
    chapter = tool.PAGE.read_text().split(f"\n## {publication.title}\n")[1].split("\n### ")[0]
    labels = "; ".join(line.split(" | ")[0].strip("| ") for line in chapter.splitlines() if "|" in line)
    assert numbers_of("Figure", labels) == list(range(1, publication.figures + 1))
    assert numbers_of("Table", labels) == list(range(1, publication.tables + 1))


def numbers_of(noun: str, labels: str) -> list[int]:
    """The numbers in "Figure 2; Tables 9 to 11, 43", in order."""
    found: list[int] = []
    for listed in re.findall(rf"{noun}s? ([\d, to]+)", labels):
        for first, last in re.findall(r"(\d+)(?: to (\d+))?", listed):
            found += range(int(first), int(last or first) + 1)
    return sorted(found)


@pytest.mark.slow
def test_every_picture_of_a_page_is_in_the_repository_or_on_the_site(tool: ModuleType) -> None:
    of_site = importlib.import_module("site_pictures")
    pages = sorted(tool.PAGE.with_suffix("").glob("*.md"))
    assert {page.name for page in pages} == set(
        re.findall(r"\(reproduction/([^)]+)\)", tool.PAGE.read_text())
    )
    texts = "".join(page.read_text() for page in pages)
    here = [name for _, name in of_site.PICTURE.findall(texts)]
    assert set(here) == of_site.IN_REPOSITORY == {file.name for file in pages[0].parent.glob("*.svg")}
    there = [name for name, _ in of_site.LINE.findall(texts)]
    assert sorted(there) == sorted(tool.pictures())
    assert sorted(here + there) == sorted(name for _, name in of_site.PICTURE.findall(of_site.shown(texts)))


def test_packed_pictures_are_kept_as_long_as_a_page_names_them(
    tool: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    of_site = importlib.import_module("site_pictures")
    monkeypatch.setattr(of_site, "PACKED", tmp_path / "packed.tar.xz")
    page, stays = tmp_path / "page.md", min(of_site.IN_REPOSITORY)
    for number, drawn in enumerate(["first", "second"]):  # the second time from the results of another day
        for name in ("a.svg", "b.svg", stays):
            (tmp_path / name).write_text(f"{name}, {drawn}")
        page.write_text(f"![Of a.](a.svg)\n\n![Of b.](b.svg)\n\n![]({stays})\n")
        of_site.pack(tmp_path)
        assert of_site.packed() == {name: f"{name}, {drawn}" for name in ("a.svg", "b.svg")}, number
        assert [file.name for file in tmp_path.glob("*.svg")] == [stays]
    page.write_text(page.read_text().replace("*On the site, `a.svg`: Of a.*\n", ""))
    of_site.pack(tmp_path)
    assert list(of_site.packed()) == ["b.svg"]


@pytest.fixture
def curves(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(RESEARCH)
    return importlib.import_module("coherence_curves")


def test_the_simulators_curves_end_the_pages_of_scallocs_figures(
    tool: ModuleType, curves: ModuleType, tmp_path: Path
) -> None:
    names = [reproduction_page.file_name(curve.experiment) for curve in curves.CURVES]
    assert len(names) == 7
    pages = {name: (tool.PAGE.with_suffix("") / name).read_text() for name in names}
    for number, (name, text) in enumerate(pages.items()):  # some have curves already
        (tmp_path / name).write_text(text if number % 2 else text.split(curves.HEADING)[0])
    curves.write(tmp_path)
    assert {name: (tmp_path / name).read_text() for name in names} == pages


def test_the_page_of_the_simulator_has_the_counts_of_the_curves(curves: ModuleType) -> None:
    known = curves.counts()
    page = (ROOT / "docs/scalloc-coherence.md").read_text()
    of_scalloc, of_variants = (
        rows_below(page.split(f"\n## {heading}\n")[1])
        for heading in ("Transfers an operation", "The variants")
    )
    for work, *printed in of_scalloc[1:]:
        transfers = known[work, "scalloc", "transfers"]
        assert printed == [*transfers.values(), known[work, "scalloc", "atomic"][256]], work
    for variant, *printed in of_variants[1:]:
        works = of_variants[0][1:]
        assert printed == [curves.at_most_threads(known, work, variant) for work in works], variant
    assert (len(of_scalloc), len(of_variants)) == (9, 7)


def rows_below(text: str) -> list[list[str]]:
    """The rows of the first table, without the rule below its head."""
    table = text[text.index("|") :].partition("\n\n")[0]
    head, _, *rows = [
        [cell.strip() for cell in line.removeprefix("|").removesuffix("|").split("|")]
        for line in table.splitlines()
    ]
    return [head, *rows]


def test_a_catalog_with_more_threads_has_the_lengths_of_the_quick_scale(
    tool: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads, experiment = [1, 16, 39], "scalloc-oopsla15/fig06"
    arguments = ["more_threads.py", "--threads", "1,16,39", "-o", str(tmp_path), experiment]
    monkeypatch.setattr(sys, "argv", arguments)
    importlib.import_module("more_threads").main()
    own = tool.catalog_here().experiments[experiment]
    made = contents.load((tmp_path,)).experiments[experiment]
    assert made.quick.sweep == {"threads": threads}
    assert made.quick.parameters == own.quick.parameters
    assert made.full == own.full
