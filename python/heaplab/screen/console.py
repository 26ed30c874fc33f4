"""Text for people: as wide as the terminal or COLUMNS says; in a pipe plain, and as wide as it needs to be.

Tables are columns set apart by spaces. A name or figure is never cut: where there is no room, columns are
left out in the order of their rank, and prose is wrapped or moves below the row.
"""

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import rich.console
import rich.text

UNBOUNDED = 1 << 16  # columns of a pipe without COLUMNS: lines end where they end
GAP = "  "
FEWEST_FOR_PROSE = 32  # columns below which prose moves below its row
INDENT = 4


def console() -> rich.console.Console:
    """Standard output."""
    known = rich.console.Console().is_terminal or os.environ.get("COLUMNS", "").isdigit()
    return rich.console.Console(
        width=shutil.get_terminal_size().columns if known else UNBOUNDED, highlight=False
    )


@dataclass(frozen=True)
class Column:
    """One column of a table, its texts as rich's markup."""

    head: str
    texts: Sequence[str]
    rank: int = 0  # if there is too little room, the column with the highest rank goes first; 0 stays
    right: bool = False
    prose: bool = False  # the last column of prose is wrapped in the room that the others leave

    @cached_property
    def width(self) -> int:
        return max(_styled(text).cell_len for text in (self.head, *self.texts))


def fitting(columns: Sequence[Column], width: int) -> list[Column]:
    """The columns that there is room for."""
    kept = list(columns)
    while _width(kept) > width and any(column.rank for column in kept):
        kept.remove(max(kept, key=lambda column: column.rank))
    return kept


def _width(columns: Sequence[Column]) -> int:
    return sum(column.width for column in columns) + len(GAP) * (len(columns) - 1)


def put_table(console: rich.console.Console, columns: Sequence[Column]) -> None:
    """Print the columns that fit, under their heads."""
    prose = [column for column in columns if column.prose]
    shown = fitting([column for column in columns if not column.prose], console.width)
    room = console.width - _width([*shown, *prose[:-1]]) - len(GAP)
    beside, below = None, prose
    if prose and room >= min(prose[-1].width, FEWEST_FOR_PROSE):
        shown, beside, below = [*shown, *prose[:-1]], prose[-1], []
    _put_row(
        console, [f"[bold]{column.head}[/]" for column in shown], shown, beside.head if beside else None, room
    )
    for place in range(len(columns[0].texts)):
        row = [column.texts[place] for column in shown]
        _put_row(console, row, shown, beside.texts[place] if beside else None, room)
        for text in (column.texts[place] for column in below if column.texts[place]):
            put(console, text, indent=INDENT)


def _put_row(
    console: rich.console.Console, texts: list[str], columns: list[Column], prose: str | None, room: int
) -> None:
    line = rich.text.Text(GAP).join(
        _aligned(text, column) for text, column in zip(texts, columns, strict=True)
    )
    if prose is None:
        _put_line(console, line)
        return
    first, *rest = _wrapped(console, prose, room) or [rich.text.Text()]
    _put_line(console, rich.text.Text(GAP).join([line, first]))
    for more in rest:
        _put_line(console, rich.text.Text(" " * (_width(columns) + len(GAP))) + more)


def _aligned(text: str, column: Column) -> rich.text.Text:
    styled = _styled(text)
    free = column.width - styled.cell_len
    styled.pad_left(free) if column.right else styled.pad_right(free)
    return styled


def put(console: rich.console.Console, text: str, *, label: str = "", indent: int = 0) -> None:
    """Print a paragraph of rich's markup, wrapped; `label` stands in the first `indent` columns."""
    lines = _wrapped(console, text, console.width - indent)
    for number, line in enumerate(lines or [rich.text.Text()]):
        start = _styled(label if number == 0 else "")
        start.pad_right(max(0, indent - start.cell_len))
        _put_line(console, start + line)


def put_command(console: rich.console.Console, command: str, indent: int) -> None:
    """Print a command in one line, whatever its length: a reader would copy a line break too."""
    _put_line(console, rich.text.Text(" " * indent + command))


def _wrapped(console: rich.console.Console, text: str, width: int) -> list[rich.text.Text]:
    return list(_styled(text).wrap(console, max(width, 1)))


def _styled(text: str) -> rich.text.Text:
    """The text of rich's markup. Words between colons stay, because ":x:" in a text means no emoji."""
    return rich.text.Text.from_markup(text, emoji=False)


def _put_line(console: rich.console.Console, line: rich.text.Text) -> None:
    line.rstrip()
    console.print(line, soft_wrap=True)
