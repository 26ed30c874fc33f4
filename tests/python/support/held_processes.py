"""Processes that hold memory of a known kind, or notice what is done to them, for as long as a test needs."""

import contextlib
import os
import platform
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

from heaplab.machine import native
from heaplab.running.asking import Asking
from heaplab.running.serving import serving
from heaplab.running.target import target

PATIENCE_S = 120


@contextlib.contextmanager
def running(
    program: Path, *words: str, environment: Mapping[str, str] | None = None, orderly: bool = True
) -> Iterator[int]:
    """The number of the process once it is ready; `orderly`: it ends by itself, with status 0."""
    process = subprocess.Popen(
        [program, *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, **(environment or {})},
    )
    assert process.stdin
    assert process.stdout
    try:
        process.stdout.readline()
        yield process.pid
        if orderly:
            process.stdin.write(b"\n")
            process.stdin.flush()
            assert process.wait(PATIENCE_S) == 0
    finally:
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()


def asking(pid: int) -> Asking:
    of = target(str(pid))
    return Asking(of, serving(of))


def preloads() -> list[str]:
    """The libraries of other allocators that are here, and heaplab's own."""
    own = [str(native.library(name)) for name in ("scalloc", "llheap-stats")]
    folder = Path(f"/usr/lib/{platform.machine()}-linux-gnu")
    others = [folder / f"lib{name}" for name in ("jemalloc.so.2", "mimalloc.so.2", "tcmalloc_minimal.so.4")]
    return [*own, *(str(path) for path in others if path.exists())]
