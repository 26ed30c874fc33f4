"""Sizes and durations are read as the table says that the workloads are tested against as well."""

from pathlib import Path

import pytest

from heaplab.options.quantities import read_duration, read_size, show_duration, show_size

TABLE = Path(__file__).parents[2] / "units.txt"
CASES = [line.split() for line in TABLE.read_text().splitlines() if line and not line.startswith("#")]


def test_the_table_has_its_cases() -> None:
    assert len(CASES) > 60
    assert {kind for kind, _, _ in CASES} == {"size", "duration"}


@pytest.mark.parametrize(("kind", "text", "value"), CASES)
def test_a_quantity_is_read_as_the_workloads_read_it(kind: str, text: str, value: str) -> None:
    found = read_size(text) if kind == "size" else read_duration(text)
    assert found == (None if value == "-" else int(value) if kind == "size" else float(value))


@pytest.mark.parametrize("text", ["", " 1", "1 ", "1 KiB", "1 s", "1\n"])
def test_an_empty_text_or_a_space_is_refused(text: str) -> None:
    assert read_size(text) is None
    assert read_duration(text) is None


def test_a_quantity_is_shown_as_it_may_be_typed() -> None:
    assert [show_size(size) for size in (0, 1000, 8192, 8193, 3 << 30, 1 << 50)] == [
        *("0", "1000", "8KiB", "8193", "3GiB", "1024TiB")
    ]
    assert [show_duration(seconds) for seconds in (0.001, 90.0, 31536000)] == ["0.001s", "90s", "31536000s"]
