"""`heaplab compare --all-publications`, small: two figures of a publication that is not heaplab's."""

import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest
from conftest import EXPERIMENT
from laboratory import WARM, Laboratory, cut_off, failure, refusal, success

from heaplab.machine import native
from heaplab.results import store
from heaplab.results.records import End

PUBLICATIONS = """
[paper]
title = "A paper"
source = "A test"
figures = 2
tables = 1
[[paper.parts]]
figures = [1]
shows = "one against the other"
experiment = "fake/one"
[[paper.parts]]
figures = [2]
shows = "once against twice"
experiment = "compared/one"
[[paper.parts]]
tables = [1]
shows = "the settings"
why_none = "nothing to measure"
"""


@pytest.fixture
def paper(lab: Laboratory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Laboratory:
    """A laboratory whose only publication has two figures and a table."""
    shipped = tmp_path / "shipped"
    shipped.mkdir()
    for folder in native.catalog().iterdir():
        if folder.is_dir():
            (shipped / folder.name).symlink_to(folder)
    (shipped / "publications.toml").write_text(PUBLICATIONS)
    monkeypatch.setattr(native, "catalog", lambda: shipped)
    return lab


ARMS = ("--allocators", "glibc,llheap")


def run_all(paper: Laboratory, *words: object, arms: Sequence[str] = ARMS) -> tuple[int, str]:
    return paper.heaplab("compare", "--all-publications", *arms, *WARM, "-o", paper.out, *words)


def copied(paper: Laboratory, tmp_path: Path) -> Path:
    """A catalog to change."""
    return Path(shutil.copytree(paper.catalog, tmp_path / "catalog"))


def test_every_figure_gets_a_campaign_and_the_same_command_goes_on(paper: Laboratory) -> None:
    printed = success(run_all(paper))
    assert "0 of 2 experiments complete" in printed
    # Figure 1: 2 cells under 2 allocators and the control; figure 2: 2 cells with 2 values and the control.
    assert "forecast for 2 experiments: 60 to 60 runs" in printed
    assert store.load(paper.out / "fake/one").campaign.allocators == ["glibc", "llheap"]
    assert store.load(paper.out / "compared/one").campaign.allocators == ["glibc"]
    page = (paper.out / "reproduction.md").read_text()
    assert "| Figure 1 | one against the other | `fake/one` |" in page
    assert "[picture](reproduction/compared-one.md)" in page
    assert "| Table 1 | the settings | none: nothing to measure |" in page
    assert (paper.out / "reproduction/fake-one-1.svg").read_text().startswith("<svg")

    complete = (paper.out / "fake/one" / store.FILE_NAME).read_bytes()
    cut = paper.out / "compared/one" / store.FILE_NAME
    spent = cut_off(cut, 20).decode() + End(reason="budget").model_dump_json() + "\n"
    cut.write_text(spent)
    printed = success(run_all(paper))
    assert "1 of 2 experiments complete" in printed
    assert "forecast for 1 experiment: " in printed
    assert (paper.out / "fake/one" / store.FILE_NAME).read_bytes() == complete
    assert cut.read_text().startswith(spent)
    end = store.load(cut).end
    assert end.reason != "budget"
    assert not list(cut.parent.glob("results-*"))


def test_what_cannot_be_combined_is_refused(paper: Laboratory) -> None:
    for words, named in (
        (["--resume", paper.out], "--resume"),
        (["--factorial", "glibc MALLOC_ARENA_MAX=|1 thp=|never"], "--factorial"),
        (["--show-command"], "--show-command"),
        (["--json"], "--json"),
        (["--experiment", "nothing/*"], "no experiment 'nothing/*'"),
    ):
        assert named in refusal(run_all(paper, *words))


def test_experiments_that_are_named_are_measured_alone(paper: Laboratory) -> None:
    printed = success(run_all(paper, "--experiment", "fake/*"))
    assert "0 of 1 experiment complete" in printed
    assert not (paper.out / "compared").exists()


def test_what_was_broken_off_has_no_verdict_on_the_page(paper: Laboratory) -> None:
    """A budget without room for two blocks breaks a campaign off, and so does who interrupts it. Where other
    programs disturb the first block, the least that a budget measures may be two."""
    success(run_all(paper, "--experiment", "fake/*"))
    cut_off(paper.out / "fake/one" / store.FILE_NAME, 8)
    failure(run_all(paper, "--experiment", "fake/*", "--budget", "1ms", "--scale", "quick"))
    page = (paper.out / "reproduction.md").read_text()
    [row] = [line for line in page.splitlines() if line.startswith("| Figure 1 |")]
    assert "`fake/one` | not run |" in row or "not carried out to the end" in row


def test_an_experiment_of_no_publication_is_refused(paper: Laboratory, tmp_path: Path) -> None:
    catalog = copied(paper, tmp_path)
    (catalog / "experiments/fake/other.toml").write_text(EXPERIMENT)
    status, printed = run_all(Laboratory(catalog, {}, paper.out), "--experiment", "fake/other")
    assert (status, printed) == (2, "heaplab: --all-publications: fake/other is of no publication\n")


MANY_BLOCKS = """[full]
blocks = 1000
blocks_most = 1000
"""
MANY_CELLS = f"""[full]
blocks = 10
blocks_most = 10
sweep = {{ size = {list(range(1, 101))} }}
"""


def test_each_experiment_gets_the_largest_scale_that_fits_its_share(
    paper: Laboratory, tmp_path: Path
) -> None:
    """In 40 s, neither 6,000 runs of the first fit nor 3,000 of the second, on any machine: a run starts a
    process under two watching ones. 60 runs of the second's full scale do."""
    catalog = copied(paper, tmp_path)
    (catalog / "experiments/fake/one.toml").write_text(EXPERIMENT.replace("[full]\n", MANY_BLOCKS))
    few, _, _ = EXPERIMENT.partition("[full]")
    (catalog / "experiments/compared/one.toml").write_text(few + MANY_CELLS)
    here = Laboratory(catalog, {}, paper.out)
    printed = success(run_all(here, "--budget", "40s"))
    at_most = "its share of the budget was"
    assert f"fake/one: the quick scale: the full scale would take at least 5 min; {at_most}" in printed
    assert "compared/one: the full scale with fewer values: the full scale would take " in printed
    results_name, other = (store.load(paper.out / name) for name in ("fake/one", "compared/one"))
    assert (results_name.campaign.scale, {run.cell["size"] for run in results_name.runs}) == ("quick", {1, 2})
    assert (other.campaign.scale, {run.cell["size"] for run in other.runs}) == ("full", {1, 2})
    page = (paper.out / "reproduction.md").read_text()
    assert f"; the full scale has 2 cells; {results_name.campaign.why_scale} |" in page
    of_other = next(line for line in page.splitlines() if "`compared/one`" in line)
    assert "full scale, " in of_other
    assert " runs of 2 of its 100 cells" in of_other
    assert f"; {other.campaign.why_scale} |" in of_other

    files = [paper.out / name / store.FILE_NAME for name in ("fake/one", "compared/one")]
    before = [file.read_bytes() for file in files]
    printed = success(run_all(here, "--budget", "30s"))
    assert "2 of 2 experiments complete" in printed
    assert [file.read_bytes() for file in files] == before


def test_what_has_room_is_measured_at_the_publications_scale(paper: Laboratory) -> None:
    success(run_all(paper, "--experiment", "fake/*", "--budget", "60s"))
    campaign = store.load(paper.out / "fake/one").campaign
    assert (campaign.scale, campaign.why_scale) == ("full", "")


def test_a_scale_that_is_asked_for_is_measured_within_a_budget_too(paper: Laboratory) -> None:
    success(run_all(paper, "--experiment", "fake/*", "--budget", "60s", "--scale", "quick"))
    assert store.load(paper.out / "fake/one").campaign.scale == "quick"


SENTENCE = """
[[expectations]]
says = "llheap is faster."
test = "better_than"
arguments = { allocator = "llheap" }
"""


def test_with_a_budget_the_sentences_name_the_arms(paper: Laboratory, tmp_path: Path) -> None:
    catalog = copied(paper, tmp_path)
    (catalog / "experiments/fake/one.toml").write_text(EXPERIMENT + SENTENCE)
    here = Laboratory(catalog, {}, paper.out)
    success(run_all(here, "--experiment", "fake/*", "--budget", "60s", "--scale", "quick", arms=[]))
    assert store.load(paper.out / "fake/one").campaign.allocators == ["glibc", "llheap"]
