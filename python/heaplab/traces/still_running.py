"""The processes of a recording that have not ended: they may outlive the program that began them."""

import os
from pathlib import Path


def still_running(raw: Path, recorder: str, variable: str) -> list[str]:
    """Name and number of each running process that records into the folder.

    Such a process has a file of the folder mapped, or, before its first call, the recorder and the variable
    that names the folder.
    """
    folder = os.fsencode(raw.resolve()) + b"/"
    begins = os.fsencode(f"{variable}={raw.absolute()}")
    found = []
    for process in Path("/proc").iterdir():
        if not process.name.isdigit() or int(process.name) == os.getpid():
            continue
        try:
            maps = (process / "maps").read_bytes()
            is_preloaded = os.fsencode(recorder) in maps
            if folder in maps or (is_preloaded and begins in (process / "environ").read_bytes().split(b"\0")):
                found.append(f"{(process / 'comm').read_text(errors='replace').strip()} ({process.name})")
        except OSError:  # the process has ended meanwhile, or belongs to another user
            continue
    return found
