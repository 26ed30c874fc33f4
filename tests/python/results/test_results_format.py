"""docs/results-format.md names every field of every line of a results file, and no other."""

import re
import runpy
from pathlib import Path

import pytest

from heaplab.results import records

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "results-format.md").read_text()
RECORDS = runpy.run_path(str(ROOT / "packaging/site/python_reference.py"))["SECTIONS"]


def first_columns(heading: str) -> list[str]:
    """The first cell of every row of the table under a heading."""
    section = re.split(r"^#+ ", PAGE.partition(f"# {heading}\n")[2], maxsplit=1, flags=re.MULTILINE)[0]
    return re.findall(r"^\| ([^|]+) \|", section, re.MULTILINE)


@pytest.mark.parametrize(("heading", "kind"), RECORDS.items())
def test_the_table_of_a_record_names_its_fields(heading: str, kind: type[records.Record]) -> None:
    named = [name for cell in first_columns(heading) for name in re.findall(r"`(\w+)`", cell)]
    fields = [field.alias or name for name, field in kind.model_fields.items()]
    assert sorted(named) == sorted(fields)
