"""The parts of tables, which the page and the terminal show."""

from dataclasses import dataclass, field
from math import log2

from rich.console import Console
from rich.markup import escape

from heaplab.screen.console import Column, put, put_table
from heaplab.stats import Interval


@dataclass(frozen=True)
class Entry:
    """One field of a table: text, a second line in small print, class and symbol of a verdict, background."""

    text: str
    small: str = ""
    tone: str = ""
    symbol: str = ""
    color: str = ""
    title: str = ""


@dataclass(frozen=True)
class Table:
    caption: str
    columns: list[str]
    rows: list[tuple[str, list[Entry]]]
    corner: str = ""
    groups: list[tuple[str, int]] = field(default_factory=list)  # heads, each over a number of columns
    manners: list[str] = field(default_factory=list)  # a second line in small print for each column
    remarks: list[str] = field(default_factory=list)  # a second line in small print for each row
    notes: list[str] = field(default_factory=list)  # below the table


def print_table(content: Table, console: Console) -> None:
    """Print a table of the page; if there is too little room, the last columns are dropped first."""
    put_table(console, columns_of(content))
    put(console, escape(content.caption))


def columns_of(content: Table) -> list[Column]:
    columns = [Column(content.corner, [escape(name) for name, _ in content.rows])]
    for place, head in enumerate(content.columns):
        entries = [row[place] for _, row in content.rows]
        texts = [escape(f"{e.text} ({e.small})" if e.small else e.text) for e in entries]
        columns.append(Column(escape(head), texts, place))
    return columns


def diverging(ratio: Interval) -> str:
    """Blue below 1, white at 1, orange above; full colour at a factor of four either way.

    No colour where the ratio has no interval: it may be noise.
    """
    if not ratio.bounded:
        return ""
    share = max(-1.0, min(1.0, log2(ratio.estimate) / 2)) if ratio.estimate > 0 else -1.0
    return _mix((255, 255, 255), (112, 173, 219) if share < 0 else (245, 158, 88), abs(share))


def sequential(share: float) -> str:
    """A colour from white to blue for a share from 0 to 1."""
    return _mix((250, 252, 255), (96, 160, 212), max(0.0, min(1.0, share)))


def _mix(light: tuple[int, int, int], full: tuple[int, int, int], share: float) -> str:
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in zip(light, full, strict=True))
