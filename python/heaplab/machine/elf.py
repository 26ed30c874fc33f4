"""Facts about an ELF file: whether it can be preloaded, its build-id, its loader."""

import contextlib
import platform
import re
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from elftools.common.exceptions import ELFError
from elftools.elf.dynamic import DynamicSegment
from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerNeedSection
from elftools.elf.sections import SymbolTableSection
from elftools.elf.segments import InterpSegment, NoteSegment

from heaplab.errors import UsageError
from heaplab.files import regular_file

# Names of machines in ELF headers, by the machine name of uname -m.
MACHINES = {"x86_64": "x64", "aarch64": "AArch64", "riscv64": "RISC-V", "ppc64le": "64-bit PowerPC"}

FUNCTION, INDIRECT = 2, 10  # STT_FUNC; STT_GNU_IFUNC, whose value is the address of what chooses the function
FUNCTION_KINDS = (FUNCTION, INDIRECT)


def check_allocator(path: Path) -> None:
    """Raise UsageError unless `path` is a shared library for this machine that defines malloc."""
    if not path.exists():
        raise UsageError(f"{path}: no such file")
    if not path.is_file():
        raise UsageError(f"{path}: not a file")
    with opened(path, "not an ELF library") as elf:
        machine = elf.get_machine_arch()
        shared = elf.header["e_type"] == "ET_DYN" and elf.get_section_by_name(".dynsym") is not None
        has_malloc = shared and defines(elf, ".dynsym", "malloc")
    if machine != MACHINES.get(platform.machine(), machine):
        raise UsageError(f"{path}: made for {machine}, this machine is {platform.machine()}")
    if not shared:
        raise UsageError(f"{path}: an ELF file but not a shared library")
    if not has_malloc:
        raise UsageError(f"{path}: defines no malloc, so preloading it changes nothing")


@contextlib.contextmanager
def opened(path: Path, fault: str) -> Iterator[ELFFile]:
    """The ELF file. Raises UsageError if it cannot be read or, with the words of `fault`, if it is none."""
    try:
        with regular_file.opened(path) as stream:
            yield ELFFile(stream)
    except (ELFError, ValueError, KeyError, struct.error) as error:
        raise UsageError(f"{path}: {fault}") from error


class Build(NamedTuple):
    """The platform that a shared library was built for."""

    architecture: str  # as uname -m has it
    glibc: tuple[int, ...]  # the version of the C library that it needs at least; () for none


def build_of(path: Path) -> Build:
    """The build of a library that defines malloc. Raises UsageError for any other file."""
    with opened(path, "not an ELF library") as elf:
        machine, names = elf.get_machine_arch(), {name: arch for arch, name in MACHINES.items()}
        if not defines(elf, ".dynsym", "malloc"):
            raise UsageError(f"{path}: defines no malloc, so preloading it changes nothing")
        return Build(names.get(machine, machine), max(versions_needed(elf, "GLIBC_"), default=()))


def versions_needed(elf: ELFFile, prefix: str) -> Iterator[tuple[int, ...]]:
    """The versions of symbols with a name such as GLIBC_2.34 that a library needs."""
    section = elf.get_section_by_name(".gnu.version_r")
    if isinstance(section, GNUVerNeedSection):
        for _, needed in section.iter_versions():
            for version in needed:
                if re.fullmatch(rf"{prefix}[0-9.]+", version.name):
                    yield tuple(map(int, version.name.removeprefix(prefix).split(".")))


class DefinedFunction(NamedTuple):
    """A function that a symbol table defines."""

    number: int  # of its row
    name: str
    start: int
    size: int
    kind: int


def functions_in(elf: ELFFile, section: str, only: str = "") -> Iterator[DefinedFunction]:
    """The functions that a symbol table defines, or `only` those of a name; none without such a table.

    Programs with hundreds of thousands of symbols are read in a part of a second, unlike by pyelftools.
    """
    table = elf.get_section_by_name(section)
    if not isinstance(table, SymbolTableSection):
        return
    names = elf.get_section(table["sh_link"]).data()
    # Elf64_Sym: name, info, other, section, value, size. Elf32_Sym has the last two behind the name.
    is_wide, order = elf.elfclass == 64, "<" if elf.little_endian else ">"
    rows = struct.iter_unpack(order + ("IBBHQQ" if is_wide else "IIIBBH"), table.data())
    places = {match.start() for match in re.finditer(re.escape(only.encode()) + b"\0", names)} if only else ()
    for number, row in enumerate(rows):
        if only and row[0] not in places:
            continue
        name, info, _, defined_in, start, size = row if is_wide else (row[0], *row[3:], *row[1:3])
        if defined_in and info & 15 in FUNCTION_KINDS:
            text = names[name : names.index(b"\0", name)]
            yield DefinedFunction(number, text.decode(errors="replace"), start, size, info & 15)


def defines(elf: ELFFile, section: str, name: str) -> bool:
    """Whether a symbol table defines a function of this name."""
    return any(True for _ in functions_in(elf, section, name))


def defined_symbols(elf: ELFFile, section: str) -> set[str]:
    """The names of the functions that a symbol table defines."""
    return {function.name for function in functions_in(elf, section)}


def build_id(path: Path) -> str:
    """The GNU build-id in hex, or "" if the file has none."""
    try:
        with path.open("rb") as stream:
            return build_id_of(ELFFile(stream))
    except (OSError, ELFError):
        return ""


def build_id_of(elf: ELFFile) -> str:
    segments = (
        iter_segment for iter_segment in elf.iter_segments("PT_NOTE") if isinstance(iter_segment, NoteSegment)
    )
    notes = (note for segment in segments for note in segment.iter_notes())
    return next((str(note["n_desc"]) for note in notes if note["n_type"] == "NT_GNU_BUILD_ID"), "")


def interpreter(path: Path) -> str | None:
    """The loader that a program names; None for a static program. Raises UsageError if it is no ELF file."""
    with opened(path, "not a program this machine can run") as elf:
        segments = (
            iter_segment for iter_segment in elf.iter_segments() if isinstance(iter_segment, InterpSegment)
        )
        return next((str(segment.get_interp_name()) for segment in segments), None)


def needed(path: Path) -> list[str]:
    """The libraries that a library or a program names as needed. Raises UsageError if it is no ELF file."""
    with opened(path, "not an ELF library") as elf:
        segments = (
            iter_segment for iter_segment in elf.iter_segments() if isinstance(iter_segment, DynamicSegment)
        )
        return [vars(tag)["needed"] for segment in segments for tag in segment.iter_tags("DT_NEEDED")]


def soname(path: Path) -> str:
    """The name by which others need a library, or "". Raises UsageError if it is no ELF file."""
    with opened(path, "not an ELF library") as elf:
        segments = (
            iter_segment for iter_segment in elf.iter_segments() if isinstance(iter_segment, DynamicSegment)
        )
        names = (vars(tag)["soname"] for segment in segments for tag in segment.iter_tags("DT_SONAME"))
        return str(next(names, ""))


def is_go(path: Path) -> bool:
    """Whether the Go toolchain linked the program: it leaves a section that `go version` reads."""
    try:
        with path.open("rb") as stream:
            return ELFFile(stream).get_section_by_name(".go.buildinfo") is not None
    except (OSError, ELFError):
        return False


def own_malloc(path: Path) -> bool:
    """Whether the program was linked with its own malloc. Only an unstripped program shows this."""
    with path.open("rb") as stream:
        elf = ELFFile(stream)
        return any(defines(elf, table, "malloc") for table in (".dynsym", ".symtab"))
