"""Published numbers stand under numbers that the publication has, at values that the experiment takes."""

from pathlib import Path
from typing import Any

import pytest

from heaplab.catalog import contents as catalogs, toml_file
from heaplab.errors import UsageError
from heaplab.results.published_spec import Published, PublishedTable, StatedRatio
from heaplab.results.records import Parameter
from heaplab.results.spec import Experiment

CATALOG = catalogs.load()
ENTRIES = [
    pytest.param(name, table, id=f"{name} {table.number} {table.metric}")
    for name, published in CATALOG.published.items()
    for table in (*published.tables, *published.ratios)
]


def test_each_publication_has_its_numbers_or_says_why_there_are_none() -> None:
    assert CATALOG.published.keys() == CATALOG.publications.keys()


@pytest.mark.parametrize(("publication", "entry"), ENTRIES)
def test_an_entry_has_a_number_that_its_experiment_measures(
    publication: str, entry: PublishedTable | StatedRatio
) -> None:
    parts = CATALOG.publications[publication].parts
    names = {name for part in parts if part.experiment == entry.experiment for name in part.names}
    assert entry.number in names
    experiment = CATALOG.experiments[entry.experiment]
    assert entry.metric in {plot.y for plot in experiment.plots}


@pytest.mark.parametrize(("publication", "entry"), ENTRIES)
def test_an_entry_stands_at_values_of_the_full_scale(
    publication: str, entry: PublishedTable | StatedRatio
) -> None:
    known = values_at_full_scale(CATALOG.experiments[entry.experiment])
    if isinstance(entry, StatedRatio):
        asked = entry.at | {name: [value] for name, value in entry.than_at.items()}
        CATALOG.allocator(entry.than or entry.allocators[0])
        for name in entry.allocators:
            CATALOG.allocator(name)
    else:
        asked = {name: [value] for name, value in (entry.at | entry.against).items()}
        asked[entry.across] = entry.columns
        if entry.down:
            assert set(entry.rows) <= {str(value) for value in known[entry.down]}
    for name, values in asked.items():
        assert set(values) <= set(known[name]), name


def values_at_full_scale(experiment: Experiment) -> dict[str, list[Parameter]]:
    fixed = experiment.parameters | experiment.full.parameters
    return {name: [value] for name, value in fixed.items()} | dict(experiment.full.sweep)


TABLE: dict[str, Any] = {
    "number": "Table 1",
    "experiment": "a/b",
    "metric": "time",
    "unit": "s",
    "across": "threads",
    "columns": [1, 2],
    "down": "size",
    "rows": {"64": [0.5, 0.25]},
}
RATIO: dict[str, Any] = {
    "number": "Figure 1",
    "experiment": "a/b",
    "metric": "time",
    "says": "A is slower.",
    "ratio": 2,
    "allocators": ["glibc"],
    "at": {"threads": [1]},
    "than": "jemalloc",
}


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ({"tables": [TABLE | {"rows": {"64": [0.5]}}]}, "64: takes 2 numbers, one for each column"),
        ({"tables": [TABLE | {"rows": {"64": [0.5, 0]}}]}, "greater than 0"),
        ({"tables": [TABLE | {"unit": "ms"}]}, "unit"),
        ({"ratios": [RATIO | {"than": ""}]}, "takes 'than' or 'than_at'"),
        ({"ratios": [RATIO | {"bound": "under"}]}, "bound"),
        ({"ratios": [RATIO | {"ratio": -1}]}, "greater than 0"),
    ],
)
def test_a_wrong_entry_is_named(content: dict[str, Any], complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        toml_file.checked(Published, Path("paper.toml"), {"id": "paper", "read": "?"} | content)


def test_a_field_is_found_by_its_row_and_column() -> None:
    table = PublishedTable.model_validate(TABLE)
    assert table.printed(64, 2) == 0.25
    assert table.printed(128, 2) is None
    assert table.printed(64, 4) is None


def test_a_table_says_what_it_does_not_share_with_another() -> None:
    first = {"number": "Table 1", "experiment": "a/b", "metric": "time", "unit": "s", "across": "x"}
    first |= {"at": {"threads": 1, "size": 8}, "columns": [1, 2], "rows": {"a": [1.0, 2.0]}}
    second = {"number": "Table 2", "like": "Table 1", "at": {"threads": 2}, "rows": {"a": [3.0, 4.0]}}
    content = {"id": "paper", "read": "as printed", "tables": [first, second]}
    whole = first | {"number": "Table 2", "at": {"threads": 2, "size": 8}, "rows": second["rows"]}
    published = toml_file.checked(Published, Path("paper.toml"), content)
    assert published.tables[1] == toml_file.checked(PublishedTable, Path("paper.toml"), whole)
    with pytest.raises(UsageError, match="no table before has the number 'Table 3'"):
        toml_file.checked(Published, Path("paper.toml"), content | {"tables": [second | {"like": "Table 3"}]})
