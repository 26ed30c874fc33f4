"""Functions in the symbol tables of a program's file, and their code."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from heaplab.machine import elf

TABLES = (".dynsym", ".symtab")
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
    """The functions with these names, or that match, by address; one with several names for each of them."""
    wanted = frozenset(names)
    with elf.opened(path, "not a program this machine can run") as opened:
        texts = [segment for segment in opened.iter_segments("PT_LOAD") if segment["p_flags"] & EXECUTABLE]
        code: dict[tuple[int, str], CodeOf] = {}
        for table in TABLES:
            functions = [each for each in elf.functions_in(opened, table) if each.kind == elf.FUNCTION]
            starts = sorted(each.start for each in functions)
            for _, name, start, size, _ in functions:
                if (start, name) in code or not (name in wanted or mangled.fullmatch(name)):
                    continue
                for text in texts:
                    if 0 <= start - text["p_vaddr"] < text["p_filesz"]:
                        code[start, name] = code_of(text.data(), text["p_vaddr"], name, start, size, starts)
        return [code[key] for key in sorted(code)]


def code_of(text: bytes, base: int, name: str, start: int, size: int, starts: Sequence[int]) -> CodeOf:
    end = start + (size or UNKNOWN)
    next_start = starts[min(bisect_right(starts, start), len(starts) - 1)]
    padding = -end % ALIGNMENT if size else 0
    if start < next_start < end + padding:
        padding = max(0, next_start - end)
    return CodeOf(name, start, text[start - base : end + padding - base], padding)
