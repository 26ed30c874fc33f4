"""Why a running process of a measured program is not seen: the library to be preloaded is not in it."""

import os
from collections.abc import Collection
from functools import cache
from pathlib import Path

from heaplab.errors import UsageError
from heaplab.machine import interposition

CLEARED = "its environment was cleared or replaced, so that LD_PRELOAD is missing"
NOT_LOADED = "its loader did not load {library}"


def why_not_seen(pid: int, program: Path, called: str, names: Collection[str], library: str) -> str | None:
    """Why the process, which maps the files `names`, does not have the library; "" if it does.

    None: the process is still being loaded. Raises OSError if it has ended. The name of a library without a
    path proves nothing, as every program has the C library. `called` is the name of the program for people.
    """
    if "/" in library and library in names:
        return ""
    if fault := fault_of_file(program, called):
        return fault
    if not any(interposition.C_LIBRARY.fullmatch(Path(name).name) for name in names):
        return None
    environment = Path(f"/proc/{pid}/environ").read_bytes()
    os.readlink(f"/proc/{pid}/exe")  # fails if the process has ended meanwhile: its environment is empty then
    if not has_preload(environment, library):
        return f"{called}: {CLEARED}"
    return f"{called}: {NOT_LOADED.format(library=library)}" if "/" in library else ""


def why_not_in(program: Path, called: str, led: bool) -> str:
    """Why an executed program will not have the library, which its environment preloads if it is `led`."""
    return fault_of_file(program, called) or ("" if led else f"{called}: {CLEARED}")


@cache
def fault_of_file(program: Path, called: str) -> str:
    """Why nothing can be preloaded into a program, as far as its file tells, which may be gone by now."""
    try:
        fault = interposition.fault_of_file(program, called)
        other = interposition.other_c_library(program, called)
        return fault or (f"{other}, which preloaded libraries need" if other else "")
    except (UsageError, OSError):
        return ""


def has_preload(environment: bytes, library: str) -> bool:
    """Whether an environment preloads the library, or the process wrote a title over its environment."""
    words = [word for word in environment.split(b"\0") if word]
    if any(b"=" not in word for word in words):
        return True
    return any(word.startswith(b"LD_PRELOAD=") and library.encode() in word for word in words)
