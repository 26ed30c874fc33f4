"""Where the memory of a running process lies: parts of what the kernel tells, at one moment."""

import errno
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from heaplab.errors import HeaplabError
from heaplab.machine import container
from heaplab.machine.coverage.mappings import (
    HUGE_PAGES,
    KERNEL,
    RESERVED,
    MappingKind,
    Region,
    kind_of,
    regions_of,
)
from heaplab.running.target import HAS_ENDED, Target, missing_right, status_of

ARENA = 64 << 20  # B: where glibc begins a heap of an arena, and the address space that it reserves there
KIB = 1024


class Part(StrEnum):
    """What a part of the resident memory is, in words."""

    HEAP = "heap of malloc (brk)"
    ARENAS = "arenas of malloc"
    ANONYMOUS = "other anonymous mappings: large blocks of malloc, or mapped by the program"
    ALLOCATOR = "anonymous mappings: malloc's, or mapped by the program"
    STACKS = "stacks of threads"
    FILES = "data of its files"
    SHARED = "shared memory"
    CODE = "pages of files that the kernel can drop: code, mapped files"


BY_KIND = {
    MappingKind.HEAP: Part.HEAP,
    MappingKind.STACK: Part.STACKS,
    MappingKind.FILE: Part.FILES,
    MappingKind.SHARED: Part.SHARED,
}
OF_MALLOC = (Part.HEAP, Part.ARENAS)
OPEN = (Part.ANONYMOUS, Part.ALLOCATOR)  # malloc's or not: the kernel does not tell
BEYOND = (Part.STACKS, Part.FILES, Part.SHARED)  # surely not malloc's


@dataclass(frozen=True)
class ProcessMemory:
    """The memory of a process at one moment; sizes in B."""

    parts: dict[Part, int]  # resident
    arenas: int  # mappings in the shape of a heap of an arena, beside the main one
    threads: int
    huge: int
    swap: int
    page_tables: int
    lazily_freed: int

    @property
    def bytes(self) -> int:
        """Resident memory that only the process gives back: all but pages of files."""
        return sum(size for part, size in self.parts.items() if part is not Part.CODE)

    @property
    def resident(self) -> int:
        return sum(self.parts.values())

    def within(self, parts: Sequence[Part]) -> int:
        return sum(self.parts.get(part, 0) for part in parts)


@dataclass(frozen=True)
class MemoryLimit:
    """The tightest limit of memory of the control groups of a process."""

    bytes: int | None
    left: int | None


def regions(of: Target) -> list[Region]:
    """The mappings of the process. Raises HeaplabError if it has ended, or is not to be looked at."""
    try:
        text = (of.proc / "smaps").read_text(errors="surrogateescape")
    except PermissionError as error:
        raise HeaplabError(f"{of.title} {missing_right(of.pid)}") from error
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.ESRCH):
            raise HeaplabError(f"{of.title}: {error.strerror}") from error
        text = ""
    if not text:
        raise HeaplabError(f"{of.title}: {HAS_ENDED}")
    return list(regions_of(text))


def memory_of(of: Target, is_glibc: bool) -> ProcessMemory:
    """The memory of the process; `is_glibc`: the C library's malloc, whose arenas have a shape, serves it."""
    mapped = regions(of)
    of.assert_runs()
    status = status_of(of.pid)
    parts = dict.fromkeys(Part, 0)
    heaps = arena_heaps(mapped) if is_glibc else {}
    for region, kind in with_kinds(mapped):
        private, clean = split(region, kind)
        parts[part_of(region, kind, heaps, is_glibc)] += private
        parts[Part.CODE] += clean
    return ProcessMemory(
        {part: size for part, size in parts.items() if size},
        sum(heaps.values()),
        int(status["Threads"]),
        sum(region.sizes.get(name, 0) for region in mapped for name in HUGE_PAGES),
        sum(region.sizes.get("Swap", 0) for region in mapped),
        int(status["VmPTE"].split()[0]) * KIB,
        sum(region.sizes.get("LazyFree", 0) for region in mapped),
    )


def with_kinds(mapped: Sequence[Region]) -> Iterator[tuple[Region, MappingKind]]:
    before, kind_before = None, None
    for region in mapped:
        kind = kind_of(region, before, kind_before)
        if not region.name.startswith(KERNEL):
            yield region, kind
        before, kind_before = region, kind


def split(region: Region, kind: MappingKind) -> tuple[int, int]:
    """Resident bytes of a mapping that are the process's own, and those that the kernel can drop."""
    resident = region.sizes.get("Rss", 0)
    reserved = sum(region.sizes.get(name, 0) for name in RESERVED)
    own = resident if kind is MappingKind.SHARED else region.sizes.get("Anonymous", 0)
    return own + reserved, resident - own


def part_of(region: Region, kind: MappingKind, heaps: dict[int, int], is_glibc: bool) -> Part:
    if region.start in heaps:
        return Part.ARENAS
    return BY_KIND.get(kind, Part.ANONYMOUS if is_glibc else Part.ALLOCATOR)


def arena_heaps(mapped: Sequence[Region]) -> dict[int, int]:
    """The mappings that are heaps of glibc's arenas, by address, with the number of heaps in each.

    A heap begins at a multiple of 64 MiB, which it reserves: what it does not use yet is inaccessible. Full
    heaps side by side are one mapping.
    """
    heaps = {}
    for region, above in pairwise(mapped):
        if region.start % ARENA or region.name or not region.permissions.startswith("rw"):
            continue
        reserved = above.start == region.end and above.permissions.startswith("---")
        end = above.end if reserved else region.end
        if (reserved and end >= -(-region.end // ARENA) * ARENA) or end % ARENA == 0:
            heaps[region.start] = -(-(region.end - region.start) // ARENA)
    return heaps


def group_limit(of: Target) -> MemoryLimit:
    limits = container.limits(process=of.pid)
    return MemoryLimit(limits.memory, limits.memory_left)
