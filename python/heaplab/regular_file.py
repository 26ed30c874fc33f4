"""Reads files that users name: regular ones only, as a pipe or a device may have no end."""

import lzma
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from heaplab.errors import UsageError, naming


@contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """The open file. Raises UsageError if it cannot be read or is not a regular file."""
    with naming(path):
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(descriptor, "rb") as stream:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise UsageError(f"{path}: not a regular file")
            yield stream


def content_of(path: Path) -> bytes:
    """The whole content, unpacked if the name ends in .xz. Raises UsageError as `opened` does."""
    with opened(path) as stream:
        packed = stream.read()
    try:
        return lzma.decompress(packed) if path.suffix == ".xz" else packed
    except lzma.LZMAError as error:
        raise UsageError(f"{path}: cannot be unpacked: {error}") from None
