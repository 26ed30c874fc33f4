"""Libraries that a program opens with RTLD_DEEPBIND: no preloaded malloc can serve such a program.

An object opened with RTLD_DEEPBIND looks malloc and free up in the libraries it is linked with, the C library
among them, before those of the process. So the object frees with the C library's free what the program has
got from the preloaded malloc. php opens its extensions in this way. Nothing shows this before the program
runs; the loader can then be made to log its order of look-up.
"""

import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

TRACE = "scopes"  # prefix of the names of the loader's log files


def told_to(folder: Path) -> dict[str, str]:
    """The environment in which the loader of every process logs to `folder` where it looks symbols up."""
    return {"LD_DEBUG": "scopes", "LD_DEBUG_OUTPUT": str(folder / TRACE)}


def opened(folder: Path) -> list[str]:
    """The libraries that were opened with RTLD_DEEPBIND, according to the loaders' logs in `folder`."""
    return sorted({name for file in folder.glob(f"{TRACE}.*") for name in of_process(file)})


def of_process(trace: Path) -> Iterator[str]:
    """The objects whose first place to look symbols up in is neither the process nor they alone.

    The first scope of an object opened with RTLD_DEEPBIND is the object with all it is linked with. That of
    an object linked with -Bsymbolic (DT_SYMBOLIC) is the object alone, which finds malloc where the process
    does.
    """
    with trace.open(errors="replace") as stream:
        name, first = "", [""]
        for line in stream:
            _, _, text = line.rstrip("\n").partition("\t")
            if text.startswith("object="):
                name, first = text.removeprefix("object=").rpartition(" [")[0], [""]
            elif text.startswith(" scope 0: "):
                first = text.removeprefix(" scope 0: ").split(" ")
            elif text.startswith(" scope 1: ") and first[0] == name and any(map(is_c_library, first)):
                yield name


def is_c_library(path: str) -> bool:
    return Path(path).name.startswith("libc.so.")


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
