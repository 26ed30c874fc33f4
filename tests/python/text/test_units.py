"""Values are shown in the unit that people read them in."""

import pytest

from heaplab.text import units


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (1_000_000, "B", "977 KiB"),
        (3 << 19, "B", "1.50 MiB"),
        (0.0123, "s", "12.3 ms"),
        (2.5e-6, "s", "2.50 µs"),
        (1.5e6, "1/s", "1.50M/s"),
        (4096, "1", "4,096"),
    ],
)
def test_a_value_is_shown_in_the_largest_unit_it_fills(value, unit, text):
    assert units.show(value, unit) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.0123, "12.3 ms"), (119.9, "120 s"), (300, "5 min"), (67_800, "18.8 h"), (1e9, "11,574 days")],
)
def test_a_duration_is_told_without_an_exponent(seconds: float, text: str) -> None:
    assert units.duration(seconds) == text
