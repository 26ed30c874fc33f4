"""Tables of the page as text."""

from rich.console import Console
from rich.markup import escape

from heaplab.console import Column, put, put_table
from heaplab.report.tables.table_parts import Table


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
