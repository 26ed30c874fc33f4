"""Names of code addresses, whatever linker laid out the program, and none where the file is another."""

import shutil
import struct
import subprocess
from pathlib import Path

import pytest
from subprocesses import compiled, heaplab, printed_by

from heaplab.traces import debug_info, symbols

PAGE = 4096
PROGRAM = """#include <stdlib.h>
__attribute__((noinline)) void planted(void) { free(malloc(12345)); }
__attribute__((noinline)) void other(void) { free(malloc(54321)); }
int main() { planted(); other(); }
"""
RUST = """
use std::thread;
#[inline(never)]
fn planted_site(size: usize) -> Vec<u8> { let mut made = Vec::with_capacity(size); made.push(1u8); made }
#[inline(never)]
fn work() -> usize { (0..1000).map(|_| planted_site(12345).len()).sum() }
fn main() {
    let threads: Vec<_> = (0..4).map(|_| thread::spawn(work)).collect();
    println!("{}", threads.into_iter().map(|one| one.join().unwrap()).sum::<usize>());
}
"""


def elf(path: Path, segments: list[tuple[int, int, int, int]], functions: dict[str, tuple[int, int]]) -> None:
    """An ELF file of nothing but segments (flags, place, address, bytes) and functions (address, bytes)."""
    names = b"\0" + b"".join(name.encode() + b"\0" for name in functions)
    sections = b"\0.symtab\0.strtab\0.shstrtab\0"
    table = bytes(24)
    for name, (at, size) in functions.items():
        table += struct.pack("<IBBHQQ", names.index(name.encode()), 2, 0, 1, at, size)
    end = 64 + 56 * len(segments)
    body, headers = b"", bytes(64)
    for name, kind, data, link, entry in (
        (b".symtab", 2, table, 2, 24),
        (b".strtab", 3, names, 0, 0),
        (b".shstrtab", 3, sections, 0, 0),
    ):
        place = (sections.index(name), kind, 0, 0, end + len(body), len(data), link, 1, 8, entry)
        headers += struct.pack("<IIQQQQIIQQ", *place)
        body += data
    head = b"\x7fELF\x02\x01\x01" + bytes(9)
    head += struct.pack(
        "<HHIQQQIHHHHHH", 3, 62, 1, 0, 64, end + len(body), 0, 64, 56, len(segments), 64, 4, 3
    )
    loads = b"".join(
        struct.pack("<IIQQQQQQ", 1, flags, place, at, at, size, size, PAGE)
        for flags, place, at, size in segments
    )
    path.write_bytes(head + loads + body + headers)


def test_the_segment_that_is_executable_is_the_one_that_was_mapped(tmp_path: Path) -> None:
    """lld lays segments out without gaps, so that the page in which code begins holds other data, too."""
    data, code = (4, 0, 0, 0x1208), (5, 0x1210, 0x2210, 0x100)
    elf(tmp_path / "program", [data, code], {"wrong": (0x1210, 0x100), "right": (0x2210, 0x100)})
    base = 0x555500000000
    line = f"{base + 0x2000:x}-{base + 0x3000:x} 1000 {tmp_path / 'program'}\n"
    address = base + 0x2210 + 5
    assert symbols.places([address], line, "")[address].function == "right"


def test_of_two_executable_segments_in_a_page_the_larger_part_was_mapped(tmp_path: Path) -> None:
    first, second = (5, 0, 0, 0x1010), (5, 0x1010, 0x3010, 0xE00)
    elf(tmp_path / "program", [first, second], {"wrong": (0x1010, 0x100), "right": (0x3010, 0x100)})
    line = f"7000-8000 1000 {tmp_path / 'program'}\n"
    address = 0x7000 + 0x15
    assert symbols.places([address], line, "")[address].function == "right"


def test_a_file_that_was_replaced_gives_no_names(tmp_path: Path) -> None:
    compiled(tmp_path / "x", PROGRAM, "-O1", "-Wl,--build-id=0xc0ffee")
    listed = printed_by("nm", tmp_path / "x").splitlines()
    [at] = (int(line.split()[0], 16) for line in listed if line.endswith(" planted"))
    line = f"{at & -PAGE:x}-{(at & -PAGE) + PAGE:x} {at & -PAGE:x} {tmp_path / 'x'}\n"
    found = symbols.places([at + 1], line, "", f"{at & -PAGE:x} c0ffee\n")
    assert found[at + 1].function == "planted"
    found = symbols.places([at + 1], line, "", f"{at & -PAGE:x} beef\n")
    assert found[at + 1].function.startswith("0x")


def callers(folder: Path, program: str, size: int) -> set[str]:
    """The functions that acquire blocks of this size, of a program recorded with call stacks."""
    heaplab(folder, "record", "--stacks", "-o", "x.trace", "--", program).check_returncode()
    heaplab(folder, "trace", "x.trace", "-o", "x.parquet").check_returncode()
    pd = pytest.importorskip("pandas")
    events = pd.read_parquet(folder / "x.parquet")
    return set(events[(events["kind"] == "malloc") & (events["size"] == size)]["caller"])


@pytest.mark.starts_programs
def test_a_program_linked_by_lld_has_its_names(tmp_path: Path) -> None:
    if shutil.which("ld.lld") is None:
        pytest.skip("ld.lld is not here: apt-get install lld")
    compiled(tmp_path / "x", PROGRAM, "-O1", "-fno-builtin", "-fno-omit-frame-pointer", "-fuse-ld=lld")
    [caller] = callers(tmp_path, "./x", 12345)
    assert caller.startswith("planted (")


@pytest.mark.starts_programs
def test_a_rust_program_of_several_threads_is_recorded_with_its_names(tmp_path: Path) -> None:
    """Its threads ask the C library for their attributes before anything else."""
    if shutil.which("rustc") is None:
        pytest.skip("rustc is not here: apt-get install rustc")
    (tmp_path / "x.rs").write_text(RUST)
    subprocess.run(["rustc", "-O", "-o", "x", "x.rs"], cwd=tmp_path, check=True)
    assert any("planted_site" in caller for caller in callers(tmp_path, "./x", 12345))


INLINED = """#include <stdlib.h>
static inline __attribute__((always_inline)) void inner(void) {
  free(malloc(12345));
}
__attribute__((noinline)) void outer(void) { inner(); __asm__(""); }
int main() { outer(); }
"""


@pytest.mark.parametrize("tool", ["llvm-symbolizer", "addr2line"])
def test_a_function_that_was_inlined_is_told_with_the_one_around(
    tool: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = shutil.which(tool)
    if path is None:
        pytest.skip(f"{tool} is not here")
    only = tmp_path / "bin"
    only.mkdir()
    (only / tool).symlink_to(path)
    compiled(tmp_path / "x", INLINED, "-g", "-O1", "-fno-builtin", "-no-pie")
    lines = printed_by("objdump", "-d", tmp_path / "x").splitlines()
    [call] = (at for at, line in enumerate(lines) if "call" in line and "<malloc@plt>" in line)
    returns_to = int(lines[call + 1].partition(":")[0], 16)
    page = returns_to & -PAGE
    mapped = f"{page:x}-{page + PAGE:x} {page - 0x400000:x} {tmp_path / 'x'}\n"
    monkeypatch.setenv("PATH", str(only))
    place = symbols.places([returns_to], mapped, "")[returns_to]
    assert (place.function, place.line) == ("inner", 3)
    assert place.file.endswith("x.c")
    assert [(place_inside.function, place_inside.line) for place_inside in place.inlined_into] == [
        ("outer", 5)
    ]


@pytest.mark.parametrize(
    ("mangled", "name"),
    [
        ("_ZN7program4loadEi", "program::load(int)"),
        ("_RNvC7program4load", "program::load"),
        ("_ZN7program4load17h0123456789abcdefE", "program::load"),
        ("main", "main"),
    ],
)
def test_names_of_cxx_and_rust_are_demangled(mangled: str, name: str) -> None:
    assert debug_info.demangled([mangled]) == [name]


def test_without_tools_names_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert debug_info.demangled(["_ZN7program4loadEi"]) == ["_ZN7program4loadEi"]
    assert debug_info.frames("/bin/true", [1, 2]) == [[], []]
