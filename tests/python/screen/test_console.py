"""What is printed fits the terminal, loses no name, and is plain in a pipe."""

import io

import pytest
from rich.console import Console

from heaplab.screen import console
from heaplab.screen.console import Column, put, put_command, put_table

NAMES = ["glibc", "scalloc-huge-pages-no-madvise"]
FIGURES = [
    Column("allocator", NAMES),
    Column("time", ["1", "[green]0.57[/]"], right=True),
    Column("faults", ["1", "0.76"], 1, right=True),
    Column("at worst", ["2.71× classic/larson", "4.48× quick/acdc-false-sharing"], 2),
]


def printed(columns: list[Column], width: int) -> list[str]:
    out = Console(width=width, file=io.StringIO())
    put_table(out, columns)
    return out.file.getvalue().splitlines()


def test_columns_line_up_and_nothing_follows_the_last() -> None:
    assert printed(FIGURES, 80) == [
        "allocator                      time  faults  at worst",
        "glibc                             1       1  2.71× classic/larson",
        "scalloc-huge-pages-no-madvise  0.57    0.76  4.48× quick/acdc-false-sharing",
    ]


@pytest.mark.parametrize(
    ("width", "heads"), [(60, "allocator time faults"), (36, "allocator time"), (10, "allocator time")]
)
def test_the_least_important_columns_go_and_no_name_is_cut(width: int, heads: str) -> None:
    head, *rows = printed(FIGURES, width)
    assert head.split() == heads.split()
    assert [row.split()[0] for row in rows] == NAMES
    assert all(len(row) <= max(width, len("scalloc-huge-pages-no-madvise  0.57")) for row in rows)


PROSE = [
    Column("id", NAMES),
    Column("summary", ["What a program gets", "Huge pages and no madvise"], prose=True),
]


def test_prose_is_wrapped_beside_its_row_or_moves_below_it() -> None:
    assert printed(PROSE, 200)[2] == "scalloc-huge-pages-no-madvise  Huge pages and no madvise"
    assert printed(PROSE, 50)[2:] == [
        "    What a program gets",
        "scalloc-huge-pages-no-madvise",
        "    Huge pages and no madvise",
    ]
    long = [PROSE[0], Column("summary", ["word " * 12, ""], prose=True)]
    assert [len(line) for line in printed(long, 70)[1:3]] == [70, 50]


def test_a_paragraph_keeps_its_indent_and_a_command_its_line() -> None:
    out = Console(width=24, file=io.StringIO())
    put(out, "one two three four five", label="Why", indent=6)
    put_command(out, "heaplab compare --resume out/x --budget 10m", 6)
    assert out.file.getvalue().splitlines() == [
        "Why   one two three four",
        "      five",
        "      heaplab compare --resume out/x --budget 10m",
    ]


@pytest.mark.parametrize(
    ("columns", "width"), [("72", 72), ("", console.UNBOUNDED), ("x", console.UNBOUNDED)]
)
def test_a_pipe_is_as_wide_as_columns_says(monkeypatch: pytest.MonkeyPatch, columns: str, width: int) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    assert console.console().width == width
