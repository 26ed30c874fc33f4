"""The catalog that heaplab ships: every file is read, and what it names exists."""

import contextlib
import os
import re
import subprocess
from pathlib import Path
from typing import Literal

import pytest
from subprocesses import ran

from heaplab.analysis import claims
from heaplab.analysis.metrics import LATENCY_METRICS, PROCESS_METRICS
from heaplab.campaign.command_line import options_of
from heaplab.catalog import contents as catalogs, locate
from heaplab.errors import UsageError
from heaplab.machine import native
from heaplab.options import chosen_arms
from heaplab.results import spec
from heaplab.results.own_program import OwnProgram

CATALOG = catalogs.load()
EXPERIMENTS = list(CATALOG.experiments.values())
OF_OWN_WORKLOADS = [item for item in EXPERIMENTS if CATALOG.workloads[item.workload].kind != "program"]
SHORTEST = 1e-9  # a factor that makes every length its least
Scale = Literal["quick", "full"]


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda item: item.id)
def test_the_words_of_an_experiment_mean_something(experiment: spec.Experiment) -> None:
    claims.check(experiment)
    workload = CATALOG.workloads[experiment.workload]
    known = workload.metrics.keys() | PROCESS_METRICS.keys() | LATENCY_METRICS.keys()
    used = {*experiment.metrics, *(plot.y for plot in experiment.plots if plot.y)}
    used |= {str(item.arguments["metric"]) for item in experiment.expectations if "metric" in item.arguments}
    assert used <= known
    measured = experiment.allocators or CATALOG.allocator_names()
    assert set(measured) <= set(CATALOG.allocator_names())
    assert set(claims.allocators_of(experiment)) <= {*measured, "glibc"}
    assert {workload.main_metric, experiment.main_metric or workload.main_metric} <= known


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda item: item.id)
def test_what_a_figure_needs_is_swept_at_both_scales(experiment: spec.Experiment) -> None:
    needed = {plot.x for plot in experiment.plots if plot.x and plot.kind != "scatter"}
    for scale in (experiment.quick, experiment.full):
        assert needed <= scale.sweep.keys()
        assert all(len(set(map(str, values))) == len(values) for values in scale.sweep.values())


@pytest.mark.starts_programs
@pytest.mark.parametrize("experiment", OF_OWN_WORKLOADS, ids=lambda item: item.id)
@pytest.mark.parametrize("scale", ["quick", pytest.param("full", marks=pytest.mark.long)])
def test_the_workload_accepts_the_first_and_the_last_cell(experiment: spec.Experiment, scale: Scale) -> None:
    """A workload reads its command line in a few milliseconds; what runs on after that has accepted it.

    So has one that finds this machine's memory too small for a publication's parameters. A cell that is
    fitted to the machine may be as short as its experiment allows.
    """
    program = native.program(CATALOG.workloads[experiment.workload].executable)
    assert program is not None
    cells = experiment.cells(scale)
    chosen = [(cells[0], 1.0), (cells[-1], 1.0), (cells[-1], SHORTEST)]
    for options in {tuple(options_of(experiment.resolved(scale, *cell))) for cell in chosen}:
        with contextlib.suppress(subprocess.TimeoutExpired):
            ended = ran(program, *options, timeout=0.1)
            assert ended.returncode == 0 or "of memory, and" in ended.stderr, ended.stderr


def test_each_file_of_a_pattern_enters_it_in_blowup() -> None:
    help_text = subprocess.run(
        [native.needed(native.program(OwnProgram("blowup")), "blowup"), "--help"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    [listed] = re.findall(r"\(([a-z, ]+); default survivor\)", help_text)
    files = (Path(__file__).parents[3] / "src/workloads/blowup/patterns").iterdir()
    assert re.split(", | or ", listed) == sorted(file.stem for file in files)


def test_python_goes_to_malloc() -> None:
    """Python tells of arenas as long as it serves small objects itself."""
    workload = CATALOG.workloads["python"]
    assert workload.fixture is not None
    flags = [word for word in workload.arguments if word.startswith("-")]
    command = [workload.program, *flags, "-c", "import sys; sys._debugmallocstats()"]
    environment = os.environ | workload.fixture.environment
    assert "arenas" not in ran(*command, env=environment, check=True).stderr
    assert "arenas" in ran(command[0], "-I", *command[-2:], env=environment, check=True).stderr


def test_a_suite_names_experiments_there_are() -> None:
    for suite in CATALOG.suites.values():
        assert CATALOG.experiments_matching(suite.experiments)


def test_an_experiment_is_in_a_suite_or_a_publication_or_on_a_page() -> None:
    """An experiment that nothing names is never run. What quotes a publication is a part of it."""
    suites = {
        item.id for each in CATALOG.suites.values() for item in CATALOG.experiments_matching(each.experiments)
    }
    parts = {name for each in CATALOG.publications.values() for name in each.experiments}
    pages = "".join(page.read_text() for page in (Path(__file__).parents[3] / "docs").glob("*.md"))
    assert {item.id for item in EXPERIMENTS if item.publication} <= parts
    others = CATALOG.experiments.keys() - suites - parts
    assert {name for name in others if name not in pages} == set()


def test_experiments_are_named_by_id_group_or_glob() -> None:
    whole = CATALOG.experiments_matching(["acdc-ismm13"])
    assert len(whole) > 1
    assert whole == CATALOG.experiments_matching(["acdc-ismm13/*", "acdc-ismm13/fig10"])
    assert [item.id for item in CATALOG.experiments_matching(["acdc-ismm13/fig10"])] == ["acdc-ismm13/fig10"]


def test_a_derived_parameter_follows_the_swept_one() -> None:
    experiment = CATALOG.experiments["acdc-ismm13/fig10"]
    for cell in experiment.cells("full"):
        assert experiment.resolved("full", cell)["max-size"] == 2 * int(cell["min-size"])


def test_a_comparison_takes_neither_variants_nor_references_unless_they_are_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(chosen_arms, "arm_of", lambda _catalog, name: name)
    ready, every = chosen_arms.libraries(CATALOG, None, ()), chosen_arms.libraries(CATALOG, "all", ())
    assert ready[0] == every[0] == "glibc"
    assert set(ready) < set(every) == CATALOG.allocators.keys() - {"bump", "steady", "java", "go"}
    named = ["bump", "llheap-debug", "scalloc-paper"]
    assert chosen_arms.libraries(CATALOG, ",".join(named), ()) == named


@pytest.mark.parametrize("name", CATALOG.allocator_names())
def test_a_library_of_heaplab_named_in_the_catalog_is_built(name: str) -> None:
    allocator, variant = CATALOG.allocator(name)
    for source in allocator.sources:
        if source.kind == "heaplab" and native.library("bump"):
            assert native.library((variant.library if variant else "") or source.library)


def test_a_list_tells_the_versions_that_a_campaign_records() -> None:
    catalog = catalogs.load()
    for name in ("glibc", "scalloc", "bump"):
        assert locate.found_here(catalog, name).version == locate.locate(catalog, name).version


def test_a_list_looks_into_the_file_of_the_users(tmp_path: Path) -> None:
    (tmp_path / "libmine.so").write_text("no library")
    catalog = catalogs.load().with_library("mine", tmp_path / "libmine.so")
    with pytest.raises(UsageError, match=r"libmine\.so"):
        locate.found_here(catalog, "mine")


def test_an_aspect_of_a_later_folder_replaces_one_of_the_same_name(tmp_path: Path) -> None:
    table = '[local]\ntitle = "{}"\nquestion = "?"\nwhere = "here"\n'
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "aspects.toml").write_text(table.format(name))
    aspects = catalogs.load((tmp_path / "first", tmp_path / "second")).aspects
    assert aspects["local"].title == "second"
    assert "remote" in aspects


def test_every_experiment_of_a_suite_is_of_an_aspect() -> None:
    for suite in CATALOG.suites.values():
        for item in CATALOG.experiments_matching(suite.experiments):
            assert isinstance(item.aspect, spec.Aspect), item.id
            program = CATALOG.workloads[item.workload].kind == "program"
            assert (item.aspect.id == "programs") == program, item.id


def test_what_confirms_a_change_to_scalloc_is_not_what_it_was_tuned_on() -> None:
    """No workload of one suite is in the other, not even with other parameters."""
    tuned, confirmed = (
        CATALOG.experiments_matching(CATALOG.suite(name).experiments) for name in ("scalloc", "confirm")
    )
    assert {item.workload for item in tuned} & {item.workload for item in confirmed} == set()
    kinds = {item.aspect.id for item in confirmed if isinstance(item.aspect, spec.Aspect)}
    assert kinds >= {"local", "remote", "large", "memory", "programs"}


def test_the_quick_suite_has_two_to_four_cells_of_every_aspect() -> None:
    cells = dict.fromkeys(CATALOG.aspects, 0)
    for item in CATALOG.experiments_matching(CATALOG.suite("quick").experiments):
        assert isinstance(item.aspect, spec.Aspect)
        cells[item.aspect.id] += len(item.cells("quick"))
    assert all(2 <= count <= 4 for count in cells.values()), cells


def test_names_from_elsewhere_choose_a_part_of_their_suite() -> None:
    suite = CATALOG.suite("mimalloc-bench")
    assert set(suite.names.values()) == set(suite.experiments) <= set(CATALOG.experiments)
    chosen = CATALOG.suite("larson, mstress,larson-sized")
    assert chosen.experiments == ["classic/larson", "standing/short-threads"]
    assert (chosen.scale, chosen.budget_s) == (suite.scale, suite.budget_s)
    with pytest.raises(UsageError, match=r"no suite 'cfrac'; known: classic, .*with commas: larson, "):
        CATALOG.suite("larson,cfrac")
