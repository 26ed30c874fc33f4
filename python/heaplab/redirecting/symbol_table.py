"""Functions in the symbol tables of a program's file, which may have hundreds of thousands."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection
from numpy.typing import NDArray

from heaplab.machine import elf

ENTRY = np.dtype(
    [("name", "<u4"), ("info", "u1"), ("other", "u1"), ("section", "<u2"), ("start", "<u8"), ("size", "<u8")]
)
FUNCTION = 2  # STT_FUNC
EXECUTABLE = 1  # PF_X
UNKNOWN = 64  # B that are read of a function whose size the table does not tell
ALIGNMENT = 16  # of the function that follows: up to there is padding


class CodeOf(NamedTuple):
    """A function of a program's file."""

    name: str
    start: int
    code: bytes  # with the padding behind
    padding: int


def functions_in(path: Path, names: Iterable[str], mangled: re.Pattern[str]) -> list[CodeOf]:
    """The functions with these names, or that match; one for each address."""
    wanted = re.compile(
        rb"(?=((?:%s|%s)\0))" % (b"|".join(map(re.escape, map(str.encode, names))), mangled.pattern.encode())
    )
    with elf.opened(path, "not a program this machine can run") as opened:
        texts = [segment for segment in opened.iter_segments("PT_LOAD") if segment["p_flags"] & EXECUTABLE]
        found: dict[int, CodeOf] = {}
        for table in opened.iter_sections():
            if isinstance(table, SymbolTableSection):
                starts, rows = rows_of(opened, table, wanted)
                for name, start, size in rows:
                    for text in texts:
                        if start not in found and 0 <= start - text["p_vaddr"] < text["p_filesz"]:
                            found[start] = code_of(text.data(), text["p_vaddr"], name, start, size, starts)
        return [found[start] for start in sorted(found)]


def rows_of(
    opened: ELFFile, table: SymbolTableSection, wanted: re.Pattern[bytes]
) -> tuple[NDArray[np.uint64], list[tuple[str, int, int]]]:
    """The begins of all functions of a table in order; name, begin and size of the wanted ones."""
    texts = opened.get_section(table["sh_link"]).data()
    names = {match.start(): match[1][:-1].decode() for match in wanted.finditer(texts)}
    entries = np.frombuffer(table.data(), ENTRY)
    functions = entries[(entries["info"] & 15 == FUNCTION) & (entries["section"] != 0)]
    hits = functions[np.isin(functions["name"], list(names))]
    rows = [(names[int(hit["name"])], int(hit["start"]), int(hit["size"])) for hit in hits]
    return np.sort(functions["start"]), rows


def code_of(text: bytes, base: int, name: str, start: int, size: int, starts: NDArray[np.uint64]) -> CodeOf:
    end = start + (size or UNKNOWN)
    next_start = int(starts[min(int(np.searchsorted(starts, start, "right")), len(starts) - 1)])
    padding = -end % ALIGNMENT if size else 0
    if start < next_start < end + padding:
        padding = max(0, next_start - end)
    return CodeOf(name, start, text[start - base : end + padding - base], padding)
