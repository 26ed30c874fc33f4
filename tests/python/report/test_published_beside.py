"""Published numbers stand beside the cells they are about, and nowhere else."""

from pathlib import Path
from typing import Any

import pytest
import synthetic
from test_candidates import STRATEGIES, experiment, records_of

from heaplab.analysis import Study
from heaplab.report.page import published_beside, reproduction_pictures
from heaplab.report.tables import summary
from heaplab.results.published_spec import Published, PublishedTable, StatedRatio

ELEMENTS = {"across": "strategy", "columns": STRATEGIES, "down": "elements"}
PER_CENT = {"unit": "%", "relative_to": "AS1"}
GROWTH = {"experiment": "p0213/growth", "metric": "allocation_time"}


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    records = records_of(experiment(), ["glibc"])
    return synthetic.analysis_of(records, tmp_path_factory.mktemp("one")).studies[0]


def printed(number: str, rows: dict[str, list[float]], **more: Any) -> PublishedTable:
    return PublishedTable.model_validate(
        {"number": number, "rows": rows, "unit": "s"} | GROWTH | ELEMENTS | more
    )


def published(*tables: PublishedTable, ratios: list[StatedRatio] | None = None) -> Published:
    content = {"tables": [table.model_dump() for table in tables], "ratios": ratios or []}
    return Published.model_validate({"id": "p0213", "read": "As printed."} | content)


def rows_of(found: published_beside.WithPublished) -> dict[str, list[str]]:
    return {name: [entry.text for entry in entries][:5] for name, entries in found.table.rows}


def test_a_printed_row_stands_below_the_measured_one_of_the_same_cell(study: Study) -> None:
    table = printed("Table 4", {"4": [1, 2, 3, 4, 5]}, at={"structure": "DS2", "heap": "fresh"})
    found = published_beside.tables(study, study.experiment.plots[0], published(table))
    captions = [shown.table.caption for shown in found if any("published" in name for name in rows_of(shown))]
    assert captions == ["structure DS2, heap fresh, allocation time in s"]
    [beside] = [shown for shown in found if shown.table.caption in captions]
    assert list(rows_of(beside)) == ["1", "4", "4, as published"]
    assert rows_of(beside)["4, as published"] == ["1 s", "2 s", "3 s", "4 s", "5 s"]
    assert beside.table.notes[-1] == "As published: Table 4, at structure DS2, heap fresh."
    assert not beside.svg, "seconds of two machines are no ratio to draw"


def test_ratios_are_drawn_beside_each_other(study: Study) -> None:
    table = printed(
        "Table 5", {"1": [100, 110, 55, 44, 130]}, at={"structure": "DS1", "heap": "fresh"}, **PER_CENT
    )
    first, *others = published_beside.tables(study, study.experiment.plots[1], published(table))
    assert rows_of(first)["1, as published"] == ["100 %", "110 %", "55 %", "44 %", "130 %"]
    assert "as published" in first.svg
    assert "measured here" in first.svg
    assert not any(other.svg for other in others)


def test_a_table_of_other_ratios_stands_beside_nothing(study: Study) -> None:
    table = printed("Table 5", {"1": [100, 110, 55, 44, 130]}, **PER_CENT)
    assert not any(
        each.svg for each in published_beside.tables(study, study.experiment.plots[2], published(table))
    )


def test_a_summary_has_the_means_of_the_printed_tables_and_the_printed_mean(study: Study) -> None:
    table = printed("Table 4", {"1": [1, 1, 2, 1, 1], "4": [1, 1, 8, 1, 1]}, at={"structure": "DS1"})
    total = printed(
        "Table 8", {summary.TOTAL: [105, 55, 50, 126]}, columns=STRATEGIES[1:], down="", **PER_CENT
    )
    [found] = published_beside.tables(study, study.experiment.plots[4], published(table, total))
    assert rows_of(found)["DS1, as published"] == ["100 %", "400 %", "100 %", "100 %"]
    assert rows_of(found)[f"{summary.ARITHMETIC}, as published"] == ["105 %", "55 %", "50 %", "126 %"]
    assert "DS2, as published" not in rows_of(found)


def test_a_stated_ratio_is_a_point_on_the_curve_and_a_line_below(tmp_path: Path) -> None:
    [experiment] = [each for each in synthetic.experiments() if each.id == "acdc-ismm13/fig07"]
    analysis = synthetic.analysis_of(synthetic.campaign(["glibc", "jemalloc"], [experiment]), tmp_path)
    [study] = analysis.studies
    stated = {"experiment": experiment.id, "metric": "allocation_time", "number": "Figure 7"}
    of_jemalloc = {"allocators": ["jemalloc"], "than": "glibc", "at": {"threads": [2, 64]}}
    more = StatedRatio(says="jemalloc is slower.", ratio=3, bound="at most", **of_jemalloc, **stated)
    of_glibc = {"allocators": ["glibc"], "than_at": {"threads": 1}, "at": {"threads": [4]}}
    grows = StatedRatio(says="Four threads take longer.", ratio=2, **of_glibc, **stated)
    never = grows.model_copy(update={"at": {"threads": [64]}, "says": "At 64 longer still."})
    paper = published(ratios=[more, grows, never])
    points = published_beside.stated_points(study, paper)
    medians = [study.median((("threads", n),), "glibc", "allocation_time").estimate for n in (2, 1)]
    assert [(dict(p.cell)["threads"], p.allocator, p.bound) for p in points] == [
        (2, "jemalloc", "at most"),
        (4, "glibc", "about"),
    ]
    assert [p.value for p in points] == pytest.approx([3 * medians[0], 2 * medians[1]])
    table = published_beside.stated_table(study, paper)
    assert "| Figure 7 | jemalloc is slower. | at most 3 | jemalloc, threads 2: 0." in table
    assert "| At 64 longer still. | about 2 | no such cell was measured |" in table

    reproduction_pictures.write(analysis, tmp_path, {"acdc-ismm13": paper})
    assert "published: at most" in (tmp_path / "acdc-ismm13-fig07-1.svg").read_text()
    assert "published" not in (tmp_path / "acdc-ismm13-fig07-2.svg").read_text(), "of another metric"
    assert table in (tmp_path / "acdc-ismm13-fig07.md").read_text()
