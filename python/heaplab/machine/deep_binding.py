"""Libraries that a program opens with RTLD_DEEPBIND: no preloaded malloc can serve such a program.

An object opened with RTLD_DEEPBIND looks malloc and free up in the libraries it is linked with, the C library
among them, before those of the process. So the object passes blocks of the preloaded malloc to the C
library's free. php opens its extensions in this way. Nothing shows this before the program runs; a running
program's loader can log the order in which it looks symbols up.
"""

import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

TRACE = "scopes"  # prefix of the names of the loader's log files


def told_to(folder: Path) -> dict[str, str]:
    """The environment in which every process's loader logs to `folder` where the loader looks symbols up."""
    return {"LD_DEBUG": "scopes", "LD_DEBUG_OUTPUT": str(folder / TRACE)}


def opened(folder: Path) -> list[str]:
    """The libraries that were opened with RTLD_DEEPBIND, according to the loaders' logs in `folder`."""
    return sorted({name for file in folder.glob(f"{TRACE}.*") for name in of_process(file)})


def of_process(trace: Path) -> Iterator[str]:
    """The objects that look symbols up neither in the process first nor in themselves alone first.

    The first scope of an object opened with RTLD_DEEPBIND is the object with all it is linked with. The first
    scope of an object linked with -Bsymbolic (DT_SYMBOLIC) is the object alone; malloc is then found where
    the process finds it.
    """
    with trace.open(errors="replace") as stream:
        name, first = "", [""]
        for line in stream:
            _, _, text = line.rstrip("\n").partition("\t")
            if text.startswith("object="):
                name, first = text.removeprefix("object=").rpartition(" [")[0], [""]
            elif text.startswith(" scope 0: "):
                first = text.removeprefix(" scope 0: ").split(" ")
            elif (
                text.startswith(" scope 1: ")
                and first[0] == name
                and any("/libc.so." in needed for needed in first)
            ):
                yield name


def warning(libraries: Sequence[str]) -> str:
    """One line about libraries opened with RTLD_DEEPBIND; "" without any."""
    if not libraries:
        return ""
    more = f" and {len(libraries) - 1} more" if len(libraries) > 1 else ""
    return (
        f"{libraries[0]}{more}: opened with RTLD_DEEPBIND, so it frees blocks of the preloaded malloc "
        "with the C library's free: expect a crash under every allocator but glibc; --no-deep-binding opens "
        "it without"
    )


def deep_bound(
    command: Sequence[str], environment: Mapping[str, str], folder: Path, limit: float
) -> list[str]:
    """Run a command for at most `limit` s, without input and output. Returns the libraries it deep-binds."""
    with subprocess.Popen(
        command,
        env={**environment, **told_to(folder)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            process.wait(limit)
        except subprocess.TimeoutExpired:
            process.kill()
    return opened(folder)
