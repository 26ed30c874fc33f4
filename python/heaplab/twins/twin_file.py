"""The file of a twin: what was fitted to a recording, in kilobytes, without addresses, names or data."""

import dataclasses
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from heaplab.catalog import toml_file
from heaplab.errors import UsageError
from heaplab.files import regular_file
from heaplab.files.output import write_text

FORMAT = 1
MOST_BLOCKS = 100_000_000
MOST_SIZE = 1 << 40  # B
MOST_LIFE_CLASS = 100
MOST_LIFE = 1 << 50  # B, as the class says
MOST_BYTES = 4 << 20  # of a file
Row = list[int]


@dataclass(frozen=True)
class Phase:
    """A part of the recording in which the program did the same."""

    seconds: float
    sizes: list[Row]  # class of sizes, blocks, runs of births that die together or in turn, blocks by calloc
    lives: list[Row]  # class of sizes, class of lifetimes, blocks that died, that lived to the end, remotely,
    # and two lifetimes that most of them lie between
    masses: list[Row]  # class of lifetimes, blocks that died, of these in masses, masses
    orders: list[float]  # shares of the blocks of masses: in the order of their births, in the opposite order
    threads: list[Row]  # thread, births
    freed_by: list[Row]  # thread of the birth, another thread, blocks that it released


@dataclass(frozen=True)
class Errors:
    """How far a twin is from a recording. KS: largest difference of two distributions, from 0 to 1."""

    size_ks: float
    size_octaves: float  # mean distance (Wasserstein) of sizes, in factors of two
    life_ks: float
    life_octaves: float  # likewise of lifetimes
    live_curve: float  # median relative error of the live bytes over time
    peak: float  # relative error of the most live bytes
    remote: float  # difference of the shares of blocks that another thread freed
    gathered: float  # likewise of those that died in a mass

    def worst(self) -> tuple[str, float]:
        """The error that is largest against what is allowed, and how many times that it is."""
        times = {name: abs(getattr(self, name)) / most for name, most in ALLOWED.items()}
        name = max(times, key=lambda each: times[each])
        return name, times[name]


# A twin with a larger error does not resemble the program in this.
ALLOWED = {
    "size_ks": 0.15,
    "size_octaves": 0.5,
    "life_ks": 0.15,
    "life_octaves": 1.0,
    "live_curve": 0.25,
    "peak": 0.25,
    "remote": 0.1,
    "gathered": 0.25,
}
WORDS = {
    "size_ks": "sizes",
    "size_octaves": "sizes",
    "life_ks": "lifetimes",
    "life_octaves": "lifetimes",
    "live_curve": "live bytes over time",
    "peak": "the peak of live bytes",
    "remote": "blocks freed by another thread",
    "gathered": "blocks that die in masses",
}


@dataclass(frozen=True)
class Twin:
    heaplab_twin: int  # the version of the format
    blocks: int
    bytes: int
    peak_bytes: int
    freed_at_end: float  # share of the blocks that lived to the end
    sizes: list[Row]  # classes of sizes: smallest and largest, in bytes
    phases: list[Phase]
    errors: dict[str, Errors] = field(default_factory=dict)


def write(twin: Twin, path: Path) -> None:
    write_text(path, as_text(twin))


def as_text(twin: Twin) -> str:
    """JSON with a table to a line."""
    content = dataclasses.asdict(twin)
    phases = content.pop("phases")
    rows = ",\n".join("{" + lines_of(phase) + "}" for phase in phases)
    return f'{{{lines_of(content)},\n"phases": [\n{rows}\n]}}\n'


def lines_of(tables: dict[str, Any]) -> str:
    lines = (f'"{name}": {json.dumps(value, separators=(",", ":"))}' for name, value in tables.items())
    return ",\n".join(lines)


def read(path: Path) -> Twin:
    """Raises UsageError for a file that is no twin, or with numbers that no recording gives."""
    try:
        content = json.loads(regular_file.content_of(path, MOST_BYTES))
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path}: is no twin: {error}") from error
    if not isinstance(content, dict) or content.get("heaplab_twin") != FORMAT:
        raise UsageError(
            f"{path}: is no twin of format {FORMAT}; heaplab trace TRACE -o {path.name} makes one"
        )
    twin = toml_file.checked(Twin, path, content)
    for number, row in enumerate(twin.sizes):
        if fault := fault_of_row(row, (MOST_SIZE, MOST_SIZE)) or ("is empty" if row[0] > row[1] else ""):
            raise UsageError(f"{path}: sizes.{number}: {fault}")
    for number, phase in enumerate(twin.phases):
        if fault := fault_of(phase, twin.sizes):
            raise UsageError(f"{path}: phases.{number}.{fault}")
    rows = [row for phase in twin.phases for row in phase.sizes]
    blocks, most = sum(row[1] for row in rows), sum(row[1] * twin.sizes[row[0]][1] for row in rows)
    if not 0 < blocks <= MOST_BLOCKS or most > MOST_LIFE:
        raise UsageError(
            f"{path}: {blocks} blocks of {most} bytes; allowed is 1 to {MOST_BLOCKS} of {MOST_LIFE}"
        )
    return twin


def fault_of(phase: Phase, sizes: Sequence[Row]) -> str:
    """The first fault in the tables of a phase; "" if there is none."""
    size, life, blocks = len(sizes) - 1, MOST_LIFE_CLASS, MOST_BLOCKS
    limits = {
        "sizes": (size, blocks, blocks, blocks),
        "lives": (size, life, blocks, blocks, blocks, MOST_LIFE, MOST_LIFE),
        "masses": (life, blocks, blocks, blocks),
        "threads": (blocks, blocks),
        "freed_by": (blocks, blocks, blocks),
    }
    for name, most in limits.items():
        for number, row in enumerate(getattr(phase, name)):
            if fault := fault_of_row(row, most):
                return f"{name}.{number}: {fault}"
    if len(phase.orders) != 2 or min(phase.orders) < 0 or sum(phase.orders) > 1.001:
        return "orders: takes two shares, together at most 1"
    return "" if phase.threads and phase.sizes else "threads: is empty"


def fault_of_row(row: Row, most: Sequence[int]) -> str:
    if len(row) != len(most):
        return f"takes {len(most)} numbers"
    for value, limit in zip(row, most, strict=True):
        if not 0 <= value <= limit:
            return f"{value}; allowed is 0 to {limit}"
    return ""
