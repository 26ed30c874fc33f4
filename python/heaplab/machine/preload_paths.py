"""Library paths in the form that the loader takes: colons and spaces separate entries of LD_PRELOAD.

A library whose folder has one in its path is reached by a link to the folder. The links lie in a folder that
nobody else can write to, or another user could have libraries of theirs preloaded.
"""

import contextlib
import hashlib
import os
import tempfile
from pathlib import Path

from heaplab.errors import UsageError

DIVIDING = frozenset(" :;")  # the semicolon divides LD_LIBRARY_PATH


def divided(path: str | Path) -> bool:
    """Whether the loader would split the path into several entries."""
    return bool(DIVIDING & set(str(path)))


def loadable(library: str) -> str:
    """A path of the library that the loader does not split. Raises UsageError if there is none."""
    if not divided(library):
        return library
    path = Path(library)
    if divided(path.name):
        raise UsageError(
            f"{library}: the loader cannot preload a file with a colon, semicolon or space in its name"
        )
    return f"{loadable_folder(str(path.parent))}/{path.name}"


def loadable_folder(folder: str) -> str:
    """A path of the folder that the loader does not split: its own path, or a link to the folder."""
    if not divided(folder):
        return folder
    links = private_folder()
    if divided(links):
        raise UsageError(
            f"{folder}: the loader takes no path with a colon, semicolon or space, and TMPDIR has one too"
        )
    link = links / hashlib.sha256(folder.encode()).hexdigest()[:16]
    with contextlib.suppress(FileExistsError):
        link.symlink_to(folder)
    return str(link)


def private_folder() -> Path:
    """The user's private folder for links. Raises UsageError if another user owns it or may write to it."""
    folder = Path(tempfile.gettempdir()) / f"heaplab-{os.getuid()}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        status = folder.lstat()  # of a link: may be written to by everybody
    except OSError as error:
        raise UsageError(f"{folder}: {error.strerror}; it is to hold links for the loader") from error
    if status.st_uid != os.getuid() or status.st_mode & 0o022:
        raise UsageError(f"{folder}: others may write to it; it is to hold links for the loader")
    return folder
