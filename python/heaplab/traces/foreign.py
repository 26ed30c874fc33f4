"""Traces made from the files of heaptrack and glibc's mtrace."""

import contextlib
import gzip
import os
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

from heaplab.errors import UsageError
from heaplab.files import regular_file
from heaplab.traces import TRACE, TWIN, tool

MAGIC = b"\x89HLT\r\n\x1a\n"  # the first bytes of a trace: docs/trace-format.md
GZIP = b"\x1f\x8b"
# What files begin with that hold no calls, and what they are.
WITHOUT_CALLS = {
    b"desc: ": "is the output of valgrind's massif, which holds snapshots and no calls",
    b'{"dhatFileVersion"': "is the output of valgrind's DHAT, which holds sums and no calls",
}
AT_ONCE = 1 << 20  # bytes


def is_trace(path: Path) -> bool:
    """Whether a file begins like a trace of heaplab. Raises UsageError if the file cannot be read."""
    return _begins(path, MAGIC)


def names_a_trace(words: Sequence[str]) -> bool:
    """Whether the words name a trace, whole or damaged, or a twin, in place of a program or an experiment."""
    if len(words) != 1:
        return False
    path = Path(words[0])
    with contextlib.suppress(UsageError):
        return path.suffix in (TRACE, TWIN) or is_trace(path)
    return False


def make_trace(source: Path, trace: Path, progress: tool.Progress) -> dict[str, Any]:
    """Make the file `trace` from `source`; `progress` gets the bytes done and their total.

    Raises UsageError if `source` cannot be read.
    """
    if source.stat().st_size == 0:
        raise UsageError(f"{source}: is empty, not the output of heaptrack or mtrace")
    for magic, what in WITHOUT_CALLS.items():
        if _begins(source, magic):
            raise UsageError(f"{source}: {what}; heaplab record makes a trace")
    packed = _begins(source, GZIP)
    whole = source.stat().st_size
    cut_off = False
    fed = 0  # bytes of text

    def feed(to: IO[bytes]) -> None:
        nonlocal cut_off, fed
        with source.open("rb") as file:
            stream = gzip.GzipFile(fileobj=file) if packed else file
            try:
                while some := stream.read1(AT_ONCE):
                    to.write(some)
                    fed += len(some)
                    progress(min(os.lseek(file.fileno(), 0, os.SEEK_CUR), whole), whole)
            except (EOFError, zlib.error):
                cut_off = True  # the intact part of the file is used

    try:
        summary = tool.import_(feed, str(source), trace)
    except UsageError as error:
        if cut_off and not fed:
            raise UsageError(f"{source}: is cut off before its first line") from error
        raise
    return summary | {"cut_off": summary["cut_off"] or cut_off}


def _begins(path: Path, magic: bytes) -> bool:
    with regular_file.opened(path) as file:
        return file.read(len(magic)) == magic
