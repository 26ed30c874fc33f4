#!/usr/bin/env python3
"""Plant faults in the transitions of scalloc's spans, one at a time, and name the first test that sees each.

A fault is a text of the sources and what replaces it. The tests are those that explore interleavings, and
those that look at the invariants after each step. The sources are restored. Needs the build of the preset
release. Exit status 0: every fault is seen, 1: not, or the tests fail without a fault.
Example: research/planted_transitions.py --only "compare-and-swap"
"""

import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

from command_line import parser_of

ROOT = Path(__file__).parents[1]
BUILD = ROOT / "build/release"
SCALLOC = ROOT / "src/allocators/scalloc"
TESTS = [
    f"scalloc_{name}_test"
    for name in (
        "invariants",
        "frontend",
        "span_pool",
        "free_lists",
        "free_lists_interleavings",
        "draining_interleavings",
        "hole_sweep_interleavings",
        "unlocked_calls_interleavings",
        "interleavings",
    )
]


class Fault(NamedTuple):
    what: str
    file: str
    right: str
    wrong: str


MOVES, RECLAIM = "frontend/span_life.h", "frontend/holes.h"
RETURNED = "frontend/returned_blocks.h"
FAULTS = [
    Fault(
        "a span counts as empty whose blocks others still hold",
        MOVES,
        "due_event(seen.state(), live, limits_[class_index]);\n      if (!event)",
        "due_event(seen.state(), live - 1, limits_[class_index]);\n      if (!event)",
    ),
    Fault(
        "the word moves without a compare-and-swap",
        "spans/span.h",
        "if (word.compare_exchange_strong(expected, next.bits(), success, std::memory_order_acquire))",
        "word.store(next.bits(), success);\n    if (expected != 0)",
    ),
    Fault(
        "an empty span goes to the pool and stays in its list",
        MOVES,
        "if (span.hook.in != nullptr) span.hook.in->remove(span);\n      disown(span);",
        "disown(span);",
    ),
    Fault(
        "a span that moves stays in the list where it was",
        MOVES,
        "if (span.hook.in != nullptr && span.hook.in != list) span.hook.in->remove(span);",
        "(void)list;",
    ),
    Fault(
        "a span floats without the attention that a remote free has asked for",
        MOVES,
        "hot.set_owner(&local, seen.remote_count() > 0 ? span_type::attention : 0);",
        "hot.set_owner(&local, 0);",
    ),
    Fault(
        "attention is cleared without a second look at the word",
        MOVES,
        "if (span.load_word(std::memory_order_seq_cst) == seen) return true;",
        "return true;",
    ),
    Fault(
        "a span is listed by a thread that does not hold its owner's lock any more",
        MOVES,
        "if (span.owner(std::memory_order_relaxed) == owner) return relist(*owner, span);",
        "return relist(*owner, span);",
    ),
    Fault(
        "the orphanage lists spans of which it is not the owner",
        MOVES,
        "    span->set_owner(&orphanage);\n",
        "",
    ),
    Fault(
        "the page map keeps the list of a span that is free",
        MOVES,
        "if constexpr (has_lists) arena.set_list(span, 0);",
        "",
    ),
    Fault(
        "a drained span that is hot again stays drained",
        MOVES,
        "if (arena.list_of(span) != list)",
        "if (span.load_word(std::memory_order_relaxed).state() != span_state::hot)",
    ),
    Fault(
        "a span is drained by a thread that does not hold its owner's lock yet",
        RECLAIM,
        "  const concurrent::lock_holder hold(owner->lists_lock);\n"
        "  if (span.owner(std::memory_order_relaxed) != owner) return false;\n",
        "  life.drain_if_sparse(span);\n"
        "  const concurrent::lock_holder hold(owner->lists_lock);\n"
        "  if (span.owner(std::memory_order_relaxed) != owner) return false;\n",
    ),
    Fault(
        "a span whose holes are being purged goes to the pool",
        MOVES,
        "span.purging = purge_state::under_way_and_free;\n        return;",
        "span.purging = purge_state::under_way_and_free;",
    ),
    Fault(
        "a span that became empty while its holes were purged is never given back",
        RECLAIM,
        "if (before != purge_state::under_way_and_free) return life.relist(*owner, span);",
        "if (before != purge_state::none) return life.relist(*owner, span);",
    ),
    Fault(
        "a span stays where blocks are taken from it while its holes are being purged",
        RECLAIM,
        "  span.purging = purge_state::under_way;\n",
        "",
    ),
    Fault(
        "a chain of blocks that goes home counts as one block",
        "frontend/freeing.h",
        "before.push(offset, freed.count())",
        "before.push(offset, 1)",
    ),
    Fault(
        "of the blocks of a span that follow each other the first alone counts",
        RETURNED,
        "next = span.secrets.next_of(next), ++run.length)",
        "next = span.secrets.next_of(next))",
    ),
    Fault(
        "a block waits for blocks of another span",
        RETURNED,
        "if (is_waiting && chain.span == &span)",
        "if (is_waiting)",
    ),
    Fault(
        "blocks that a list has taken from their span count as free",
        "spans/span.h",
        "    countdown.set(left);\n",
        "",
    ),
    Fault(
        "blocks that go home stay in their list",
        "frontend/free_lists.h",
        "return std::exchange(*link, nullptr);",
        "return *link;",
    ),
    Fault(
        "a thread that ends keeps its lists",
        "frontend/lab_registry.h",
        "flush_lists(life, local);\n  retire_own_hot_spans(life, local);",
        "retire_own_hot_spans(life, local);",
    ),
]


def fails(test: str) -> str:
    """How the test fails with the sources as they are; "" if it passes."""
    build = subprocess.run(
        ["cmake", "--build", str(BUILD), "--target", test], capture_output=True, text=True, check=False
    )
    if build.returncode != 0:
        return "does not compile"
    options = ["--gtest_brief=1", "--gtest_fail_fast"]
    try:
        run = subprocess.run(
            [BUILD / "bin" / test, *options], capture_output=True, text=True, check=False, timeout=300
        )
    except subprocess.TimeoutExpired:
        return "does not end"
    if run.returncode == 0:
        return ""
    named = [line.partition("] ")[2].split()[0] for line in run.stdout.splitlines() if "FAILED  ] " in line]
    return named[0] if named else "\n".join(run.stderr.strip().splitlines()[-1:])


def first_failure() -> str:
    return next((f"{test}: {how}" for test in TESTS if (how := fails(test))), "")


def main() -> int:
    parser = parser_of(__doc__)
    parser.add_argument("--only", default="", metavar="TEXT", help="the faults whose description holds TEXT")
    given = parser.parse_args()
    chosen = [fault for fault in FAULTS if given.only in fault.what]
    if not chosen:
        parser.error(
            f"--only {given.only!r}: no fault; there are: {'; '.join(fault.what for fault in FAULTS)}"
        )
    if failure := first_failure():
        sys.exit(f"without a fault: {failure}")
    unseen = 0
    for fault in chosen:
        path = SCALLOC / fault.file
        source = path.read_text()
        if source.count(fault.right) != 1:
            sys.exit(f"{path}: holds {source.count(fault.right)} times: {fault.right}")
        begin = time.monotonic()
        try:
            path.write_text(source.replace(fault.right, fault.wrong))
            failure = first_failure()
        finally:
            path.write_text(source)
        unseen += not failure
        print(f"{fault.what}: {failure or 'NOT SEEN'} ({time.monotonic() - begin:.0f} s)", flush=True)
    print(f"{len(chosen) - unseen} of {len(chosen)} seen")
    return int(unseen > 0)


if __name__ == "__main__":
    sys.exit(main())
