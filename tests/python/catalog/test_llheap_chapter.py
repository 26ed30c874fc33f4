"""The experiments of the llheap chapter: what they sweep, and how their figures are drawn."""

import re

import pytest
import synthetic

from heaplab.catalog import contents
from heaplab.errors import UsageError
from heaplab.report.pictures import palette, timelines
from heaplab.results import spec
from heaplab.results.records import Series

CHAINS = (
    "malloc realloc free calloc malloc-free realloc-free calloc-free malloc-realloc calloc-realloc"
    " malloc-realloc-free calloc-realloc-free malloc-realloc-free-calloc"
)


@pytest.fixture(scope="module")
def experiments():
    return {e.id.split("/")[1]: e for e in contents.load().experiments_matching(["llheap-chapter"])}


def test_a_group_names_all_its_experiments(experiments):
    assert " ".join(sorted(experiments)) == "cache-scratch cache-thrash churn memory-1x1 memory-4x4 speed"
    with pytest.raises(UsageError, match="no experiment 'llheap'"):
        contents.load().experiments_matching(["llheap"])


def test_the_full_scale_is_the_publications(experiments):
    threads = [1, 2, 4, 8, 16, 32, 48]
    for name in ("churn", "cache-thrash", "cache-scratch", "speed"):
        assert experiments[name].full.sweep["threads"] == threads
    for name in ("cache-thrash", "cache-scratch"):
        assert experiments[name].full.parameters == {"iterations": 1000, "cache-rw": 1000000}
    for scale in (experiments["speed"].full, experiments["speed"].quick):
        assert " ".join(scale.sweep["chain"]) == CHAINS
    for name, number in (("memory-1x1", 1), ("memory-4x4", 4)):
        given = experiments[name].parameters | experiments[name].full.parameters
        assert (given["producers"], given["consumers-per-producer"]) == (number, number)
        assert given["objects-per-consumer"] == given["batch"] == 100000


# ---------------------------------------------------------------- figures

HEIGHTS = {"glibc": 1e6, "jemalloc": 4e9}  # bytes in each series


def study_of(tmp_path, experiment, change):
    """Of a campaign whose runs were changed."""
    records = synthetic.campaign(HEIGHTS, [experiment], blocks=3)
    (study,) = synthetic.analysis_of(synthetic.of_runs(records, change), tmp_path).studies
    return study


def memory_drawing(tmp_path, **options):
    """The figure of a stack of two series under a line, with courses of these heights."""
    plot = spec.Plot(kind="series", series="heap,mmap", over="requested", **options)
    experiment = synthetic.experiment("llheap-chapter/memory", "acdc", {}, [plot])

    def with_series(run):
        height = HEIGHTS[run.allocator.removesuffix("#again")]
        course = Series(unit="B", points=[(0.0, 0.0), (0.5, height), (1.0, height / 2)])
        series = dict.fromkeys(("heap", "mmap", "requested"), course)
        return run.model_copy(update={"sample": run.sample.model_copy(update={"series": series})})

    study = study_of(tmp_path, experiment, with_series)
    return timelines.series(study, plot, palette.styles(study.candidates))


def test_lines_lie_over_the_stack_and_scales_may_differ(tmp_path):
    own = memory_drawing(tmp_path, own_scale=True)
    assert re.search(r"memory \(GiB\)", own.svg)
    assert re.search(r"memory \(MiB\)", own.svg)
    assert "scale of its own" in own.note
    assert "requested" in own.svg
    common = memory_drawing(tmp_path)
    assert not re.search(r"memory \(MiB\)", common.svg)
    assert "scale of its own" not in common.note


def test_the_course_shown_is_that_of_the_run_with_the_median_peak(tmp_path):
    peaks = {0: 9 << 20, 1: 1 << 20, 2: 5 << 20}  # B, by block

    experiment = synthetic.experiment("llheap-chapter/memory", "acdc", {}, [])
    study = study_of(
        tmp_path, experiment, lambda run: synthetic.with_process(run, peak_memory=peaks[run.block])
    )
    shown = timelines.typical(study, study.cells[0], "jemalloc")
    assert shown.block == 2
