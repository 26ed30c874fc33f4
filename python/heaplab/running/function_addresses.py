"""Where functions of a running process lie, by the symbols that its libraries export."""

import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerSymSection

from heaplab.errors import UsageError
from heaplab.machine import elf
from heaplab.running.read_once import read_once
from heaplab.running.serving import MappedModule

PAGE = 4096
HIDDEN = 0x8000  # of a symbol's version: an older one, kept for programs that were linked with it
EXECUTABLE = 1  # PF_X
COMPARED = 16  # B of a function that must be in memory as in its file
# Functions of the C library in which a thread may hold a lock of malloc, the loader or stdio, or is about to
# take one: families of names.
LOCKING = re.compile(
    r"(__libc_)?(malloc|calloc|realloc|free|cfree|memalign|valloc|pvalloc)|mall(oc|info|opt).*|"
    r"__malloc.*|aligned_alloc|posix_memalign|reallocarray|"
    r"_IO_.*|.*(printf|scanf).*|f(open|dopen|reopen|close|flush|put|get|read|write|seek|tell|pos|memopen).*|"
    r"f?puts?.*|get(c|char|delim|line|s|w).*|open_w?memstream|set(v|_)?buf.*|ungetw?c|p(open|close|error)|"
    r"__(over|under|u)flow|"
    r"_?dl_?.*|__libc_dl.*|__tls_get_addr|v?fork|_Fork|__libc_fork|posix_spawn.*"
)


class Function(NamedTuple):
    start: int
    end: int
    name: str


class Room(NamedTuple):
    """Bytes of a mapping of code behind the last byte of code."""

    start: int
    bytes: int


@dataclass(frozen=True)
class Layout:
    """What the file of a module holds, by addresses without the bias of a process."""

    functions: list[Function]
    addresses: dict[str, int]  # of functions that can be called, by name
    texts: list[tuple[int, int, bytes]]  # code: begin, end, content
    rooms: list[Room]


@read_once
def layout_of(file: Path) -> Layout:
    with elf.opened(file, "not an ELF library") as opened:
        segments = list(opened.iter_segments("PT_LOAD"))
        texts = [
            (segment["p_vaddr"], segment["p_vaddr"] + segment["p_filesz"], segment.data())
            for segment in segments
            if segment["p_flags"] & EXECUTABLE
        ]
        functions, addresses = functions_of(opened)
        rooms = [Room(end + -end % 16, -end % PAGE - -end % 16) for _, end, _ in texts]
        return Layout(functions, addresses, texts, rooms)


@read_once
def first_page_of(file: Path) -> int:
    """The address of the first segment: without the symbols, of which some programs have very many."""
    with elf.opened(file, "not an ELF library") as opened:
        return int(min(segment["p_vaddr"] for segment in opened.iter_segments("PT_LOAD")) // PAGE * PAGE)


@dataclass(frozen=True)
class Symbols:
    """The exported functions of a module at their addresses in the process."""

    module: MappedModule

    @cached_property
    def _layout(self) -> Layout:
        return layout_of(self.module.file)

    @property
    def bias(self) -> int:
        return self.module.start - first_page_of(self.module.file)

    def address(self, name: str) -> int | None:
        """The address of a function; None if the module does not export it as such."""
        offset = self._layout.addresses.get(name)
        return None if offset is None else offset + self.bias

    def has(self, address: int) -> bool:
        return any(start <= address < end for start, end in self.code)

    def begin_of(self, address: int) -> bytes:
        """The first bytes of a function, as its file has them."""
        at = address - self.bias
        return next(
            text[at - start : at - start + COMPARED]
            for start, end, text in self._layout.texts
            if start <= at < end
        )

    @property
    def code(self) -> list[tuple[int, int]]:
        return [(start + self.bias, end + self.bias) for start, end, _ in self._layout.texts]

    def room(self, size: int) -> int | None:
        """Where in the mapped code so many bytes lie that no code uses."""
        rooms = self._layout.rooms
        return next((room.start + self.bias for room in rooms if room.bytes >= size), None)

    def locking(self) -> list[tuple[int, int]]:
        """The code of functions that may hold locks.

        Functions without a name, which are local to a file of the C library, count as their neighbours do.
        """
        functions, bias = self._layout.functions, self.bias
        starts = [function.start for function in functions]
        ranges = []
        for place, function in enumerate(functions):
            if LOCKING.fullmatch(function.name):
                below = functions[place - 1].end if place else function.start
                above = bisect_right(starts, function.start)
                end = starts[above] if above < len(starts) else function.end
                ranges.append((below + bias, end + bias))
        return joined(ranges)


def names(file: Path, pattern: re.Pattern[bytes]) -> bool:
    """Whether the pattern is in the names that a module imports and exports, each between zeros."""
    try:
        return bool(pattern.search(names_in(file)))
    except UsageError:
        return False  # no library


@read_once
def names_in(file: Path) -> bytes:
    with elf.opened(file, "not an ELF library") as opened:
        section = opened.get_section_by_name(".dynstr")
        return b"" if section is None else bytes(section.data())


def functions_of(opened: ELFFile) -> tuple[list[Function], dict[str, int]]:
    """The exported functions by address; and addresses of those that can be called, by name."""
    versions = opened.get_section_by_name(".gnu.version")
    functions, addresses = [], {}
    for each in elf.functions_in(opened, ".dynsym"):
        functions.append(Function(each.start, each.start + each.size, each.name))
        if each.kind == elf.FUNCTION and not is_hidden(versions, each.number):
            addresses[each.name] = each.start
    return sorted(functions), addresses


def is_hidden(versions: object, number: int) -> bool:
    if not isinstance(versions, GNUVerSymSection):
        return False
    version = versions.get_symbol(number)["ndx"]
    return isinstance(version, int) and bool(version & HIDDEN)


def joined(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The ranges without overlaps."""
    merged: list[tuple[int, int]] = []
    for begin, end in sorted(ranges):
        if merged and begin <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((begin, end))
    return merged
