"""Libraries that a program opens with RTLD_DEEPBIND: no preloaded malloc can serve such a program.

What is opened so looks up malloc and free in the libraries it is linked with, the C library among them,
before those of the process. So it frees with the C library's free what the program has from the preloaded
malloc. php opens its extensions so. Nothing shows it before the program runs; then the loader tells in which
order it looks.
"""

import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

TRACE = "scopes"  # beginning of the names of the loader's files


def told_to(folder: Path) -> dict[str, str]:
    """The environment in which the loader of every process writes to `folder` where it looks for symbols."""
    return {"LD_DEBUG": "scopes", "LD_DEBUG_OUTPUT": str(folder / TRACE)}


def opened(folder: Path) -> list[str]:
    """The libraries that were opened with RTLD_DEEPBIND, by what the loaders wrote to `folder`."""
    return sorted({name for file in folder.glob(f"{TRACE}.*") for name in of_process(file)})


def of_process(trace: Path) -> Iterator[str]:
    """Objects that are looked at first for their own symbols, and the process's libraries only then."""
    with trace.open(errors="replace") as stream:
        name = first = ""
        for line in stream:
            _, _, text = line.rstrip("\n").partition("\t")
            if text.startswith("object="):
                name, first = text.removeprefix("object=").rpartition(" [")[0], ""
            elif text.startswith(" scope 0: "):
                first = text.removeprefix(" scope 0: ").partition(" ")[0]
            elif text.startswith(" scope 1: ") and name and first == name:
                yield name


def warning(libraries: Sequence[str]) -> str:
    """One line about libraries that were opened so; "" without any."""
    if not libraries:
        return ""
    more = f" and {len(libraries) - 1} more" if len(libraries) > 1 else ""
    return (
        f"{libraries[0]}{more}: opened with RTLD_DEEPBIND, so it frees with the C library what the program "
        "has from a preloaded malloc: expect a crash under every allocator but glibc"
    )


def look(command: Sequence[str], environment: Mapping[str, str], folder: Path, limit: float) -> list[str]:
    """Run a command for `limit` s at most, without input and output; what it opened with RTLD_DEEPBIND."""
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
