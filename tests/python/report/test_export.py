"""What other programs read of results: `report --form export`, heaplab.load, --json with cells."""

import csv
import io
import json
import sys
from pathlib import Path

import pytest
import synthetic
from laboratory import Laboratory, refusal, success

import heaplab
from heaplab.analysis import CELL_COLUMNS, RUN_COLUMNS, Analysis
from heaplab.errors import UsageError
from heaplab.report.machine_readable import export, json_summary
from heaplab.results import store
from heaplab.results.records import Status

ALLOCATORS = ["glibc", "jemalloc"]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    *records, last, end = synthetic.campaign(ALLOCATORS, synthetic.experiments()[:1])
    failed = {"status": Status.FAILED, "reason": "exit status 1", "sample": None}
    records += [last.model_copy(update=failed), end]
    return synthetic.write(records, tmp_path_factory.mktemp("export") / store.FILE_NAME).parent


@pytest.fixture(scope="module")
def analysis(results: Path) -> Analysis:
    return Analysis(store.load(results))


def test_a_row_holds_what_the_analysis_says(results: Path, analysis: Analysis) -> None:
    study = analysis.studies[0]
    rows, _ = export.rows_of([analysis], "cells")
    times = [row for row in rows if row["metric"] == study.main_metric and row["candidate"] == "jemalloc"]
    assert [json.loads(row["cell"]) for row in times] == [dict(cell) for cell in study.cells]
    for cell, row in zip(study.cells, times, strict=True):
        judged = study.judged(study.main_metric)[cell, "jemalloc"]
        ratio = judged.ratio
        assert (row["ratio"], row["low"], row["high"]) == (ratio.estimate, ratio.low, ratio.high)
        assert (row["verdict"], row["unit"], row["reference"]) == (str(judged.verdict), "s", "glibc")


def test_the_control_is_marked_and_has_no_verdict(analysis: Analysis) -> None:
    controls = [row for row in export.rows_of([analysis], "cells")[0] if row["control"]]
    assert {row["candidate"] for row in controls} == {"glibc#again"}
    assert all(row["ratio"] and row["verdict"] is None for row in controls)


def test_every_run_is_there_also_without_a_figure(analysis: Analysis) -> None:
    rows, columns = export.rows_of([analysis], "runs")
    assert {row["order"] for row in rows} == {run.order for run in analysis.results.runs}
    lost = [row for row in rows if row["status"] != "ok"]
    assert lost
    assert all(row["reason"] and row["value"] is None for row in lost)
    assert set(columns) == set(RUN_COLUMNS) == set(rows[0])


def test_csv_has_a_header_and_a_line_for_each_row(lab: Laboratory, results: Path) -> None:
    printed = success(lab.heaplab("report", results, "--form", "table"))
    read = list(csv.DictReader(io.StringIO(printed)))
    assert list(read[0]) == list(CELL_COLUMNS)
    assert {row["unit"] for row in read} >= {"s", "B"}


def test_the_suffix_says_what_is_written(lab: Laboratory, results: Path, tmp_path: Path) -> None:
    for name in ("a.csv", "a.md", "a.parquet"):
        words = ("report", results, "-o", tmp_path / name, "--what", "runs")
        assert lab.heaplab(*words) == (0, f"{tmp_path / name}\n")
    assert (tmp_path / "a.md").read_text().startswith("| campaign | experiment |")
    assert (tmp_path / "a.parquet").read_bytes()[:4] == b"PAR1"
    printed = refusal(lab.heaplab("report", results, "--form", "table", "-o", tmp_path / "a.xls"))
    assert "its suffix is none of .csv, .md, .parquet" in printed


def test_a_notebook_gets_one_table_of_several_campaigns(results: Path, analysis: Analysis) -> None:
    frame = heaplab.load(results, results)
    rows, _ = export.rows_of([analysis, analysis], "cells")
    assert len(frame) == len(rows)
    assert set(frame["cell.threads"]) == {dict(cell)["threads"] for cell in analysis.studies[0].cells}
    assert "cell" not in frame
    assert frame.attrs["columns"]["ratio"] == CELL_COLUMNS["ratio"]
    assert "cell" in heaplab.load(results, what="runs", cells_as_columns=False)


def test_without_pandas_the_table_is_one_of_arrow(results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    table = heaplab.load(results, what="runs")
    assert table.schema.field("value").metadata == {b"is": RUN_COLUMNS["value"].encode()}
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(UsageError, match="needs pandas or pyarrow"):
        heaplab.load(results)


def test_json_holds_the_cells(analysis: Analysis) -> None:
    plain = json.loads(json.dumps(json_summary.as_plain(analysis), allow_nan=False))
    assert {row["candidate"] for row in plain["cells"]} == {*ALLOCATORS, "glibc#again"}
    assert all(set(row) == set(CELL_COLUMNS) for row in plain["cells"])
