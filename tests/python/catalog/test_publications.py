"""Every numbered figure and table of the publications is measured, or a reason stands in its place."""

from pathlib import Path
from typing import Any

import pytest

from heaplab.catalog import contents as catalogs, toml_file
from heaplab.errors import UsageError
from heaplab.results.publication_spec import Publication, spoken

CATALOG = catalogs.load()
# The highest numbers of figures and tables, counted in the publications themselves.
NUMBERED = {
    "acdc-ismm13": (22, 6),
    "scalloc-oopsla15": (14, 1),
    "llheap-chapter": (31, 0),
    "p0089": (0, 21),
    "p0213": (2, 71),
}


def test_every_number_has_an_experiment_or_a_reason() -> None:
    found = {
        name: (publication.figures, publication.tables) for name, publication in CATALOG.publications.items()
    }
    assert found == NUMBERED


@pytest.mark.parametrize("name", NUMBERED)
def test_the_parts_name_all_experiments_of_the_publication_and_no_others(name: str) -> None:
    own = {identifier for identifier in CATALOG.experiments if identifier.startswith(f"{name}/")}
    assert set(CATALOG.publications[name].experiments) == own


@pytest.mark.parametrize("name", NUMBERED)
def test_a_sentence_about_one_figure_names_a_figure_of_its_experiment(name: str) -> None:
    for identifier in CATALOG.publications[name].experiments:
        parts = [part for part in CATALOG.publications[name].parts if part.experiment == identifier]
        names = {each for part in parts for each in part.names}
        assert {expectation.figure for expectation in CATALOG.experiments[identifier].expectations} - {
            ""
        } <= names


PART: dict[str, Any] = {"figures": [1], "shows": "a curve", "experiment": "a/b"}


@pytest.mark.parametrize(
    ("parts", "complaint"),
    [
        ([PART], "Figure 2 is in none"),
        ([PART, PART | {"figures": [1, 2]}], "Figure 1 is in two"),
        ([PART | {"figures": [1, 2, 3]}], "Figure 3 is beyond the highest number"),
        ([PART | {"figures": [1, 2], "tables": [1]}], "Table 1 is beyond the highest number"),
        ([PART | {"figures": [1, 2], "why_none": "?"}], "takes either 'experiment' or 'why_none'"),
        ([{"figures": [1, 2], "shows": "a curve"}], "takes either 'experiment' or 'why_none'"),
        ([PART | {"figures": []}], "takes 'figures', 'tables' or a 'section'"),
    ],
)
def test_a_number_that_is_missing_or_twice_there_is_named(parts: list[Any], complaint: str) -> None:
    content = {"id": "paper", "title": "A paper", "source": "A test", "figures": 2, "parts": parts}
    with pytest.raises(UsageError, match=complaint):
        toml_file.checked(Publication, Path("publications.toml"), content)


def test_numbers_are_spoken_as_ranges() -> None:
    assert spoken("Table", [9, 11, 10, 43, 3]) == "Tables 3, 9 to 11, 43"
    assert spoken("Figure", [7]) == "Figure 7"
    assert spoken("Figure", []) == ""
