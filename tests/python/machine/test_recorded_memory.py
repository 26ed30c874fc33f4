"""Of programs that hold memory of a known kind, a recording tells what malloc explains and what not."""

import os
from pathlib import Path

import pytest
from laboratory import called
from subprocesses import executable, heaplab

from heaplab.results.records import Coverage
from heaplab.traces import tool, trace_coverage

pytestmark = pytest.mark.starts_programs

MIB = 1 << 20
NEARLY = 0.9  # of its memory a process has at the last sample at least
HAS_HUGE_PAGES = "[never]" not in Path("/sys/kernel/mm/transparent_hugepage/enabled").read_text()
CLEARED = "its environment was cleared or replaced, so that LD_PRELOAD is missing"


def recorded(folder: Path, *command: object, under: str = "glibc") -> list[Coverage]:
    heaplab(folder, "record", "--under", under, "-o", "x.trace", "--", *command).check_returncode()
    return trace_coverage.at_peaks(tool.summary(folder / "x.trace"))


@pytest.mark.parametrize(
    ("kind", "part", "mib"),
    [
        ("stacks", "stacks", 40),
        ("after", "mapped", 40),
        ("beside", "mapped", 40),
        ("huge", "mapped", 42),
        ("shared", "shared", 40),
        ("zeroed", "files", 40),
        ("break", "mapped", 40),
    ],
)
def test_memory_beyond_malloc_is_named_by_its_kind(
    tmp_path: Path, outside: Path, kind: str, part: str, mib: int
) -> None:
    [found] = recorded(tmp_path, outside, kind)
    assert NEARLY * mib * MIB <= getattr(found, part) <= found.beyond < (mib + 2) * MIB
    assert found.by_malloc < 2 * MIB
    assert found.is_most_beyond
    assert (found.huge >= 32 * MIB) == (kind == "huge" and HAS_HUGE_PAGES)
    assert found.mallocs == ["mimalloc"]


@pytest.mark.parametrize("under", ["glibc", "scalloc", "llheap"])
@pytest.mark.parametrize("kind", ["blocks", "children", "own"])
def test_malloc_explains_what_it_serves_under_each_allocator(
    tmp_path: Path, outside: Path, kind: str, under: str
) -> None:
    every = recorded(tmp_path, outside, kind, under=under)
    assert len(every) > (kind == "children")
    for found in every:
        assert found.by_malloc > 18 * MIB
        assert not found.matters


def test_a_process_that_makes_no_call_is_named_with_its_memory(tmp_path: Path, outside: Path) -> None:
    child, parent = recorded(tmp_path, outside, "silent")
    assert 36 * MIB < child.mapped < child.beyond < 44 * MIB
    assert min(child.by_malloc, parent.by_malloc) > 18 * MIB
    assert not parent.matters
    assert "mapped by the program outside malloc" in called(tmp_path, "trace", "x.trace").stderr


@pytest.mark.parametrize("command", [["ls", "-lR", "/usr/share/doc"], ["sh", "-c", "ls / | sort"]])
def test_an_ordinary_program_needs_no_word(tmp_path: Path, command: list[str]) -> None:
    assert not [found for found in recorded(tmp_path, *command) if found.matters or found.unseen]


def test_a_process_whose_environment_was_cleared_is_named_with_its_memory(
    tmp_path: Path, outside: Path
) -> None:
    found = recorded(tmp_path, "env", "-i", outside, "blocks")[0]
    assert found.unseen == f"outside: {CLEARED}"
    assert found.memory > 30 * MIB
    said = called(tmp_path, "trace", "x.trace")
    assert "events out of order 0; 1 program not seen" in " ".join(said.stdout.split())
    assert CLEARED in said.stderr


def test_a_static_process_is_named(tmp_path: Path, static: Path) -> None:
    script = executable(tmp_path / "script", f"#!/bin/sh\n{static} blocks\ntrue\n")
    found = recorded(tmp_path, script)[0]
    assert found.unseen == "static is linked statically, so no library can be preloaded into it"
    assert found.memory > 30 * MIB


def test_a_process_has_the_name_of_the_link_by_which_it_was_started(
    tmp_path: Path, outside: Path, static: Path
) -> None:
    (tmp_path / "called").symlink_to(outside)
    assert [process.program for process in recorded(tmp_path, "./called", "beside")] == ["called"]
    (tmp_path / "resting").symlink_to(static)
    found = recorded(tmp_path, "sh", "-c", "./resting blocks; true")[0]
    assert found.unseen.startswith("resting is linked statically")


@pytest.mark.skipif(os.getuid() != 0, reason="another user's program needs root to be made")
def test_a_process_of_another_user_is_named(tmp_path: Path, outside: Path) -> None:
    changed = tmp_path / "changed"
    changed.write_bytes(outside.read_bytes())
    os.chown(changed, 65534, 65534)
    changed.chmod(0o6755)
    tmp_path.chmod(0o755)
    found = recorded(tmp_path, "sh", "-c", "./changed blocks; true")[0]
    assert found.unseen == "changed changes its user, group or capabilities, so the loader ignores LD_PRELOAD"


def test_a_window_of_a_programs_life_tells_nothing_of_its_memory(tmp_path: Path, outside: Path) -> None:
    script = f"kill -USR1 $PPID; {outside} blocks"
    done = heaplab(tmp_path, "record", "--paused", "-o", "x.trace", "--", "sh", "-c", script)
    done.check_returncode()
    assert trace_coverage.at_peaks(tool.summary(tmp_path / "x.trace")) == []
