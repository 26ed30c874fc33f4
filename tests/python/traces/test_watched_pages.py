"""What blocks leave unused of their pages: of pages laid out by hand, and of a program that knows."""

import os
from pathlib import Path

import numpy as np
import pytest
from laboratory import call, refusal
from subprocesses import compiled, heaplab

from heaplab.traces import estimates
from heaplab.traces.sample_file import Head, PinnedSum
from heaplab.traces.watched_pages import FIRST_WATCHED, LAST_WATCHED, NO_SAMPLE, pinned_of
from heaplab.tracing.run_sample import moments_of

PAGE = 4096
FIRST, LAST = 1, 2
# Of every page two call sites keep blocks, `rare` one of 200 B in twenty; `filling` fills its pages. Prints
# what they pin, by the addresses of their blocks.
KNOWING = r"""
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
enum { blocks = 60000, page = 4096, most = 1 << 15 };
static char* kept[3][blocks];
static double used[most], pinned[3];
static unsigned sites[most];
#define SITE(name) __attribute__((noinline)) static void* name(size_t bytes) { return malloc(bytes); }
SITE(rare)
SITE(filling)
SITE(passing)
int main(void) {
  for (int i = 0; i < blocks; ++i) {
    if (i % 20 == 0) kept[0][i] = rare(200);
    else kept[2][i] = passing(200);
    if (i % 3 == 0) kept[1][i] = filling(3000);
  }
  for (int i = 0; i < blocks; ++i) free(kept[2][i]), kept[2][i] = 0;
  uintptr_t least = UINTPTR_MAX;
  for (int of = 0; of < 2; ++of)
    for (int i = 0; i < blocks; ++i)
      if (kept[of][i] && (uintptr_t)kept[of][i] < least) least = (uintptr_t)kept[of][i];
  least -= least % page;
  for (int of = 0; of < 2; ++of)
    for (int i = 0; i < blocks; ++i)
      for (uintptr_t at = (uintptr_t)kept[of][i], end = at + (of ? 3000 : 200); kept[of][i] && at < end;) {
        uintptr_t next = at - at % page + page;
        if (next > end) next = end;
        used[(at - least) / page] += next - at;
        sites[(at - least) / page] |= 1 << of;
        at = next;
      }
  for (int number = 0; number < most; ++number)
    for (int of = 0; of < 2; ++of)
      if (sites[number] & 1 << of) pinned[of] += (page - used[number]) / __builtin_popcount(sites[number]);
  printf("%.0f %.0f\n", pinned[0], pinned[1]);
}
"""


def found(*blocks: tuple[int, int, int, int]) -> tuple[dict[int, PinnedSum], PinnedSum]:
    """Of blocks: address, size, watched ends and site."""
    marks = {0: 0, FIRST: FIRST_WATCHED, LAST: LAST_WATCHED, FIRST | LAST: FIRST_WATCHED | LAST_WATCHED}
    rows = list(zip(*blocks, strict=True))
    ends = np.array([marks[ends] | NO_SAMPLE for ends in rows[2]], dtype=np.uint64)
    return pinned_of(np.array(rows[0]), np.array(rows[1]), ends, np.array(rows[3]), PAGE)


def test_a_page_is_shared_evenly_by_the_sites_of_its_blocks() -> None:
    by_site, together = found((0, 96, FIRST, 7), (512, 1000, FIRST, 7), (2048, 1000, FIRST, 9))
    assert by_site == {7: PinnedSum(1, 1000.0, 1e6), 9: PinnedSum(1, 1000.0, 1e6)}
    assert together == PinnedSum(1, 2000.0, 4e6)


def test_a_block_counts_on_each_watched_page_by_its_part_there() -> None:
    over_three_pages = (PAGE - 96, 96 + PAGE + 1096)
    by_site, _ = found((*over_three_pages, FIRST | LAST, 1))
    assert by_site == {1: PinnedSum(2, 4000.0 + 3000.0, 4000.0**2 + 3000.0**2)}
    assert found((*over_three_pages, LAST, 1))[0] == {1: PinnedSum(1, 3000.0, 3000.0**2)}


def test_full_pages_and_those_that_were_not_watched_pin_nothing() -> None:
    assert found((0, PAGE, FIRST, 1), (PAGE, 100, 0, 2)) == ({1: PinnedSum(1)}, PinnedSum(1))
    assert found((PAGE, 100, 0, 2)) == ({}, PinnedSum())
    assert found((0, 0, FIRST, 3))[0] == {3: PinnedSum(1, PAGE, PAGE**2)}


def test_intervals_are_as_wide_as_watched_pages_are_few() -> None:
    def head(period: int) -> Head:
        return Head(heaplab_sample=1, sample_bytes=1, page_period=period, page_bytes=PAGE, machine="x")

    few, many = PinnedSum(10, 30_000.0, 9e7), PinnedSum(1000, 3e6, 9e9)
    assert estimates.of_pinned(many, head(1)).text("B") == "2.86 MiB"
    wide, narrow = estimates.of_pinned(few, head(100)), estimates.of_pinned(many, head(100))
    assert (wide.value, narrow.value) == (3e6, 3e8)
    assert (wide.high - wide.low) / wide.value > 8 * (narrow.high - narrow.low) / narrow.value
    assert estimates.of_pinned(PinnedSum(), head(100)).high > 100 * PAGE


@pytest.mark.starts_programs
def test_pages_of_a_program_are_those_of_its_blocks(tmp_path: Path) -> None:
    program = compiled(tmp_path / "knowing", KNOWING, "-O1", "-g", "-fno-builtin")
    for distance, one_of in (("4KiB", 1), ("32KiB", 8)):
        done = heaplab(tmp_path, "record", "--sample", distance, "--pages", "-o", "x.sample", "--", program)
        assert done.returncode == 0, done.stderr
        [moment], _ = moments_of(tmp_path / "x.sample", None)
        assert moment.head.page_period == one_of
        callers = {caller.name.split()[0]: caller for caller in moment.callers.values()}
        for name, truth in zip(("rare", "filling"), map(float, done.stdout.split()), strict=True):
            amount = callers[name].pinned
            error = 6 * (amount.squares * one_of * (one_of - 1)) ** 0.5 + 4 * PAGE
            assert abs(amount.bytes * one_of - truth) < error, (distance, name)
        told = heaplab(tmp_path, "advise", "x.sample").stdout
        assert told.startswith("pinned by few blocks: pages that hold live blocks leave "), told
        assert "Call sites by pinned bytes" in heaplab(tmp_path, "trace", "x.sample").stdout


@pytest.mark.starts_programs
def test_what_a_child_of_fork_pins_is_not_known(tmp_path: Path) -> None:
    text = """
    #include <stdlib.h>
    #include <sys/wait.h>
    #include <unistd.h>
    int main(void) {
      void* volatile kept = malloc(5000);
      if (fork()) return wait(0) < 0;
      for (int i = 0; i < 5000; ++i) kept = malloc(100);
    }
    """
    program = compiled(tmp_path / "forking", text, "-fno-builtin")
    heaplab(tmp_path, "record", "--sample", "4KiB", "--pages", "-o", "x.sample", "--", program)
    told = [heaplab(tmp_path, "trace", "x.sample", "--process", number).stdout for number in range(2)]
    assert sum("not known: a child of fork watches no pages" in each for each in told) == 1


def test_pages_go_with_samples_and_not_with_a_process_that_runs() -> None:
    assert refusal(call("record", "--pages", "--", "true")) == "heaplab: --pages goes with --sample\n"
    attached = refusal(call("record", "--sample", "4KiB", "--pages", "--pid", str(os.getpid())))
    assert attached.startswith("heaplab: --pages: not with --pid")
