"""The grammar of sizes and durations, the same as that of heaplab's workloads.

A quantity is a decimal number directly followed by a unit: `64`, `8KiB`, `1.5GiB`, `2GB`, `0.5`, `200ms`,
`5m`. `src/workloads/harness/value_text.cpp` reads the same grammar; both are tested against tests/units.txt.
"""

import re
from math import floor, isfinite

QUANTITY = re.compile(r"([0-9]+(?:\.[0-9]+)?)([A-Za-z]*)")
SIZE_UNITS = {
    "": 1,
    "B": 1,
    **{f"{prefix}B": 1000**power for power, prefix in enumerate("kMGT", 1)},
    **{f"{prefix}iB": 1024**power for power, prefix in enumerate("KMGT", 1)},
}
# A factor and a divisor, so that 10us is exactly 1e-5 s: both are whole numbers.
TIME_UNITS = {
    "": (1, 1),
    "ns": (1, 10**9),
    "us": (1, 10**6),
    "ms": (1, 10**3),
    "s": (1, 1),
    "m": (60, 1),
    "min": (60, 1),
    "h": (3600, 1),
}
EXACT = 1 << 53  # up to this a double holds every whole number
LARGEST = (1 << 64) - 1


def read_size(text: str) -> int | None:
    """The size in whole bytes, rounded; None if the text is no size or the size does not fit in 64 bits."""
    match = QUANTITY.fullmatch(text)
    if not match or match[2] not in SIZE_UNITS:
        return None
    number, unit = match[1], SIZE_UNITS[match[2]]
    if "." not in number:
        size = int(number) * unit
        return size if size <= LARGEST else None
    exactly = float(number) * unit
    return floor(exactly + 0.5) if exactly <= EXACT else None


def read_duration(text: str) -> float | None:
    """Seconds; None if the text is no duration."""
    match = QUANTITY.fullmatch(text)
    if not match or match[2] not in TIME_UNITS:
        return None
    factor, divisor = TIME_UNITS[match[2]]
    seconds = float(match[1]) * factor / divisor
    return seconds if isfinite(seconds) else None


def show_size(size: float) -> str:
    """The text of a size, in the largest binary unit that is exact: "8KiB", "1000"."""
    whole = int(size)
    for unit in ("", "KiB", "MiB", "GiB"):
        if whole == 0 or whole % 1024:
            return f"{whole}{unit}"
        whole //= 1024
    return f"{whole}TiB"


def show_duration(seconds: float) -> str:
    return f"{seconds:.10g}s"
