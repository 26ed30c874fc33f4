"""Programs that the processes of a tree executed, as the recorder noted: also those that no look may meet."""

import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from heaplab.errors import UsageError
from heaplab.machine import interposition
from heaplab.machine.coverage.tree_sampler import SampledProcess
from heaplab.machine.coverage.unseen import why_not_in


class ExecutedProgram(NamedTuple):
    path: str  # or a name that the system has searched for
    led: bool  # whether the environment leads the recorder into the program


def not_seen(
    executed: Iterable[ExecutedProgram], processes: Iterable[SampledProcess]
) -> list[SampledProcess]:
    """The executed programs that the recorder is not in, with the reason; without those of `processes`."""
    known = {process.program for process in processes if process.unseen}
    by_program = {process.program: process for process in unled(executed)}
    return [process for process in by_program.values() if process.program not in known]


def unled(executed: Iterable[ExecutedProgram]) -> Iterator[SampledProcess]:
    for program in executed:
        path = Path(shutil.which(program.path) or program.path)
        try:
            file = interposition.interpreter_of(path)
            name = interposition.name_of(path, file)
        except UsageError:
            file, name = path, path.name
        if reason := why_not_in(file, name, program.led):
            yield SampledProcess(0, str(file), name, reason)
