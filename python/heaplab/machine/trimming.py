"""`trim=60s`: a thread of the process calls malloc_trim again and again, and what the calls cost.

The thread is that of src/trim. It goes by the clock, so that such an arm cannot take turns with others.
"""

import contextlib
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from heaplab.machine import elf
from heaplab.machine.trim_setting import COSTS, TRIM
from heaplab.results.records import Trims

CALL = "malloc_trim"
BY_THE_CLOCK = "malloc_trim is called by the clock, which goes on while an arm is stopped"


def fault_of(preload: list[str]) -> str:
    """Why malloc_trim would do nothing for the arm; "" if its malloc has it."""
    for path in preload:
        with elf.opened(Path(path), "is no library") as file:
            if elf.defines(file, ".dynsym", CALL):
                return ""
    return f"{Path(preload[0]).name} has no {CALL}, so trim= would do nothing" if preload else ""


@dataclass(frozen=True)
class TrimCosts:
    """The file of one run."""

    file: Path | None = None

    @property
    def environment(self) -> dict[str, str]:
        return {COSTS: str(self.file)} if self.file else {}

    @property
    def found(self) -> Trims | None:
        if not self.file:
            return None
        calls = [[int(word) / 1e9 for word in line.split()] for line in self.file.read_text().splitlines()]
        passed, computed = ([call[place] for call in calls] for place in (0, 1))
        longest = max(passed, default=0.0)
        return Trims(calls=len(calls), wall_time=sum(passed), cpu_time=sum(computed), longest=longest)


@contextlib.contextmanager
def costs_in(environment: Mapping[str, str]) -> Iterator[TrimCosts]:
    """Where a run with this environment leaves what its trimming cost."""
    if TRIM not in environment:
        yield TrimCosts()
        return
    with tempfile.NamedTemporaryFile(prefix="heaplab-trim-") as file:
        yield TrimCosts(Path(file.name))
