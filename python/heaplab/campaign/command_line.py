"""The command line of a cell under an arm: the program and its arguments."""

import contextlib
import os
import shutil
from glob import glob
from pathlib import Path

from heaplab.campaign.plan import Cell
from heaplab.catalog import native
from heaplab.errors import HeaplabError, UsageError
from heaplab.machine import interposition
from heaplab.results import spec
from heaplab.results.own_program import OwnProgram
from heaplab.results.records import Arm, Parameter


def program_of(cell: Cell, arm: Arm | None = None) -> Path:
    """The file to execute: the workload's program, or the program of an arm that is a command.

    Raises HeaplabError if there is none.
    """
    if arm and (words := arm.command or arm.runtime):
        return interposition.resolve_program(words[0], os.environ)
    return file_of(cell.workload)


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


def words_of(cell: Cell, arm: Arm | None = None) -> list[str]:
    """The arguments with which an arm runs a cell, without those of the harness."""
    if arm and arm.command:
        return arm.command[1:]
    runtime = arm.runtime[1:] if arm else []
    return [*runtime, *cell.workload.arguments, *options_of(dict(cell.parameters))]


def options_of(parameters: dict[str, Parameter]) -> list[str]:
    """The options of a cell: `--name value`, and `--name` or `--no-name` for a boolean."""
    options: list[str] = []
    for name, value in parameters.items():
        if isinstance(value, bool):
            options.append(f"--{name}" if value else f"--no-{name}")
        else:
            options += [f"--{name}", str(value)]
    return options
