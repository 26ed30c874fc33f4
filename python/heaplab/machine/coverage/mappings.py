"""The resident anonymous and shared memory of a process, mapping by mapping: /proc/PID/smaps."""

import re
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

LARGEST_GUARD = (
    1 << 20
)  # B: a larger inaccessible mapping is reserved address space, not the guard of a stack
MOST = 256  # mappings that are kept of a process, the largest ones
HEADER = re.compile(r"([0-9a-f]+)-([0-9a-f]+) (\S+) \S+ \S+ \d+ *(.*)")
KERNEL = ("[vdso]", "[vvar", "[vsyscall]")
HUGE_PAGES = ("AnonHugePages", "ShmemPmdMapped", "Private_Hugetlb", "Shared_Hugetlb")
RESERVED = ("Private_Hugetlb", "Shared_Hugetlb")  # pages that neither Rss nor Anonymous counts
# Flags of the tables that heaplab's recorder maps for each thread: never reserved, and wiped in children
# (src/recorder/stacks.cpp).
RECORDERS = frozenset(("nr", "wf"))


class MappingKind(StrEnum):
    """What a mapping is, as far as the kernel tells."""

    HEAP = "heap"  # grown by brk
    ANONYMOUS = "anonymous"
    STACK = "stack"  # of the first thread, or above an inaccessible guard
    FILE = "file"  # private copies of pages of a file, and its zeroed data
    SHARED = "shared"  # memfd, System V, /dev/shm


KINDS = {
    **dict.fromkeys(("/memfd:", "/dev/zero", "/SYSV", "/dev/shm/", "[anon_shmem:"), MappingKind.SHARED),
    "/": MappingKind.FILE,
    "[heap]": MappingKind.HEAP,
    "[stack": MappingKind.STACK,
}  # by the begin of a mapping's name; the first counts


class Mapping(NamedTuple):
    start: int
    end: int
    kind: MappingKind
    bytes: int  # resident
    huge: int  # part of it in huge pages


class Region(NamedTuple):
    """A mapping as smaps shows it."""

    start: int
    end: int
    permissions: str
    name: str
    sizes: dict[str, int]  # B
    flags: frozenset[str]


class Memory(NamedTuple):
    mappings: list[Mapping]
    names: frozenset[str]  # of the mapped files


def memory_of(pid: int, apart: str = "") -> Memory:
    """The memory of a process, without files below the folder `apart`. Raises OSError."""
    regions = list(regions_of(Path(f"/proc/{pid}/smaps").read_text(errors="surrogateescape")))
    mappings = mappings_of([region for region in regions if not (apart and region.name.startswith(apart))])
    return Memory(mappings, frozenset(region.name for region in regions if region.name.startswith("/")))


def regions_of(smaps: str) -> Iterator[Region]:
    region: Region | None = None
    for line in smaps.splitlines():
        name, _, value = line.partition(":")
        if value and region and name.isidentifier():
            if value.endswith(" kB"):
                region.sizes[name] = int(value[:-3]) * 1024
            elif name == "VmFlags":
                region = region._replace(flags=frozenset(value.split()))
        elif header := HEADER.fullmatch(line):
            if region:
                yield region
            start, end = int(header[1], 16), int(header[2], 16)
            region = Region(start, end, header[3], header[4], {}, frozenset())
    if region:
        yield region


def mappings_of(regions: list[Region]) -> list[Mapping]:
    """The mappings with resident memory, the largest ones, by address."""
    mappings, before, kind_before = [], None, None
    for region in regions:
        kind = kind_of(region, before, kind_before)
        size = resident(region, kind)
        if size and not region.name.startswith(KERNEL) and not region.flags >= RECORDERS:
            huge = sum(region.sizes.get(name, 0) for name in HUGE_PAGES)
            mappings.append(Mapping(region.start, region.end, kind, size, huge))
        before, kind_before = region, kind
    largest = sorted(mappings, key=lambda mapping: -mapping.bytes)[:MOST]
    return sorted(largest)


def kind_of(region: Region, before: Region | None, kind_before: MappingKind | None) -> MappingKind:
    """The kind of a mapping; `before` is the mapping below it."""
    for name, kind in KINDS.items():
        if region.name.startswith(name):
            return kind
    if before and before.end == region.start and region.permissions.startswith("rw"):
        if before.permissions.startswith("---") and before.end - before.start <= LARGEST_GUARD:
            return MappingKind.STACK
        if kind_before is MappingKind.FILE and before.name:
            return MappingKind.FILE  # zeroed data (.bss) stands behind the last page of its file
    return MappingKind.ANONYMOUS


def resident(region: Region, kind: MappingKind) -> int:
    reserved = sum(region.sizes.get(name, 0) for name in RESERVED)
    return reserved + region.sizes.get("Rss" if kind is MappingKind.SHARED else "Anonymous", 0)
