"""Files that are read once, by whatever path they are reached: each process has paths of its own for them."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, wraps
from pathlib import Path
from typing import TypeVar

from heaplab.errors import naming

T = TypeVar("T")


@dataclass(frozen=True)
class KnownFile:
    """A file by what it is."""

    path: Path = field(compare=False)
    identity: tuple[int, int, int, int]


def read_once(read: Callable[[Path], T]) -> Callable[[Path], T]:
    """The function with its results kept by file. Raises UsageError for a file that is not there."""
    kept = cache(lambda known: read(known.path))

    @wraps(read)
    def reading(path: Path) -> T:
        with naming(path):
            status = path.stat()
        known = KnownFile(path, (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns))
        result: T = kept(known)
        return result

    return reading
