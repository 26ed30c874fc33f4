"""The site as people get it: opened from files in a browser, with everything it leads to."""

import html
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import in_browser
import pytest
from playwright.sync_api import Browser, Page, expect

import heaplab

pytestmark = [pytest.mark.slow, pytest.mark.long]

ROOT = Path(__file__).parents[3]
SIZES = {"desktop": (1360, 900), "phone": (390, 844)}
PAGES = ["index.html", "docs/which-malloc.html", "reference/local.html", "docs/scalloc-performance.html"]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site") / "built"
    subprocess.run([sys.executable, str(ROOT / "packaging/site/build.py"), str(folder)], check=True)
    return folder


class References(HTMLParser):
    """What a page leads to, what it loads, and the places in it that others may name."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.places: set[str] = set()
        self.feed(page.read_text())

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        for name, value in attributes:
            if name == "id":
                self.places.add(value or "")
            elif name == "src" or (name == "href" and tag == "link"):
                self.loaded.append(value or "")
            elif name == "href" and tag == "a":
                self.links.append(value or "")


@pytest.fixture(scope="module")
def references(site: Path) -> dict[Path, References]:
    return {page: References(page) for page in site.rglob("*.html")}


def test_every_link_leads_to_a_place_that_exists(references: dict[Path, References]) -> None:
    assert len(references) > 80
    broken, looked_at = [], 0
    for page, found in references.items():
        for link in [*found.links, *found.loaded]:
            parts = urlsplit(link)
            if parts.scheme in ("https", "http", "data", "mailto") or link == "#":
                continue
            looked_at += 1
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            if not target.is_file() or (
                parts.fragment and unquote(parts.fragment) not in references[target].places
            ):
                broken.append((page.name, link))
    assert looked_at > 1000
    assert broken == []


def test_nothing_is_loaded_from_another_host(site: Path, references: dict[Path, References]) -> None:
    loaded = {link for found in references.values() for link in found.loaded}
    styles = [path.read_text() for path in site.rglob("*.css")]
    loaded |= {link for style in styles for link in re.findall(r"(?:url\(|@import )['\"]?([^'\")]+)", style)}
    assert [
        link for link in loaded if urlsplit(link).scheme not in ("", "data") or link.startswith("//")
    ] == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_page_opened_from_a_file_is_whole_and_readable(site: Path, browser: Browser, scheme: str) -> None:
    for width, height in SIZES.values():
        view = browser.new_page(color_scheme=scheme, viewport={"width": width, "height": height})
        complaints, requests = in_browser.heard(view)
        for page in PAGES:
            view.goto((site / page).as_uri())
            assert view.evaluate("document.documentElement.scrollWidth") <= width, page
            assert in_browser.faint_texts(view, of_at_least=30) == [], page
        view.close()
        assert complaints == []
        assert [url for url in requests if not url.startswith(("file:", "data:"))] == []


def test_a_search_from_a_file_finds_a_page_and_leads_there(site: Path, browser: Browser) -> None:
    view: Page = browser.new_page()
    view.goto((site / "docs/guide.html").as_uri())
    view.get_by_placeholder("Search").fill("MALLOC_ARENA_MAX")
    view.keyboard.press("Enter")
    found = view.locator("#search-results li a")
    # Results come one after the other.
    expect(found.filter(has_text="Which malloc for my program?")).to_be_visible()
    found.filter(has_text="Which malloc for my program?").click()
    expect(view.get_by_role("heading", level=1)).to_contain_text("Which malloc for my program?")
    view.close()


def test_the_first_screen_says_what_it_is_how_to_get_it_and_where_to_go(site: Path, browser: Browser) -> None:
    view = browser.new_page(viewport={"width": 1360, "height": 900})
    view.goto((site / "index.html").as_uri())
    for text in ("Which malloc should your program use", "pip install", "heaplab compare", "Ways to install"):
        box = view.get_by_text(text).first.bounding_box()
        assert box["y"] + box["height"] < 900, text
    assert view.locator(".banner img").evaluate("picture => picture.naturalWidth") > 1000
    view.close()


def test_the_reference_has_every_declaration_and_the_words_above_it(site: Path) -> None:
    llheap = (site / "reference/llheap.html").read_text()
    header = (ROOT / "include/heaplab/llheap.h").read_text()
    functions = re.findall(r"^[a-z_]+\*? (\w+)\(", header, re.MULTILINE)
    assert len(functions) > 25
    anchor = '<span class="pre">{}</span></code><a class="headerlink"'
    assert [name for name in functions if anchor.format(name) not in llheap] == []
    assert "The sticky alignment of the block; 16 for null" in llheap
    local = (site / "reference/local.html").read_text()
    header = (ROOT / "include/heaplab/local/local.h").read_text()
    for name in re.findall(r'"(heaplab/local/\w+[.]h)"', header):
        assert f"&lt;{name}&gt;" in local
    for name in ("monotonic", "multipool", "make_winked", "limiting", "growth"):
        assert anchor.format(name) in local, name
    assert "Shrinks" not in local
    assert "private" not in local
    load = (site / "reference/load.html").read_text()
    assert (heaplab.load.__doc__ or "").split(",")[0] in load


def test_the_fields_of_results_have_their_types(site: Path) -> None:
    text = re.sub("<[^>]+>", " ", (site / "docs/results-format.html").read_text())
    rows = " ".join(html.unescape(text).split())
    assert "wall_time number above 0 from exec to the end" in rows
    assert 'status "ok" or "void" or "failed" or "timeout" or "skipped" ok ; void' in rows
    assert "foreign_cpu number from 0 CPU seconds" in rows
