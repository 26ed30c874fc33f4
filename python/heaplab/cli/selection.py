"""Which allocators and experiments a command is about."""

import contextlib
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from heaplab.campaign.command_line import why_absent
from heaplab.catalog import locate, spec
from heaplab.catalog.contents import Catalog
from heaplab.errors import UsageError
from heaplab.records import CONTROL_SUFFIX, Library

BASELINE = "glibc"


class ProgramCommand(click.Command):
    """A command about a program, which comes last: `[--] PROGRAM [ARGS]...`, in the parameter `program`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take the dashes off. With nothing behind them a variable was not set: never the whole suite."""
        dashes = args[-1:] == ["--"]
        rest = super().parse_args(ctx, args)
        program = ctx.params["program"] or ()
        ctx.params["program"] = program = program[1:] if program[:1] == ("--",) else program
        if dashes and not program:
            raise UsageError(f"{self.name}: there is no program behind --")
        if program[:1] == ("",):
            raise UsageError(f"{self.name}: the name of the program is empty")
        return rest


def note(message: str) -> None:
    """Tell something that is no error, in one line. Nothing depends on it, so it may be lost."""
    with contextlib.suppress(OSError):
        click.echo(f"heaplab: {message}", err=True)


def libraries(catalog: Catalog, asked: str | None, own: tuple[tuple[str, Path], ...]) -> list[Library]:
    """The allocators of a comparison, the baseline first.

    Asked for by name, each must be here. Without names it is every ready-made one that is here, with "all"
    every one; variants and references are measured only when named. The user's own libraries join in all
    cases, and are the ones compared with the baseline if nothing else is named.
    """
    if asked is None and own:
        names, must = [BASELINE, *(name for name, _ in own)], True
    elif asked is None:
        names, must = [name for name in catalog.allocators if catalog.allocators[name].quick], False
    elif asked == "all":
        names, must = [name for name, item in catalog.allocators.items() if not item.reference], False
    else:
        names, must = [name.strip() for name in asked.split(",") if name.strip()], True
        names += [name for name, _ in own if name not in names]
    if not names:
        raise UsageError("--allocators: no name given")
    if not must and BASELINE in names:
        names.remove(BASELINE)
        names.insert(0, BASELINE)
    found = []
    for name in dict.fromkeys(names):
        try:
            found.append(locate.locate(catalog, name))
        except locate.NotHereError as error:
            if must:
                raise
            if sys.stderr.isatty():
                note(f"left out {error}")
    return found


def experiments(
    catalog: Catalog, asked: Sequence[str]
) -> tuple[list[spec.Experiment], dict[str, spec.Workload]]:
    """The experiments (ids, groups or globs) that this machine has the programs for, and their workloads.

    The others are left out with one line. Raises UsageError if that leaves nothing.
    """
    found = catalog.experiments_matching(list(asked))
    absent = {item.id: why for item in found if (why := why_absent(catalog.workloads[item.workload]))}
    left_out = ", ".join(f"{name} ({why})" for name, why in absent.items())
    if len(absent) == len(found):
        raise UsageError(f"not on this machine: {left_out}; nothing to measure")
    if absent:
        note(f"left out, for want of a program: {left_out}")
    kept = [item for item in found if item.id not in absent]
    return kept, {item.workload: catalog.workloads[item.workload] for item in kept}


def with_own(catalog: Catalog, own: tuple[tuple[str, Path], ...]) -> Catalog:
    for name, library in own:
        if CONTROL_SUFFIX in name or name in catalog.allocators:
            raise UsageError(f"--allocator {name}=...: the name is taken, choose another")
        catalog = catalog.with_library(name, library)
    return catalog
