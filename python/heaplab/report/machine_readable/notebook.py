"""`heaplab.load`: results as a table for notebooks."""

import json
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from heaplab.analysis import Analysis
from heaplab.errors import UsageError
from heaplab.report.machine_readable import export
from heaplab.results import store


def load(
    *results: str | Path, what: Literal["cells", "runs"] = "cells", cells_as_columns: bool = True
) -> Any:
    """Results files, or folders that contain them, as one table: a DataFrame of pandas, else of Arrow.

    what="cells" yields one row for each metric of each candidate in each cell: median, ratio to the reference
    with its interval, verdict. what="runs" yields one row for each metric of each run. `unit` names the
    unit of a row; `table.attrs["columns"]` (pandas) or the metadata of the schema's fields (Arrow) describe
    the columns. Each swept parameter is a column "cell.NAME", unless `cells_as_columns` is False; then one
    column "cell" has all of them as JSON.

    Raises heaplab.errors.UsageError if a file is no results file of heaplab, or if neither pandas nor pyarrow
    is installed (pip install 'heaplab[export]').

    Example: heaplab.load("out/compare").query("metric == 'wall_time' and not control")
    """
    analyses = [Analysis(store.load(Path(path))) for path in results]
    rows, columns = export.rows_of(analyses, what)
    if cells_as_columns:
        rows, columns = spread(rows, columns)
    try:
        frame = import_module("pandas").DataFrame(rows, columns=list(columns))
    except ImportError:
        return arrow_table(rows, columns)
    frame.attrs["columns"] = columns
    return frame


def spread(
    rows: list[dict[str, Any]], columns: dict[str, str]
) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """Moves the swept parameters into columns of their own."""
    cells = [json.loads(row["cell"]) for row in rows]
    names = {f"cell.{name}": f"the swept parameter {name}" for cell in cells for name in cell}
    own = [{f"cell.{name}": value for name, value in cell.items()} for cell in cells]
    known = {name: says for name, says in columns.items() if name != "cell"}
    return [
        {name: row[name] for name in known} | dict.fromkeys(names) | cell
        for row, cell in zip(rows, own, strict=True)
    ], known | names


def arrow_table(rows: list[dict[str, Any]], columns: dict[str, str]) -> Any:
    try:
        return export.as_arrow(rows, columns)
    except ImportError:
        raise UsageError("load needs pandas or pyarrow: pip install 'heaplab[export]'") from None
