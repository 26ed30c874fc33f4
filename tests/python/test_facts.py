"""A machine in words, and the lists of what there is."""

import pytest
from click.testing import CliRunner

from heaplab.catalog import contents
from heaplab.cli import commands, listing
from heaplab.report.facts import in_words, text_of


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("memory", 8 << 30, "8 GiB"),
        ("memory_available", 25276502016, "23.5 GiB"),
        ("page_size", 4096, "4 KiB"),
        ("swap", 0, "none"),
        (
            "caches",
            {"L1 Data": "48K", "L2 Unified": "1024K", "L3": "?"},
            "L1 Data 48 KiB, L2 Unified 1 MiB, L3 ?",
        ),
        ("governor", None, "not told here"),
        ("address_space_limit", None, "none"),
        ("address_space_limit", 300 << 20, "300 MiB"),
        ("hypervisor", True, "yes"),
        ("smt", "0", "no"),
        ("aslr", "2", "full"),
        ("load", 3.39892578125, "3.40"),
        ("cpus", 2, "2"),
    ],
)
def test_a_fact_is_told_as_a_person_would(name: str, value: object, text: str) -> None:
    assert text_of(name, value) == text


def test_names_are_words() -> None:
    assert [name for name, _ in in_words({"cpu": "x", "huge_page_defrag": "madvise"})] == [
        "processor",
        "huge page defrag",
    ]


def test_doctor_prints_words_and_no_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    text = CliRunner().invoke(commands, ["doctor"], obj=()).output
    assert "GiB" in text
    assert not set("{}'") & set(text)
    assert max(map(len, text.splitlines())) <= 80


def test_variants_are_not_called_quick() -> None:
    quick = {row["id"]: row["quick"] for row in listing.allocator_rows(contents.load())}
    assert (quick["llheap"], quick["llheap-debug"], quick["scalloc-paper"]) == ("yes", "", "")


@pytest.mark.parametrize("kind", listing.KINDS)
def test_a_list_fits_eighty_columns_and_keeps_every_id(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = CliRunner().invoke(commands, ["list", kind]).output.splitlines()
    assert max(map(len, lines)) <= 80
    catalog = contents.load()
    ids = {"allocators": catalog.allocator_names(), "suites": catalog.suites}.get(kind, [])
    assert {line.split()[0] for line in lines if line} >= set(ids)
