"""Which runs give values, and what is averaged."""

import pytest
import synthetic

from heaplab.analysis import TIME_ONLY
from heaplab.results.records import Status
from heaplab.stats import Verdict

ONE = synthetic.experiments()[1:2]


def campaign(**more):
    return synthetic.campaign(["glibc", "jemalloc"], ONE, **more)


def with_status(records, status, allocator, blocks):
    """The same records, those runs with another status: complete, as a void run is, but for their word."""
    return synthetic.with_runs(
        records,
        lambda run: run.allocator == allocator and run.block in blocks,
        status=status,
        reason="planted",
    )


@pytest.mark.parametrize("status", [status for status in Status if status is not Status.OK])
def test_a_complete_run_that_does_not_count_gives_no_value(tmp_path, status):
    records = campaign(blocks=6)
    (study,) = synthetic.analysis_of(with_status(records, status, "jemalloc", {1, 4}), tmp_path).studies
    for cell in study.cells:
        for metric in ("throughput", "peak_memory", "wall_time"):
            assert set(study.values(cell, "jemalloc", metric)) == {0, 2, 3, 5}
            assert len(study.pair(cell, "glibc", "jemalloc", metric)[0]) == 4


def test_pairs_are_of_one_block_whatever_either_side_lacks(tmp_path):
    records = campaign(blocks=6)
    spoilt = with_status(records, Status.FAILED, "jemalloc", {1})
    (study,) = synthetic.analysis_of(with_status(spoilt, Status.FAILED, "glibc", {3, 4}), tmp_path).studies
    cell = study.cells[0]
    glibc, jemalloc = (study.values(cell, name, "throughput") for name in ("glibc", "jemalloc"))
    expected = [glibc[block] for block in (0, 2, 5)], [jemalloc[block] for block in (0, 2, 5)]
    assert study.pair(cell, "glibc", "jemalloc", "throughput") == expected


def test_what_the_kernel_counts_in_two_parts_is_added_up(tmp_path):
    parts = {"user_time": 0.5, "system_time": 0.25, "minor_faults": 40, "major_faults": 2}
    records = synthetic.campaign(["glibc"], synthetic.experiments()[3:4], blocks=1)
    counted = synthetic.of_runs(records, lambda run: synthetic.with_process(run, **parts))
    (study,) = synthetic.analysis_of(counted, tmp_path).studies
    assert study.values((), "glibc", "cpu_time") == {0: 0.75}
    assert study.values((), "glibc", "page_faults") == {0: 42}


def test_the_control_is_the_noise_floor_and_no_allocator(tmp_path):
    records = campaign(effect=lambda name, _: (1.2 if name == "glibc#again" else 1.0, 1.0))
    analysis = synthetic.analysis_of(records, tmp_path)
    control = analysis.control("synthetic", TIME_ONLY)
    assert control.estimate == pytest.approx(1.2, rel=0.02)
    assert analysis.threshold("synthetic", TIME_ONLY) == control.high - 1
    assert [summary.allocator for summary in analysis.summaries("synthetic")] == ["jemalloc"]
    (study,) = analysis.studies
    for (cell, name), judged in study.judged("throughput").items():
        assert name == "jemalloc"
        assert judged.control == study.ratio(cell, "glibc#again", "throughput")
        assert judged.verdict is Verdict.UNDECIDED


def test_an_allocator_without_a_figure_in_one_cell_is_incomplete(tmp_path):
    def unseen(run):
        lost = run.allocator == "jemalloc" and run.cell == {"threads": 2}
        return synthetic.with_process(run, peak_memory=None) if lost else run

    spoilt = synthetic.of_runs(campaign(), unseen)
    (summary,) = synthetic.analysis_of(spoilt, tmp_path).summaries("synthetic")
    assert (summary.cells, summary.cells_of, summary.complete) == (1, 2, False)


@pytest.mark.parametrize(("who", "counts"), [({"glibc", "glibc#again", "jemalloc"}, 1), ({"jemalloc"}, 2)])
def test_a_cell_skipped_for_everybody_counts_for_nobody(tmp_path, who, counts):
    skipped = synthetic.with_runs(
        campaign(),
        lambda run: run.allocator in who and run.cell == {"threads": 2},
        **synthetic.no_figure(Status.SKIPPED, ""),
    )
    (summary,) = synthetic.analysis_of(skipped, tmp_path).summaries("synthetic")
    assert (summary.cells, summary.cells_of) == (1, counts)


def test_a_rate_is_turned_into_time_before_it_is_averaged(tmp_path):
    analysis = synthetic.analysis_of(campaign(effect={"jemalloc": (0.5, 1.0)}), tmp_path)
    (summary,) = analysis.summaries("synthetic")
    assert summary.time.ratio.estimate == pytest.approx(0.5, rel=0.02)


def test_a_study_of_few_allocators_is_not_averaged_with_those_of_all(tmp_path):
    records = synthetic.campaign(["glibc", "jemalloc"], synthetic.experiments()[:2])
    kept = synthetic.only(records, lambda run: (run.allocator, run.experiment) != ("jemalloc", ONE[0].id))
    analysis = synthetic.analysis_of(kept, tmp_path)
    assert [study.experiment.id for study in analysis.summarised("synthetic")] == ["acdc-ismm13/fig07"]
