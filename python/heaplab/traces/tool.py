"""The C++ program that does the heavy work on traces (src/trace/trace_tool.cpp)."""

import json
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from heaplab.catalog import native
from heaplab.errors import HeaplabError, UsageError

Told = Callable[[int, int], None]


def program() -> Path:
    found = native.helper("trace_tool")
    if found is None:
        raise HeaplabError("trace_tool is missing: heaplab is not completely installed")
    return found


def stamps_here() -> str:
    """What orders events on this machine: `tsc` or `tickets`."""
    return _run("stamps").strip()


def finish(folder: Path, trace: Path, told: Told = lambda _done, _whole: None) -> None:
    """Make the file `trace` of what was recorded in `folder`; `told` hears bytes done, and of how many."""
    with (
        tempfile.TemporaryFile("w+") as errors,
        subprocess.Popen(
            [program(), "finish", folder, trace], stdout=subprocess.PIPE, stderr=errors, text=True
        ) as child,
    ):
        for line in child.stdout or ():
            done, whole = map(int, line.split())
            told(done, whole)
        if child.wait() != 0:
            errors.seek(0)
            raise HeaplabError(errors.read().strip() or f"{trace}: its making ended with {child.returncode}")


def summary(trace: Path) -> dict[str, Any]:
    """What a trace file holds. Raises UsageError where it is none."""
    try:
        found: dict[str, Any] = json.loads(_run("summary", trace))
    except HeaplabError as error:
        raise UsageError(str(error)) from error
    return found


def _run(*command: str | Path) -> str:
    done = subprocess.run([program(), *command], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise HeaplabError(done.stderr.strip() or f"trace_tool {command[0]} ended with {done.returncode}")
    return done.stdout
