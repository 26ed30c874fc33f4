"""Library paths in a form that the loader accepts: colons and spaces separate entries of LD_PRELOAD.

If the path of a library's folder contains such a character, the library is reached through a link to the
folder. The links lie in a folder to which nobody else can write: otherwise another user could have a library
of theirs preloaded.
"""

import contextlib
import hashlib
import os
import tempfile
from pathlib import Path

from heaplab.errors import UsageError

DIVIDING = frozenset(" :;")  # a semicolon separates entries of LD_LIBRARY_PATH


def divided(path: str | Path) -> bool:
    """Whether the loader would split the path into several entries."""
    return bool(DIVIDING & set(str(path)))


def loadable(library: str) -> str:
    """A path of the library that can stand in LD_PRELOAD. Raises UsageError if there is none."""
    if not divided(library):
        return library
    path = Path(library)
    if divided(path.name):
        raise UsageError(
            f"{library}: the loader cannot preload a file with a colon, semicolon or space in its name"
        )
    return f"{loadable_folder(str(path.parent))}/{path.name}"


def loadable_folder(folder: str) -> str:
    """A path of the folder that can stand in LD_PRELOAD: the folder's own path, or a link to the folder."""
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
        status = folder.lstat()  # lstat, not stat: everybody may write to a link, so a link is refused
    except OSError as error:
        raise UsageError(f"{folder}: {error.strerror}; it is to hold links for the loader") from error
    if status.st_uid != os.getuid() or status.st_mode & 0o022:
        raise UsageError(f"{folder}: others may write to it; it is to hold links for the loader")
    return folder
