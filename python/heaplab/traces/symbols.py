"""Names of code addresses: the function and, with debug information, the line of the source."""

import re
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path, PurePath
from typing import Any

import numpy as np
from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from heaplab.machine.elf import build_id_of
from heaplab.traces import debug_info

EXECUTABLE = 1  # PF_X
FUNCTIONS = (2, 10)  # STT_FUNC, STT_GNU_IFUNC
SYMBOL = np.dtype(
    [("name", "<u4"), ("info", "u1"), ("other", "u1"), ("section", "<u2"), ("at", "<u8"), ("size", "<u8")]
)
NAMED = re.compile(r"(?P<function>.+) \((?:in (?P<module>.+)|(?P<file>.+):(?P<line>\d+))\)")
MTRACE = re.compile(r"(?P<path>.+?):?(?:\(.*\))?\[0x(?P<at>[0-9a-f]+)\]")
Names = dict[int, "Place"]


@dataclass(frozen=True)
class Place:
    """The place of a code address in the program; "" and 0 for what is unknown."""

    function: str = ""
    file: str = ""  # of the source
    line: int = 0
    module: str = ""  # path of the mapped file
    inlined_into: tuple["Place", ...] = ()  # the functions around this one, the innermost first

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}" if self.line else f"in {self.module}" if self.module else ""
        function = self.function or "?"
        return f"{function} ({where})" if where else function

    @property
    def is_named(self) -> bool:
        """Whether the function has a name, not only an address."""
        return self.function not in ("", "?") and not self.function.startswith("0x")

    @property
    def lasting_name(self) -> str:
        """The name of the function or, without one, of the file: addresses differ between builds."""
        return self.function if not self.function.startswith("0x") else PurePath(self.module).name or "?"

    @property
    def short(self) -> str:
        """The place as text for a table, without the folders of the file."""
        where = f"{PurePath(self.file).name}:{self.line}" if self.line else PurePath(self.module).name
        function = self.function or "?"
        return f"{function} ({where})" if where else function


@dataclass(frozen=True)
class Module:
    """A mapped part of a file: its first address, the address after its end, its offset in the file."""

    start: int
    end: int
    offset: int
    path: str
    build_id: str = ""  # in hexadecimal; "" if unknown


def modules_of(lines: str, build_ids: str = "") -> list[Module]:
    """The mapped files by address, from lines of a trace (docs/trace-format.md)."""
    ids = dict(line.split(" ", 1) for line in build_ids.splitlines())
    mapped = []
    for line in lines.splitlines():
        span, offset, path = line.split(" ", 2)
        start, end = span.split("-")
        first = int(start, 16)
        mapped.append(Module(first, int(end, 16), int(offset, 16), path, ids.get(f"{first:x}", "")))
    return sorted(mapped, key=lambda module: module.start)


def places(addresses: Iterable[int], modules: str, names: str, build_ids: str = "") -> Names:
    """The place of each address that a call returns to.

    `modules`, `names` and `build_ids` are lines of a trace (docs/trace-format.md). Names in the trace come
    first; then those of the mapped files, unless a file was replaced since.
    """
    place_by_address = named(names)
    mapped = modules_of(modules, build_ids)
    missing = np.array(sorted(set(addresses) - place_by_address.keys()), dtype=np.uint64)
    for module in mapped:
        first, last = np.searchsorted(missing, np.array([module.start + 1, module.end + 1], dtype=np.uint64))
        inside = [int(address) for address in missing[first:last]]
        if inside:
            place_by_address |= dict(zip(inside, _in_file(module.path, inside, module), strict=True))
    return place_by_address


def named(names: str) -> Names:
    """The places in the names of a trace: FUNCTION (FILE:LINE), or a place in mtrace's form."""
    texts = {int(address, 16): text for address, _, text in (n.partition(" ") for n in names.splitlines())}
    places_by_address = {address: _place(text) for address, text in texts.items()}
    of_mtrace = {address: match for address, text in texts.items() if (match := MTRACE.fullmatch(text))}
    for path in {match["path"] for match in of_mtrace.values()}:
        here = {
            address: int(match["at"], 16) for address, match in of_mtrace.items() if match["path"] == path
        }
        places_by_address |= dict(zip(here, _in_file(path, list(here.values())), strict=True))
    return places_by_address


def _place(text: str) -> Place:
    match = NAMED.fullmatch(text)
    if not match:
        return Place(text)
    return Place(match["function"], match["file"] or "", int(match["line"] or 0), match["module"] or "")


def _in_file(path: str, addresses: Sequence[int], module: Module | None = None) -> list[Place]:
    """The place of the byte before each address: a call may be the last instruction of its function.

    The addresses are those of a mapped part of the file or, without `module`, as the file numbers them.
    """
    try:
        with open(path, "rb") as stream:
            image = Image(path, ELFFile(stream))
            bias = image.bias(module) if module else 0
            return image.places([address - 1 - bias for address in addresses])
    except (OSError, ELFError, ValueError):
        return [Place(f"0x{address:x}", module=path) for address in addresses]


class Image:
    """The symbols of an ELF file. Raises ValueError if it is not a little-endian file of 64 bits."""

    def __init__(self, path: str, elf: ELFFile) -> None:
        if elf.elfclass != 64 or not elf.little_endian:
            raise ValueError(path)
        self._path = path
        self._elf = elf
        self.build_id = build_id_of(elf)

    def bias(self, module: Module) -> int:
        """The difference between an address in memory and the same address in the file.

        A mapped part belongs to the executable segment with which it has the most bytes in common: its first
        page may also hold the end of another segment. Raises ValueError if there is none, or if the file was
        replaced since: its build-id then is another.
        """
        if module.build_id and self.build_id and self.build_id != module.build_id:
            raise ValueError(self._path)
        length = module.end - module.start

        def in_common(head: Any) -> int:
            first = max(module.offset, head.p_offset)
            return int(min(module.offset + length, head.p_offset + head.p_filesz) - first)

        segments = [
            iter_segment.header
            for iter_segment in self._elf.iter_segments("PT_LOAD")
            if iter_segment["p_flags"] & EXECUTABLE
        ]
        best = max(segments, key=in_common, default=None)
        if best is None or in_common(best) <= 0:
            raise ValueError(module.path)
        return int(module.start - (best.p_vaddr + module.offset - best.p_offset))

    def places(self, addresses: Sequence[int]) -> list[Place]:
        symbols = [self._function(address) or f"0x{address:x}" for address in addresses]
        debug = self._frames(addresses)
        frames = [
            [frame._replace(function=frame.function or symbol) for frame in inlined]
            or [debug_info.Frame(symbol)]
            for inlined, symbol in zip(debug, symbols, strict=True)
        ]
        names = iter(debug_info.demangled([frame.function for inlined in frames for frame in inlined]))
        return [
            self._place([(next(names), frame.file, frame.line) for frame in inlined]) for inlined in frames
        ]

    def _place(self, frames: Sequence[tuple[str, str, int]]) -> Place:
        first, *around = (Place(*frame, module=self._path) for frame in frames)
        return replace(first, inlined_into=tuple(around))

    @cached_property
    def _separate(self) -> Path | None:
        """The file with the debug information of a stripped file; None if no package installed it."""
        file = debug_info.SEPARATE / self.build_id[:2] / f"{self.build_id[2:]}.debug"
        return file if self.build_id and file.is_file() else None

    @cached_property
    def _symbols(self) -> tuple[np.ndarray, list[bytes]]:
        """Functions by address, and the texts of names for each symbol table; `other` tells the table."""
        tables: list[np.ndarray] = []
        texts: list[bytes] = []
        with ExitStack() as open_files:
            elfs = [self._elf]
            if self._separate:
                elfs.append(ELFFile(open_files.enter_context(self._separate.open("rb"))))
            for elf in elfs:
                for name in (".symtab", ".dynsym"):
                    section = elf.get_section_by_name(name)
                    if not isinstance(section, SymbolTableSection) or section["sh_type"] == "SHT_NOBITS":
                        continue
                    table = np.frombuffer(section.data(), dtype=SYMBOL).copy()
                    table["other"] = len(texts)
                    texts.append(section.stringtable.data())
                    tables.append(table[np.isin(table["info"] & 15, FUNCTIONS) & (table["at"] != 0)])
        symbols = np.concatenate([*tables, np.empty(0, SYMBOL)])
        return symbols[np.argsort(symbols["at"], kind="stable")], texts

    def _function(self, address: int) -> str:
        symbols, texts = self._symbols
        place = int(np.searchsorted(symbols["at"], np.uint64(address), side="right")) - 1
        if place < 0:
            return ""
        symbol = symbols[place]
        if symbol["size"] and address >= symbol["at"] + symbol["size"]:
            return ""
        text, at = texts[symbol["other"]], int(symbol["name"])
        name: bytes = text[at : text.find(b"\0", at)]
        return name.partition(b"@")[0].decode(errors="replace")  # without the version of the symbol

    def _frames(self, addresses: Sequence[int]) -> list[list[debug_info.Frame]]:
        if self._elf.get_section_by_name(".debug_info") is not None:
            return debug_info.frames(self._path, addresses)
        if self._separate:
            return debug_info.frames(str(self._separate), addresses)
        return [[] for _ in addresses]
