"""Traces made from the files of heaptrack and glibc's mtrace."""

import gzip
import os
import zlib
from pathlib import Path
from typing import IO, Any

from heaplab.errors import naming
from heaplab.traces import tool

MAGIC = b"\x89HLT\r\n\x1a\n"  # the first bytes of a trace: docs/trace-format.md
GZIP = b"\x1f\x8b"
AT_ONCE = 1 << 20  # bytes


def is_trace(path: Path) -> bool:
    """Whether a file begins like a trace of heaplab. Raises UsageError if the file cannot be read."""
    return _begins(path, MAGIC)


def make_trace(source: Path, trace: Path, progress: tool.Progress) -> dict[str, Any]:
    """Make the file `trace` from `source`; `progress` gets the bytes done and their total.

    Raises UsageError if `source` cannot be read.
    """
    packed = _begins(source, GZIP)
    whole = source.stat().st_size
    cut_off = False

    def feed(to: IO[bytes]) -> None:
        nonlocal cut_off
        with source.open("rb") as file:
            stream = gzip.GzipFile(fileobj=file) if packed else file
            try:
                while some := stream.read1(AT_ONCE):
                    to.write(some)
                    progress(min(os.lseek(file.fileno(), 0, os.SEEK_CUR), whole), whole)
            except (EOFError, zlib.error):
                cut_off = True  # the intact part of the file is used

    found = tool.import_(feed, str(source), trace)
    return found | {"cut_off": found["cut_off"] or cut_off}


def _begins(path: Path, magic: bytes) -> bool:
    with naming(path), path.open("rb") as file:
        return file.read(len(magic)) == magic
