"""A machine in words, and the lists of what there is."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from heaplab.campaign import memory_needs
from heaplab.catalog import contents
from heaplab.commands import commands
from heaplab.inventory import kinds, run_doctor
from heaplab.machine import host
from heaplab.report.words.facts import in_words, text_of
from heaplab.screen.console import console, put


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
    told = dict(in_words({"cpu": "x", "huge_page_defrag": "madvise"}))
    assert list(told) == ["processor", "huge page defrag"]


def test_memory_is_that_of_the_machine_and_free_memory_a_part_of_it() -> None:
    facts = host.facts()
    assert facts["memory"] == host.memory_amounts()["MemTotal"]
    assert 0 < facts["memory_available"] < facts["memory"]
    assert facts["swap"] >= 0


def test_hyperthreads_are_one_core(monkeypatch: pytest.MonkeyPatch) -> None:
    def reads(path: Path) -> str:
        return {"cpu0": "0,2", "cpu1": "1,3", "cpu2": "0,2", "cpu3": "1,3"}[path.parts[0]]

    files = [Path(f"cpu{cpu}/topology/thread_siblings_list") for cpu in range(4)]
    monkeypatch.setattr(Path, "glob", lambda _folder, _pattern: files)
    monkeypatch.setattr(Path, "read_text", reads)
    assert host.cores() == 2
    files.clear()
    assert host.cores() is None


def test_what_a_run_may_use_is_known_without_proc(monkeypatch: pytest.MonkeyPatch) -> None:
    most = memory_needs.of_this_machine()
    monkeypatch.setattr(host, "read", lambda _path: None)
    assert memory_needs.of_this_machine() == most > 0
    assert host.facts()["memory_available"] is None


def test_a_machine_that_tells_nothing_of_its_memory_is_no_reason_to_fail() -> None:
    assert run_doctor.host_advice(host.facts() | {"memory_available": None}) is not None


def test_an_emoji_is_not_made_of_words_between_colons(capsys: pytest.CaptureFixture[str]) -> None:
    put(console(), "tcp:x:80")
    assert capsys.readouterr().out == "tcp:x:80\n"


def test_doctor_prints_words_and_no_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    text = CliRunner().invoke(commands, ["doctor"], obj=()).output
    assert "GiB" in text
    assert not set("{}'") & set(text)
    assert max(map(len, text.splitlines())) <= 80


def test_variants_are_not_called_quick() -> None:
    quick = {row["id"]: row["quick"] for row in kinds.allocator_rows(contents.load())}
    assert (quick["llheap"], quick["llheap-debug"], quick["scalloc-paper"]) == ("yes", "", "")


@pytest.mark.parametrize("kind", kinds.KINDS)
def test_a_list_fits_eighty_columns_and_keeps_every_id(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = CliRunner().invoke(commands, ["show", kind]).output.splitlines()
    assert max(map(len, lines)) <= 80
    catalog = contents.load()
    ids = {"allocators": catalog.allocator_names(), "suites": catalog.suites}.get(kind, [])
    assert {line.split()[0] for line in lines if line} >= set(ids)
