"""The command line: a file for each command, with its options and words; a room does the work.

Errors are one line, `heaplab: ...`; packaging/manual_page.py says what each exit status means.
"""

import gc
from importlib import import_module
from keyword import iskeyword
from pathlib import Path

import click

from heaplab import __version__
from heaplab.machine import signals
from heaplab.options.option_types import FOLDER
from heaplab.screen import exit_status

# Allocations between two searches for cyclic garbage. Imports leave none: with Python's 700 the searches take
# a tenth of the CPU time of a command that measures nothing.
OBJECTS_BETWEEN_SEARCHES = 50_000

COMMANDS = {  # what each does, in the order of the help
    "compare": "Compare allocators on experiments, on PROGRAM, its trace or its twin; or compare commands.",
    "gate": "Fail if NEW is worse than OLD beyond a limit; for continuous integration.",
    "bisect": "Find the first commit of OLD..NEW that is worse than OLD beyond a limit.",
    "tune": "Try settings of an allocator on PROGRAM, and measure the best of them afresh.",
    "cluster": "Measure one experiment on many machines: plan, run, submit, status, fetch, cancel, merge.",
    "show": "List what the catalog has, or show what is known of one thing in it.",
    "get": "Obtain allocators that are not on this machine, without root.",
    "with": "Run PROGRAM with ALLOCATOR serving its malloc.",
    "record": "Record the allocation calls of PROGRAM in a trace file.",
    "trace": "Show what a trace holds, or write it in another form.",
    "advise": "Tell what holds the memory of PROGRAM, and what would give it back.",
    "look": "Tell where the memory of a running process lies, which malloc serves it, and what grows.",
    "watch": "Show each second what a process holds: resident, live, retained, and outside malloc.",
    "budget": "Fail if PROGRAM allocates more than FILE.toml allows; for continuous integration.",
    "check": "Put a malloc library under conformance tests and torture.",
    "report": "Tell what results files say: a page, a table, a forecast, tested claims.",
    "atlas": "Write a site about many results; or measure each night and tell what changed.",
    "doctor": "Tell what this machine is, and what on it makes figures doubtful.",
    "path": "Print where a program, library or allocator lies.",
}


class Commands(click.Group):
    """Imports a command only when it is called or its own help is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        name = f"{cmd_name}_" if iskeyword(cmd_name) else cmd_name
        command: click.Command = getattr(import_module(f"heaplab.commands.{name}"), name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(
    cls=Commands,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100, "show_default": True},
)
@click.version_option(__version__, prog_name="heaplab", message="%(prog)s %(version)s")
@click.option(
    "--catalog",
    "extra",
    multiple=True,
    type=FOLDER,
    metavar="DIR",
    help="A folder of your own TOML files, laid out like heaplab's catalog.",
)
@click.pass_context
def commands(context: click.Context, extra: tuple[Path, ...]) -> None:
    """Measure how memory allocators differ, and by how much.

    \b
    heaplab compare                      the allocators on this machine, on heaplab's quick suite
    heaplab compare -- PROGRAM ARGS      the same for a program of yours
    heaplab COMMAND --help               what a command takes, with an example
    """
    context.obj = extra
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


def main() -> None:
    gc.set_threshold(OBJECTS_BETWEEN_SEARCHES)
    signals.listen()
    status = exit_status.status_of(lambda: commands.main(prog_name="heaplab", standalone_mode=False))
    if signals.was_asked():
        exit_status.leave_at_once(status)
    exit_status.leave(status)
