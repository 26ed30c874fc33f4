"""The examples in the help of every program and command are run as they stand there."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest
from conftest import EXPERIMENT, LIBRARY, WORKLOAD_CARD
from laboratory import COMMANDS, example_lines
from subprocesses import compiled, executable, git, printed_by, ran, written
from traces import two_threads, write_trace

from heaplab import commands
from heaplab.machine import native
from heaplab.results.own_program import OwnProgram

PROGRAMS = [*sorted(path.name for path in (native.root() / "bin").glob("*")), "compile_trace"]

ALLOCATOR = """
title = "{name}"
summary = "A malloc."
licence = "MIT"
quick = true
[[sources]]
kind = "system"
library = "{library}"
"""
LS = """
#include <stdio.h>
#include <unistd.h>
int main(void) { return puts("file") < 0 || usleep(60000); }
"""
# heaplab where no run is repeated because other tests are at work.
UNDISTURBED = (
    "import sys; from heaplab import commands; from heaplab.machine import host;"
    " host.foreign_limit = lambda _: 1e9; sys.argv[0] = 'heaplab'; commands.main()"
)
SUITE = 'title = "quick"\nexperiments = ["acdc-ismm13/*"]\nbudget_s = 60\n'


def test_there_are_programs() -> None:
    assert "acdc" in PROGRAMS


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_example_of_a_program_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_trace(tmp_path / "redis.trace", two_threads())
    subprocess.run([str(native.helper("compile_trace")), "redis.trace", "redis.workload"], check=True)
    program = str(native.program(OwnProgram(name)) or native.helper(name))
    (words,) = re.findall(rf"^ *Example: {name} (.+)$", printed_by(program, "--help"), re.MULTILINE)
    done = ran(program, *shlex.split(words))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith((name, "{"))


def lines(every: bool) -> list[str]:
    """The examples of all commands in the order of the commands; what `get` obtains is not here.

    Not `every`: of each command the first one, and what stands before it.
    """
    found: list[str] = []
    for name, command in COMMANDS.items():
        if name == "get" or isinstance(command, click.Group):  # whose examples are those of its commands
            continue
        examples = example_lines(command)
        own = [place for place, line in enumerate(examples) if f"heaplab {name}" in line]
        found += examples if every else examples[: own[0] + 1 if own else 0]
    return found


def make_repository(folder: Path) -> None:
    """Two commits that build the same program and the same library."""
    (folder / "tool.c").write_text("#include <unistd.h>\nint main(void) { return usleep(30000); }\n")
    (folder / "Makefile").write_text(
        "libmine.so: tool.c\n\tcc -shared -fPIC -DNAME=0 -fno-builtin-malloc -o libmine.so mine.c\n"
    )
    (folder / "mine.c").write_text(LIBRARY)
    git(folder, "init", "-q")
    git(folder, "add", "tool.c", "mine.c", "Makefile")
    git(folder, "commit", "-qm", "one")
    git(folder, "tag", "v1")
    git(folder, "commit", "-qm", "two", "--allow-empty")


@pytest.fixture
def scratch(
    tmp_path: Path, libraries: dict[str, Path], catalog_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """A folder to type the examples in, where what they name is small."""
    catalog, bin_folder = tmp_path / "native/share/heaplab/catalog", tmp_path / "bin"
    bin_folder.mkdir()
    (tmp_path / "native").mkdir()
    for name in ("bin", "lib", "libexec"):
        (tmp_path / "native" / name).symlink_to(native.root().resolve() / name)
    fake = catalog_folder.parent / "fake_workload"
    # Whole mallocs: redis-server of some distributions calls functions of jemalloc besides those of malloc.
    files = {f"allocators/{name}.toml": (name, native.library("llheap")) for name in ("jemalloc", "tcmalloc")}
    texts = {name: ALLOCATOR.format(name=of, library=library) for name, (of, library) in files.items()}
    small = re.sub(r"blocks(_most)? = 5", r"blocks\1 = 2", EXPERIMENT).replace("[1, 2]", "[1]")
    texts |= {f"experiments/acdc-ismm13/fig{number}.toml": small for number in ("07", "10")}
    card = WORKLOAD_CARD.replace("PROGRAM", str(fake)).replace("timeout_s", "memory_mib = 1\ntimeout_s")
    texts |= {"workloads/fake.toml": card, "workloads/larson.toml": card, "suites/quick.toml": SUITE}
    written(catalog, texts)
    for name in ("allocators/glibc.toml", "allocators/scalloc.toml", "deviations.toml"):
        shutil.copy(native.catalog() / name, catalog / name)
    for name in ("libmine.so", "libold.so", "libnew.so"):
        shutil.copy(libraries["slow"], tmp_path / name)
    (tmp_path / "words.txt").write_text("2\n1\n")
    make_repository(tmp_path)
    stand_ins = {
        "heaplab": f'{sys.executable} -c "{UNDISTURBED}" "$@"',
        "python3": "sleep 0.06",
        "sort": "sleep 0.06",
        "redis-benchmark": f'{shutil.which("redis-benchmark")} -n 2000 "$@"',
    }
    # One process that takes the same time on a busy machine.
    compiled(bin_folder / "ls", LS)
    for name, does in stand_ins.items():
        executable(bin_folder / name, f"#!/bin/sh\nexec {does}\n")
    monkeypatch.setenv("FAKE_ESTIMATE", "4096")  # so that little is warmed
    monkeypatch.setenv("HEAPLAB_NATIVE", str(tmp_path / "native"))
    monkeypatch.setenv("PATH", f"{bin_folder}:{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.long)])
def test_the_examples_of_all_commands_run_one_after_the_other(scratch: Path, every: bool) -> None:
    for line in lines(every):
        # Gates spend all that is given, and a busy machine spends much. A server takes a second a run, or
        # several; tuning has three rounds.
        is_long = "--load" in line or " tune " in line
        short = re.sub(r"--budget \S+", "--budget 20s" if is_long else "--budget 4s", line)
        short = short.replace("--idle 1s", "--idle 50ms")
        short = re.sub(r"^heaplab (compare|tune)(?!\S)", r"\g<0> --precision 60% --warm 1B", short)
        # Slurm is tried in test_engines.py, where there is a cluster.
        short = re.sub(r"--on slurm( -- .*)?", "--on local", short)
        may_not_tell = " bisect " in line or " --strict " in line
        done = ran("sh", "-c", short, timeout=300)
        # That commits, or libraries, are alike is what a busy machine may not be able to tell.
        assert done.returncode in ((0, 4) if may_not_tell else (0,)), f"{line}\n{done.stdout}{done.stderr}"
        # A recording tells on standard error what it has written.
        assert done.stdout or re.search(r"\.trace: [1-9]\d* events", done.stderr), f"{line}\n{done.stderr}"
    assert (scratch / "out/compare/report.html").stat().st_size > 10_000
    assert (scratch / "report.html").stat().st_size > 10_000
    assert (scratch / "out/acdc/results.jsonl").exists() == every


@pytest.mark.parametrize("name", commands.COMMANDS)
def test_the_list_of_commands_says_what_a_command_says_of_itself(name: str) -> None:
    own = " ".join((COMMANDS[name].help or "").split())
    assert own.startswith(commands.COMMANDS[name].rstrip("."))
