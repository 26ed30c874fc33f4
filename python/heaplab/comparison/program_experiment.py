"""The experiment made of a user's program: its metrics, the check that a library can serve it, its input."""

import os
import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from heaplab.campaign import standard_input
from heaplab.comparison import given_server
from heaplab.comparison.given_server import Measured
from heaplab.errors import UsageError
from heaplab.machine import elf, interposition
from heaplab.machine.execute import environment_for, plain_environment
from heaplab.results import server_spec, spec
from heaplab.results.records import Arm, Input
from heaplab.screen.notes import note
from heaplab.stats import FEWEST_PAIRS

PROGRAM = "program"  # id of the experiment and of the workload made of a user's program
BLOCKS = (FEWEST_PAIRS, 30)  # at least, at most
BUDGET_S = 300.0
NO_CLAIM = "The arms are commands: nothing was preloaded, and which malloc served each was not looked at."
SERVER_BUDGET_S = 600.0  # with its idle times, a run of a server takes seconds
METRICS = ["wall_time", "user_time", "system_time", "peak_memory", "mean_memory"]
PYTHON = re.compile(r"python(3(\.\d+)?)?")
PYTHON_NOTE = (
    "CPython serves objects up to 512 bytes itself, so malloc sees only larger ones. "
    "With PYTHONMALLOC=malloc in the environment all of them go to malloc."
)


def experiment_of(program: tuple[str, ...], server: server_spec.Server | None = None) -> Measured:
    """An experiment of one cell: the user's program."""
    card = spec.Card(
        source="a program of yours",
        shows="what each allocator makes of exactly this command",
        does_not_show="how the same program behaves with other input",
        defaults="as you gave them",
        note=note_on(program[0]),
    )
    return experiment_with(card, shlex.join(program), program, server)


def note_on(program: str) -> str:
    """The note on a Python program; "" for other programs, and where PYTHONMALLOC is set."""
    if os.environ.get("PYTHONMALLOC"):
        return ""
    try:
        chain = interposition.chain_of(interposition.resolve_program(program, os.environ))
    except UsageError:
        return ""  # the error appears where the program is started
    return PYTHON_NOTE if any(PYTHON.fullmatch(file.name) for file in chain) else ""


def experiment_of_commands(arms: Sequence[Arm], server: server_spec.Server | None) -> Measured:
    """An experiment of one cell in which every arm runs a command of its own."""
    card = spec.Card(
        source="commands of yours",
        shows="what these commands cost as they are, each with the malloc that it brings",
        does_not_show="which part of a difference is the allocator's",
        defaults="as you gave them",
        note=NO_CLAIM,
    )
    return experiment_with(card, ", ".join(arm.allocator for arm in arms), ("",), server)


def experiment_with(
    card: spec.Card, title: str, program: tuple[str, ...], server: server_spec.Server | None
) -> Measured:
    scale = spec.Scale(blocks=BLOCKS[0], blocks_most=BLOCKS[1])
    workload = spec.Workload(
        id=PROGRAM,
        title=title,
        kind="program",
        program=program[0],
        arguments=list(program[1:]),
        card=card,
        server=server,
    )
    experiment = spec.Experiment(
        id=PROGRAM,
        title=title,
        claim="",
        workload=PROGRAM,
        metrics=given_server.metrics_of(server) if server else METRICS,
        plots=given_server.plots_of(server) if server else [],
        quick=scale,
        full=scale,
    )
    return [experiment], {PROGRAM: workload}


def check(program: str, libraries: Sequence[Arm]) -> None:
    """Raise UsageError, before anything is measured, if no library can serve the program."""
    path, faults = interposition.resolve_program(program, plain_environment()), []
    for library in libraries:
        environment = environment_for(library)
        if library.preload:
            faults.append(interposition.fault_of_program(path, environment, library))
        elif fault := interposition.fault_of_c_library(path, library):
            faults.append(fault)
    if faults and all(faults):
        raise UsageError(f"{faults[0]}; compare builds of it: --arm old=COMMAND --arm new=COMMAND")
    binary = interposition.interpreter_of(path)
    if elf.is_go(binary):
        note(
            f"{binary.name} is written in Go: malloc serves its parts in C alone; --arm compares builds of it"
        )


def input_of(given: Path | None, quiet: bool) -> Input | None:
    """The input of each run: the given file, or else the file on heaplab's own standard input.

    Without either, a note says that the program's standard input is empty.
    """
    input_file = given or standard_input.own_file()
    if input_file is None and not quiet:
        note("the program's standard input is empty; --input FILE or < FILE hands each run a file")
    return standard_input.input_of(input_file) if input_file else None
