"""Results of schema 1 are read as if they had been written today, and are not resumed."""

import json
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from laboratory import Laboratory

from heaplab.analysis import Analysis
from heaplab.campaign import store
from heaplab.claims import evaluate
from heaplab.report import page

STORED = Path(__file__).with_name("data") / "schema_1.jsonl"


def lines() -> list[dict[str, Any]]:
    return [json.loads(line) for line in STORED.read_text().splitlines()]


def old_processes(experiment: str, allocator: str) -> list[dict[str, Any]]:
    """What the file says of the processes of an experiment, in its own words."""
    runs = (line for line in lines() if line["kind"] == "run")
    return [
        run["process"] for run in runs if (run["experiment"], run["allocator"]) == (experiment, allocator)
    ]


@pytest.fixture
def analysis() -> Analysis:
    return Analysis(store.load(STORED))


def test_every_line_is_read() -> None:
    results = store.load(STORED)
    assert (results.schema, results.unreadable) == (1, [])
    assert len(results.runs) == sum(line["kind"] == "run" for line in lines())


@pytest.mark.parametrize(
    ("metric", "old"),
    [
        ("wall_time", lambda process: process["wall"]),
        ("user_time", lambda process: process["user"]),
        ("system_time", lambda process: process["system"]),
        ("cpu_time", lambda process: process["user"] + process["system"]),
    ],
)
def test_the_times_of_a_process_have_the_names_of_today(analysis: Analysis, metric: str, old: Any) -> None:
    study = next(study for study in analysis.studies if study.name == "small/perl")
    assert metric in study.experiment.metrics
    found = study.median((), "bump", metric).estimate
    assert found == median(old(process) for process in old_processes("small/perl", "bump"))


def test_what_a_workload_measured_is_untouched(analysis: Analysis) -> None:
    study = next(study for study in analysis.studies if study.name == "small/churn")
    assert study.main_metric == "wall_time"
    samples = [line["sample"] for line in lines() if line.get("experiment") == "small/churn"]
    times = {sample["metrics"]["wall_time"]["value"] for sample in samples}
    for cell in study.cells:
        assert set(study.values(cell, "glibc", "wall_time").values()) <= times
        assert len(study.values(cell, "glibc", "wall_time")) == 2


def test_settings_of_a_swept_name_are_presets_and_the_setting_of_a_program_is_its_fixture() -> None:
    campaign = store.load(STORED).campaign
    churn = next(item for item in campaign.experiments if item["id"] == "small/churn")
    assert churn["presets"]["heap"]["large"] == {"spots": 512, "objects": 1000}
    assert campaign.workloads["perl"]["fixture"]["package"] == "perl-base"


def test_plots_and_claims_speak_of_the_metrics_of_today(analysis: Analysis) -> None:
    perl = next(study for study in analysis.studies if study.name == "small/perl")
    assert [plot.y for plot in perl.experiment.plots] == ["cpu_time"]
    assert [outcome.figures.split()[0] for outcome in evaluate(analysis)] == ["bump"]


def test_a_page_is_written_about_it(analysis: Analysis, tmp_path: Path) -> None:
    page.write_html([analysis], tmp_path / "page.html")
    assert "small/churn" in (tmp_path / "page.html").read_text()


def test_it_is_not_resumed(lab: Laboratory, tmp_path: Path) -> None:
    """Its cells are told to programs in the words of their time, and its lines would be of two schemas."""
    path = tmp_path / store.FILE_NAME
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines() if line["kind"] != "end"))
    status, printed = lab.heaplab("run", "--resume", path)
    assert (status, printed) == (
        2,
        f"heaplab: {path}: written by an earlier heaplab (schema 1); it can be reported, not resumed: "
        "start a new campaign\n",
    )


@pytest.mark.parametrize("spoilt", ["[]", '{"kind":"run","process":7}', '{"kind":"campaign"}', "nonsense"])
def test_a_spoilt_line_is_left_out(tmp_path: Path, spoilt: str) -> None:
    path = tmp_path / store.FILE_NAME
    path.write_text(STORED.read_text() + spoilt + "\n")
    (fault,) = store.load(path).unreadable
    assert fault.startswith("line ")
