"""The command line. Errors are one line, `heaplab: ...`; exit status 0 done, 1 a run failed, 2 usage."""

import sys
from importlib import import_module
from pathlib import Path

import click

import heaplab
from heaplab.cli import ending
from heaplab.cli.types import FOLDER
from heaplab.machine import interrupts

COMMANDS = {  # where each lies, in the order of the help
    "compare": "measure:compare",
    "run": "measure:run",
    "list": "show:list_",
    "show": "card:show_",
    "get": "get:get",
    "with": "with_:with_",
    "report": "results:report",
    "claims": "results:claims",
    "doctor": "show:doctor",
    "path": "path:path",
}


class Commands(click.Group):
    """Imports a command only when it is called or explained."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, _, function = COMMANDS[cmd_name].partition(":")
        command: click.Command = getattr(import_module(f"heaplab.cli.{module}"), function)
        return command


def show_version(context: click.Context, _option: click.Parameter, asked: bool) -> None:
    if asked:
        click.echo(f"heaplab {heaplab.__version__}")
        context.exit()


@click.group(
    cls=Commands,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=show_version,
    help="Show the version and exit.",
)
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
    """Run the command line and exit."""
    interrupts.listen()
    sys.exit(ending.status_of(lambda: commands.main(prog_name="heaplab", standalone_mode=False)))
