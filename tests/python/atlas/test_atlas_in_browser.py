"""An atlas as people see it: opened from files, on a desktop and a phone, searched and filtered."""

from collections.abc import Iterator
from pathlib import Path

import in_browser
import pytest
import synthetic
from over_days import changed, site_of
from playwright.sync_api import Browser, Page, expect

pytestmark = pytest.mark.slow
SIZES = {"desktop": (1280, 900), "phone": (390, 844)}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("atlas")
    paths = []
    for day in (1, 2):
        made = synthetic.campaign(["glibc", "jemalloc", "mimalloc"], blocks=5, seed=day, faults=True)
        head, host, *rest = (changed(record, day, f"1.{day}", "6.1", "2.36") for record in made)
        if day == 2:
            host.facts["cpu"] = "Second CPU"
        paths.append(synthetic.write([head, host, *rest], folder / f"{day}.jsonl"))
    return site_of(paths, folder / "site")


@pytest.fixture
def view(browser: Browser) -> Iterator[Page]:
    view = browser.new_page()
    yield view
    view.close()


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_opened_from_files_are_whole_and_readable(
    site: Path, browser: Browser, scheme: str, size: str
) -> None:
    width, height = SIZES[size]
    view = browser.new_page(color_scheme=scheme, viewport={"width": width, "height": height})
    complaints, requests = in_browser.heard(view)
    machine = next((site / "machines").iterdir())
    for page in ("index.html", "allocators/jemalloc.html", "workloads/acdc.html", machine.relative_to(site)):
        view.goto((site / page).as_uri())
        assert view.evaluate("document.documentElement.scrollWidth") == width, page
        assert in_browser.faint_texts(view, of_at_least=30) == [], page
    view.close()
    assert complaints == []
    assert len(requests) == 4


def test_a_search_keeps_the_rows_with_all_words_and_survives_a_reload(site: Path, view: Page) -> None:
    view.goto((site / "index.html").as_uri())
    rows = view.locator("#allocators tbody tr")
    expect(rows.filter(visible=True)).to_have_count(3)
    view.get_by_role("searchbox").fill("jemalloc 5.3")
    expect(rows.filter(visible=True)).to_have_count(1)
    assert "of" in view.locator("#found").inner_text()
    view.reload()
    expect(rows.filter(visible=True)).to_have_count(1)
    rows.filter(visible=True).get_by_role("link").click()
    expect(view.get_by_role("heading", level=1)).to_have_text("jemalloc")


def test_rows_are_narrowed_to_a_machine_and_a_measure(site: Path, view: Page) -> None:
    view.goto((site / "workloads/acdc.html").as_uri())
    rows = view.locator("main tbody tr")
    whole = rows.filter(visible=True).count()
    view.get_by_label("machine").select_option(index=1)
    view.get_by_label("measure").select_option("memory")
    left = rows.filter(visible=True).all_inner_texts()
    assert 0 < len(left) < whole
    assert all("memory" in text and "Example CPU" in text for text in left)
    view.get_by_label("measure").select_option("")
    view.get_by_label("machine").select_option("")
    expect(rows.filter(visible=True)).to_have_count(whole)
