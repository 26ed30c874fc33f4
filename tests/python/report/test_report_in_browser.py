"""The page as a browser shows it: readable in both colour schemes, on a phone, without scripts or network."""

from collections.abc import Iterator
from pathlib import Path

import in_browser
import pytest
import synthetic
import test_candidates
from playwright.sync_api import Browser, Page
from traces import profile_of, two_threads

from heaplab.report.page import report_page
from heaplab.results.records import AnyRecord
from heaplab.tracing import trace_page

pytestmark = pytest.mark.slow


def page_of(folder: Path, records: list[AnyRecord]) -> Path:
    report_page.write_html([synthetic.analysis_of(records, folder)], folder / "report.html")
    return folder / "report.html"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return page_of(tmp_path_factory.mktemp("browser"), synthetic.campaign(faults=True))


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page about strategies under two allocators."""
    records = test_candidates.records_of(test_candidates.experiment(), ["glibc", "quick"])
    return page_of(tmp_path_factory.mktemp("compared"), records)


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page about a trace."""
    folder = tmp_path_factory.mktemp("traced")
    profile = profile_of(folder / "x.trace", two_threads())
    trace_page.write_html(profile, ["something is lost"], folder / "x.html")
    return folder / "x.html"


@pytest.fixture(params=["light", pytest.param("dark", marks=pytest.mark.long)])
def view(request: pytest.FixtureRequest, browser: Browser) -> Iterator[Page]:
    view = browser.new_page(
        java_script_enabled=False, color_scheme=request.param, viewport={"width": 1280, "height": 900}
    )
    yield view
    view.close()


def test_the_page_shows_without_scripts_network_or_complaint(page: Path, view: Page) -> None:
    complaints, requests = in_browser.heard(view)
    view.goto(page.as_uri())
    assert view.get_by_text("Best trade-off").first.is_visible()
    assert len(view.screenshot(full_page=True)) > 100_000
    assert complaints == []
    assert requests == [page.as_uri()]


@pytest.mark.parametrize("what", ["allocators", "strategies"])
def test_every_text_stands_out_from_its_background(page: Path, compared: Path, view: Page, what: str) -> None:
    view.goto((page if what == "allocators" else compared).as_uri())
    for closed in view.locator("details > summary").all():
        closed.click()
    assert in_browser.faint_texts(view, of_at_least=300) == []


def test_answer_certainty_next_step_and_picture_stand_on_the_first_screen(page: Path, view: Page) -> None:
    view.goto(page.as_uri())
    first = view.locator(".answer").first
    for part in (first.locator(".advice"), first.get_by_text("How sure"), first.locator("figure svg")):
        box = part.bounding_box()
        assert box["y"] + box["height"] < 900


def test_numbers_are_closed_and_open_without_scripts(page: Path, view: Page) -> None:
    view.goto(page.as_uri())
    numbers = view.locator("details", has=view.get_by_text("Numbers: ")).first
    assert not numbers.locator("table").first.is_visible()
    numbers.locator("summary").click()
    assert numbers.locator("table").first.is_visible()


SCROLLING = """
() => [...document.querySelectorAll(".scroll")]
  .filter((one) => one.checkVisibility() && one.scrollWidth > one.clientWidth)
  .map((one) => one.textContent.slice(0, 80))
"""
ALLOCATORS = [*synthetic.ALLOCATORS, *(f"allocator-{number}" for number in range(2, 10))]


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page about fourteen allocators, by aspect."""
    aspects = {0: synthetic.aspect("local"), 1: synthetic.aspect("remote"), 3: synthetic.aspect("programs")}
    records = synthetic.campaign(ALLOCATORS, synthetic.experiments_of(aspects), blocks=5)
    return page_of(tmp_path_factory.mktemp("many"), records)


@pytest.mark.parametrize("about", ["six", "fourteen", "strategies"])
def test_on_a_phone_nothing_but_pictures_scrolls_sideways(
    page: Path, many: Path, compared: Path, view: Page, about: str
) -> None:
    view.set_viewport_size({"width": 390, "height": 844})
    view.goto({"six": page, "fourteen": many, "strategies": compared}[about].as_uri())
    for closed in view.locator("details > summary").all():
        closed.click()
    assert view.locator(".scroll").count() > 3
    assert view.evaluate(SCROLLING) == []
    assert view.evaluate("document.documentElement.scrollWidth") == 390


def test_a_long_name_is_broken_on_a_phone(tmp_path: Path, view: Page) -> None:
    profile = profile_of(tmp_path / "x.trace", two_threads())
    trace_page.write_page(tmp_path / "x.html", profile, f"{'name_' * 40}: no change", [], [], [])
    view.set_viewport_size({"width": 390, "height": 844})
    view.goto((tmp_path / "x.html").as_uri())
    assert view.evaluate("document.documentElement.scrollWidth") == 390


def test_a_phone_shows_every_allocator_of_an_aspect_under_its_name(many: Path, view: Page) -> None:
    view.set_viewport_size({"width": 390, "height": 844})
    view.goto(many.as_uri())
    aspect = view.locator(".answer tbody tr").first
    names = aspect.locator("td").evaluate_all("all => all.map((one) => one.dataset.of)")
    assert names == ALLOCATORS[1:]
    boxes = [field.bounding_box() for field in aspect.locator("td").all()]
    assert all(box["x"] >= 0 and box["x"] + box["width"] <= 390 for box in boxes)
    shown = "one => getComputedStyle(one, '::before').content"
    assert aspect.locator("td").first.evaluate(shown) == f'"{ALLOCATORS[1]}"'


def test_fourteen_allocators_fit_beside_each_other_on_a_screen(many: Path, view: Page) -> None:
    view.goto(many.as_uri())
    table = view.locator(".answer .scroll").first
    assert table.evaluate("one => one.scrollWidth <= one.clientWidth")


def test_the_headline_stands_once(many: Path, view: Page) -> None:
    view.goto(many.as_uri())
    assert view.locator(".advice").count() == 1
    said = view.locator(".advice").text_content()
    assert said.startswith("For real programs, ")
    assert said.count(":") == 1


def test_a_picture_of_the_answer_fits_on_a_phone(page: Path, view: Page) -> None:
    view.set_viewport_size({"width": 390, "height": 844})
    view.goto(page.as_uri())
    picture = view.locator(".answer figure svg").first.bounding_box()
    assert picture["width"] <= 390


def test_a_page_about_a_trace_is_readable_everywhere(traced: Path, view: Page) -> None:
    requests: list[str] = []
    view.on("request", lambda request: requests.append(request.url))
    view.goto(traced.as_uri())
    assert view.locator("figure svg").count() == 4
    assert in_browser.faint_texts(view, of_at_least=100) == []
    view.set_viewport_size({"width": 390, "height": 844})
    assert view.evaluate("document.documentElement.scrollWidth") == 390
    assert requests == [traced.as_uri()]
