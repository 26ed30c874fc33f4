"""Programs that bring their own malloc: every call is in the trace, as many as the malloc itself counts."""

import csv
import platform
import re
import subprocess
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest
from laboratory import called
from subprocesses import compiled, heaplab, printed_by, ran

from heaplab.machine import native
from heaplab.traces import tool
from heaplab.traces.redirecting.functions_file import redirection_of

pytestmark = [
    pytest.mark.starts_programs,
    pytest.mark.skipif(native.helper("move_entries") is None, reason="built without move_entries"),
]

SOURCES = Path(__file__).parent
ACQUISITIONS = ("malloc", "realloc_to", "new", "new[]")
RELEASES = ("free", "realloc_from", "delete", "delete[]")
ENTRY = re.compile(r"^  (acquiring|loading|signing|choosing|deciding) (\w+_malloc)", re.MULTILINE)


class Calls(NamedTuple):
    """Calls of one kind, and the bytes that they asked for."""

    calls: int
    bytes: int


def own(made: Path, source: str, *options: object) -> Path:
    return compiled(
        made, (SOURCES / source).read_text(), "-O1", "-fno-builtin", f"-I{SOURCES}", *map(str, options)
    )


def recorded(folder: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    return heaplab(folder, "record", "-o", "x.trace", *arguments)


def calls_in(trace: Path) -> dict[str, Calls]:
    rows = csv.DictReader(printed_by(tool.program(), "events", trace, 0).splitlines())
    calls, sizes = Counter[str](), Counter[str]()
    for row in rows:
        calls[row["kind"]] += 1
        sizes[row["kind"]] += int(row["size"])
    return {kind: Calls(count, sizes[kind]) for kind, count in calls.items()}


def total(*of: Calls) -> Calls:
    return Calls(sum(each.calls for each in of), sum(each.bytes for each in of))


def counts_in(text: str) -> dict[str, Calls]:
    """What the malloc of the program prints, by function."""
    lines = re.findall(r"^llheap: (\w+) calls (\d+) .*requested (\d+)", text, re.MULTILINE)
    return {name: Calls(int(calls), int(requested)) for name, calls, requested in lines}


def assert_as_counted(found: dict[str, Calls], said: str, said_under_the_recorder: str) -> None:
    # Under the recorder the loader makes more calls before main, and threads have more memory of their own.
    alone = counts_in(said)
    assert found["calloc"] == counts_in(said_under_the_recorder)["calloc"]
    assert found["aligned_alloc"] == alone["memalign"]
    assert total(found["malloc"], found["realloc_to"]) == total(alone["malloc"], alone["realloc"])
    assert found["free"].calls == alone["free"].calls


def entries_of(machine: str) -> list[tuple[str, str]]:
    """The kinds and names of the functions of entries.c that acquire."""
    return ENTRY.findall((SOURCES / f"entries_{machine}.h").read_text())


def assert_as_called(found: dict[str, Calls], machine: str) -> None:
    """A function that another of them calls does not count again."""
    kinds = [kind for kind, _ in entries_of(machine)]
    choosing = kinds.count("choosing") + kinds.count("deciding")
    assert found["malloc"] == Calls(len(kinds) * 10 + choosing, len(kinds) * 10 * 16)
    assert found["free"].calls == len(kinds) * 10


@pytest.fixture(scope="module")
def counted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    library = native.root() / "lib/libheaplab_llheap-stats.a"
    return own(tmp_path_factory.mktemp("counted") / "counted", "counted.c", library, "-pthread")


def test_calls_and_bytes_are_those_that_the_malloc_counts(tmp_path: Path, counted: Path) -> None:
    done = recorded(tmp_path, "--", counted)
    assert_as_counted(calls_in(tmp_path / "x.trace"), ran(counted).stderr, done.stderr)
    assert "calls lost 0; events out of order 0" in done.stderr
    [process] = tool.summary(tmp_path / "x.trace")["processes"]
    assert process["process"]["allocator"] == str(counted)
    assert process["summary"]["threads"] == "5"


def test_the_trace_has_call_sites_in_the_program(tmp_path: Path, counted: Path) -> None:
    recorded(tmp_path, "--stacks", "--", counted).check_returncode()
    shown = called(tmp_path, "trace", "x.trace").stdout
    assert re.search(r"work\b.*counted", shown)


@pytest.fixture(scope="module")
def entries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return own(tmp_path_factory.mktemp("entries") / "entries", "entries.c")


def test_first_instructions_of_every_kind_run_elsewhere(tmp_path: Path, entries: Path) -> None:
    names = ",".join([*(name for _, name in entries_of(platform.machine())), "nothing_free"])
    done = recorded(tmp_path, "--functions", names, "--", entries)
    assert done.stdout == "same"
    assert_as_called(calls_in(tmp_path / "x.trace"), platform.machine())


def test_what_cannot_be_moved_is_named_and_runs_as_before(tmp_path: Path, entries: Path) -> None:
    done = recorded(tmp_path, "--functions", "tail_malloc,looping_free,short_free", "--", entries)
    assert done.stdout == "same"
    assert "entries: not recorded: looping_free: it jumps back to its first instructions" in done.stderr
    assert "entries: not recorded: short_free: it is shorter than a jump" in done.stderr


@pytest.mark.parametrize(
    ("functions", "said"),
    [
        ("pool_get", "tell which function of C it is like, such as pool_get=malloc"),
        ("tail_malloc=new", "tell which function of C it is like"),
        ("other_malloc", "entries has no function other_malloc in its table of symbols"),
    ],
)
def test_functions_that_are_not_known_are_refused(
    tmp_path: Path, entries: Path, functions: str, said: str
) -> None:
    done = called(tmp_path, "record", "--functions", functions, "--", str(entries))
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_stripped_program_is_told_of_in_a_line(tmp_path: Path, counted: Path) -> None:
    text = 'const char* volatile said = "mimalloc: warning";\n' + (SOURCES / "counted.c").read_text()
    stripped = compiled(tmp_path / "stripped", text, "-pthread", "-s")
    done = recorded(tmp_path, "--", stripped)
    assert done.returncode == 0
    assert "stripped: not recorded: no table of symbols names its functions (stripped)" in done.stderr


def test_code_that_is_not_that_of_its_file_is_left_alone(tmp_path: Path, entries: Path) -> None:
    """A debugger's breakpoint, or another tool that redirects."""
    redirected = redirection_of(entries, ("tail_malloc",))
    assert redirected
    (tmp_path / "x.raw").mkdir()
    redirected.write(tmp_path / "x.raw")
    file = tmp_path / "x.raw/functions"
    content = bytearray(file.read_bytes())
    content[-1 - 24 + 1] ^= 1  # the first byte that is expected at the function
    file.write_bytes(content)
    environment = {"LD_PRELOAD": str(native.library("recorder")), "HEAPLAB_RECORD": str(tmp_path / "x.raw")}
    assert printed_by(entries, env=environment) == "same"
    assert redirected.fault_in(tmp_path / "x.raw") == "its code is not that of its file"


def live_blocks(trace: Path) -> dict[str, int]:
    """The sizes of the blocks that live at the end of the trace, by address."""
    live: dict[str, int] = {}
    for row in csv.DictReader(printed_by(tool.program(), "events", trace, 0).splitlines()):
        if row["kind"] in RELEASES:
            live.pop(row["address"], None)
        elif row["kind"] in ACQUISITIONS:
            live[row["address"]] = int(row["size"])
    return live


@pytest.mark.parametrize("name", ["jemalloc", "tcmalloc_minimal"])
def test_live_bytes_are_those_that_a_linked_malloc_counts(tmp_path: Path, name: str) -> None:
    library = Path(printed_by("cc", f"-print-file-name=lib{name}.a").strip())
    if not library.is_absolute():
        pytest.skip(f"{library} is not installed")
    program, source = tmp_path / "live", SOURCES / "live_bytes.cpp"
    kind = "-DJEMALLOC" if name == "jemalloc" else "-DTCMALLOC"
    ran("c++", "-O1", "-fno-builtin", kind, "-o", program, source, library, "-pthread", check=True)
    done = recorded(tmp_path, "--", program)
    live = live_blocks(tmp_path / "x.trace")
    assert int(done.stdout) == sum(size for size in live.values() if size in (1024, 8192)) > 1 << 20
    assert "calls lost 0; events out of order 0" in done.stderr
