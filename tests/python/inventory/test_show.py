"""`heaplab show` prints what the catalog holds of every thing in it."""

import json

import pytest
from click.testing import CliRunner

from heaplab.catalog import contents as catalogs
from heaplab.commands import commands

CATALOG = catalogs.load()
NAMES = [*CATALOG.allocator_names(), *CATALOG.workloads, *CATALOG.experiments, *CATALOG.suites]


def shown(*arguments: str, width: int = 80) -> str:
    result = CliRunner(env={"COLUMNS": str(width)}).invoke(commands, ["show", *arguments])
    assert result.exit_code == 0, result.output
    return result.output


def words(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_everything_in_the_catalog_can_be_shown_in_80_columns(name: str) -> None:
    page = shown(name)
    assert name in page
    assert all(len(line) <= 80 or "/" in line or "=" in line for line in page.splitlines())


def test_the_card_of_a_workload_is_there_as_a_whole() -> None:
    page, card = words(shown("larson")), CATALOG.workloads["larson"].card
    for text in (card.source, card.shows, card.does_not_show, card.defaults, card.flaws):
        assert words(text) in page


@pytest.mark.slow
def test_notes_of_experiments_and_allocators_are_shown() -> None:
    for name, thing in {**CATALOG.experiments, **CATALOG.allocators}.items():
        assert words(thing.notes) in words(shown(name))


def test_a_variant_is_shown_with_its_settings() -> None:
    allocator, variant = CATALOG.allocator("scalloc-paper")
    page = shown("scalloc-paper")
    assert variant.title in page
    assert not any(own.title in page for own in allocator.variants.values() if own != variant)


def test_as_json_nothing_is_left_out() -> None:
    assert json.loads(shown("larson", "--json"))["workload"] == CATALOG.workloads["larson"].model_dump()


def test_what_is_not_there_is_said_in_one_line() -> None:
    with pytest.raises(Exception, match="no 'nothing'"):
        CliRunner().invoke(commands, ["show", "nothing"], catch_exceptions=False, standalone_mode=False)
