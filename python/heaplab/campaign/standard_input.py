"""The file that every run of a user's program reads from its beginning as standard input."""

import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from heaplab.errors import HeaplabError, UsageError
from heaplab.files import regular_file
from heaplab.results.records import Input, refuse_no_text

# Opening this path opens the file of heaplab's own standard input again, at its beginning.
OWN = Path("/proc/self/fd/0")


def input_of(path: Path) -> Input:
    """The record of a regular file. Raises UsageError if `path` is none or is not readable."""
    with regular_file.opened(path) as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    refuse_no_text([str(path.absolute())])
    return Input(path=str(path.absolute()), sha256=digest)


def own_file() -> Path | None:
    """The path of the regular file on heaplab's own standard input, while the path exists; else None."""
    try:
        status = os.fstat(0)
    except OSError:
        return None  # standard input is closed
    if not stat.S_ISREG(status.st_mode):
        return None
    name = OWN.readlink()
    return name if name.exists() and os.path.samestat(name.stat(), status) else OWN


@contextmanager
def opened(given: Input | None) -> Iterator[int]:
    """A descriptor at the beginning of the input, or of /dev/null.

    Raises HeaplabError if the file is gone.
    """
    path = given.path if given else os.devnull
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise HeaplabError(f"{path}: {error.strerror}") from error
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def refuse_changed(given: Input | None) -> None:
    """Raise UsageError if the file has changed since the campaign began."""
    if given and input_of(Path(given.path)) != given:
        raise UsageError(f"{given.path}: has changed since, start a new campaign")
