"""The command line. Errors are one line, `heaplab: ...`; exit status 0 done, 1 a run failed, 2 usage."""

import os
import sys
from pathlib import Path

import click

from heaplab import __version__
from heaplab.cli.card import show_
from heaplab.cli.get import get
from heaplab.cli.measure import compare, run
from heaplab.cli.results import claims, report
from heaplab.cli.show import doctor, list_, path
from heaplab.cli.with_ import with_
from heaplab.errors import HeaplabError
from heaplab.machine import interrupts

DONE, FAILED, WRONG_USAGE = 0, 1, 2


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, message="%(prog)s %(version)s")
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


for command in (compare, run, list_, show_, get, with_, report, claims, doctor, path):
    commands.add_command(command)


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
