"""Tries that take minutes each, kept in a file as they end: a program started again goes on with the next."""

import contextlib
import json
import signal
import subprocess
import sys
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

# Ends with its parent, also if that is killed.
COMPUTE = "import os\nparent = os.getppid()\nwhile os.getppid() == parent: sum(range(10**6))"


class KeptTries:
    """What tries gave, by what was tried: a line of JSON each, `[what was tried, what it gave]`."""

    def __init__(self, file: Path | None) -> None:
        self.file = file
        lines = file.read_text().splitlines() if file and file.exists() else []
        self.known = {json.dumps(tried): gave for tried, gave in map(json.loads, lines)}

    def of(self, tried: list[Any], carry_out: Callable[..., Any], *given: Any) -> Any:
        """What the try gave, from the file or by carrying it out with what is given."""
        key = json.dumps(tried)
        if key not in self.known:
            self.known[key] = carry_out(*given)
            if self.file:
                with self.file.open("a") as file:
                    file.write(f"{json.dumps([tried, self.known[key]])}\n")
        return self.known[key]


def add_kept(parser: ArgumentParser) -> None:
    parser.add_argument("--kept", type=Path, help="file that keeps each try, and from which to go on")


@contextlib.contextmanager
def busy(processes: int) -> Iterator[None]:
    """So many processes that compute, for the time of the block."""
    running = [subprocess.Popen([sys.executable, "-c", COMPUTE]) for _ in range(processes)]
    try:
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()


def end_as_by_interrupt() -> None:
    """Let SIGTERM, as of timeout, clean up as Ctrl-C does."""
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
