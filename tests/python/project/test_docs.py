"""The pages of docs/ name tests and files that exist."""

import re
from pathlib import Path

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


def test_the_design_of_the_front_end_names_every_room() -> None:
    rooms = {path.parent.name for path in (ROOT / "python" / "heaplab").glob("*/__init__.py")}
    table = (ROOT / "docs/design-front-end.md").read_text()
    rows = dict(re.findall(r"^\| `(\w+)` \|.*\| ([^|]+) \|$", table, re.MULTILINE))
    assert set(rows) == rooms
    for room, files in rows.items():
        for name in re.findall(r"`(\w+\.py)`", files):
            assert (ROOT / "python" / "heaplab" / room / name).exists(), (room, name)
