"""Results files that several processes read."""

import time

from heaplab.results.by_processes import by_processes


def test_what_is_read_comes_in_order() -> None:
    assert list(by_processes(abs, [-3, -2, -1], 2)) == [3, 2, 1]


def test_reading_that_is_left_ends_at_once_whatever_is_being_read() -> None:
    found = by_processes(time.sleep, [0, 3600], 2)
    assert next(found) is None
    found.close()
