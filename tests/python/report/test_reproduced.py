"""Verdicts by figure on planted results: what holds, what was not run, what a verdict outlives."""

from pathlib import Path

import pytest
import synthetic

from heaplab.analysis import Analysis
from heaplab.report.page import reproduced, reproduction_page, reproduction_pictures
from heaplab.report.page.reproduced import Reproduced
from heaplab.results.publication_spec import NumberedPart, Publication
from heaplab.results.spec import Expectation, Experiment

FASTER = Expectation(says="jemalloc is faster.", test="better_than", arguments={"allocator": "jemalloc"})
SLOWER = Expectation(
    says="jemalloc is far slower.",
    figure="Figure 2",
    test="ratio_within",
    arguments={"allocator": "jemalloc", "low": 2.0},
)
ABSENT = Expectation(says="nemo is faster.", test="better_than", arguments={"allocator": "nemo"})


def experiment(*expectations: Expectation) -> Experiment:
    [known] = [each for each in synthetic.experiments() if each.id == "acdc-ismm13/fig07"]
    return known.model_copy(update={"expectations": list(expectations)})


def paper(name: str) -> Publication:
    return Publication(
        id="paper",
        title="A paper",
        source="A test",
        figures=3,
        parts=[
            NumberedPart(figures=[1], shows="all of it", experiment=name),
            NumberedPart(figures=[2], shows="a part of it", experiment=name),
            NumberedPart(figures=[3], shows="another", experiment="paper/other"),
        ],
    )


@pytest.fixture(scope="module")
def analysis(tmp_path_factory: pytest.TempPathFactory) -> Analysis:
    records = synthetic.campaign(["glibc", "jemalloc"], [experiment(FASTER, SLOWER, ABSENT)])
    return synthetic.analysis_of(records, tmp_path_factory.mktemp("reproduced"))


def page(known: list[Reproduced], *expectations: Expectation) -> str:
    expected = experiment(*expectations)
    other = expected.model_copy(update={"id": "paper/other", "expectations": [FASTER]})
    return reproduction_page.page(
        [paper(expected.id)], {expected.id: expected, other.id: other}, known, "Now.", "pictures"
    )


def test_each_figure_has_its_verdicts_and_what_was_not_run_has_none(analysis: Analysis) -> None:
    text = page(reproduced.reproduced(analysis), FASTER, SLOWER, ABSENT)
    assert "| A paper | 3 | 3 | 2 | 1 | 1 | 0 | 0 | 1 | 1 |" in text
    first, second, third = (
        line for line in text.splitlines() if line.startswith("| Figure ") and "`" in line
    )
    assert "2026-01-02, 2 CPUs, quick scale" in first
    assert "| 1 holds, 1 cannot be decided here | [picture](pictures/acdc-ismm13-fig07.md) |" in first
    assert "| 1 holds, 1 does not hold, 1 cannot be decided here |" in second
    assert third.endswith("| not run | 1 not run |  |")
    assert "| Figure 2 | jemalloc is far slower. | **does not hold** | jemalloc / glibc 0." in text
    assert "nemo / glibc was not measured in all cells" in text


def test_a_measured_ratio_is_judged_by_todays_words_and_bounds(analysis: Analysis) -> None:
    known = reproduced.reproduced(analysis)

    def verdict(**arguments: object) -> str:
        changed = FASTER.model_copy(update={"arguments": FASTER.arguments | arguments})
        row = next(line for line in page(known, changed).splitlines() if "| jemalloc is faster. | **" in line)
        return row.split("**")[1]

    said_better = FASTER.model_copy(update={"says": "jemalloc takes less time."})
    assert "| jemalloc takes less time. | **holds** |" in page(known, said_better)
    assert verdict() == "holds"
    assert verdict(by=9) == "does not hold"
    assert verdict(than=["glibc", "nemo"]) == "cannot be decided here"
    assert verdict(metric="peak_memory") == "not run"


def test_a_sentence_about_what_cannot_be_had_waits_for_no_run() -> None:
    lost = Expectation(says="Nemo is faster.", test="unobtainable", unobtainable=["Nemo"])
    text = page([], FASTER, lost)
    assert "| Nemo is faster. | **cannot be decided here** | not obtainable: Nemo |" in text
    assert "| jemalloc is faster. | **not run** |" in text


def test_the_full_scale_counts_before_the_quick_and_the_last_before_the_first(analysis: Analysis) -> None:
    [quick] = reproduced.reproduced(analysis)
    full = quick.model_copy(update={"scale": "full", "date": "2025-01-01"})
    later = quick.model_copy(update={"date": "2026-05-05"})
    assert reproduced.newest([later, full, quick]) == {quick.experiment: full}
    assert reproduced.newest([later, quick]) == {quick.experiment: later}


def test_pictures_are_files_of_their_own(analysis: Analysis, tmp_path: Path) -> None:
    reproduction_pictures.write(analysis, tmp_path, {})
    text = (tmp_path / "acdc-ismm13-fig07.md").read_text()
    pictures = sorted(path.name for path in tmp_path.glob("*.svg"))
    assert pictures == [f"acdc-ismm13-fig07-{number}.svg" for number in range(1, 4)]
    for name in pictures:
        assert f"]({name})" in text
        assert "var(--" not in (tmp_path / name).read_text()
