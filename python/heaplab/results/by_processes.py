"""Reads many results files by several processes."""

import gc
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import active_children, get_context
from typing import TypeVar

Item = TypeVar("Item")
Found = TypeVar("Found")


def by_processes(read: Callable[[Item], Found], items: Iterable[Item], workers: int) -> Iterator[Found]:
    """What `read` returns for each item. An interruption ends the processes at once, whatever they read.

    They are spawned, because forked processes would keep the memory of this one, and collect no garbage,
    because runs make no reference cycles.
    """
    with ProcessPoolExecutor(workers, get_context("spawn"), initializer=gc.disable) as pool:
        try:
            yield from pool.map(read, items)
        except BaseException:
            for process in active_children():
                process.kill()
            raise
