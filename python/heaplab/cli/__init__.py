"""The command line. Errors are one line, `heaplab: ...`; exit status 0 done, 1 a run failed, 2 usage."""

import os
import sys
from importlib import import_module
from pathlib import Path

import click

import heaplab
from heaplab.errors import HeaplabError
from heaplab.machine import interrupts

DONE, FAILED, WRONG_USAGE = 0, 1, 2

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


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
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
    type=click.Path(path_type=Path),
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


def main() -> None:
    """Run the command line and exit."""
    interrupts.listen()
    try:
        status = commands.main(prog_name="heaplab", standalone_mode=False)
    except click.ClickException as error:
        status = complain(error.format_message(), WRONG_USAGE)
    except HeaplabError as error:
        status = complain(str(error), error.exit_status)
    except (click.Abort, KeyboardInterrupt):
        status = complain("interrupted", FAILED)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = FAILED
    sys.exit(status or DONE)


def complain(message: str, status: int) -> int:
    print(f"heaplab: {message}", file=sys.stderr)
    return status
