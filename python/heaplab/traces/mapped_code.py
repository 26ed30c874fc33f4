"""The mapped code of a process, from the recorder's notes (src/recorder/mapped_modules.h) or the kernel."""

import re
from collections.abc import Iterable
from typing import NamedTuple

LINE = re.compile(r"([0-9a-f]+)-([0-9a-f]+) (\S{4}) ([0-9a-f]+) (\S+ \d+) +(/.*)")
BUILD_ID = re.compile(r"#([0-9a-f]+) ([0-9a-f]+)")


class MappedPart(NamedTuple):
    """A mapped part of a file."""

    start: int
    end: int
    offset: str
    file: str  # device, inode and path
    path: str
    runs: bool


def code_of(*texts: str) -> tuple[str, str]:
    """The lines of modules and of build-ids, as in docs/trace-format.md. What comes later holds."""
    parts: list[MappedPart] = []
    build_ids: dict[str, str] = {}
    for text in texts:
        begins: dict[int, str] = {}
        for line in text.splitlines():
            if match := LINE.fullmatch(line):
                start, end, permissions, offset, file, path = match.groups()
                part = MappedPart(
                    int(start, 16), int(end, 16), offset, f"{file} {path}", path, "x" in permissions
                )
                begins[part.start] = part.file
                if part.runs:
                    parts = [*without(parts, part), part]
            elif (match := BUILD_ID.fullmatch(line)) and (at := begins.get(int(match[1], 16))):
                build_ids[at] = match[2]
    ordered = sorted(parts)
    modules = "".join(f"{part.start:x}-{part.end:x} {part.offset} {part.path}\n" for part in ordered)
    known = "".join(f"{part.start:x} {build_ids[part.file]}\n" for part in ordered if part.file in build_ids)
    return modules, known


def without(parts: Iterable[MappedPart], gone: MappedPart) -> list[MappedPart]:
    """The parts that lie beside this one."""
    return [part for part in parts if part.end <= gone.start or part.start >= gone.end]
