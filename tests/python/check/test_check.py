"""`heaplab check` on small libraries: what it says, writes and refuses."""

import json
import os
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest
from junitparser import JUnitXml
from laboratory import call, failure, refusal, success
from subprocesses import OVER_LIBC, SHARED, compiled, executable, ran

from heaplab.catalog import contents as catalogs
from heaplab.check import deviations, parts, patience, run_tests
from heaplab.check.check_outcomes import CheckVerdict, Outcome
from heaplab.machine import native

ROOT = Path(__file__).parents[3]
TABLE = ROOT / "catalog" / "deviations.toml"
GLIBC_CALLS = ["--part", "exports", "--test", "served.malloc"]


@pytest.fixture(scope="module")
def half(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library with a malloc and a free of its own, over the C library's; the rest is not there."""
    return compiled(tmp_path_factory.mktemp("half") / "libhalf.so", OVER_LIBC, *SHARED)


def test_a_failure_is_told_with_the_command_that_repeats_it(half: Path) -> None:
    printed = failure(call("check", half, *GLIBC_CALLS))
    assert "failed served.malloc" in printed
    assert f"gdb -ex 'set exec-wrapper env LD_PRELOAD={half} " in printed
    assert "--gtest_filter=served.malloc" in printed


def test_outcomes_are_written_as_junit_and_json(half: Path, tmp_path: Path) -> None:
    xml, as_json = tmp_path / "out.xml", tmp_path / "out.json"
    failure(call("check", half, "glibc", "--part", "exports", "--junit", xml, "--json", as_json))
    suites = list(JUnitXml.fromfile(str(xml)))
    assert [suite.name for suite in suites] == ["libhalf", "glibc"]
    assert suites[0].failures > 0
    assert (suites[1].failures, suites[1].errors) == (0, 0)
    assert suites[1].skipped > 0  # known deviations
    read = json.loads(as_json.read_text())
    assert [entry["library"]["allocator"] for entry in read["libraries"]] == ["libhalf", "glibc"]
    verdicts = {outcome["test"]: outcome["verdict"] for outcome in read["libraries"][1]["outcomes"]}
    assert verdicts["served.sized_free"] == "deviates"


def test_a_known_deviation_is_no_failure_and_must_still_be_there(half: Path, tmp_path: Path) -> None:
    table = tmp_path / "mine.toml"
    rows = '[[deviation]]\nlibraries = ["libhalf"]\nreason = "it is half a malloc"\ntests = ["{}"]\n'
    table.write_text(rows.format("served.malloc"))
    assert call("check", half, *GLIBC_CALLS, "--deviations", table)[0] == 0
    table.write_text(rows.format("free.of_null_does_nothing"))
    printed = failure(call("check", half, "--test", "free.of_null*", "--deviations", table))
    assert "mended free.of_null_does_nothing" in printed


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ('[[deviation]]\nlibraries = ["a"]\nreason = "b"\ntests = ["no.such"]', "there is no test 'no.such'"),
        ('[[deviation]]\nlibraries = ["a"]\ntests = ["served.malloc"]', "deviation.0.reason: Field required"),
        ("[[deviation]", "Expected ']]'"),
    ],
)
def test_a_bad_table_is_one_line(half: Path, tmp_path: Path, table: str, said: str) -> None:
    file = tmp_path / "bad.toml"
    file.write_text(table)
    printed = refusal(call("check", half, *GLIBC_CALLS, "--deviations", file))
    assert str(file) in printed
    assert said in printed


def test_what_is_no_malloc_library_is_one_line(tmp_path: Path) -> None:
    text = tmp_path / "text.so"
    text.write_text("no ELF file\n")
    none = compiled(tmp_path / "libnone.so", "int answer = 42;", *SHARED)
    for words, said in {
        ("./absent.so",): "no such file",
        (text,): "not an ELF library",
        (none,): "defines no malloc",
        ("nosuchmalloc",): "no allocator 'nosuchmalloc'",
        ("glibc", "--part", "nosuchpart"): "no part 'nosuchpart'",
        ("glibc", "--test", "nosuch*"): "no test is named 'nosuch*'",
        ("glibc", "--jobs", "0"): "0 is not in the range 1<=x<=1024",
        (): "name libraries or allocators, or give --all",
        ("glibc", "--all"): "name libraries or allocators, or give --all",
    }.items():
        assert said in refusal(call("check", *words))


def test_a_32_bit_library_is_one_line(tmp_path: Path) -> None:
    header = bytearray(Path("/bin/true").resolve().read_bytes()[:64])
    header[4], header[18:20] = 1, (3).to_bytes(2, "little")  # ELFCLASS32, EM_386
    library = tmp_path / "lib32.so"
    library.write_bytes(bytes(header[:52]).ljust(64, b"\0"))
    assert str(library) in refusal(call("check", library))


def with_program(monkeypatch: pytest.MonkeyPatch, program: Path) -> None:
    """Let `heaplab check` have this one test program, beside its guard."""
    name = program.name.removeprefix("check_")
    part = parts.CheckPart("one", "nothing", (parts.Program(name, ("only",), usual_s=0),))
    real = native.helper
    monkeypatch.setattr(parts, "PARTS", (part,))
    monkeypatch.setattr(native, "helper", lambda asked: program if asked == program.name else real(asked))
    monkeypatch.setattr(catalogs, "folders", lambda extra: [])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("sleep 600", "uses no CPU time for 1 s"),
        ("while :; do :; done", "no end within 1 s of CPU time"),
        ("sh -c 'while :; do :; done' & wait", "no end within 1 s of CPU time"),
    ],
)
def test_a_hanging_test_is_ended(
    half: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str, said: str
) -> None:
    monkeypatch.setattr(patience, "PATIENCE_S", 1)
    monkeypatch.setattr(patience, "IDLE_S", 0.01)
    with_program(monkeypatch, executable(tmp_path / "check_hanging", f"#!/bin/sh\n{text}\n"))
    printed = failure(call("check", half))
    assert "hung hanging.only" in printed
    assert said in printed


@pytest.mark.parametrize(
    ("text", "said"), [("exit 9", "exit status 9"), ("kill -SEGV $$", "killed by SIGSEGV")]
)
def test_a_test_ends_as_its_program_does(
    half: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str, said: str
) -> None:
    with_program(monkeypatch, executable(tmp_path / "check_ending", f"#!/bin/sh\n{text}\n"))
    printed = failure(call("check", half))
    assert "crashed ending.only" in printed
    assert said in printed
    assert "what is to stay so goes into a file for --deviations" in printed.splitlines()[-1]


LEAVES_CHILDREN = """#!/bin/sh
# A child in a session of its own, whose parent ends, and one in the test's own; and a file.
setsid sh -c 'sleep 654.321 & wait' &
sh -c 'setsid sleep 654.321 &'
echo left > behind
sleep 654.321
"""


def sleepers() -> list[str]:
    """The processes of LEAVES_CHILDREN that are still there."""
    return ran("pgrep", "-f", "^sleep 654.321$").stdout.split()


@pytest.mark.slow
@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGKILL])
def test_a_signal_ends_everything_a_hanging_test_has_started(
    half: Path, tmp_path: Path, sent: signal.Signals
) -> None:
    hanging = executable(tmp_path / "check_hanging", LEAVES_CHILDREN)
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    program = f"""
import pathlib, sys
from heaplab import commands
from heaplab.catalog import contents
from heaplab.check import parts
from heaplab.machine import native
tests = tuple(str(number) for number in range(20))
parts.PARTS = (parts.CheckPart("hang", "nothing", (parts.Program("hanging", tests, usual_s=600),)),)
helper = native.helper
native.helper = lambda name: pathlib.Path({str(hanging)!r}) if name == "check_hanging" else helper(name)
contents.folders = lambda extra: []
sys.argv = ["heaplab", "check", {str(half)!r}, "--jobs", "4"]
commands.main()
"""
    around = os.environ | {"TMPDIR": str(temporary)}
    for wait in (0, 0.1):  # also while tests are being started
        with subprocess.Popen(
            [sys.executable, "-c", program], stderr=subprocess.DEVNULL, env=around
        ) as check:
            while not sleepers():
                assert check.poll() is None
                time.sleep(0.01)
            time.sleep(wait)
            check.send_signal(sent)
            check.wait(100)
        if sent == signal.SIGKILL:  # then nobody waits for those who clean up
            end = time.monotonic() + 100
            while (sleepers() or any(temporary.iterdir())) and time.monotonic() < end:
                time.sleep(0.01)
        assert sleepers() == []
        assert list(temporary.iterdir()) == []


def test_parts_go_on_beside_one_that_hangs() -> None:
    def test(part: str, number: int) -> parts.Test:
        return parts.Test(part, f"{part}.{number}", (), 1, preloaded=False)

    queue = run_tests.Queue([*(test("hangs", n) for n in range(9)), *(test("works", n) for n in range(9))])

    def part_of_next() -> str:
        taken = queue.take()
        return taken[1].part if taken else ""

    assert [part_of_next(), part_of_next()] == ["hangs", "works"]
    for _ in range(8):
        queue.done(outcome_of("works", CheckVerdict.PASSED))
        assert part_of_next() == "works"
    queue.done(outcome_of("works", CheckVerdict.PASSED))
    assert part_of_next() == "hangs"
    # One that has hung counts as if it still ran.
    queue.done(outcome_of("hangs", CheckVerdict.HUNG))
    assert [part_of_next() for _ in range(8)] == ["hangs"] * 7 + [""]


def outcome_of(part: str, verdict: CheckVerdict) -> Outcome:
    return Outcome(part=part, test=f"{part}.1", verdict=verdict, time=0)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library with what C and POSIX ask for, over the C library's, and a realloc that sets errno."""
    text = """
    #include <errno.h>
    #include <stddef.h>
    extern void* __libc_malloc(size_t);
    extern void* __libc_calloc(size_t, size_t);
    extern void* __libc_realloc(void*, size_t);
    extern void* __libc_memalign(size_t, size_t);
    extern void __libc_free(void*);
    void* malloc(size_t size) { return __libc_malloc(size); }
    void* calloc(size_t count, size_t size) { return __libc_calloc(count, size); }
    void* realloc(void* block, size_t size) { return __libc_realloc(block, size); }
    void* aligned_alloc(size_t alignment, size_t size) { return __libc_memalign(alignment, size); }
    int posix_memalign(void** block, size_t alignment, size_t size) {
      return (*block = __libc_memalign(alignment, size)) ? 0 : ENOMEM;
    }
    void free(void* block) { __libc_free(block); errno = 7; }
    """
    return compiled(tmp_path_factory.mktemp("small") / "libsmall.so", text, *SHARED)


def test_what_is_merely_absent_is_one_line(small: Path) -> None:
    printed = success(call("check", small, "--part", "exports"))
    _, line, absent = printed.partition("\nabsent, ")
    assert line not in absent, printed
    for name in ("valloc", "malloc_usable_size", "free_sized", "mallinfo2", "reallocarray", "__libc_free"):
        assert name in absent
    assert "failed" not in printed.replace("passed  failed", "")


def test_a_fault_stands_out_among_what_is_absent(small: Path) -> None:
    printed = failure(call("check", small, "--test", "free.keeps_errno"))
    assert "failed free.keeps_errno" in printed
    printed = success(call("check", small, "--test", "sized_free.*"))
    assert "free_sized" in printed


def test_every_row_of_the_table_is_of_a_library_and_a_test_that_exist() -> None:
    rows = deviations.read(TABLE)
    assert rows == [deviations.Deviation(**row) for row in tomllib.loads(TABLE.read_text())["deviation"]]
    names = set(catalogs.load().allocator_names())
    assert {name for row in rows for name in row.libraries} <= names
    every = {test.name for part in parts.PARTS for test in parts.tests_of(part, long=True)}
    deviations.check_names(rows, every, TABLE)


def test_every_test_has_a_name_of_its_own() -> None:
    names = [test.name for part in parts.PARTS for test in parts.tests_of(part, long=True)]
    assert len(names) == len(set(names))
