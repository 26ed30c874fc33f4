"""Transparent huge pages of a whole process, set before its exec (PR_SET_THP_DISABLE(2const)).

The kernel allows a process less than the machine's setting, never more. The setting of a process survives
exec and is inherited by children.
"""

import ctypes
import os
from pathlib import Path
from typing import Literal, get_args

HugePages = Literal["never", "advised", "always"]
MODES: tuple[HugePages, ...] = get_args(HugePages)

PR_SET_THP_DISABLE = 41
PR_GET_THP_DISABLE = 42
PR_THP_DISABLE_EXCEPT_ADVISED = 2  # flag, Linux 6.18
MACHINE_SETTING = Path("/sys/kernel/mm/transparent_hugepage/enabled")


def machine_mode() -> HugePages | None:
    """The most that the machine allows; None if the kernel has no transparent huge pages."""
    try:
        chosen = MACHINE_SETTING.read_text().split("[")[1].split("]")[0]
    except (OSError, IndexError):
        return None
    modes: dict[str, HugePages] = {"always": "always", "madvise": "advised"}
    return modes.get(chosen, "never")


def fault_of(mode: HugePages) -> str:
    """Why a process cannot have this mode here, in one line; "" if it can. A child tries it."""
    most = machine_mode()
    if most is None:
        return "this kernel has no transparent huge pages"
    if MODES.index(mode) > MODES.index(most):
        return f"{MACHINE_SETTING} allows a process at most {most!r}"
    child = os.fork()
    if child == 0:
        os._exit(0 if set_mode(mode) else 1)
    _, status = os.waitpid(child, 0)
    return (
        "" if status == 0 else f"the kernel refuses it (thp=advised needs Linux 6.18 where {most!r} is set)"
    )


def set_mode(mode: HugePages) -> bool:
    """Set the mode for this process and its future children. Returns whether the kernel confirms the mode."""
    if mode == "never":
        wanted, disable, flags = 1, 1, 0
    elif mode == "advised" and machine_mode() == "always":
        wanted, disable, flags = 1 | PR_THP_DISABLE_EXCEPT_ADVISED, 1, PR_THP_DISABLE_EXCEPT_ADVISED
    else:
        wanted, disable, flags = 0, 0, 0
    libc = ctypes.CDLL(None)
    done = libc.prctl(PR_SET_THP_DISABLE, disable, flags, 0, 0) == 0
    return bool(done and libc.prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0) == wanted)
