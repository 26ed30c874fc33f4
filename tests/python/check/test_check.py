"""`heaplab check` on small libraries: what it says, writes and refuses."""

import json
import subprocess
import tomllib
from pathlib import Path

import pytest
from junitparser import JUnitXml
from laboratory import call

from heaplab.catalog import contents as catalogs, native
from heaplab.check import deviations, parts

ROOT = Path(__file__).parents[3]
TABLE = ROOT / "catalog" / "deviations.toml"
GLIBC_CALLS = ["--part", "exports", "--test", "served.malloc"]


def shared(folder: Path, name: str, text: str, *options: str) -> Path:
    source, library = folder / f"{name}.c", folder / f"{name}.so"
    source.write_text(text)
    subprocess.run(["cc", "-shared", "-fPIC", *options, "-o", library, source], check=True)
    return library


@pytest.fixture(scope="module")
def half(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library with a malloc and a free of its own, over the C library's; the rest is not there."""
    text = """
    #include <stddef.h>
    extern void* __libc_malloc(size_t);
    extern void __libc_free(void*);
    void* malloc(size_t size) { return __libc_malloc(size); }
    void free(void* block) { __libc_free(block); }
    """
    return shared(tmp_path_factory.mktemp("half"), "libhalf", text)


def test_a_failure_is_told_with_the_command_that_repeats_it(half: Path) -> None:
    status, printed = call("check", half, *GLIBC_CALLS)
    assert status == 1
    assert "failed served.malloc" in printed
    assert f"gdb -ex 'set exec-wrapper env LD_PRELOAD={half} " in printed
    assert "--gtest_filter=served.malloc" in printed


def test_outcomes_are_written_as_junit_and_json(half: Path, tmp_path: Path) -> None:
    xml, as_json = tmp_path / "out.xml", tmp_path / "out.json"
    status, _ = call("check", half, "glibc", "--part", "exports", "--junit", xml, "--json", as_json)
    assert status == 1
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
    status, printed = call("check", half, "--test", "free.of_null*", "--deviations", table)
    assert status == 1
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
    status, printed = call("check", half, *GLIBC_CALLS, "--deviations", file)
    assert (status, printed.count("\n")) == (2, 1)
    assert str(file) in printed
    assert said in printed


def test_what_is_no_malloc_library_is_one_line(tmp_path: Path) -> None:
    text = tmp_path / "text.so"
    text.write_text("no ELF file\n")
    none = shared(tmp_path, "libnone", "int answer = 42;")
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
        status, printed = call("check", *words)
        assert (status, printed.count("\n")) == (2, 1), printed
        assert said in printed


def test_a_32_bit_library_is_one_line(tmp_path: Path) -> None:
    header = bytearray(Path("/bin/true").resolve().read_bytes()[:64])
    header[4], header[18:20] = 1, (3).to_bytes(2, "little")  # ELFCLASS32, EM_386
    library = tmp_path / "lib32.so"
    library.write_bytes(bytes(header[:52]).ljust(64, b"\0"))
    status, printed = call("check", library)
    assert (status, printed.count("\n")) == (2, 1)
    assert str(library) in printed


def test_a_hanging_test_is_ended(half: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    sleeper = tmp_path / "check_sleeper"
    sleeper.write_text("#!/bin/sh\nsleep 600\n")
    sleeper.chmod(0o755)
    part = parts.CheckPart("sleep", "nothing", (parts.Program("sleeper", ("long",), limit_s=1),))
    monkeypatch.setattr(parts, "PARTS", (part,))
    monkeypatch.setattr(native, "helper", lambda name: sleeper)
    monkeypatch.setattr(catalogs, "folders", lambda extra: [])
    status, printed = call("check", half)
    assert status == 1
    assert "hung sleeper.long" in printed
    assert "no end within 1 s" in printed


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
