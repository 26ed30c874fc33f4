"""Files that are replaced only when their new content is complete."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from heaplab.errors import HeaplabError


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A file beside `path`, which takes the place of `path` at the end of the block; a device itself.

    If the block fails, for example on a full disk, the earlier file stays. Raises HeaplabError if the file
    cannot be written.
    """
    try:
        is_device = path.exists() and not path.is_file()  # or a pipe
        target = path if is_device else path.resolve()
        beside = target if is_device else target.with_name(f"{target.name}.new")
        try:
            yield beside
            if not is_device:
                beside.replace(target)
        finally:
            if not is_device:
                with contextlib.suppress(OSError):
                    beside.unlink(missing_ok=True)
    except OSError as error:
        raise HeaplabError(f"{path}: {error.strerror or error}") from error


def write_text(path: Path, text: str) -> None:
    """Replace a text file, whose folder is made if need be. Raises HeaplabError if it cannot be written."""
    with replacing(path) as beside:
        beside.parent.mkdir(parents=True, exist_ok=True)
        beside.write_text(text, encoding="utf-8", errors="replace")
