"""The command line of a cell under an arm: the program and its arguments."""

import os
from pathlib import Path

from heaplab.campaign.plan import Cell
from heaplab.catalog.workload_file import file_of
from heaplab.machine import interposition
from heaplab.results.records import Arm, Parameter


def program_of(cell: Cell, arm: Arm | None = None) -> Path:
    """The file to execute: the workload's program, or the program of an arm that is a command.

    Raises HeaplabError if there is none.
    """
    if arm and (words := arm.command or arm.runtime):
        return interposition.resolve_program(words[0], os.environ)
    return file_of(cell.workload)


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
