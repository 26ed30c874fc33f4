"""What `heaplab cluster submit` and `status` do: hand shards to an engine, show their states."""

from collections import Counter
from pathlib import Path

import click

from heaplab.cluster import Completion, Plan, ShardState, read_plan, shard_states
from heaplab.cluster.engines import ENGINES, FORMS, Engine, Submission
from heaplab.errors import HeaplabError, UsageError
from heaplab.screen.console import Column, console, put_table
from heaplab.screen.notes import note

NOT_YET = 1  # exit status of `status` until every shard is complete


def submit(folder: Path, on: str, submission: Submission, output: Path | None) -> None:
    """Hand the open shards to an engine, or write what another tool carries out."""
    plan = read_plan(folder)
    if on != "ssh" and (submission.hosts or submission.copy_to):
        raise UsageError("--hosts and --copy-to go with --on ssh")
    if (on in FORMS or on == "local") and submission.options:
        raise UsageError(f"{submission.options[0]}: --on {on} calls no other tool that takes options")
    if output and on not in FORMS:
        raise UsageError(f"-o goes with --on {' and '.join(FORMS)}")
    if on in FORMS:
        text = FORMS[on](plan)
        if output:
            output.write_text(text, encoding="utf-8")
        click.echo(output or text, nl=bool(output))
    else:
        submit_open_shards(plan, ENGINES[on], submission)


def submit_open_shards(plan: Plan, engine: Engine, submission: Submission) -> None:
    open_shards = [state.index for state in shard_states(plan) if state.state is not Completion.COMPLETE]
    if not open_shards:
        click.echo(f"all {len(plan.shards)} shards are complete: heaplab cluster merge {plan.folder}")
        return
    held = engine.held(plan).shards
    wanted = [index for index in open_shards if index not in held]
    if wanted:
        click.echo(engine.submit(plan, wanted, submission))
    else:
        click.echo(f"all {len(open_shards)} open shards are held already: heaplab cluster status")


def status(folder: Path, on: str) -> int:
    """Print the states of the shards; return 0 when all are complete."""
    plan, engine = read_plan(folder), ENGINES[on]
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
    return NOT_YET if any(state.state is not Completion.COMPLETE for state in states) else 0


def fetch(folder: Path, on: str) -> None:
    click.echo(ENGINES[on].fetch(read_plan(folder)))


def cancel(folder: Path, on: str) -> None:
    click.echo(ENGINES[on].cancel(read_plan(folder)))


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
    again = f"; the engine holds {lost} of them no longer or not yet: heaplab cluster submit" if lost else ""
    click.echo(f"{', '.join(f'{count} {name}' for name, count in counts.items())}{again}")
