"""The command line of a cell: which program, with which words."""

import os
from pathlib import Path

from heaplab.campaign.plan import Cell
from heaplab.catalog import native
from heaplab.errors import UsageError
from heaplab.machine import interposition
from heaplab.records import Parameter


def program_of(cell: Cell) -> Path:
    """The file a workload's program is. Raises UsageError if there is none."""
    if built := native.program(cell.workload.program):
        return built
    try:
        return interposition.resolve_program(cell.workload.program, os.environ)
    except UsageError as error:
        setting = cell.workload.setting
        raise UsageError(
            f"{error}; Debian's package {setting.package} has it" if setting else str(error)
        ) from None


def words_of(cell: Cell) -> list[str]:
    """The arguments with which a workload of heaplab runs a cell."""
    return [*cell.workload.arguments, *options_of(dict(cell.parameters))]


def options_of(parameters: dict[str, Parameter]) -> list[str]:
    """The command line of a cell: `--name value`, and `--name` or `--no-name` for a boolean."""
    options: list[str] = []
    for name, value in parameters.items():
        if isinstance(value, bool):
            options.append(f"--{name}" if value else f"--no-{name}")
        else:
            options += [f"--{name}", str(value)]
    return options
