"""The command line. Errors are one line, `heaplab: ...`; `manual.EXIT_STATUS` says what each status means."""

import gc
import sys
from importlib import import_module
from pathlib import Path

import click

from heaplab.cli.options.option_types import FOLDER
from heaplab.cli.screen import exit_status
from heaplab.machine import signals
from heaplab.version import __version__

# Allocations between two searches for cyclic garbage. Imports leave none: with Python's 700 the searches take
# a tenth of the CPU time of a command that measures nothing.
OBJECTS_BETWEEN_SEARCHES = 50_000

COMMANDS = {  # where each lies and what it does, in the order of the help
    "compare": ("campaigns.measure:compare", "Compare allocators on a suite of experiments, or on PROGRAM."),
    "run": ("campaigns.measure:run", "Run experiments by id, group or glob of ids."),
    "gate": (
        "gate.gate_command:gate",
        "Fail if NEW is worse than OLD beyond a limit; for continuous integration.",
    ),
    "bisect": (
        "bisect.bisect_options:bisect",
        "Find the first commit of OLD..NEW that is worse than OLD beyond a limit.",
    ),
    "tune": (
        "tune.tune_options:tune",
        "Try settings of an allocator on PROGRAM, and measure the best of them afresh.",
    ),
    "plan": (
        "clusters.plan_command:plan",
        "Plan one experiment on many machines, as shards that any engine can carry out.",
    ),
    "run-shard": ("clusters.run_shard_command:run_shard", "Carry out one shard of PLAN on this node."),
    "campaign": (
        "clusters.campaign_command:campaign",
        "Hand the shards of a plan to Slurm, ssh or this machine; look, fetch, cancel.",
    ),
    "merge": (
        "clusters.merge_command:merge",
        "Put together what came back of PLAN: ratios on each host, then over hosts.",
    ),
    "list": (
        "inventory.listing:list_",
        "Name the allocators, workloads, experiments, suites or claims there are.",
    ),
    "show": (
        "inventory.show:show_",
        "Show what is known of an allocator, a workload, an experiment or a suite.",
    ),
    "get": ("inventory.get:get", "Obtain allocators that are not on this machine, without root."),
    "with": ("inventory.with_:with_", "Run PROGRAM with ALLOCATOR serving its malloc."),
    "record": ("tracing.record:record", "Record the allocation calls of PROGRAM in a trace file."),
    "trace": ("tracing.trace:trace", "Show what a trace holds, or write it in another form."),
    "advise": (
        "tracing.advise:advise",
        "Tell what holds the memory of PROGRAM, and what would give it back.",
    ),
    "budget": (
        "tracing.budget:budget",
        "Fail if PROGRAM allocates more than FILE.toml allows; for continuous integration.",
    ),
    "check": ("checks.check_library:check", "Put a malloc library under conformance tests and torture."),
    "report": ("reading.reading_commands:report", "Write one HTML page about results files."),
    "atlas": (
        "reading.atlas_command:atlas",
        "Write a site about many results.",
    ),
    "standing": (
        "campaigns.standing_command:standing",
        "Measure each night, add that to an atlas and tell what changed.",
    ),
    "power": (
        "reading.reading_commands:power",
        "Tell what RESULTS decided, how many more minutes the rest takes",
    ),
    "export": ("reading.reading_commands:export", "Write results as a table: CSV, Parquet or Markdown."),
    "claims": ("reading.reading_commands:claims", "Test what publications claim against results."),
    "doctor": ("checks.doctor:doctor", "Tell what this machine is, and what on it makes figures doubtful."),
    "completion": ("manual:completion", "Print what makes SHELL complete the words of heaplab."),
    "manual": ("manual:manual", "Print the manual page."),
    "path": ("inventory.path:path", "Print where a program, library or allocator lies."),
}


class Commands(click.Group):
    """Imports a command only when it is called or its own help is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, _, function = COMMANDS[cmd_name][0].partition(":")
        command: click.Command = getattr(import_module(f"heaplab.cli.{module}"), function)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, says) for name, (_, says) in COMMANDS.items()])


def show_version(context: click.Context, _option: click.Parameter, asked: bool) -> None:
    if asked:
        click.echo(f"heaplab {__version__}")
        context.exit()


@click.group(
    cls=Commands,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100, "show_default": True},
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
    gc.set_threshold(OBJECTS_BETWEEN_SEARCHES)
    signals.listen()
    sys.exit(exit_status.status_of(lambda: commands.main(prog_name="heaplab", standalone_mode=False)))
