"""`heaplab campaign`: hand the shards of a plan to an engine, show their states, fetch results, cancel."""

from collections import Counter
from pathlib import Path

import click

from heaplab.cli.benchmarks.selection import note
from heaplab.cli.options.option_types import FOLDER, OUTPUT_FILE
from heaplab.cluster import Completion, Plan, ShardState, read_plan, shard_states
from heaplab.cluster.engines import ENGINES, FORMS, Engine, Submission
from heaplab.console import Column, console, put_table
from heaplab.errors import HeaplabError, UsageError

ACTIONS = ("submit", "status", "fetch", "cancel", "write")
NOT_YET = 1  # exit status of `status` until every shard is complete


@click.command("campaign")
@click.argument("action", type=click.Choice(ACTIONS), metavar="|".join(ACTIONS))
@click.argument("folder", type=FOLDER, metavar="PLAN")
@click.option(
    "--on",
    required=True,
    type=click.Choice([*ENGINES, *FORMS]),
    help="What carries out the shards. `write` goes with reframe and github, the rest with the others.",
)
@click.option(
    "--hosts",
    default="",
    show_default=False,
    metavar="FILE|NAME,NAME...",
    help="submit --on ssh: the hosts.  [default: those of the plan, or as before]",
)
@click.option(
    "--copy-to",
    default="",
    show_default=False,
    metavar="DIR",
    help="submit --on ssh: copy the plan to DIR on every host, for hosts that do not share its folder.",
)
@click.option(
    "-o", "--output", type=OUTPUT_FILE, metavar="FILE", help="write: FILE.  [default: standard output]"
)
@click.argument("options", nargs=-1, type=click.UNPROCESSED, metavar="[-- OPTIONS...]")
def campaign(
    action: str,
    folder: Path,
    on: str,
    hosts: str,
    copy_to: str,
    output: Path | None,
    options: tuple[str, ...],
) -> None:
    """Hand the shards of a plan to Slurm, ssh or this machine; look, fetch, cancel.

    \b
    submit   start every shard that is neither complete nor held by the engine
    status   tell which shards are complete, running, waiting or missing; exit status 0 when all are complete
    fetch    bring results into the folder of the plan
    cancel   stop what the engine holds; what was measured stays, and submit goes on from there
    write    write what ReFrame (reframe) or a matrix of hosted runners (github) carries out

    OPTIONS go to sbatch or ssh: an account, a partition, a time limit, a key.

    \b
    Examples:
      heaplab campaign submit plan/ --on slurm -- --partition=epyc --time=2:00:00
      heaplab campaign status plan/ --on slurm
      heaplab campaign submit plan/ --on ssh --hosts node1,node2 --copy-to /tmp
      heaplab campaign write plan/ --on reframe -o heaplab_shards.py
    """
    plan = read_plan(folder)
    if (action == "write") != (on in FORMS):
        verbs = "write" if on in FORMS else ", ".join(ACTIONS[:-1])
        raise UsageError(f"heaplab campaign {action} does not go with --on {on}, which takes {verbs}")
    if action != "submit" and (hosts or copy_to or options):
        raise UsageError("--hosts, --copy-to and options of another tool go with heaplab campaign submit")
    if on != "ssh" and (hosts or copy_to):
        raise UsageError("--hosts and --copy-to go with --on ssh")
    if on == "local" and options:
        raise UsageError(f"{options[0]}: --on local calls no other tool that takes options")
    if output and action != "write":
        raise UsageError("-o goes with heaplab campaign write")
    if on in FORMS:
        text = FORMS[on](plan)
        if output:
            output.write_text(text, encoding="utf-8")
        click.echo(output or text, nl=bool(output))
        return
    engine = ENGINES[on]
    match action:
        case "submit":
            submit(plan, engine, Submission(hosts, copy_to, options))
        case "status":
            status(plan, engine)
        case "fetch":
            click.echo(engine.fetch(plan))
        case "cancel":
            click.echo(engine.cancel(plan))


def submit(plan: Plan, engine: Engine, submission: Submission) -> None:
    open_shards = [state.index for state in shard_states(plan) if state.state is not Completion.COMPLETE]
    if not open_shards:
        click.echo(f"all {len(plan.shards)} shards are complete: heaplab merge {plan.folder}")
        return
    held = engine.held(plan).shards
    wanted = [index for index in open_shards if index not in held]
    if wanted:
        click.echo(engine.submit(plan, wanted, submission))
    else:
        click.echo(f"all {len(open_shards)} open shards are held already: heaplab campaign status")


def status(plan: Plan, engine: Engine) -> None:
    held = engine.held(plan)
    troubles = list(held.troubles)
    try:
        engine.fetch(plan)
    except HeaplabError as error:  # a host is gone; the results of the others are here
        troubles.append(str(error))
    for trouble in dict.fromkeys(troubles):
        note(trouble)
    states = shard_states(plan)
    put_states(states, held.shards)
    if any(state.state is not Completion.COMPLETE for state in states):
        raise click.exceptions.Exit(NOT_YET)


def put_states(states: list[ShardState], held: dict[int, str]) -> None:
    """Print a table of the incomplete shards, then one line with the number of shards by state."""
    open_ = [state for state in states if state.state is not Completion.COMPLETE]
    if open_:
        put_table(
            console(),
            [
                Column("shard", [str(state.index) for state in open_], right=True),
                Column("state", [state.state.value for state in open_]),
                Column("runs", [str(state.runs) for state in open_], right=True),
                Column("engine", [held.get(state.index, "-") for state in open_]),
            ],
        )
    counts = Counter(state.state.value for state in states)
    lost = sum(state.index not in held for state in open_)
    again = f"; the engine holds {lost} of them no longer or not yet: heaplab campaign submit" if lost else ""
    click.echo(f"{', '.join(f'{count} {name}' for name, count in counts.items())}{again}")
