"""Page tables count in what is said of memory, whoever measured the rest."""

import io

import pytest
import synthetic
from rich.console import Console

from heaplab.analysis import FAULTS, MEMORY, PEAK
from heaplab.report.page import report_page
from heaplab.report.terminal import summary_text
from heaplab.results.records import Campaign, Metric, Run
from heaplab.stats import Verdict

MIB = synthetic.MIB
# By allocator, MiB: the workload's own peak, its page tables at the end, the most of them seen from outside.
PLANTED = {"glibc": (10, 1, 2), "sparse": (10, 10, 2), "glibc#again": (10, 2, 1)}
ONE = synthetic.experiments()[:1]


def with_own_peak(record):
    """The record of a campaign whose workload reports a peak of its own and page tables."""
    if isinstance(record, Campaign):
        card = record.workloads["acdc"]
        declared = card["metrics"] | {PEAK: {"title": "Peak memory", "unit": "B", "better": "lower"}}
        return record.model_copy(update={"workloads": {"acdc": card | {"metrics": declared}}})
    if not isinstance(record, Run):
        return record
    peak, tables, outside = (Metric(value=n * MIB, unit="B") for n in PLANTED[record.allocator])
    memory = [(0.1, MIB, MIB // 2), (0.2, MIB, int(outside.value)), (0.3, MIB, 0)]
    counted = synthetic.with_metrics(record, {PEAK: peak, "page_tables": tables})
    return synthetic.with_process(counted, memory=memory)


def analysis_of(path, change=with_own_peak, experiments=ONE):
    records = synthetic.campaign(["glibc", "sparse"], experiments, blocks=6)
    return synthetic.analysis_of(map(change, records), path)


@pytest.fixture
def measured(tmp_path):
    return analysis_of(tmp_path)


def test_the_most_page_tables_seen_are_added_to_the_workloads_own_peak(measured):
    (study,) = measured.studies
    for cell in study.cells:
        assert set(study.values(cell, "glibc", MEMORY).values()) == {12 * MIB}
        assert set(study.values(cell, "sparse", MEMORY).values()) == {20 * MIB}
        assert set(study.values(cell, "sparse", PEAK).values()) == {10 * MIB}


def test_an_allocator_that_spreads_over_addresses_needs_more_memory(measured):
    (summary,) = measured.summaries("synthetic")
    assert summary.memory.ratio.estimate == pytest.approx(20 / 12)
    assert summary.memory.verdict is Verdict.HIGHER
    assert summary.cost.ratio.estimate == pytest.approx((summary.time.ratio.estimate * 20 / 12) ** 0.5)
    assert measured.studies[0].ratio(measured.studies[0].cells[0], "sparse", PEAK).estimate == 1


def test_a_peak_seen_from_outside_has_them_already(tmp_path):
    (study,) = analysis_of(tmp_path, lambda record: record, synthetic.experiments()[3:4]).studies
    (cell,) = study.cells
    assert study.values(cell, "glibc", MEMORY)
    assert study.values(cell, "glibc", MEMORY) == study.values(cell, "glibc", PEAK)


def test_page_tables_nobody_counted_are_not_taken_for_none(tmp_path):
    def uncounted(record):
        changed = with_own_peak(record)
        if isinstance(changed, Run):
            del changed.sample.metrics["page_tables"]
        return changed

    (study,) = analysis_of(tmp_path, uncounted).studies
    assert study.values(study.cells[0], "glibc", MEMORY) == {}
    assert study.values(study.cells[0], "glibc", PEAK) != {}


@pytest.mark.slow
def test_the_report_says_what_its_memory_counts(measured, tmp_path):
    sections = report_page.part(measured, tmp_path / "report.html")["sections"]
    captions = [table.caption.partition(":")[0] for table in sections[0].numbers]
    faults = "Page faults in thousands"
    assert captions[-3:] == ["Peak memory in MiB", "Peak memory with page tables in MiB", faults]
    printed = io.StringIO()
    summary_text.print_summary(measured, Console(file=printed, width=200))
    assert "Peak memory counts page tables." in printed.getvalue()
    assert "1.67 " in printed.getvalue()
    two = analysis_of(tmp_path / "two", lambda record: record, synthetic.experiments()[3:5])
    assert "Peak memory with page tables relative to glibc" in report_page.render([two], tmp_path)


def test_one_figure_has_one_table(tmp_path):
    (study,) = analysis_of(tmp_path, lambda record: record, synthetic.experiments()[4:5]).studies
    assert report_page.numbered(study, [MEMORY]) == ["wall_time", PEAK, FAULTS]
