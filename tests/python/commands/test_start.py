"""What a command imports before it does its work: seconds of CPU, if it is too much."""

import os
import sys
from pathlib import Path

import pytest
from subprocesses import ran

COMPUTING = {"numpy", "matplotlib", "jinja2"}
WITH_RECORDS = {"pydantic", "elftools"}
PRINTING = {"rich.console", "rich.markup", "rich.progress", "rich.text"}
CATALOG_OF_WORKLOADS = "heaplab.results.spec"
RECORDS = "heaplab.results.records"
IMPORTED = """
import sys
from heaplab.commands import main
sys.argv[0] = "heaplab"
try:
    main()
except SystemExit as end:
    loaded = [name for name, module in sys.modules.items() if type(module).__name__ != "_LazyModule"]
    print(end.code, *loaded, file=sys.stderr)
"""


def imported_by(*words: str) -> set[str]:
    done = ran(sys.executable, "-c", IMPORTED, *words)
    status, *modules = done.stderr.splitlines()[-1].split()
    assert status == "0", done.stderr
    return set(modules)


@pytest.mark.parametrize(
    "words",
    ["--help", "compare --help", "report --help", "show suites", "doctor", "cluster --help", "get glibc"],
)
def test_what_computes_nothing_does_not_wait_for_what_computes(words: str) -> None:
    assert not imported_by(*words.split()) & COMPUTING


@pytest.mark.parametrize("name", ["acdc", "scalloc", "jemalloc"])
def test_a_path_checks_no_types_and_prints_no_colours(name: str) -> None:
    assert not imported_by("path", name) & (COMPUTING | WITH_RECORDS | PRINTING)


def test_the_version_needs_nothing() -> None:
    assert not imported_by("--version") & (COMPUTING | WITH_RECORDS | PRINTING)


@pytest.mark.parametrize("command", ["compare", "gate", "tune"])
def test_the_options_of_a_measurement_need_nothing_that_measures(command: str) -> None:
    assert not imported_by(command, "--help") & (COMPUTING | WITH_RECORDS | PRINTING)


@pytest.mark.parametrize("words", [["show", "allocators"], ["doctor"]])
def test_allocators_are_found_without_the_files_of_workloads(words: list[str]) -> None:
    assert CATALOG_OF_WORKLOADS not in imported_by(*words)


def test_a_look_at_the_machine_starts_no_program_and_reads_no_records() -> None:
    assert not imported_by("doctor") & {RECORDS, "heaplab.machine.execute", "heaplab.machine.interposition"}


@pytest.mark.slow
def test_a_home_that_cannot_be_written_is_no_news(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    around = {name: value for name, value in os.environ.items() if name != "MPLCONFIGDIR"}
    homes = dict.fromkeys(("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"), str(tmp_path / "file"))
    code = "import heaplab.report.page.report_page"
    assert ran(sys.executable, "-c", code, env=around | homes, check=True).stderr == ""
