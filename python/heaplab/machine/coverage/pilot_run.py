"""What malloc explains of a program's memory, without a recording: by one run with all blocks in one mapping.

Told to use one arena and to map no block by itself, glibc takes all memory from brk: what is resident there,
and nothing else, is malloc's. The recorder is preloaded too, but only notes the programs that are executed.
"""

from collections.abc import Iterable
from pathlib import Path

from heaplab.machine.coverage.compiled_in import mallocs_in
from heaplab.machine.coverage.explained import coverage_of, heap_ranges
from heaplab.machine.coverage.tree_sampler import MemorySample, SampledProcess
from heaplab.machine.interposition import C_LIBRARY_NAME
from heaplab.results.records import Arm, Coverage

TUNABLES = {"GLIBC_TUNABLES": "glibc.malloc.arena_max=1:glibc.malloc.mmap_max=0"}
LEAST = 1 << 20  # B: the memory of a smaller process needs no word
MOST = 8  # processes that are kept


def arm_by_brk(arm: Arm, recorder: str, folder: Path) -> Arm:
    """The C library in place of an arm; the recorder finds its control block in the folder."""
    environment = {**TUNABLES, "HEAPLAB_RECORD": str(folder)}
    return arm.model_copy(update={"preload": [recorder, C_LIBRARY_NAME], "environment": environment})


def found_by_brk(processes: Iterable[SampledProcess]) -> list[Coverage]:
    """The processes at the peak of their memory, the largest first, and those not seen."""
    coverages = [covered(process) for process in processes if process.largest or process.unseen]
    worth = [process for process in coverages if process.memory >= LEAST or process.unseen]
    return sorted(worth, key=lambda process: -process.memory)[:MOST]


def covered(process: SampledProcess) -> Coverage:
    largest = process.largest or MemorySample(0, [])
    ranges = () if process.unseen else heap_ranges(largest)
    coverage = coverage_of(process.name, largest, ranges, unseen=process.unseen or "")
    named = mallocs_in(process.program) if coverage.matters and not coverage.unseen else []
    return coverage.model_copy(update={"mallocs": named})
