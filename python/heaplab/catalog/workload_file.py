"""The file that a workload executes: a program of heaplab's, or a real program of this machine."""

import contextlib
import os
import shutil
from glob import glob
from pathlib import Path

from heaplab.errors import HeaplabError, UsageError
from heaplab.machine import interposition, native
from heaplab.results import spec
from heaplab.results.own_program import OwnProgram


def file_of(workload: spec.Workload) -> Path:
    """The file of a program of heaplab's or, as a shell finds it, of a command. Raises HeaplabError."""
    executable = workload.executable
    if isinstance(executable, OwnProgram):
        return native.needed(native.program(executable), executable.name)
    if workload.fixture is None:
        return interposition.resolve_program(executable, os.environ)
    try:
        return interposition.resolve_program(matching(executable), os.environ)
    except UsageError as error:
        raise UsageError(f"{error}; Debian's package {workload.fixture.package} has it") from None


def is_here(workload: spec.Workload) -> bool:
    with contextlib.suppress(HeaplabError):
        return bool(file_of(workload))
    return False


def matching(command: spec.Command) -> str:
    """The last path that matches a glob of the catalog's, if any; else the command itself."""
    return max(glob(command), default=command) if "*" in command else command


def why_absent(workload: spec.Workload) -> str:
    """One line that names the first command that a real program needs and this machine lacks; else ""."""
    command = workload.executable
    if workload.fixture is None or isinstance(command, OwnProgram):
        return ""
    missing = [name for name in (matching(command), *workload.fixture.needs) if shutil.which(name) is None]
    return f"no {missing[0]}, see Debian's package {workload.fixture.package}" if missing else ""
