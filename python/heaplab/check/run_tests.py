"""Runs the tests of a library, several at a time."""

import resource
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from heaplab.check.check_outcomes import CheckVerdict, LibraryReport, Outcome
from heaplab.check.deviations import Deviation
from heaplab.check.parts import Test
from heaplab.check.run_test import Running, run_test
from heaplab.machine.process_tree import nothing_left
from heaplab.records import Arm


class Queue:
    """The tests that are still to be run, with their places in the report.

    The part with the fewest tests that are running or have hung comes first, so that a part whose tests hang
    does not hold up the others.
    """

    def __init__(self, tests: Sequence[Test]) -> None:
        self._lock = threading.Lock()
        self._held_up: Counter[str] = Counter()
        self._waiting: dict[str, deque[tuple[int, Test]]] = {}
        for place, test in enumerate(tests):
            self._waiting.setdefault(test.part, deque()).append((place, test))

    def take(self) -> tuple[int, Test] | None:
        with self._lock:
            left = [part for part, waiting in self._waiting.items() if waiting]
            if not left:
                return None
            part = min(left, key=lambda name: self._held_up[name])
            self._held_up[part] += 1
            return self._waiting[part].popleft()

    def done(self, outcome: Outcome) -> None:
        with self._lock:
            self._held_up[outcome.part] -= outcome.verdict is not CheckVerdict.HUNG


def run_all(
    library: Arm,
    tests: Sequence[Test],
    known: Mapping[str, Deviation],
    *,
    long: bool,
    jobs: int,
    tick: Callable[[Outcome], None] = lambda _: None,
) -> LibraryReport:
    """Run the tests and return their outcomes in the given order; `tick` is called as each ends."""
    queue, running = Queue(tests), Running()
    outcomes: dict[int, Outcome] = {}

    def work() -> None:
        while taken := queue.take():
            place, test = taken
            outcomes[place] = outcome = run_test(test, library, known.get(test.name), long, running)
            queue.done(outcome)
            tick(outcome)

    with no_core_files(), nothing_left(), ThreadPoolExecutor(jobs) as pool:
        try:
            for worker in [pool.submit(work) for _ in range(jobs)]:
                worker.result()
        except BaseException:  # Ctrl-C too: tests that have not started are not run
            running.end_all()
            raise
    return LibraryReport(library=library, outcomes=[outcomes[place] for place in range(len(tests))])


@contextmanager
def no_core_files() -> Iterator[None]:
    """Write no core files: many tests end by a signal, and their core files would fill the disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_CORE, (soft, hard))
