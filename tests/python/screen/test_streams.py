"""What happens where nobody can be told: standard output is full or closed, or memory is short."""

import os
import sys
from pathlib import Path

import pytest
from laboratory import WARM, Laboratory, success
from subprocesses import HEAPLAB, ran

from heaplab.errors import HeaplabError
from heaplab.results import store
from heaplab.screen import exit_status

pytestmark = pytest.mark.starts_programs

AROUND = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "PYTHONUNBUFFERED": ""}
FULL = "heaplab: standard output: No space left on device\n"


def heaplab(*words: object, setup: str = "", redirect: str = "", **variables: str) -> tuple[int, str]:
    """Exit status and standard error of heaplab in a process of its own, started by the shell."""
    script = f'{setup} exec "$@" {redirect}'
    options = {"env": AROUND | variables, "errors": "surrogateescape", "timeout": 120}
    done = ran("sh", "-c", script, "sh", *HEAPLAB, *words, **options)
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    "words",
    [
        "--help",
        "--version",
        "compare --help",
        "show suites",
        "show experiments --json",
        "doctor --json",
        "path larson",
        "get glibc",
    ],
)
def test_a_full_standard_output_is_one_line_and_status_1(words: str) -> None:
    assert heaplab(*words.split(), redirect=">/dev/full") == (1, FULL)


@pytest.mark.parametrize(
    "command", ["report -o /dev/null", "report --form claims", "report --form claims --json"]
)
def test_so_it_is_of_a_command_that_reads_results(finished: Laboratory, command: str) -> None:
    name, *options = command.split()
    assert heaplab(name, finished.out, *options, redirect=">/dev/full") == (1, FULL)


@pytest.fixture
def measure(catalog_folder: Path, tmp_path: Path) -> list[object]:
    """The words that measure into the folder `out`."""
    words = ("compare", "--experiment", "fake/one", "--allocators", "glibc", *WARM, "-o", tmp_path / "out")
    return ["--catalog", catalog_folder, *words]


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_results_are_kept_when_standard_output_is_full(
    measure: list[object], tmp_path: Path, form: list[str]
) -> None:
    assert heaplab(*measure, *form, redirect=">/dev/full") == (1, FULL)
    assert store.load(tmp_path / "out").end is not None


def test_a_closed_standard_output_is_refused_before_anything_is_measured(
    measure: list[object], tmp_path: Path
) -> None:
    assert heaplab(*measure, redirect=">&-") == (1, "heaplab: standard output is closed\n")
    assert not (tmp_path / "out").exists()


def test_closed_standard_input_and_error_do_not_get_in_the_way_of_results(
    measure: list[object], tmp_path: Path
) -> None:
    assert heaplab(*measure, redirect="<&- 2>&-") == (0, "")
    assert all(run.sample for run in store.load(tmp_path / "out").runs)


def test_wrong_usage_is_told_by_the_status_where_standard_error_is_full() -> None:
    assert heaplab("show", "nonsense", redirect="2>/dev/full") == (2, "")


def test_a_reader_that_has_enough_is_told_nothing() -> None:
    script = '"$@" show experiments --json | true; echo ${PIPESTATUS[0]}'
    done = ran("bash", "-c", script, "bash", *HEAPLAB, env=AROUND)
    assert (done.stdout, done.stderr) == ("1\n", "")


def test_a_program_that_is_no_utf_8_runs_under_an_allocator(tmp_path: Path) -> None:
    program = os.fsencode(tmp_path) + b"/p\xff"
    with open(program, "w") as script:
        script.write("#!/bin/sh\nexit 7\n")
    os.chmod(program, 0o755)
    assert heaplab("with", "glibc", "--", os.fsdecode(program)) == (7, "")


@pytest.mark.parametrize(
    "encoding",
    ["ascii", *(pytest.param(encoding, marks=pytest.mark.long) for encoding in ("latin-1", "utf-8"))],
)
def test_every_encoding_of_standard_output_does(finished: Laboratory, tmp_path: Path, encoding: str) -> None:
    link = os.fsencode(tmp_path) + b"/results-\xff"
    os.symlink(os.fsencode(finished.out), link)
    assert heaplab("report", os.fsdecode(link), "--form", "claims", PYTHONIOENCODING=encoding) == (0, "")
    words = ["report", os.fsdecode(link), "-o", os.fsdecode(link) + ".html"]
    assert heaplab(*words, PYTHONIOENCODING=encoding) == (0, "")


@pytest.mark.parametrize("command", ["report", "report --form claims", "compare"])
def test_too_little_address_space_is_one_line_that_names_the_limit(
    finished: Laboratory, tmp_path: Path, command: str
) -> None:
    out = tmp_path / "out"
    words = (
        ["compare", "-q", "-o", out, "--", "true"]
        if command == "compare"
        else [*command.split(), finished.out]
    )
    assert heaplab("--version", setup="ulimit -v 300000;") == (0, "")
    assert heaplab(*words, setup="ulimit -v 300000;") == (
        1,
        "heaplab: analysing results needs 1048576 KiB of address space, "
        "the address space is limited to 300000 KiB (ulimit -v)\n",
    )
    assert not out.exists()


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (MemoryError(), "out of memory"),
        (ImportError("failed to map segment"), "cannot be loaded: failed to map segment"),
        (HeaplabError("no"), "no"),
        (OSError(24, "Too many open files"), "Too many open files"),
        (PermissionError(13, "Permission denied", "/a/b"), "/a/b: Permission denied"),
        (KeyboardInterrupt(), "interrupted"),
    ],
)
def test_every_way_to_end_is_one_line(
    capsys: pytest.CaptureFixture[str], error: BaseException, line: str
) -> None:
    def command() -> int:
        raise error

    assert exit_status.status_of(command) == 1
    assert capsys.readouterr().err == f"heaplab: {line}\n"


def test_without_a_command_help_is_printed_and_nothing_is_wrong(lab: Laboratory) -> None:
    printed = success(lab.heaplab())
    assert printed.startswith("Usage: heaplab ")
    assert "compare" in printed
