"""Runs the tests of a library, several at a time."""

import resource
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from heaplab.check.check_outcomes import LibraryReport, Outcome
from heaplab.check.deviations import Deviation
from heaplab.check.parts import Test
from heaplab.check.run_test import end_running, run_test
from heaplab.records import Arm


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

    def run(test: Test) -> Outcome:
        return run_test(test, library, known.get(test.name), long)

    outcomes = []
    with no_core_files(), ThreadPoolExecutor(jobs) as pool:
        try:
            for outcome in pool.map(run, tests):
                outcomes.append(outcome)
                tick(outcome)
        except BaseException:  # Ctrl-C too: what is not begun is not run
            pool.shutdown(wait=False, cancel_futures=True)
            end_running()
            raise
    return LibraryReport(library=library, outcomes=outcomes)


@contextmanager
def no_core_files() -> Iterator[None]:
    """Many tests end by a signal: an image of each would fill the disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_CORE, (soft, hard))
