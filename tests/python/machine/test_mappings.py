"""What a mapping of /proc/PID/smaps is, and how much of it lies where malloc has blocks."""

import pytest

from heaplab.machine.coverage.explained import coverage_of, within
from heaplab.machine.coverage.mappings import Mapping, MappingKind, mappings_of, regions_of
from heaplab.machine.coverage.tree_sampler import MemorySample, SampledProcess, read, text_of
from heaplab.traces import trace_coverage

KIB, MIB = 1 << 10, 1 << 20


def region(place: str, permissions: str, kib: int, name: str = "", flags: str = "rd wr") -> str:
    """A mapping as smaps shows it, with private resident memory."""
    shared = name.startswith("/memfd")
    return (
        f"{place} {permissions} 00000000 00:00 0    {name}\nSize: 4 kB\nRss: {kib} kB\n"
        f"Anonymous: {0 if shared else kib} kB\nAnonHugePages: 0 kB\nTHPeligible: 0\nVmFlags: {flags} \n"
    )


@pytest.mark.parametrize(("below", "kind"), [("---p", MappingKind.STACK), ("r--p", MappingKind.ANONYMOUS)])
def test_memory_above_an_inaccessible_page_is_a_stack(below: str, kind: MappingKind) -> None:
    smaps = region("7f0000000000-7f0000001000", below, 0) + region("7f0000001000-7f0000801000", "rw-p", 8192)
    [found] = mappings_of(list(regions_of(smaps)))
    assert found == (0x7F0000001000, 0x7F0000801000, kind, 8 * MIB, 0)


def test_memory_above_reserved_address_space_is_no_stack() -> None:
    smaps = region("7f0000000000-7f0000800000", "---p", 0) + region("7f0000800000-7f0000900000", "rw-p", 4)
    assert [mapping.kind for mapping in mappings_of(list(regions_of(smaps)))] == [MappingKind.ANONYMOUS]


def test_zeroed_data_stands_behind_its_file_alone() -> None:
    smaps = (
        region("7f0000000000-7f0000001000", "rw-p", 4, "/usr/lib/a.so")
        + region("7f0000001000-7f0000003000", "rw-p", 8)
        + region("7f0000003000-7f0000005000", "rw-p", 8, flags="rd wr nh")
        + region("7f0000006000-7f0000007000", "rw-p", 4)
    )
    kinds = [mapping.kind for mapping in mappings_of(list(regions_of(smaps)))]
    assert kinds == [MappingKind.FILE, MappingKind.FILE, MappingKind.ANONYMOUS, MappingKind.ANONYMOUS]


def test_shared_memory_counts_though_it_is_not_anonymous_and_the_kernels_own_does_not() -> None:
    smaps = region("1000-2000", "rw-s", 4, "/memfd:x (deleted)") + region("3000-4000", "r-xp", 4, "[vdso]")
    assert mappings_of(list(regions_of(smaps))) == [(0x1000, 0x2000, MappingKind.SHARED, 4 * KIB, 0)]


@pytest.mark.parametrize(("flags", "mappings"), [("rd wr nr wf", 0), ("rd wr nr", 1), ("rd wr wf", 1)])
def test_the_recorders_tables_are_no_memory_of_the_program(flags: str, mappings: int) -> None:
    assert len(mappings_of(list(regions_of(region("1000-9000", "rw-p", 32, flags=flags))))) == mappings


def anonymous(huge: int = 0) -> Mapping:
    return Mapping(16 * MIB, 24 * MIB, MappingKind.ANONYMOUS, 8 * MIB, huge)


@pytest.mark.parametrize(
    ("ranges", "mib"),
    [
        ([], 0),
        ([(0, 16 * MIB), (24 * MIB, 32 * MIB)], 0),
        ([(15 * MIB, 17 * MIB), (23 * MIB, 30 * MIB)], 2),
        ([(17 * MIB, 18 * MIB), (20 * MIB, 22 * MIB)], 3),
        ([(0, 64 * MIB)], 8),
    ],
)
def test_ranges_are_cut_at_the_bounds_of_a_mapping(ranges: list[tuple[int, int]], mib: int) -> None:
    assert within(anonymous(), ranges) == mib * MIB


def test_a_block_in_a_huge_page_explains_the_whole_page_once() -> None:
    ranges = [(17 * MIB, 17 * MIB + 4096), (17 * MIB + 65536, 17 * MIB + 131072), (19 * MIB, 20 * MIB)]
    assert within(anonymous(huge=8 * MIB), ranges) == 4 * MIB


def test_a_librarys_own_tables_count_as_malloc_up_to_a_bound() -> None:
    sample = MemorySample(0, [anonymous()])
    assert coverage_of("x", sample, [], own=3 * MIB).mapped == 5 * MIB
    assert coverage_of("x", sample, [], own=9 * MIB).by_malloc == 8 * MIB
    assert not coverage_of("x", sample, [], own=9 * MIB).matters


def test_many_samples_are_thinned_and_the_largest_stays() -> None:
    process = SampledProcess(1, "/bin/x", "y", "")
    for at in range(200):
        size = 9 * MIB if at == 77 else at * KIB
        process.add(MemorySample(at, [Mapping(0, size, MappingKind.HEAP, size, 0)]))
    assert len(process.samples) <= 24
    assert {0, 77} & {moment.at_ns for moment in process.kept} == {77}
    assert process.largest
    assert process.largest.at_ns == 77
    [again] = read(text_of([process]))
    assert again.name == "y"
    assert again.kept == process.kept
    assert again.largest == process.largest
    nearest = again.nearest(78)
    assert nearest
    assert nearest.at_ns == 77


@pytest.mark.parametrize("memory", ["", "x", "7", "{}", "[1]", '[{"pid": 1}]', "[[]]"])
def test_a_trace_with_other_text_in_its_place_tells_no_memory(memory: str) -> None:
    summary = {"processes": [{"process": {"pid": "1"}, "summary": {"memory": memory, "ranges": "x\n1 y"}}]}
    assert trace_coverage.at_peaks(summary) == []
    assert trace_coverage.at_peaks({"processes": []}) == []
    assert trace_coverage.ranges_of(summary, 0, 1) == []


def test_the_ranges_of_a_copy_are_its_own_and_its_parents_at_the_moment() -> None:
    parent = {"process": {"pid": "1"}, "summary": {"ranges": "10 100-200 300-400\n90 900-a00"}}
    child = {"process": {"pid": "2", "parent_pid": "1", "forked": "1"}, "summary": {"ranges": "20 180-280"}}
    assert trace_coverage.ranges_of({"processes": [parent, child]}, 1, 20) == [(0x100, 0x280), (0x300, 0x400)]
