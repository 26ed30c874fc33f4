"""What each allocator is asked, by the functions that it exports, and what its answer says."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from xml.etree import ElementTree

from heaplab.running.script import BUFFER, BYTES, Script, number_at, text_in

PAGE = 4096
ALL_ARENAS = 4096  # MALLCTL_ARENAS_ALL of jemalloc
MALLINFO_WORDS = 10


@dataclass(frozen=True)
class Said:
    """What an allocator says of its memory; sizes in B. None: it does not tell."""

    held: int  # memory from the system that it has not given back
    live: int | None = None  # in blocks, including what threads cache where `caches_count`
    mapped: int = 0  # part of `live`: blocks with mappings of their own
    arenas: int | None = None
    returnable: int | None = None  # at most, by the call that gives memory back
    note: str = ""

    @property
    def free(self) -> int | None:
        return None if self.live is None else max(0, self.held - self.live)


Functions = Mapping[str, int]  # by name


class Question(ABC):
    """What one kind of allocator is asked."""

    needs: tuple[str, ...]  # functions that it exports
    gives_back: str  # the call that returns memory to the system, for people
    may_abandon = False  # a call that waits for a lock holds no other lock of the allocator

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
        # labs passes the stream on to a second place.
        script.call(
            functions["fmemopen"],
            *(script.buffer, BYTES - BUFFER, script.text("w")),
            result=script.argument(1, 0),
            required=script.argument(2, 1),
        )
        script.call(functions["labs"], 0, result=script.argument(2, 0))
        script.call(functions["malloc_info"], 0, 0, result=self._status)
        script.call(functions["fclose"], 0)

    def read(self, area: bytes, base: int) -> Said | None:
        if number_at(area, base, self._status) & 0xFFFFFFFF:
            return None
        try:
            return said_by_xml(ElementTree.fromstring(text_in(area)))
        except ElementTree.ParseError:
            return None

    def trim(self, script: Script, functions: Functions) -> None:
        script.call(functions["malloc_trim"], 0)


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

    needs = ("mallinfo2", "malloc_trim")
    gives_back = "malloc_trim"
    _found: int = 0

    def ask(self, script: Script, functions: Functions) -> None:
        self._found = script.value(bytes(8 * MALLINFO_WORDS))
        script.call(functions["mallinfo2"], self._found)

    def read(self, area: bytes, base: int) -> Said | None:
        arena, _, _, _, mapped, _, _, live, *_ = (
            number_at(area, base, self._found + 8 * word) for word in range(MALLINFO_WORDS)
        )
        if live == arena:
            return Said(held=arena, note="it does not count live bytes") if arena else None
        return Said(held=arena, live=live, mapped=min(mapped, live))

    def trim(self, script: Script, functions: Functions) -> None:
        script.call(functions["malloc_trim"], 0)


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

    needs = ("MallocExtension_GetNumericProperty", "MallocExtension_ReleaseFreeMemory")
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
class ProcessInfo(Question):
    """mimalloc: mi_process_info. Releases of it do not count live bytes."""

    needs = ("mi_process_info", "mi_collect")
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


# The first whose functions the allocator exports is asked.
QUESTIONS: tuple[type[Question], ...] = (Mallctl, Properties, ProcessInfo, MallocInfo, Mallinfo)
