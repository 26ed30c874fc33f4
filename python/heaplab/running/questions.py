"""What each allocator is asked, by the functions that it exports, and what its answer says."""

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import ClassVar
from xml.etree import ElementTree

from heaplab.running.script import AREA_SUMS, BUFFER, BYTES, WORD, Script, number_at, text_in

PAGE = 4096
ALL_ARENAS = 4096  # MALLCTL_ARENAS_ALL of jemalloc
MALLINFO_WORDS = 10
NOT_COUNTED = "it does not count live bytes"


@dataclass(frozen=True)
class Said:
    """What an allocator says of its memory; sizes in B. None: it does not tell."""

    held: int  # memory from the system that it has not given back
    live: int | None = None  # in blocks, including what threads cache where `caches_count`
    mapped: int = 0  # part of `live`: blocks with mappings of their own
    arenas: int | None = None
    returnable: int | None = None  # at most, by the call that gives memory back
    kept: int = 0  # resident for sure, and not to be given back
    note: str = ""

    @property
    def free(self) -> int | None:
        return None if self.live is None else max(0, self.held - self.live)


Functions = Mapping[str, int]  # by name


class Question(ABC):
    """What one kind of allocator is asked."""

    needs: ClassVar[tuple[str, ...]]  # functions that it exports
    gives_back: str  # the call that returns memory to the system, for people
    may_abandon = False  # a call that waits for a lock holds no other lock of the allocator
    # Where `held` may not be resident: the function that tells whether an address is the allocator's.
    owns = ""
    counted_by: re.Pattern[str] | None = None  # in names of libraries that count live bytes; None: all do
    # In the names that a module imports: functions that make heaps of which the answer tells nothing.
    not_covered: re.Pattern[bytes] | None = None

    @abstractmethod
    def ask(self, script: Script, functions: Functions) -> None:
        """Add the calls."""

    @abstractmethod
    def read(self, area: bytes, base: int) -> Said | None:
        """The answer; None if the calls failed."""

    @abstractmethod
    def trim(self, script: Script, functions: Functions) -> None:
        """Add the call that returns memory to the system."""


@dataclass
class MallocInfo(Question):
    """The C library: malloc_info, which writes XML to a stream in memory."""

    needs = ("malloc_info", "fmemopen", "fclose", "labs", "malloc_trim")
    gives_back = "malloc_trim"
    may_abandon = True
    _status: int = 0

    def ask(self, script: Script, functions: Functions) -> None:
        self._status = script.number(1)
        write_text(script, functions, "malloc_info", 0, result=self._status)

    def read(self, area: bytes, base: int) -> Said | None:
        if number_at(area, base, self._status) & 0xFFFFFFFF:
            return None
        try:
            return said_by_xml(ElementTree.fromstring(text_in(area)))
        except ElementTree.ParseError:
            return None

    def trim(self, script: Script, functions: Functions) -> None:
        script.call(functions["malloc_trim"], 0)


def write_text(script: Script, functions: Functions, name: str, first: int, result: int = 0) -> None:
    """Add a call of a function that writes to a stream, its second argument: the text is in the buffer."""
    # labs passes the stream on to a second place.
    script.call(
        functions["fmemopen"],
        *(script.buffer, BYTES - BUFFER, script.text("w")),
        result=script.argument(1, 0),
        required=script.argument(2, 1),
    )
    script.call(functions["labs"], 0, result=script.argument(2, 0))
    script.call(functions[name], first, 0, result=result)
    script.call(functions["fclose"], 0)


def said_by_xml(root: ElementTree.Element) -> Said:
    """The answer of malloc_info.

    Blocks in the caches of threads (tcache) count as live. malloc_trim gives back whole pages inside free
    blocks, and the end of the main heap.
    """
    free = size_of(root, "fast") + size_of(root, "rest")
    system = int(root.findall("system")[0].attrib["size"])
    mapped = size_of(root, "mmap")
    heaps = root.findall("heap")
    return Said(
        held=system + mapped,
        live=system - free + mapped,
        mapped=mapped,
        arenas=len(heaps),
        returnable=sum(returnable(heap, number == 0) for number, heap in enumerate(heaps)),
    )


def size_of(of: ElementTree.Element, kind: str) -> int:
    return sum(int(total.attrib["size"]) for total in of.findall("total") if total.attrib["type"] == kind)


def returnable(heap: ElementTree.Element, is_main: bool) -> int:
    """B of a heap that malloc_trim can give back at most.

    First it joins small freed blocks (fast bins) with their neighbours; what that makes is not known before.
    """
    sizes = heap.find("sizes")
    bins = [*sizes] if sizes is not None else []
    in_bins = sum(int(each.attrib["total"]) for each in bins)
    fast = size_of(heap, "fast")
    top = max(0, size_of(heap, "rest") - (in_bins - fast))
    pages = sum(whole_pages(each) for each in bins)
    return (in_bins if fast else pages) + (top if is_main else 0)


def whole_pages(size: ElementTree.Element) -> int:
    """B in whole pages inside the free blocks of a bin, at most."""
    largest, total, count = (int(size.attrib[name]) for name in ("to", "total", "count"))
    return min(total, count * (largest // PAGE * PAGE))


@dataclass
class Mallinfo(Question):
    """Others with glibc's mallinfo2, such as heaplab's own."""

    needs: ClassVar[tuple[str, ...]] = ("mallinfo2", "malloc_trim")
    gives_back = "malloc_trim"
    counts_live = False  # for sure; else it does not where all memory is live
    _found: int = 0

    def ask(self, script: Script, functions: Functions) -> None:
        self._found = script.value(bytes(8 * MALLINFO_WORDS))
        script.call(functions["mallinfo2"], self._found)

    def read(self, area: bytes, base: int) -> Said | None:
        arena, _, _, _, mapped, _, _, live, *_ = (
            number_at(area, base, self._found + 8 * word) for word in range(MALLINFO_WORDS)
        )
        held = arena + mapped
        if arena and live == arena and not self.counts_live:
            return Said(held, note=NOT_COUNTED)
        return Said(held, live=live + mapped, mapped=mapped) if held else None

    def trim(self, script: Script, functions: Functions) -> None:
        script.call(functions["malloc_trim"], 0)


@dataclass
class OwnHeap(Mallinfo):
    """scalloc, which also tells what malloc_trim can give back."""

    needs = (*Mallinfo.needs, "malloc_returnable")
    counts_live = True
    _returnable: int = 0

    def ask(self, script: Script, functions: Functions) -> None:
        super().ask(script, functions)
        self._returnable = script.number()
        script.call(functions["malloc_returnable"], result=self._returnable)

    def read(self, area: bytes, base: int) -> Said | None:
        said = super().read(area, base)
        return said and replace(said, returnable=number_at(area, base, self._returnable))


@dataclass
class Llheap(Mallinfo):
    """llheap, where without statistics free blocks of running threads count as live."""

    needs = (*Mallinfo.needs, "malloc_stats_all")
    counted_by = re.compile("llheap-(stats|debug)")


@dataclass
class Mallctl(Question):
    """jemalloc: one mallctl for each figure."""

    needs = ("mallctl",)
    gives_back = "its purge of all arenas"
    _names = ("stats.allocated", "stats.active", "stats.metadata", "stats.resident", "arenas.narenas")
    _found: dict[str, int] = field(default_factory=dict)

    def ask(self, script: Script, functions: Functions) -> None:
        size = script.number(8)
        script.call(functions["mallctl"], script.text("epoch"), 0, 0, script.number(1), 8)
        for name in self._names:
            self._found[name] = script.number()
            length = script.number(4) if name == "arenas.narenas" else size
            script.call(functions["mallctl"], script.text(name), self._found[name], length)

    def read(self, area: bytes, base: int) -> Said | None:
        allocated, active, metadata, resident, arenas = (
            number_at(area, base, self._found[name]) for name in self._names
        )
        if not resident:
            return None
        return Said(
            held=resident, live=allocated, arenas=arenas, returnable=max(0, resident - active - metadata)
        )

    def trim(self, script: Script, functions: Functions) -> None:
        script.call(functions["mallctl"], script.text(f"arena.{ALL_ARENAS}.purge"))


@dataclass
class Properties(Question):
    """gperftools' tcmalloc: MallocExtension_GetNumericProperty."""

    needs: ClassVar[tuple[str, ...]] = (
        "MallocExtension_GetNumericProperty",
        "MallocExtension_ReleaseFreeMemory",
    )
    gives_back = "MallocExtension_ReleaseFreeMemory"
    _names = (
        "generic.current_allocated_bytes",
        "generic.heap_size",
        "tcmalloc.pageheap_unmapped_bytes",
        "tcmalloc.pageheap_free_bytes",
    )
    _found: dict[str, int] = field(default_factory=dict)

    def ask(self, script: Script, functions: Functions) -> None:
        for name in self._names:
            self._found[name] = script.number()
            script.call(functions[self.needs[0]], script.text(name), self._found[name])

    def read(self, area: bytes, base: int) -> Said | None:
        live, heap, unmapped, free = (number_at(area, base, self._found[name]) for name in self._names)
        return Said(held=heap - unmapped, live=live, returnable=free) if heap else None

    def trim(self, script: Script, functions: Functions) -> None:
        script.call(functions[self.needs[1]])


@dataclass
class GoogleProperties(Properties):
    """Google's tcmalloc, which is told how long a name is, and leaves out of its heap what it unmapped."""

    needs = ("MallocExtension_Internal_GetNumericProperty", "MallocExtension_Internal_ReleaseMemoryToSystem")
    gives_back = "MallocExtension::ReleaseMemoryToSystem"
    _names = ("generic.current_allocated_bytes", "generic.heap_size", "", "tcmalloc.page_heap_free")

    def ask(self, script: Script, functions: Functions) -> None:
        for name in self._names:
            self._found[name] = script.number()
            script.call(functions[self.needs[0]], script.text(name), len(name), self._found[name])

    def trim(self, script: Script, functions: Functions) -> None:
        script.call(functions[self.needs[1]], (1 << 63) - 1)


@dataclass
class ProcessInfo(Question):
    """mimalloc: mi_process_info."""

    needs: ClassVar[tuple[str, ...]] = ("mi_process_info", "mi_collect")
    gives_back = "mi_collect"
    _committed: int = 0

    def ask(self, script: Script, functions: Functions) -> None:
        unused = script.number()
        self._committed = script.number()
        script.call(functions["mi_process_info"], *[unused] * 5, self._committed)

    def read(self, area: bytes, base: int) -> Said | None:
        committed = number_at(area, base, self._committed)
        return Said(held=committed, note="mimalloc does not count live bytes") if committed else None

    def trim(self, script: Script, functions: Functions) -> None:
        script.call(functions["mi_collect"], 1)


@dataclass
class VisitedHeaps(ProcessInfo):
    """mimalloc 2: each thread visits the pages of its heap (mi_heap_visit_blocks).

    Blocks that others freed count as live until the thread takes them back. Nobody visits abandoned pages,
    which are those of threads that have ended, and further heaps of the program.
    """

    needs = (
        *ProcessInfo.needs,
        *("mi_heap_visit_blocks", "mi_heap_get_default", "mi_is_in_heap_region"),
        *("mi_stats_merge", "mi_stats_print_out"),
    )
    owns = "mi_is_in_heap_region"
    not_covered = re.compile(rb"\0mi_heap_new(_ex|_in_arena)?\0")
    _sums: int = 0

    def ask(self, script: Script, functions: Functions) -> None:
        self._sums = script.value(bytes(WORD * AREA_SUMS))
        script.call(functions["mi_heap_get_default"], result=script.argument(1, 0))
        script.call(functions["mi_heap_visit_blocks"], 0, 0, script.area_visitor, self._sums)
        script.call(functions["mi_stats_merge"])  # adds the counts of the thread to those of the process
        script.end_of_each()
        write_text(script, functions, "mi_stats_print_out", functions["fputs"])
        super().ask(script, functions)

    def read(self, area: bytes, base: int) -> Said | None:
        said = super().read(area, base)
        if said is None:
            return None
        used, touched = (number_at(area, base, self._sums + WORD * place) for place in range(AREA_SUMS))
        if abandoned := abandoned_pages(text_in(area).decode(errors="replace")):
            return replace(
                said, note=f"of {abandoned} pages of threads that have ended mimalloc tells nothing"
            )
        return Said(said.held, live=used, returnable=said.held, kept=touched)

    def trim(self, script: Script, functions: Functions) -> None:
        super().trim(script, functions)
        script.end_of_each()


def abandoned_pages(statistics: str) -> str:
    """The pages of threads that have ended, as mimalloc prints their number; "" if there are none."""
    head, *lines = [re.split(r" {2,}", line.strip()) for line in statistics.splitlines()] or [[]]
    after_pages = (below for above, below in pairwise(lines) if above[0] == "pages:")
    if "current" not in head or not (row := next(after_pages, [])):
        return "an unknown number of"
    number = row[head.index("current")]
    return "" if number == "0" else number


# The first whose functions the allocator exports is asked.
QUESTIONS: tuple[type[Question], ...] = (
    Mallctl,
    Properties,
    GoogleProperties,
    VisitedHeaps,
    ProcessInfo,
    MallocInfo,
    OwnHeap,
    Llheap,
    Mallinfo,
)
