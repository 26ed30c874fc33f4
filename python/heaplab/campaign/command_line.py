"""The command line of a cell under an arm: the program and its arguments."""

import os
import shutil
from glob import glob
from pathlib import Path

from heaplab.campaign.plan import Cell
from heaplab.catalog import native, spec
from heaplab.errors import UsageError
from heaplab.machine import interposition
from heaplab.records import Arm, Parameter


def program_of(cell: Cell, arm: Arm | None = None) -> Path:
    """The file to execute: the workload's program, or the program of an arm that is a command.

    Raises UsageError if there is none.
    """
    if arm and arm.command:
        return interposition.resolve_program(arm.command[0], os.environ)
    if built := native.program(cell.workload.program):
        return built
    try:
        return interposition.resolve_program(name_of(cell.workload), os.environ)
    except UsageError as error:
        fixture = cell.workload.fixture
        raise UsageError(
            f"{error}; Debian's package {fixture.package} has it" if fixture else str(error)
        ) from None


def name_of(workload: spec.Workload) -> str:
    """The command or path of a real program; for a glob the last path that matches, if any."""
    matching = sorted(glob(workload.program)) if "*" in workload.program else []
    return matching[-1] if matching else workload.program


def why_absent(workload: spec.Workload) -> str:
    """One line that names the first command that a real program needs and this machine lacks; else ""."""
    if workload.fixture is None:
        return ""
    missing = [name for name in (name_of(workload), *workload.fixture.needs) if shutil.which(name) is None]
    return f"no {missing[0]}, see Debian's package {workload.fixture.package}" if missing else ""


def words_of(cell: Cell, arm: Arm | None = None) -> list[str]:
    """The arguments with which an arm runs a cell, without those of the harness."""
    if arm and arm.command:
        return arm.command[1:]
    return [*cell.workload.arguments, *options_of(dict(cell.parameters))]


def options_of(parameters: dict[str, Parameter]) -> list[str]:
    """The options of a cell: `--name value`, and `--name` or `--no-name` for a boolean."""
    options: list[str] = []
    for name, value in parameters.items():
        if isinstance(value, bool):
            options.append(f"--{name}" if value else f"--no-{name}")
        else:
            options += [f"--{name}", str(value)]
    return options
