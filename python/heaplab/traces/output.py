"""Files that are replaced only when their new content is complete."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from heaplab.errors import HeaplabError


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Where to write what becomes the file `path`. Raises HeaplabError where it cannot be written."""
    if path.exists() and not path.is_file():
        yield path  # a device or a pipe
        return
    beside = path.with_name(f"{path.name}.new")
    try:
        yield beside
        beside.replace(path)
    except OSError as error:
        raise HeaplabError(f"{path}: {error.strerror or error}") from error
    finally:
        beside.unlink(missing_ok=True)
