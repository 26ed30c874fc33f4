"""What happens where nobody can be told: standard output is full or closed, or memory is short."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from laboratory import WARM, Laboratory, success

from heaplab.campaign import store
from heaplab.cli.screen import exit_status
from heaplab.errors import HeaplabError

pytestmark = pytest.mark.starts_programs

FULL = "heaplab: standard output: No space left on device\n"


def heaplab(*words: object, setup: str = "", redirect: str = "", **variables: str) -> tuple[int, str]:
    """Exit status and standard error of heaplab in a process of its own, started by the shell."""
    done = subprocess.run(
        [
            "sh",
            "-c",
            f'{setup} exec "$@" {redirect}',
            "sh",
            sys.executable,
            "-m",
            "heaplab",
            *map(str, words),
        ],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **variables},
        capture_output=True,
        text=True,
        errors="surrogateescape",
        check=False,
        timeout=120,
    )
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    "words",
    [
        ["--help"],
        ["--version"],
        ["compare", "--help"],
        ["list", "suites"],
        ["list", "experiments", "--json"],
        ["doctor", "--json"],
        ["path", "larson"],
        ["get", "glibc"],
    ],
    ids=" ".join,
)
def test_a_full_standard_output_is_one_line_and_status_1(words: list[str]) -> None:
    assert heaplab(*words, redirect=">/dev/full") == (1, FULL)


@pytest.mark.parametrize("command", [["report"], ["claims"], ["claims", "--json"]], ids=" ".join)
def test_so_it_is_of_a_command_that_reads_results(finished: Laboratory, command: list[str]) -> None:
    output = ["-o", "/dev/null"] if command == ["report"] else []
    assert heaplab(*command, finished.out, *output, redirect=">/dev/full") == (1, FULL)


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_results_are_kept_when_standard_output_is_full(
    catalog_folder: Path, tmp_path: Path, form: list[str]
) -> None:
    out = tmp_path / "out"
    words = ["--catalog", catalog_folder, "run", "fake/one", "--allocators", "glibc", *WARM, "-o", out, *form]
    assert heaplab(*words, redirect=">/dev/full") == (1, FULL)
    assert store.load(out).end is not None


def test_a_closed_standard_output_is_refused_before_anything_is_measured(
    catalog_folder: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    words = ["--catalog", catalog_folder, "run", "fake/one", "--allocators", "glibc", *WARM, "-o", out]
    assert heaplab(*words, redirect=">&-") == (1, "heaplab: standard output is closed\n")
    assert not out.exists()


def test_closed_standard_input_and_error_do_not_get_in_the_way_of_results(
    catalog_folder: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    words = ["--catalog", catalog_folder, "run", "fake/one", "--allocators", "glibc", *WARM, "-o", out]
    assert heaplab(*words, redirect="<&- 2>&-") == (0, "")
    assert all(run.sample for run in store.load(out).runs)


def test_wrong_usage_is_told_by_the_status_where_standard_error_is_full() -> None:
    assert heaplab("list", "nonsense", redirect="2>/dev/full") == (2, "")


def test_a_reader_that_has_enough_is_told_nothing() -> None:
    done = subprocess.run(
        [
            "bash",
            "-c",
            f"{sys.executable} -m heaplab list experiments --json | true; echo ${{PIPESTATUS[0]}}",
        ],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("1\n", "")


def test_a_program_that_is_no_utf_8_runs_under_an_allocator(tmp_path: Path) -> None:
    program = os.fsencode(tmp_path) + b"/p\xff"
    with open(program, "w") as script:
        script.write("#!/bin/sh\nexit 7\n")
    os.chmod(program, 0o755)
    assert heaplab("with", "glibc", "--", os.fsdecode(program)) == (7, "")


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_every_encoding_of_standard_output_does(finished: Laboratory, tmp_path: Path, encoding: str) -> None:
    link = os.fsencode(tmp_path) + b"/results-\xff"
    os.symlink(os.fsencode(finished.out), link)
    assert heaplab("claims", os.fsdecode(link), PYTHONIOENCODING=encoding) == (0, "")
    words = ["report", os.fsdecode(link), "-o", os.fsdecode(link) + ".html"]
    assert heaplab(*words, PYTHONIOENCODING=encoding) == (0, "")


@pytest.mark.parametrize("command", ["report", "claims", "compare"])
def test_too_little_address_space_is_one_line_that_names_the_limit(
    finished: Laboratory, tmp_path: Path, command: str
) -> None:
    out = tmp_path / "out"
    words = ["compare", "-q", "-o", out, "--", "true"] if command == "compare" else [command, finished.out]
    assert heaplab("--version", setup="ulimit -v 300000;") == (0, "")
    assert heaplab(*words, setup="ulimit -v 300000;") == (
        1,
        "heaplab: analysing results needs 1048576 KiB of address space, "
        "the address space is limited to 300000 KiB (ulimit -v)\n",
    )
    assert not out.exists()


@pytest.mark.parametrize(
    ("error", "status", "line"),
    [
        (MemoryError(), 1, "out of memory"),
        (ImportError("failed to map segment"), 1, "cannot be loaded: failed to map segment"),
        (HeaplabError("no"), 1, "no"),
        (OSError(24, "Too many open files"), 1, "Too many open files"),
        (PermissionError(13, "Permission denied", "/a/b"), 1, "/a/b: Permission denied"),
        (KeyboardInterrupt(), 1, "interrupted"),
    ],
)
def test_every_way_to_end_is_one_line(
    capsys: pytest.CaptureFixture[str], error: BaseException, status: int, line: str
) -> None:
    def command() -> int:
        raise error

    assert exit_status.status_of(command) == status
    assert capsys.readouterr().err == f"heaplab: {line}\n"


def test_without_a_command_help_is_printed_and_nothing_is_wrong(lab: Laboratory) -> None:
    printed = success(lab.heaplab())
    assert printed.startswith("Usage: heaplab ")
    assert "compare" in printed
