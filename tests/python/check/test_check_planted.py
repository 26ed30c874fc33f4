"""Negative controls: `heaplab check` finds every fault of tests/planted, by the test that is about it."""

import os
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from heaplab.catalog import contents as catalogs
from heaplab.check import deviations, parts, run_tests
from heaplab.check.check_outcomes import LibraryReport
from heaplab.check.run_check import library_of

ROOT = Path(__file__).parents[3]
PLANTED = ROOT / "tests" / "planted"
FAULTS = re.findall(r"^  (\w+),", (PLANTED / "fault.h").read_text(), flags=re.MULTILINE)
EVERY = [test for part in parts.PARTS for test in parts.tests_of(part, long=False)]
OPTIONS = (
    "-std=c++20 -shared -fPIC -O2 -fno-exceptions -fno-builtin -fvisibility=hidden -ftls-model=initial-exec"
)
# Where the threads of the parent stand at a fork decides whether the child trips over what they held.
TRIES = {"resets_in_child": 5}
# The test that finds each fault.
FOUND_BY = {
    "misaligned": "malloc.is_aligned_for_every_type_at_every_size",
    "aligned_by_half": "posix_memalign.aligns_blocks_that_hold_their_contents",
    "empty_is_null": "malloc.of_zero_gives_a_block_of_its_own",
    "overlapping": "usable_size.may_all_be_used",
    "forgetful": "realloc.keeps_contents_from_every_size_to_every_size",
    "unclean": "calloc.gives_zeros_in_memory_that_was_dirty",
    "seldom_unclean": "calloc.gives_zeros_thousands_of_times_in_every_class",
    "wraps_sizes": "malloc.of_more_than_ptrdiff_max_is_enomem",
    "wraps_products": "calloc.of_a_product_that_overflows_is_enomem",
    "keeps_errno_silent": "malloc.of_more_than_there_is_is_enomem",
    "free_sets_errno": "free.keeps_errno",
    "moving_sets_errno": "success.of_realloc_leaves_errno_alone",
    "moves_to_shrink": "resized.used_up",
    "frees_on_refusal": "realloc.to_more_than_there_is_is_enomem_and_keeps_the_block",
    "boasts": "usable_size.may_all_be_used",
    "takes_any_alignment": "aligned_alloc.of_an_alignment_that_is_no_power_of_two_is_einval",
    "trims_what_is_live": "introspection.trim_leaves_what_is_live",
    "says_by_errno": "posix_memalign.says_by_its_result_alone_that_an_alignment_is_wrong",
    "incomplete": "served.malloc",
    "unlocked": "threads.blocks_that_change_hands_keep_their_contents",
    "begins_without_realloc": "first_call.of_a_thread_may_take_the_block_of_another",
    "leaks_per_thread": "threads.thousands_over_time_leave_no_memory_behind",
    "leaks_little_per_thread": "threads.thousands_one_after_the_other_lose_nothing",
    "loses_foreign": "threads.a_producer_and_a_consumer_do_not_use_up_memory",
    "closes_with_thread": "lifetime",
    "locked_in_child": "fork.of_a_busy_process_leaves_both_heaps_usable",
    "huge_locked_in_child": "fork.of_a_process_busy_with_one_kind_of_block_leaves_all_kinds_usable",
    "unlocked_beside_parent": "shared_memory.of_a_child_of_vfork_has_no_block_of_two_owners",
    "keeps_inherited": "given_back.inherited",
    "resets_in_child": "fork.of_a_busy_process_leaves_both_heaps_usable",
    "gives_up_when_interrupted": "signals.handlers_that_do_not_allocate_may_interrupt",
    "refuses_late": "loaded_late",
    "aborts_without_memory": "refused.mmap_ever",
    "sulks": "frugal.address_space_64",
    "needs_proc": "bare.proc",
    "needs_sched_getaffinity": "sandbox.eperm_sched_getaffinity",
    "asks_at_its_start": "sandbox.kill_sched_getaffinity_from_start",
    "leaks_a_tenth": "given_back.steady",
    "hoards": "given_back.bursts",
    "keeps_aligned": "given_back.aligned",
    "exact_fit": "given_back.sizes",
}
# The test that finds them with --long alone.
FOUND_BY_LONG = {"aborts_once": "refused.mmap_once"}
# Faults that random calls find as well.
FOUND_BY_MODEL = ("misaligned", "overlapping", "forgetful", "unclean", "boasts")
NEITHER_PASS_NOR_FAIL = {"misuse"}


def build(folder: Path, fault: str) -> None:
    extra = ["-DHEAPLAB_INCOMPLETE"] if fault == "incomplete" else []
    words = ["g++", *OPTIONS.split(), f"-DHEAPLAB_FAULT={fault}", *extra, str(PLANTED / "faulty_malloc.cpp")]
    subprocess.run([*words, "-o", str(folder / f"libplanted_{fault}.so")], check=True)


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("planted")
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(lambda fault: build(folder, fault), FAULTS))
    return folder


def check(file: Path, tests: list[parts.Test], *, long: bool = False) -> LibraryReport:
    known = deviations.of_library(deviations.read(PLANTED / "deviations.toml"), "libplanted_none")
    return run_tests.run_all(library_of(catalogs.load(), str(file)), tests, known, long=long, jobs=2)


def test_every_fault_has_the_test_that_finds_it() -> None:
    assert sorted({**FOUND_BY, **FOUND_BY_LONG}) == sorted(set(FAULTS) - {"none"})
    assert len(FOUND_BY) >= 20


def test_no_part_passes_on_all_of_them() -> None:
    finding = {test.part for test in EVERY if test.name in (*FOUND_BY.values(), "model.100")}
    assert finding == {part.name for part in parts.PARTS} - NEITHER_PASS_NOR_FAIL


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "name"),
    [
        *(
            pytest.param(fault, name, marks=[pytest.mark.long] if fault == "locked_in_child" else [])
            for fault, name in FOUND_BY.items()
        ),
        *((fault, "model.100") for fault in FOUND_BY_MODEL),
    ],
)
def test_a_planted_fault_is_found(libraries: Path, fault: str, name: str) -> None:
    tests = [test for test in EVERY if test.name == name]
    for _ in range(TRIES.get(fault, 1)):
        [outcome] = check(libraries / f"libplanted_{fault}.so", tests).outcomes
        if outcome.bad:
            return
    pytest.fail(f"the fault was not found: {outcome}")


@pytest.mark.long
@pytest.mark.parametrize(("fault", "name"), FOUND_BY_LONG.items())
def test_a_planted_fault_is_found_with_long_alone(libraries: Path, fault: str, name: str) -> None:
    tests = [test for test in EVERY if test.name == name]
    found = [
        check(libraries / f"libplanted_{fault}.so", tests, long=long).outcomes[0].bad
        for long in (False, True)
    ]
    assert found == [False, True]


@pytest.mark.slow
@pytest.mark.long
def test_the_malloc_that_they_are_planted_in_has_none(libraries: Path) -> None:
    outcomes = check(libraries / "libplanted_none.so", EVERY).outcomes
    assert [outcome for outcome in outcomes if outcome.bad] == []
