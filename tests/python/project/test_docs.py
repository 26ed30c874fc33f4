"""The pages of docs/ name tests and files that exist."""

import re
from pathlib import Path

import pytest
from subprocesses import printed_by

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs/faults-of-the-originals.md"
DEFINITION = re.compile(r"^(?:TYPED_)?TEST(?:_F|_P)?\((\w+),\s*(\w+)\)", re.MULTILINE)
ROW = re.compile(r"^\| (?!fault|-)[^\n]*\|$", re.MULTILINE)


def test_every_fault_of_an_original_has_a_test_that_exists() -> None:
    defined = {
        ".".join(match.groups())
        for folder in ("tests", "src/check")
        for file in (ROOT / folder).rglob("*.cpp")
        for match in DEFINITION.finditer(file.read_text())
    }
    rows = [row for row in ROW.findall(PAGE.read_text()) if "| fault |" not in row]
    assert len(rows) >= 20
    for row in rows:
        named = re.findall(r"`(\w+\.\w+)`", row)
        files = re.findall(r"`((?:tests|src/check)/[\w/.]+)`", row)
        assert named or files, f"no test: {row}"
        assert [name for name in named if name not in defined] == []
        assert [file for file in files if not (ROOT / file).exists()] == []


def test_the_design_of_the_front_end_and_the_glossary_name_files_that_exist() -> None:
    package = ROOT / "python" / "heaplab"
    for name in ("design-front-end.md", "glossary.md"):
        files = re.findall(r"`((?:\w+/)+\w+\.py)`", (ROOT / "docs" / name).read_text())
        assert len(files) > 5, name
        absent = [file for file in files if not ((package / file).exists() or (ROOT / file).exists())]
        assert absent == []


def test_pages_name_files_that_exist_or_the_commit_that_has_them() -> None:
    path = re.compile(r"`((?:docs|include|research|src|tests|tools)/[\w./-]+\w\.[a-z]+)[^`]*`( of commit)?")
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "src").rglob("*.md")]
    named = [match for page in pages for match in path.finditer(page.read_text())]
    assert len(named) > 100
    assert [match[1] for match in named if not (match[2] or (ROOT / match[1]).exists())] == []


def test_the_design_of_the_front_end_names_every_room() -> None:
    rooms = {path.parent.name for path in (ROOT / "python" / "heaplab").glob("*/__init__.py")}
    table = (ROOT / "docs/design-front-end.md").read_text()
    rows = dict(re.findall(r"^\| `(\w+)` \|.*\| ([^|]+) \|$", table, re.MULTILINE))
    assert set(rows) == rooms
    for room, files in rows.items():
        for name in re.findall(r"`(\w+\.py)`", files):
            assert (ROOT / "python" / "heaplab" / room / name).exists(), (room, name)


def glossary_rows() -> list[list[str]]:
    table = (ROOT / "docs/glossary.md").read_text()
    return [row.strip("| ").split(" | ") for row in re.findall(r"^\| \*\*.+$", table, re.MULTILINE)]


@pytest.mark.parametrize(
    "page", ["src/allocators/scalloc/DESIGN.md", "src/allocators/llheap/DESIGN.md", "docs/workload-format.md"]
)
def test_the_glossary_has_every_term_that_a_design_introduces(page: str) -> None:
    words = {word for row in glossary_rows() for word in re.findall(r"[\w '-]+", row[0].replace("the ", ""))}
    introduced = re.findall(r"\*\*([a-z][\w -]+|Slots)\*\*", (ROOT / page).read_text())
    assert len(introduced) > 4
    assert {term.lower().removesuffix("s") for term in introduced} - {
        word.strip().removesuffix("s") for word in words
    } == set()


def test_the_names_in_the_code_that_the_glossary_gives_exist() -> None:
    sources = "".join(file.read_text() for file in (ROOT / "python/heaplab").rglob("*.py"))
    names = [name for row in glossary_rows() if len(row) == 3 for name in re.findall(r"`([\w.]+)`", row[2])]
    assert len(names) > 20
    files = [name for name in names if name.endswith(".py")]
    absent = [name for name in names if name not in files and name.rpartition(".")[2] not in sources]
    assert absent == []


LINK = re.compile(r"\]\(([\w./-]+[\w])(?:#[\w-]*)?\)")


def links_of(page: Path) -> set[Path]:
    """The files of this tree that a page leads to, but itself."""
    targets = LINK.findall(page.read_text())
    return {(page.parent / target).resolve() for target in targets} - {page}


def test_every_page_can_be_reached_from_the_first() -> None:
    seen, ahead = set(), {ROOT / "README.md"}
    while ahead:
        page = ahead.pop()
        seen.add(page)
        if page.suffix == ".md":
            ahead |= {found for found in links_of(page) if found.is_file()} - seen
    assert set((ROOT / "docs").rglob("*.md")) - seen == set()


def test_links_lead_to_files() -> None:
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    broken = [(page.name, link.name) for page in pages for link in links_of(page) if not link.exists()]
    assert broken == []


HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
CODE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
PLACE = re.compile(r"\]\(([\w./-]*)#([\w-]+)\)")


def places_of(page: Path) -> set[str]:
    """The names that forges give the headings of a page."""
    headings = HEADING.findall(CODE.sub("", page.read_text()))
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_links_lead_to_headings() -> None:
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "src").rglob("*.md")]
    links = [
        (page, (page.parent / target).resolve() if target else page, place)
        for page in pages
        for target, place in PLACE.findall(page.read_text())
    ]
    assert len(links) > 10
    assert [(page.name, place) for page, target, place in links if place not in places_of(target)] == []


def test_todays_results_of_scalloc_are_read_in_minutes() -> None:
    assert len((ROOT / "docs/scalloc-performance.md").read_text().split()) <= 1500


def test_the_index_of_decisions_has_each_with_its_status() -> None:
    folder = ROOT / "docs" / "decisions"
    rows = re.findall(
        r"^\| \[[\d, ]+: .+\]\((.+)\) \| (\w[\w ]*) \| .+ \|$", (folder / "README.md").read_text(), re.M
    )
    assert [name for name, _ in rows] == sorted(path.name for path in folder.glob("[0-9]*.md"))
    assert {status.split(" by ")[0] for _, status in rows} <= {"holds", "rejected", "narrowed", "replaced"}


def test_pages_keep_few_pictures_and_the_checkout_is_small() -> None:
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    pictures = [name for page in pages for name in re.findall(r"!\[[^]]*\]\(([^)]+)\)", page.read_text())]
    assert 1 < len(pictures) <= 12
    files = printed_by("git", "-C", ROOT, "ls-files", "-z").split("\0")[:-1]
    assert len(files) > 1000
    assert sum((ROOT / file).lstat().st_size for file in files if (ROOT / file).exists()) < 8e6
