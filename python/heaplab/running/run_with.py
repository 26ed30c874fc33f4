"""`heaplab with`: a program under an allocator, in place of the command."""

import os
from collections.abc import Sequence
from pathlib import Path

from heaplab.catalog import contents as catalogs
from heaplab.errors import HeaplabError, UsageError
from heaplab.machine import huge_pages, interposition
from heaplab.machine.coverage import compiled_in
from heaplab.machine.execute import environment_for
from heaplab.options.arm_options import GivenAllocator
from heaplab.options.chosen_arms import arm_of, with_own, without_deep_binding
from heaplab.report.words import beyond_malloc
from heaplab.screen.notes import note


def become(
    extra: tuple[Path, ...],
    name: str,
    program: tuple[str, ...],
    own: Sequence[GivenAllocator],
    no_deep_binding: bool,
) -> None:
    if program[0].startswith("-"):
        raise UsageError(
            f"with: {program[0]} stands behind ALLOCATOR; the order is: "
            "heaplab with --allocator NAME=LIBRARY NAME -- PROGRAM"
        )
    library = interposition.preloaded(arm_of(with_own(catalogs.load(extra), own), name))
    if library.void:
        raise HeaplabError(f"{name}: {library.void}")
    if no_deep_binding:
        library = without_deep_binding(library)
    environment = environment_for(library)
    path = interposition.resolve_program(program[0], environment)
    interposition.refuse_other_c_library(path, library)
    if library.preload and (fault := interposition.fault_of_program(path, environment, library)):
        note(f"warning: {fault}")
    if mallocs := compiled_in.mallocs_in(interposition.interpreter_of(path)):
        note(
            f"warning: {path.name}: {beyond_malloc.compiled_in(mallocs)}; {name} cannot serve what that does"
        )
    if library.huge_pages:
        huge_pages.set_mode(library.huge_pages)
    try:
        os.execvpe(program[0], program, environment)
    except OSError as error:
        raise HeaplabError(f"{program[0]}: {error.strerror}") from error
