"""The page as it is printed: few pages, no heading alone at a foot, no table in two."""

import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from heaplab.analysis import Analysis
from heaplab.report.page import report_page
from heaplab.results import store

pytestmark = pytest.mark.slow

# `heaplab compare` with seven allocators on a machine with two CPUs
COMPARED = Path(__file__).parents[3] / "docs/atlas/2026-11-29-two-processors.jsonl.xz"
MOST_PAGES = 8
LONGEST_HEADING = 3  # lines
HEADINGS = "h1, h2, h3, caption, figcaption"
HEIGHT_MM = 297 - 2 * 12
XHTML = "{http://www.w3.org/1999/xhtml}"


@pytest.fixture(scope="module")
def view(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Page:
    page = tmp_path_factory.mktemp("paper") / "report.html"
    report_page.write_html([Analysis(store.load(COMPARED))], page)
    view = browser.new_page(java_script_enabled=False)
    view.goto(page.as_uri())
    view.emulate_media(media="print")
    return view


@pytest.fixture(scope="module")
def columns(view: Page, tmp_path_factory: pytest.TempPathFactory) -> list[list[str]]:
    """The lines of the left and the right half of each page, from top to bottom."""
    paper = tmp_path_factory.mktemp("printed") / "report.pdf"
    view.pdf(path=paper, format="A4", prefer_css_page_size=True)
    boxes = subprocess.run(["pdftotext", "-bbox-layout", paper, "-"], stdout=subprocess.PIPE, check=True)
    found = []
    for page in ET.fromstring(boxes.stdout).iter(f"{XHTML}page"):
        halves: tuple[list[tuple[float, str]], ...] = ([], [])
        for line in page.iter(f"{XHTML}line"):
            text = " ".join(word.text or "" for word in line.iter(f"{XHTML}word"))
            right = float(line.attrib["xMin"]) > float(page.attrib["width"]) / 2
            halves[right].append((float(line.attrib["yMin"]), text))
        found += [[text for _, text in sorted(half)] for half in halves]
    return found


def test_a_full_comparison_takes_few_pages(columns: list[list[str]]) -> None:
    assert 4 <= len(columns) / 2 <= MOST_PAGES


def test_no_column_ends_with_a_heading(view: Page, columns: list[list[str]]) -> None:
    headings = {" ".join(text.split()) for text in view.locator(HEADINGS).all_text_contents()}
    assert len(headings) > 30
    lines = [line for column in columns for line in column]
    assert "Real programs" in headings & set(lines)  # both say it in the same words
    ends = {" ".join(column[-last:]) for column in columns for last in range(1, LONGEST_HEADING + 1)}
    assert ends & headings == set()


def test_no_column_begins_within_a_heading(view: Page, columns: list[list[str]]) -> None:
    headings = {" ".join(text.split()) for text in view.locator("h2").all_text_contents()}
    begins = {column[0] for column in columns if column}
    cut = {line for line in begins for heading in headings if heading.endswith(f" {line}")}
    assert cut == set()


def test_every_table_stands_on_one_page(view: Page) -> None:
    view.set_viewport_size({"width": round((210 - 2 * 12) * 96 / 25.4), "height": 900})
    tables = view.locator(".scroll:visible")
    heights = [box["height"] * 25.4 / 96 for box in (table.bounding_box() for table in tables.all()) if box]
    assert len(heights) > 5
    assert max(heights) < HEIGHT_MM
    assert {table.evaluate("e => getComputedStyle(e).breakInside") for table in tables.all()} == {"avoid"}
