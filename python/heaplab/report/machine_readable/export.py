"""Results as tables for other programs: CSV, Markdown, Parquet."""

import csv
import io
import json
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from heaplab.analysis import CELL_COLUMNS, RUN_COLUMNS, Analysis, cell_rows, run_rows
from heaplab.errors import HeaplabError
from heaplab.text import markdown

Row = dict[str, Any]
TABLES = {"cells": (cell_rows, CELL_COLUMNS), "runs": (run_rows, RUN_COLUMNS)}


def rows_of(analyses: Sequence[Analysis], what: str) -> tuple[list[Row], dict[str, str]]:
    """The rows of the named table, and the description of its columns. A cell is JSON text."""
    rows, columns = TABLES[what]
    lines = [row | {"cell": json.dumps(row["cell"])} for analysis in analyses for row in rows(analysis)]
    return lines, columns


def as_csv(rows: Sequence[Row], columns: Mapping[str, str]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(columns), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def as_markdown_table(rows: Sequence[Row], columns: Mapping[str, str]) -> str:
    return markdown.table(list(columns), [[shown(row[name]) for name in columns] for row in rows])


def shown(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def write_parquet(rows: Sequence[Row], columns: Mapping[str, str], path: Path) -> None:
    """Raises HeaplabError without pyarrow, and OSError."""
    try:
        import_module("pyarrow.parquet").write_table(as_arrow(rows, columns), path)
    except ImportError:
        raise HeaplabError("Parquet needs pyarrow: pip install 'heaplab[export]'") from None


def as_arrow(rows: Sequence[Row], columns: Mapping[str, str]) -> Any:
    """A table of Arrow; the metadata of each field describe it. Raises ImportError without pyarrow."""
    arrow = import_module("pyarrow")
    table = arrow.table({name: [row[name] for row in rows] for name in columns})
    fields = [table.schema.field(name).with_metadata({"is": says}) for name, says in columns.items()]
    return table.cast(arrow.schema(fields))
