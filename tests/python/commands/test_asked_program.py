"""A program that has the name of one of heaplab's is the user's: every command runs what was asked for."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from laboratory import COMMANDS, WARM, call, refusal, success
from subprocesses import HEAPLAB, compiled, git, ran, written

from heaplab.machine import elf, native

NAMES = sorted(path.name for path in (native.root() / "bin").glob("*"))
# Takes memory, and leaves a line in a file for each time it ran.
PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>
int main(void) {
  for (int round = 0; round < 1000; ++round) free(malloc(100));
  FILE* file = fopen(getenv("ASKED_FOR"), "a");
  fputs("ran\n", file);
  return fclose(file);
}
"""
TWO = ["--allocators", "glibc,bump"]
BRIEFLY = ["--budget", "1s", *WARM]
COUNTING = ["--instructions", "only-callgrind", *WARM]
LATER = "{library}"  # a library that a command line needs
# The words of every command that takes a program, before the program.
BEFORE = {
    "compare": ["compare", *TWO, *BRIEFLY],
    "gate": ["gate", "glibc", "glibc", *COUNTING],
    "bisect": ["bisect", "HEAD~1..HEAD", "--build", f"cp {LATER} mine.so", "--library", "mine.so", *COUNTING],
    "tune": ["tune", "glibc", "--budget", "5s", *WARM],
    "cluster plan": ["cluster", "plan", "--blocks", "2", *TWO],
    "with": ["with", "bump"],
    "record": ["record"],
    "watch": ["watch"],
    "advise": ["advise", *TWO],
    "budget": ["budget", "made.toml", "--update"],
    "doctor": ["doctor"],
}


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("asked") / "program", PROGRAM)


@pytest.fixture
def log(tmp_path: Path, program: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The file in which the programs leave lines; the current folder has one under each name of heaplab's."""
    for name in NAMES:
        os.link(program, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ASKED_FOR", str(tmp_path / "log"))
    return tmp_path / "log"


def test_every_command_that_takes_a_program_is_tried_here() -> None:
    taking = {
        name for name, command in COMMANDS.items() if any(param.name == "program" for param in command.params)
    }
    assert taking == set(BEFORE)


@pytest.mark.parametrize("name", NAMES)
def test_no_name_stands_for_a_program_of_heaplab(name: str, log: Path) -> None:
    for word in (f"./{name}", str(log.parent / name)):
        shown = success(call("compare", "--show-command", *TWO, *WARM, "--", word, "-x"))
        lines = [line for line in shown.splitlines() if not line.startswith("#")]
        assert [line.split()[-2:] for line in lines] == [[str(log.parent / name), "-x"]] * 2


def test_on_the_path_the_users_comes_first_too(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{log.parent}:{os.environ['PATH']}")
    shown = success(call("compare", "--show-command", *TWO, *WARM, "--", "speed"))
    assert shown.splitlines()[1].endswith(f" {log.parent}/speed")


def test_a_star_in_a_name_is_a_star(log: Path) -> None:
    for name in ("sp*", "spider"):
        os.link(log.parent / "speed", log.parent / name)
    shown = success(call("compare", "--show-command", *TWO, *WARM, "--", "./sp*"))
    assert shown.splitlines()[1].endswith(f" '{log.parent}/sp*'")


@pytest.mark.starts_programs
@pytest.mark.parametrize(
    ("command", "name"), list(zip(BEFORE, NAMES[:: len(NAMES) // len(BEFORE)], strict=False))
)
def test_what_was_asked_for_is_what_runs(
    command: str, name: str, log: Path, libraries: dict[str, Path]
) -> None:
    words = [word.replace(LATER, str(libraries["same"])) for word in BEFORE[command]]
    if command == "bisect":
        repository(log.parent)
    done = ran(*HEAPLAB, *words, "--", f"./{name}")
    if command == "cluster plan":
        success(call("cluster", "run", "plan", "--shard", "1/1", "-q"))
    assert log.exists(), done.stderr  # whether the time sufficed for an answer is another matter


@pytest.fixture(scope="module")
def for_musl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A link to a program that this machine runs, whose loader has the name of musl's."""
    folder = tmp_path_factory.mktemp("musl")
    loader = folder / "ld-musl-x86_64.so.1"
    shutil.copy(elf.interpreter(Path("/bin/sh")), loader)
    link = folder / "called"
    link.symlink_to(compiled(folder / "program", PROGRAM, f"-Wl,--dynamic-linker={loader}"))
    return link


@pytest.mark.parametrize("command", [name for name in BEFORE if name != "doctor"])
def test_another_c_library_is_told_before_the_first_run(
    command: str, for_musl: Path, log: Path, libraries: dict[str, Path]
) -> None:
    changed = {"gate": ["gate", libraries["same"], libraries["slow"]]}
    words = changed.get(command) or [word.replace(LATER, str(libraries["same"])) for word in BEFORE[command]]
    if command == "bisect":
        repository(log.parent)
        words += ["-q"]
    said = refusal(call(*words, "--", for_musl))
    assert "called has another C library than glibc (its loader is ld-musl-x86_64.so.1), which " in said
    assert not log.exists()
    assert not (log.parent / "out").exists()


def test_what_needs_no_preloaded_library_runs_under_any_c_library(for_musl: Path, log: Path) -> None:
    assert ran(*HEAPLAB, "with", "glibc", "--", for_musl).returncode == 0
    assert log.exists()


def repository(folder: Path) -> None:
    """Make the folder a repository of two commits."""
    git(folder, "init", "-q")
    for number in range(2):
        written(folder, {"number": str(number)})
        git(folder, "add", "number")
        git(folder, "commit", "-qm", str(number))
