"""Reads files that users name: regular ones of a bounded size, as a pipe or a device may have no end."""

import lzma
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path

from heaplab.errors import UsageError, naming

MOST = 1 << 30  # B, where a caller does not say otherwise: a file is read as a whole


@contextmanager
def opened(path: Path, most: int | None = None) -> Iterator[BufferedReader]:
    """The open file. Raises UsageError if it cannot be read, is not a regular file or has more bytes."""
    with naming(path):
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(descriptor, "rb") as stream:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise UsageError(f"{path}: not a regular file")
            if most is not None and status.st_size > most:
                raise UsageError(f"{path}: is larger than {most >> 20} MiB")
            yield stream


def content_of(path: Path, most: int = MOST) -> bytes:
    """The whole content, unpacked if the name ends in .xz. Raises UsageError as `opened` does."""
    with opened(path, most) as stream:
        packed = stream.read()
    return unpacked(path, packed, most) if path.suffix == ".xz" else packed


def unpacked(path: Path, packed: bytes, most: int) -> bytes:
    decompressor = lzma.LZMADecompressor()
    try:
        content = decompressor.decompress(packed, max_length=most + 1)
    except lzma.LZMAError as error:
        raise UsageError(f"{path}: cannot be unpacked: {error}") from None
    if len(content) > most:
        raise UsageError(f"{path}: is larger than {most >> 20} MiB")
    if not decompressor.eof:
        raise UsageError(f"{path}: cannot be unpacked: it is cut off")
    return content


def text_of(path: Path, most: int = MOST) -> str:
    """The whole text. Raises UsageError as `opened` does, or if it is not UTF-8."""
    try:
        return content_of(path, most).decode()
    except UnicodeDecodeError:
        raise UsageError(f"{path}: no text in UTF-8") from None
