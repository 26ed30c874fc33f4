"""What malloc explains of a sample of memory: the mappings in which it ever handed out blocks."""

from collections import Counter
from collections.abc import Sequence

from heaplab.machine.coverage.mappings import Mapping, MappingKind
from heaplab.machine.coverage.tree_sampler import MemorySample
from heaplab.results.records import Coverage

HUGE_PAGE = 2 << 20  # B
Ranges = Sequence[tuple[int, int]]  # begin and end, ascending

# What memory outside malloc's blocks is, by the kind of its mapping: fields of Coverage.
OTHERS = {
    MappingKind.HEAP: "mapped",
    MappingKind.ANONYMOUS: "mapped",
    MappingKind.STACK: "stacks",
    MappingKind.FILE: "files",
    MappingKind.SHARED: "shared",
}


def coverage_of(
    program: str, sample: MemorySample, ranges: Ranges, *, own: int = 0, unseen: str = ""
) -> Coverage:
    """The parts of a sample; malloc has or had blocks in `ranges`.

    So malloc's part is its live and its retained memory, and what an allocator keeps between its blocks. A
    mapping that the kernel merged of malloc's memory and the program's own counts as malloc's only as far as
    its ranges. An allocator that is a library has up to `own` B of tables beside.
    """
    parts: Counter[str] = Counter()
    for mapping in sample.mappings:
        by_malloc = min(mapping.bytes, within(mapping, ranges))
        other = mapping.bytes - by_malloc
        parts["by_malloc"] += by_malloc
        parts[OTHERS[mapping.kind]] += other
        parts["huge"] += min(other, mapping.huge)
    for part in ("mapped", "files"):
        tables = min(own, parts[part])
        own -= tables
        parts[part] -= tables
        parts["by_malloc"] += tables
    return Coverage.model_validate({"program": program, "memory": sample.bytes, "unseen": unseen, **parts})


def within(mapping: Mapping, ranges: Ranges) -> int:
    """Bytes of the mapping's addresses that lie in ranges, which a huge page widens to its own bounds."""
    wide = HUGE_PAGE if mapping.huge else 1
    covered, reached = 0, mapping.start
    for begin, end in ranges:
        first, last = max(begin // wide * wide, reached), min(-(-end // wide) * wide, mapping.end)
        if first < last:
            covered += last - first
            reached = last
    return covered


def heap_ranges(sample: MemorySample) -> Ranges:
    """The ranges of a malloc that takes all its memory by brk."""
    return [(mapping.start, mapping.end) for mapping in sample.mappings if mapping.kind is MappingKind.HEAP]
