"""The pages of docs/ name tests that exist."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/faults-of-the-originals.md"
DEFINITION = re.compile(r"^(?:TYPED_)?TEST(?:_F|_P)?\((\w+),\s*(\w+)\)", re.MULTILINE)
ROW = re.compile(r"^\| (?!fault|-)[^\n]*\|$", re.MULTILINE)


def test_every_fault_of_an_original_has_a_test_that_exists() -> None:
    defined = {
        ".".join(match.groups())
        for file in (ROOT / "tests").rglob("*.cpp")
        for match in DEFINITION.finditer(file.read_text())
    }
    rows = [row for row in ROW.findall(PAGE.read_text()) if "| fault |" not in row]
    assert len(rows) >= 20
    for row in rows:
        named = re.findall(r"`(\w+\.\w+)`", row)
        files = re.findall(r"`(tests/[\w/.]+)`", row)
        assert named or files, f"no test: {row}"
        assert [name for name in named if name not in defined] == []
        assert [file for file in files if not (ROOT / file).exists()] == []
